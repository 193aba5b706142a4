// SPDX-License-Identifier: BSD-3-Clause
// What CM told of a connection, and what the analysis makes of it: who is whose peer, how often a
// sender may repeat, how many READs may be outstanding, and where the PSNs begin.
#include "unit/analysis/captured_talk.hpp"
#include "wire/cm_message.hpp"

namespace softrnic::analysis::test {
namespace {

using enum FindingKind;

template <class Message>
Said cm(CapturedTalk& talk, bool from_alice, const Message& message, std::uint64_t transaction) {
  std::array<std::byte, wire::kMadSize> bytes{};
  wire::MadHeader header;
  header.transaction_id = transaction;
  header.attribute_id = static_cast<std::uint16_t>(Message::kAttribute);
  const std::span<std::byte, wire::kMadSize> all(bytes);
  header.serialize(all.first<wire::MadHeader::kSize>());
  message.serialize(all.subspan<wire::MadHeader::kSize, Message::kSize>());
  return talk.packet(from_alice, Opcode::ud_send_only, 0, wire::kMadSize, [&](Frame& f) {
    f.headers.bth.destination_qpn = wire::kGeneralServiceQpn;
    f.headers.deth = {wire::kGeneralServiceQueueKey, 0, wire::kGeneralServiceQpn};
    f.payload = bytes;
  });
}

struct Terms {
  std::uint32_t alice_first = 1;
  std::uint32_t bob_first = 1001;
  std::uint8_t retry_count = 3;
  std::uint8_t rnr_retry_count = 2;
  std::uint8_t resources = 2;
  std::uint32_t id = 55;
};

void connect(CapturedTalk& talk, const Terms& terms = {}) {
  wire::CmReq req;
  req.local_communication_id = terms.id;
  req.local_qpn = 0x11;
  req.starting_psn = Psn(terms.bob_first);
  req.retry_count = terms.retry_count;
  req.rnr_retry_count = 7;
  req.path_mtu = 1;
  req.responder_resources = terms.resources;
  CHECK(cm(talk, true, req, terms.id).only().kind == connection_request);
  wire::CmRep rep;
  rep.local_communication_id = 77;
  rep.remote_communication_id = terms.id;
  rep.local_qpn = 0x12;
  rep.starting_psn = Psn(terms.alice_first);
  rep.rnr_retry_count = terms.rnr_retry_count;
  rep.responder_resources = terms.resources;
  CHECK(cm(talk, false, rep, terms.id).only().kind == connection_established);
}

TEST_CASE("CM names the peers before they speak", "[terms]") {
  CapturedTalk talk;
  connect(talk);
  // Bob speaks first, and alice does not answer: no PSN says that they belong together.
  const Said first = talk.packet(false, Opcode::rc_send_only, 1001, 64);
  CHECK(first.record.stream == 1);
  CHECK(talk.stream(1).paired_by == PairedBy::cm);
  CHECK(talk.stream(1).sides[0].qpn == 0x12);
  CHECK(talk.stream(1).sides[1].qpn == 0x11);
  CHECK(talk.stream(1).path_mtu == 256);
  const Said second = talk.send(1);
  CHECK(second.record.stream == 1);
  CHECK(second.record.sender == 1);
}

TEST_CASE("the first packet lost shows against the PSN that CM told", "[terms]") {
  CapturedTalk talk;
  connect(talk);
  CHECK(talk.send(3).only() == Finding{psn_gap, 0, 1, 2});
  CapturedTalk whole;
  connect(whole);
  CHECK(whole.send(1).nothing());
  CapturedTalk late;  // so far on that the capture must have missed more than a loss
  connect(late);
  CHECK(late.send(500'000).nothing());
}

TEST_CASE("the last repetition that CM allows is told", "[terms][retries]") {
  CapturedTalk talk;
  connect(talk);
  talk.send(1);
  for (int i = 1; i <= 3; ++i) {
    const Said said = talk.wait(70ms).send(1);
    INFO(i << ": " << said.text());
    CHECK(said.has(retransmission_timeout));
    CHECK(said.has(retry_limit) == (i == 3));
    CHECK_FALSE(said.has(unanswered));
  }
}

TEST_CASE("an answer starts the retry count anew", "[terms][retries]") {
  CapturedTalk talk;
  connect(talk);
  talk.send(1);
  talk.wait(70ms).send(1);
  talk.wait(70ms).send(1);
  talk.ack(1, 1);
  talk.send(2);
  talk.wait(70ms).send(2);
  CHECK_FALSE(talk.wait(70ms).send(2).has(retry_limit));
  CHECK(talk.wait(70ms).send(2).has(retry_limit));
}

TEST_CASE("the RNR NAK that ends a connection is told", "[terms][rnr]") {
  CapturedTalk talk;
  connect(talk);
  for (int i = 1; i <= 3; ++i) {
    talk.wait(20ms).send(1);
    const Said said = talk.ack(1, 0, Syndrome::rnr_nak(12));
    INFO(i << ": " << said.text());
    CHECK(said.has(rnr_nak));
    CHECK(said.has(retry_limit) == (i == 3));
    CHECK(talk.stream(1).broken == (i == 3));
  }
}

TEST_CASE("rnr_retry 7 is without end", "[terms][rnr]") {
  CapturedTalk talk;
  connect(talk, {.rnr_retry_count = 7});
  for (int i = 1; i <= 12; ++i) {
    talk.wait(20ms).send(1);
    CHECK_FALSE(talk.ack(1, 0, Syndrome::rnr_nak(12)).has(retry_limit));
  }
}

TEST_CASE("more READs and atomics than the responder takes", "[terms][read]") {
  CapturedTalk talk;
  connect(talk);
  talk.send(1);
  talk.ack(1, 1);
  CHECK(talk.read(2, 64).nothing());
  CHECK(talk.fetch_add(3).nothing());
  CHECK(talk.read(4, 64).only() == Finding{too_many_outstanding, 0, 3, 2});
  talk.answer(Opcode::rc_read_response_only, 2, 64, 2);
  talk.atomic_ack(3, 3, 9);
  CHECK(talk.read(5, 64).nothing());
}

TEST_CASE("a new CM exchange of the same queue pairs is a new stream", "[terms][restart]") {
  CapturedTalk talk;
  connect(talk);
  CHECK(talk.send(1).record.stream == 1);
  talk.ack(1, 1);
  connect(talk, {.alice_first = 5, .id = 56});
  const Said again = talk.send(5);
  CHECK(again.record.stream == 2);
  CHECK(again.nothing());
  CHECK(talk.ack(5, 1).record.stream == 2);
  CHECK(talk.analyzer.stream_count() == 3);
}

}  // namespace
}  // namespace softrnic::analysis::test
