// SPDX-License-Identifier: BSD-3-Clause
// SQD at random moments of a conversation that loses, repeats and reorders packets.
#include <catch2/catch.hpp>
#include <random>

#include "conversation.hpp"

using namespace softrnic;
using namespace softrnic::transport;
using namespace softrnic::transport::test;

namespace {

constexpr std::uint64_t kRequests = 40;

// A request of any kind whose length is of any kind, unsignaled as often as not.
SendRequest any_request(std::mt19937& random, std::uint64_t id, Sge& sge) {
  constexpr std::uint32_t kLengths[] = {0, 1, 255, 256, 257, 700, 2000};
  constexpr SendOperation kOperations[] = {SendOperation::send, SendOperation::rdma_write,
                                           SendOperation::rdma_read, SendOperation::fetch_add};
  SendRequest request;
  request.id = id;
  request.operation = kOperations[random() % 4];
  request.signaled = random() % 2 == 0;
  sge = {0x1000, request.operation == SendOperation::fetch_add ? 8 : kLengths[random() % 7],
         FlatMemory::kKey};
  request.sges = {&sge, 1};
  request.remote_address = 0x8000;
  request.remote_key = FlatMemory::kKey;
  return request;
}

void modify(QueuePair& qp, QueuePairState to) {
  REQUIRE(qp.modify(to, qp.attributes()) == std::nullopt);
}

}  // namespace

TEST_CASE("SQD at any moment: what has begun ends, what has not waits, nothing is lost",
          "[states]") {
  for (std::uint32_t seed = 1; seed <= 200; ++seed) {
    CAPTURE(seed);
    std::mt19937 random(seed);
    QueuePairAttributes attributes;
    attributes.path_mtu = 256;
    attributes.max_rd_atomic = attributes.max_dest_rd_atomic = 1 + seed % 4;
    attributes.timeout = 8;
    Conversation c(attributes);
    QueuePair& qp = c.ends[0].qp;
    for (std::uint64_t id = 0; id < kRequests; ++id) {
      Sge sge;
      REQUIRE_FALSE(qp.post_send(any_request(random, id, sge)));
      const Sge in{0x4000, 4096, FlatMemory::kKey};
      REQUIRE_FALSE(c.ends[1].qp.post_receive({.id = id, .sges = {&in, 1}}));
    }
    std::size_t drain_at = random() % 30;
    std::size_t drains = 0;
    bool loses = true;
    c.fate = [&](std::size_t n, const SentPacket&) {
      if (n == drain_at && qp.state() == QueuePairState::ready_to_send) {
        modify(qp, QueuePairState::send_queue_drain);
        ++drains;
      }
      if (!loses) return Fate::deliver;
      switch (random() % 16) {
        case 0:
          return Fate::drop;
        case 1:
          return Fate::duplicate;
        case 2:
          return Fate::hold;
        default:
          return Fate::deliver;
      }
    };
    for (int round = 0; round < 1000 && qp.send_queue_depth() > 0; ++round) {
      c.run();
      if (qp.state() != QueuePairState::send_queue_drain) {
        REQUIRE(qp.state() == QueuePairState::ready_to_send);
        continue;
      }
      // Time has done its work: nothing moves any more, so the queue has drained and rests.
      REQUIRE_FALSE(qp.draining());
      REQUIRE_FALSE(qp.wants_transmit(c.now));
      REQUIRE(qp.next_deadline() == wire::kNever);
      drain_at = c.log.size() + random() % 30;
      modify(qp, QueuePairState::ready_to_send);
    }
    REQUIRE(qp.send_queue_depth() == 0);
    CHECK(drains > 0);
    std::uint64_t last = 0;
    for (const Completion& completion : c.ends[0].sends.completions) {
      REQUIRE(completion.status == CompletionStatus::success);
      REQUIRE((last == 0 || completion.id > last));
      last = completion.id;
    }
  }
}
