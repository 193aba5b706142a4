// SPDX-License-Identifier: BSD-3-Clause
// What the RC responder does with its unsent answers when something happens meanwhile.
#include <catch2/catch.hpp>

#include "conversation.hpp"
#include "transport/retry_policy.hpp"

using namespace softrnic::transport;
using namespace softrnic::transport::test;

namespace {

constexpr std::uint64_t kHere = 0x10000, kThere = 0x1000;

QueuePairAttributes attributes() {
  QueuePairAttributes a;
  a.path_mtu = 256;
  a.max_rd_atomic = a.max_dest_rd_atomic = 4;
  return a;
}

void post_read(Conversation& c, std::uint32_t length) {
  const Sge sge{kHere, length, FlatMemory::kKey};
  SendRequest r{.id = 1, .operation = SendOperation::rdma_read, .sges = {&sge, 1}};
  r.remote_address = kThere;
  r.remote_key = FlatMemory::kKey;
  REQUIRE_FALSE(c.ends[0].qp.post_send(r));
}

void ask(Conversation& c) {
  SentPacket request;
  REQUIRE(c.take(0, request));
  c.deliver(1, request);
}

}  // namespace

TEST_CASE("a READ taken up again replaces the answer on its way out", "[rc]") {
  constexpr std::uint32_t kPackets = 400;
  Conversation c(attributes());
  for (std::size_t i = 0; i < kPackets * 256; ++i) {
    c.ends[1].memory.bytes[kThere + i] = static_cast<std::byte>(i * 7 + (i >> 8));
  }
  post_read(c, kPackets * 256);
  ask(c);
  std::uint32_t answers = 0, lost = 0;
  SentPacket packet;
  while (c.take(1, packet)) {
    ++answers;
    if (answers % 50 == 10) {
      ++lost;
      continue;
    }
    c.deliver(0, packet);
    if (c.take(0, packet)) c.deliver(1, packet);
  }
  REQUIRE(lost >= 8);
  // Each loss costs its packet and the one that showed it.
  REQUIRE(answers == kPackets + 2 * lost);
  REQUIRE(c.ends[0].sends.completions.size() == 1);
  REQUIRE(c.ends[0].sends.completions[0].status == CompletionStatus::success);
  const auto& a = c.ends[0].memory.bytes;
  const auto& b = c.ends[1].memory.bytes;
  REQUIRE(std::equal(a.begin() + kHere, a.begin() + kHere + kPackets * 256, b.begin() + kThere));
}

TEST_CASE("a queue pair that fails as requester sends no more READ responses", "[rc]") {
  Conversation c(attributes());
  post_read(c, 100 * 256);
  ask(c);
  SentPacket packet;
  REQUIRE(c.take(1, packet));
  // Its own request names a key that does not exist.
  const Sge bad{0, 8, 77};
  REQUIRE_FALSE(c.ends[1].qp.post_send({.id = 2, .sges = {&bad, 1}}));
  int more = 0;
  while (c.ends[1].qp.state() != QueuePairState::error) {
    REQUIRE(c.ends[1].qp.wants_transmit(c.now));
    more += c.take(1, packet);
  }
  REQUIRE(more <= 99);
  REQUIRE_FALSE(c.ends[1].qp.wants_transmit(c.now));
}

TEST_CASE("a message whose completion is lost is not acknowledged", "[rc]") {
  for (const auto operation : {SendOperation::send, SendOperation::rdma_write_with_immediate}) {
    Conversation c(attributes());
    c.ends[1].receives.room = 0;
    const Sge sge{kHere, 100, FlatMemory::kKey};
    REQUIRE_FALSE(c.ends[1].qp.post_receive({.id = 7, .sges = {&sge, 1}}));
    SendRequest r{.id = 1, .operation = operation, .sges = {&sge, 1}};
    r.remote_address = kThere;
    r.remote_key = FlatMemory::kKey;
    REQUIRE_FALSE(c.ends[0].qp.post_send(r));
    c.run();
    REQUIRE(c.ends[0].sends.completions.size() == 1);
    REQUIRE(c.ends[0].sends.completions[0].status == CompletionStatus::remote_operational_error);
  }
}

TEST_CASE("a READ of more PSNs than can be told apart is refused", "[rc]") {
  Conversation c(attributes());
  const Sge half{0, 0x40000000u, FlatMemory::kKey};
  const Sge sges[2] = {half, half};
  SendRequest r{.id = 1, .operation = SendOperation::rdma_read, .sges = sges};
  r.remote_key = FlatMemory::kKey;
  for (Endpoint& e : c.ends) e.memory.bytes.resize(1 << 20);
  REQUIRE_FALSE(c.ends[0].qp.post_send(r));
  c.run();
  REQUIRE(c.log.empty());
  REQUIRE(c.ends[0].sends.completions.size() == 1);
  REQUIRE(c.ends[0].sends.completions[0].status == CompletionStatus::local_length_error);
}

TEST_CASE("gaps without end leave room for the answers of new requests", "[rc]") {
  QueuePairAttributes a = attributes();
  a.max_rd_atomic = a.max_dest_rd_atomic = 1;
  Conversation c(a);
  SentPacket packet;
  packet.headers.bth.opcode = softrnic::wire::Opcode::rc_write_only;
  for (std::uint32_t i = 0; i < 64; ++i) {
    packet.headers.bth.psn = softrnic::wire::Psn(i + 5);  // a gap
    c.deliver(1, packet);
    packet.headers.bth.psn = softrnic::wire::Psn(i);  // expected
    c.deliver(1, packet);
  }
  packet.headers.bth.opcode = softrnic::wire::Opcode::rc_read_request;
  packet.headers.bth.psn = softrnic::wire::Psn(64);
  c.deliver(1, packet);
  bool answered = false;
  while (c.take(1, packet)) {
    answered |= packet.headers.bth.opcode == softrnic::wire::Opcode::rc_read_response_only;
  }
  REQUIRE(answered);
}
