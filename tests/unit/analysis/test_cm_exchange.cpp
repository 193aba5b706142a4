// SPDX-License-Identifier: BSD-3-Clause
// What CM messages tell of connections: who, on what terms, answered by what, sent again or not.
#include <catch2/catch.hpp>
#include <deque>

#include "analysis/cm_exchange.hpp"
#include "captured_talk.hpp"

namespace softrnic::analysis::test {
namespace {

using wire::CmMessage;

constexpr std::uint32_t kAliceId = 0x11111111;
constexpr std::uint32_t kBobId = 0x22222222;

wire::CmReq req() {
  wire::CmReq m;
  m.local_communication_id = kAliceId;
  m.local_qpn = 0x11;
  m.starting_psn = Psn(2000);  // for bob
  m.responder_resources = 4;
  m.initiator_depth = 5;
  m.retry_count = 3;
  m.rnr_retry_count = 6;  // for bob
  m.path_mtu = 1;
  m.primary_path.ack_timeout = 14;
  return m;
}

wire::CmRep rep() {
  wire::CmRep m;
  m.local_communication_id = kBobId;
  m.remote_communication_id = kAliceId;
  m.local_qpn = 0x12;
  m.starting_psn = Psn(1000);  // for alice
  m.responder_resources = 2;
  m.initiator_depth = 3;
  m.rnr_retry_count = 5;  // for alice
  return m;
}

// Of RTU, DREQ, DREP, REJ and MRA.
template <class Message>
Message by(bool alice) {
  Message m;
  m.local_communication_id = alice ? kAliceId : kBobId;
  m.remote_communication_id = alice ? kBobId : kAliceId;
  return m;
}

// A CmExchange that is shown messages, one frame each.
class CmTalk {
 public:
  explicit CmTalk(std::size_t bound = 16) : exchange(bound) {}

  Frame frame(bool from_alice, const CmMessage& message, std::uint64_t transaction = 1) {
    wire::MadHeader header;
    header.transaction_id = transaction;
    bytes_.emplace_back(wire::kMadSize);
    wire::CmMad(header, message).serialize(std::span<std::byte, wire::kMadSize>(bytes_.back()));
    Frame f;
    f.number = ++number_;
    f.time = now_ += 1ms;
    f.source = from_alice ? kAlice : kBob;
    f.destination = from_alice ? kBob : kAlice;
    f.opcode = &wire::info(Opcode::ud_send_only);
    f.headers.bth.opcode = Opcode::ud_send_only;
    f.headers.bth.destination_qpn = 1;
    f.headers.deth = {wire::kGeneralServiceQueueKey, 0, 1};
    f.payload_size = wire::kMadSize;
    f.payload = bytes_.back();
    return f;
  }

  CmExchange::News see(const Frame& f) {
    const auto news = exchange.on_packet(f);
    REQUIRE(news);
    return *news;
  }
  CmExchange::News alice(const CmMessage& message, std::uint64_t transaction = 1) {
    return see(frame(true, message, transaction));
  }
  CmExchange::News bob(const CmMessage& message, std::uint64_t transaction = 1) {
    return see(frame(false, message, transaction));
  }
  void wait(wire::Duration time) { now_ += time; }

  CmExchange exchange;

 private:
  std::deque<std::vector<std::byte>> bytes_;
  std::uint32_t number_ = 0;
  wire::Instant now_{1000s};
};

TEST_CASE("REQ, REP and RTU connect two queue pairs on the terms both told") {
  CmTalk talk;
  const auto request = talk.alice(req());
  REQUIRE(request.finding == Finding{FindingKind::connection_request, 0, 0x11, 2000});
  REQUIRE_FALSE(request.connected);
  const auto reply = talk.bob(rep());
  REQUIRE(reply.finding == Finding{FindingKind::connection_established, 1, 0x12, 1000});
  REQUIRE(reply.answers == 1);
  REQUIRE(reply.connected);
  const ConnectionTerms& terms = *reply.connected;
  REQUIRE(terms.told_by == PairedBy::cm);
  REQUIRE(terms.address[0] == kAlice);
  REQUIRE(terms.address[1] == kBob);
  REQUIRE(terms.qpn[0] == 0x11);
  REQUIRE(terms.qpn[1] == 0x12);
  REQUIRE(terms.path_mtu == 256);
  // What one asks of the other, the other does.
  REQUIRE(terms.first_psn[0] == 1000);
  REQUIRE(terms.first_psn[1] == 2000);
  REQUIRE(terms.retry_count[0] == 3);
  REQUIRE(terms.retry_count[1] == 3);
  REQUIRE(terms.rnr_retry_count[0] == 5);
  REQUIRE(terms.rnr_retry_count[1] == 6);
  REQUIRE(terms.ack_timeout[0] == 0xff);
  REQUIRE(terms.ack_timeout[1] == 14);
  // What one can take, it says of itself.
  REQUIRE(terms.responder_resources[0] == 4);
  REQUIRE(terms.responder_resources[1] == 2);

  const auto ready = talk.alice(by<wire::CmRtu>(true));
  REQUIRE(ready.finding == Finding{FindingKind::connection_established, 2, 0, 0});
  REQUIRE(ready.answers == 2);
  REQUIRE_FALSE(ready.connected);
}

TEST_CASE("DREQ and DREP end it, from either side") {
  CmTalk talk;
  talk.alice(req());
  talk.bob(rep());
  talk.alice(by<wire::CmRtu>(true));
  const bool alice = GENERATE(true, false);
  const auto end = talk.see(talk.frame(alice, by<wire::CmDreq>(alice)));
  REQUIRE(end.finding == Finding{FindingKind::connection_closed, 1, 0, 0});
  const auto confirmed = talk.see(talk.frame(!alice, by<wire::CmDrep>(!alice)));
  REQUIRE(confirmed.finding == Finding{FindingKind::connection_closed, 4, 1, 0});
  REQUIRE(confirmed.answers == 4);
}

TEST_CASE("a REJ names its reason and the request") {
  CmTalk talk;
  talk.alice(req());
  SECTION("of the REQ, by a side that has no id yet") {
    wire::CmRej rej;
    rej.remote_communication_id = kAliceId;
    rej.reason = wire::CmRejectReason::invalid_service_id;
    const auto news = talk.bob(rej);
    REQUIRE(news.finding == Finding{FindingKind::connection_rejected, 1, 8, 0});
    REQUIRE(news.answers == 1);
    REQUIRE(sentence(*news.finding) ==
            "Refuses the connection asked for in frame 1: invalid service id (reason 8)");
  }
  SECTION("of the REP") {
    talk.bob(rep());
    auto rej = by<wire::CmRej>(true);
    rej.message = wire::CmAnswered::reply;
    rej.reason = wire::CmRejectReason::consumer;
    const auto news = talk.alice(rej);
    REQUIRE(news.finding == Finding{FindingKind::connection_rejected, 1, 28, 0});
    REQUIRE(news.answers == 2);
  }
}

TEST_CASE("messages sent again are told from new ones") {
  CmTalk talk;
  talk.alice(req());
  talk.wait(4s);
  const auto again = talk.alice(req());
  REQUIRE(again.original == 1);
  REQUIRE(again.repetition == 1);
  REQUIRE(again.finding == Finding{FindingKind::retransmission_timeout, 1, 1, 4'001'000'000});

  SECTION("a REP that answers each REQ is no retry of its own") {
    REQUIRE(talk.bob(rep()).connected);
    const auto answer = talk.bob(rep());
    REQUIRE(answer.original == 3);
    REQUIRE_FALSE(answer.finding);
    REQUIRE_FALSE(answer.connected);
    const auto retry = talk.bob(rep());
    REQUIRE(retry.repetition == 2);
    REQUIRE(retry.finding);
    REQUIRE(retry.finding->kind == FindingKind::retransmission_timeout);
    REQUIRE(retry.finding->related == 3);
    talk.alice(by<wire::CmRtu>(true));
    const auto ready = talk.alice(by<wire::CmRtu>(true));
    REQUIRE(ready.original == 6);
    REQUIRE_FALSE(ready.finding);
  }
  SECTION("a DREQ is") {
    talk.bob(rep());
    talk.alice(by<wire::CmDreq>(true));
    REQUIRE(talk.alice(by<wire::CmDreq>(true)).finding->kind ==
            FindingKind::retransmission_timeout);
    // Both may want to end it at once.
    REQUIRE(talk.bob(by<wire::CmDreq>(false)).finding->kind == FindingKind::connection_closed);
    REQUIRE(talk.bob(by<wire::CmDrep>(false)).finding);
    REQUIRE_FALSE(talk.bob(by<wire::CmDrep>(false)).finding);
  }
  SECTION("the same id for another connection is new") {
    wire::CmReq other = req();
    other.local_qpn = 0x31;
    const auto news = talk.alice(other, 2);
    REQUIRE(news.original == 0);
    REQUIRE(news.finding == Finding{FindingKind::connection_request, 0, 0x31, 2000});
    REQUIRE(talk.bob(rep()).connected->qpn[0] == 0x31);
  }
}

TEST_CASE("the same id on both sides does not confuse two exchanges") {
  CmTalk talk;
  talk.alice(req());
  talk.bob(rep());
  // Bob asks as well, with the id that alice has; she answers with another.
  wire::CmReq from_bob = req();
  from_bob.local_qpn = 0x22;
  talk.bob(from_bob, 9);
  wire::CmRep from_alice = rep();
  from_alice.local_qpn = 0x21;
  from_alice.local_communication_id = 0x33333333;
  const auto news = talk.alice(from_alice, 9);
  REQUIRE(news.connected);
  REQUIRE(news.connected->qpn[0] == 0x22);
  REQUIRE(news.connected->address[0] == kBob);
  wire::CmDreq end;
  end.local_communication_id = 0x33333333;
  end.remote_communication_id = kAliceId;
  REQUIRE(talk.alice(end).finding->related == 3);
  REQUIRE(talk.alice(by<wire::CmDreq>(true)).finding->related == 1);
}

TEST_CASE("a capture begun late still shows what messages are") {
  CmTalk talk;
  REQUIRE(talk.bob(rep()).finding == Finding{FindingKind::connection_established, 0, 0x12, 1000});
  REQUIRE(talk.alice(by<wire::CmRtu>(true)).finding->kind == FindingKind::connection_established);
  REQUIRE(talk.alice(by<wire::CmDreq>(true)).finding->kind == FindingKind::connection_closed);
  REQUIRE(talk.bob(by<wire::CmDrep>(false)).finding->kind == FindingKind::connection_closed);
  REQUIRE(talk.bob(by<wire::CmRej>(false)).finding->kind == FindingKind::connection_rejected);
  REQUIRE(talk.exchange.size() == 0);
}

TEST_CASE("SIDR finds a datagram service, or does not") {
  CmTalk talk;
  wire::CmSidrReq request;
  request.request_id = kAliceId;
  REQUIRE(talk.alice(request).finding == Finding{FindingKind::connection_request, 0, 0, kNone});
  wire::CmSidrRep reply;
  reply.request_id = kAliceId;
  reply.qpn = 0x39;
  SECTION("found") {
    const auto news = talk.bob(reply);
    REQUIRE(news.finding == Finding{FindingKind::connection_established, 1, 0x39, kNone});
    REQUIRE(news.answers == 1);
    REQUIRE_FALSE(news.connected);
    REQUIRE_FALSE(talk.bob(reply).finding);
  }
  SECTION("refused") {
    reply.status = wire::CmSidrStatus::no_qp;
    const auto news = talk.bob(reply);
    REQUIRE(news.finding == Finding{FindingKind::connection_rejected, 1, 3, kNone});
    REQUIRE(sentence(*news.finding) ==
            "No queue pair: no queue pair available (status 3) (frame 1)");
  }
  SECTION("asked again") {
    REQUIRE(talk.alice(request).finding->kind == FindingKind::retransmission_timeout);
    // A connection's id is another number than a request's.
    REQUIRE(talk.alice(req()).finding->kind == FindingKind::connection_request);
  }
}

TEST_CASE("messages without a part in it say nothing") {
  CmTalk talk;
  talk.alice(req());
  REQUIRE_FALSE(talk.bob(by<wire::CmMra>(false)).finding);
  REQUIRE_FALSE(talk.alice(wire::CmLap{}).finding);
  REQUIRE_FALSE(talk.bob(wire::CmApr{}).finding);
}

TEST_CASE("what is no CM message is let alone") {
  CmTalk talk;
  Frame f = talk.frame(true, req());
  REQUIRE(CmExchange::may_be_message(f));
  SECTION("another queue pair, Q_Key, opcode or size") {
    Frame other = f;
    other.headers.bth.destination_qpn = 2;
    REQUIRE_FALSE(talk.exchange.on_packet(other));
    other = f;
    other.headers.deth.queue_key = 0x11111111;
    REQUIRE_FALSE(talk.exchange.on_packet(other));
    other = f;
    other.headers.bth.opcode = Opcode::rc_send_only;
    REQUIRE_FALSE(talk.exchange.on_packet(other));
    other = f;
    other.payload_size = 255;
    REQUIRE_FALSE(talk.exchange.on_packet(other));
  }
  SECTION("another management class") {
    std::vector<std::byte> bytes(f.payload.begin(), f.payload.end());
    bytes[1] = std::byte{3};
    f.payload = bytes;
    REQUIRE_FALSE(talk.exchange.on_packet(f));
  }
  SECTION("cut off by the capture") {
    const wire::ByteView whole = f.payload;
    for (std::size_t size = 0; size <= whole.size(); ++size) {
      INFO(size << " bytes captured");
      CmExchange fresh;
      f.payload = whole.first(size);
      // MAD header, REQ up to the end of its primary path.
      REQUIRE(fresh.on_packet(f).has_value() == (size >= 24 + 96));
    }
  }
}

TEST_CASE("a bounded number of exchanges is remembered, the newest") {
  CmTalk talk(8);
  for (std::uint32_t id = 1; id <= 100; ++id) {
    wire::CmReq request = req();
    request.local_communication_id = id;
    talk.alice(request, id);
  }
  REQUIRE(talk.exchange.size() == 8);
  wire::CmRep reply = rep();
  reply.remote_communication_id = 100;
  REQUIRE(talk.bob(reply).connected);
  reply.remote_communication_id = 93;
  REQUIRE(talk.bob(reply).connected);
  reply.remote_communication_id = 92;
  REQUIRE_FALSE(talk.bob(reply).connected);
  REQUIRE(talk.exchange.memory() > 0);
}

// --- through the analyzer ---

Said cm(CapturedTalk& talk, CmTalk& messages, bool from_alice, const CmMessage& message,
        std::uint64_t transaction = 1) {
  const Frame f = messages.frame(from_alice, message, transaction);
  return talk.packet(from_alice, Opcode::ud_send_only, talk.frame() + 1, wire::kMadSize,
                     [&](Frame& seen) {
                       seen.headers.bth.destination_qpn = 1;
                       seen.headers.deth = f.headers.deth;
                       seen.payload = f.payload;
                     });
}

TEST_CASE("a connection made by CM is one stream with its terms, and its messages are linked") {
  CapturedTalk talk;
  CmTalk messages;
  REQUIRE(cm(talk, messages, true, req()).only().kind == FindingKind::connection_request);
  const Said reply = cm(talk, messages, false, rep());
  REQUIRE(reply.only() == Finding{FindingKind::connection_established, 1, 0x12, 1000});
  REQUIRE(reply.record.answers == 1);
  REQUIRE(talk.analyzer.find(1)->answered_in == 2);
  REQUIRE(cm(talk, messages, true, by<wire::CmRtu>(true)).record.answers == 2);

  // The first packet of all comes from bob, whose stream is known before alice says a word.
  const Said read = talk.packet(false, Opcode::rc_read_request, 2000, 0, CapturedTalk::reth(64));
  REQUIRE(read.nothing());
  const Stream stream = talk.stream(read.record.stream);
  REQUIRE(stream.paired_by == PairedBy::cm);
  REQUIRE(stream.sides[0].qpn == 0x12);
  REQUIRE(stream.sides[1].qpn == 0x11);
  REQUIRE(stream.path_mtu == 256);
  REQUIRE(stream.retry_count[0] == 3);
  REQUIRE(stream.rnr_retry_count[0] == 6);
  REQUIRE(stream.rnr_retry_count[1] == 5);
  REQUIRE(stream.ack_timeout[0] == 14);
  REQUIRE(talk.send(1000).record.stream == read.record.stream);

  cm(talk, messages, true, by<wire::CmDreq>(true));
  const Said end = cm(talk, messages, false, by<wire::CmDrep>(false));
  REQUIRE(end.only().kind == FindingKind::connection_closed);
  REQUIRE(end.record.answers == talk.frame() - 1);
}

TEST_CASE("a REQ sent again after a time-out is a retransmission, a doubled one is not") {
  CapturedTalk talk;
  CmTalk messages;
  cm(talk, messages, true, req());
  const Said doubled = talk.doubled();
  REQUIRE(doubled.only().kind == FindingKind::duplicate);
  talk.wait(4s);
  const Said again = cm(talk, messages, true, req());
  REQUIRE(again.only().kind == FindingKind::retransmission_timeout);
  REQUIRE(again.only().related == 1);
  REQUIRE(again.record.original == 1);
  REQUIRE(again.record.repetition == 1);
}

TEST_CASE("a new connection of the same queue pairs is another stream") {
  CapturedTalk talk;
  CmTalk messages;
  cm(talk, messages, true, req());
  cm(talk, messages, false, rep());
  const std::uint32_t first = talk.send(1000).record.stream;
  cm(talk, messages, true, by<wire::CmDreq>(true));
  wire::CmReq again = req();
  again.local_communication_id = 0x44444444;
  again.starting_psn = Psn(7000);
  cm(talk, messages, true, again, 2);
  wire::CmRep reply = rep();
  reply.remote_communication_id = 0x44444444;
  reply.starting_psn = Psn(8000);
  cm(talk, messages, false, reply, 2);
  const Said sent = talk.send(8000);
  REQUIRE(sent.record.stream != first);
  REQUIRE_FALSE(sent.has(FindingKind::psn_gap));
}

}  // namespace
}  // namespace softrnic::analysis::test
