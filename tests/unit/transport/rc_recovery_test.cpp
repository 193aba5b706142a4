// SPDX-License-Identifier: BSD-3-Clause
// One conversation holding every RC operation, and every way a single packet of it, or any two,
// can be lost, doubled or delayed: the outcome must always be the same.
#include <catch2/catch.hpp>

#include "conversation.hpp"
#include "transport/retry_policy.hpp"

using namespace softrnic::transport;
using namespace softrnic::transport::test;
using softrnic::wire::Psn;

namespace {

constexpr std::uint64_t kSource = 0x1000, kTarget = 0x40000, kAnswers = 0x80000;
constexpr std::uint32_t kMtu = 256;

struct Step {
  SendOperation operation;
  std::uint32_t length;
};

constexpr Step kSteps[] = {
    {SendOperation::send, 700},
    {SendOperation::rdma_write, 0},
    {SendOperation::rdma_write, 1000},
    {SendOperation::rdma_read, 600},
    {SendOperation::rdma_write_with_immediate, 300},
    {SendOperation::fetch_add, 8},
    {SendOperation::rdma_read, 0},
    {SendOperation::send_with_immediate, 1},
    {SendOperation::compare_swap, 8},
    {SendOperation::rdma_read, 256},
    {SendOperation::send, 0},
};

std::byte pattern(std::size_t i) {
  return static_cast<std::byte>(i * 31 + (i >> 8));
}

// Posts all steps, each with its own place on both sides.
void post_all(Conversation& c, bool signaled = true) {
  for (std::size_t i = 0; i < c.ends[0].memory.bytes.size(); ++i) {
    c.ends[0].memory.bytes[i] = i < kTarget ? pattern(i) : std::byte{0};
    c.ends[1].memory.bytes[i] = i < kTarget ? pattern(i + 77) : std::byte{0};
  }
  for (std::uint64_t i = 0; i < 4; ++i) {
    const Sge sge{kAnswers + i * 0x1000, 0x1000, FlatMemory::kKey};
    REQUIRE_FALSE(c.ends[1].qp.post_receive({.id = 100 + i, .sges = {&sge, 1}}));
  }
  std::uint64_t i = 0;
  for (const Step& step : kSteps) {
    const bool answer = step.operation == SendOperation::rdma_read ||
                        step.operation == SendOperation::fetch_add ||
                        step.operation == SendOperation::compare_swap;
    const Sge sge{(answer ? kAnswers : kSource) + i * 0x1000, step.length, FlatMemory::kKey};
    const bool atomic = answer && step.operation != SendOperation::rdma_read;
    SendRequest r;
    r.id = i;
    r.operation = step.operation;
    r.signaled = signaled || i + 1 == std::size(kSteps);
    r.sges = {&sge, 1};
    r.remote_address = atomic ? kTarget - 8 : (answer ? kSource : kTarget) + i * 0x1000;
    r.remote_key = FlatMemory::kKey;
    r.immediate = 0x1000 + static_cast<std::uint32_t>(i);
    r.swap_add = 5;
    REQUIRE_FALSE(c.ends[0].qp.post_send(r));
    ++i;
  }
}

void check_outcome(Conversation& c) {
  const auto& a = c.ends[0].memory.bytes;
  const auto& b = c.ends[1].memory.bytes;
  REQUIRE(c.ends[0].sends.completions.size() == std::size(kSteps));
  for (std::size_t i = 0; i < std::size(kSteps); ++i) {
    const Completion& done = c.ends[0].sends.completions[i];
    REQUIRE(done.id == i);
    REQUIRE(done.status == CompletionStatus::success);
    const Step& step = kSteps[i];
    bool same = true;
    for (std::size_t k = 0; k < step.length; ++k) {
      if (step.operation == SendOperation::rdma_write ||
          step.operation == SendOperation::rdma_write_with_immediate) {
        same = same && b[kTarget + i * 0x1000 + k] == a[kSource + i * 0x1000 + k];
      } else if (step.operation == SendOperation::rdma_read) {
        same = same && a[kAnswers + i * 0x1000 + k] == b[kSource + i * 0x1000 + k];
      }
    }
    REQUIRE(same);
  }
  const auto& r = c.ends[1].receives.completions;
  REQUIRE(r.size() == 4);
  const std::uint32_t lengths[] = {700, 300, 1, 0};
  for (std::size_t i = 0; i < 4; ++i) {
    REQUIRE(r[i].id == 100 + i);
    REQUIRE(r[i].status == CompletionStatus::success);
    REQUIRE(r[i].byte_length == lengths[i]);
  }
  REQUIRE(r[1].immediate == 0x1004);
  REQUIRE(r[2].immediate == 0x1007);
  REQUIRE(std::equal(b.begin() + kAnswers, b.begin() + kAnswers + 700, a.begin() + kSource));
  REQUIRE(c.ends[1].memory.atomics_executed == 2);
  REQUIRE(c.ends[0].qp.next_deadline() == softrnic::wire::kNever);
  REQUIRE(c.ends[0].qp.send_queue_depth() == 0);
}

QueuePairAttributes attributes(std::uint32_t first_psn, std::uint8_t depth) {
  QueuePairAttributes a;
  a.path_mtu = kMtu;
  a.send_psn = a.receive_psn = Psn(first_psn);
  a.max_rd_atomic = a.max_dest_rd_atomic = depth;
  return a;
}

std::size_t packets_without_fault(std::uint32_t psn, std::uint8_t depth) {
  Conversation c(attributes(psn, depth));
  post_all(c);
  c.run();
  check_outcome(c);
  return c.log.size();
}

}  // namespace

TEST_CASE("RC: a conversation of every operation runs without loss", "[rc]") {
  for (const std::uint8_t depth : std::initializer_list<std::uint8_t>{1, 2, 16}) {
    REQUIRE(packets_without_fault(0xfffffa, depth) > 20);
  }
}

TEST_CASE("RC: any one packet may be lost, doubled or delayed", "[rc]") {
  for (const bool signaled : {true, false}) {
    for (const std::uint8_t depth : std::initializer_list<std::uint8_t>{1, 3}) {
      const std::size_t n = packets_without_fault(0xfffff0, depth);
      for (const Fate what : {Fate::drop, Fate::duplicate, Fate::hold}) {
        for (std::size_t k = 0; k < n; ++k) {
          INFO("packet " << k << " fate " << static_cast<int>(what) << " depth " << int{depth});
          Conversation c(attributes(0xfffff0, depth));
          c.fate = [&](std::size_t i, const SentPacket&) { return i == k ? what : Fate::deliver; };
          post_all(c, signaled);
          c.run();
          if (signaled) {
            check_outcome(c);
          } else {
            REQUIRE(c.ends[0].sends.completions.size() == 1);
            REQUIRE(c.ends[0].sends.completions[0].status == CompletionStatus::success);
            REQUIRE(c.ends[1].receives.completions.size() == 4);
            REQUIRE(c.ends[1].memory.atomics_executed == 2);
          }
        }
      }
    }
  }
}

TEST_CASE("RC: any two packets may be lost", "[rc]") {
  const std::size_t n = packets_without_fault(0xfffff0, 4);
  for (std::size_t k = 0; k < n; ++k) {
    for (std::size_t m = k + 1; m < n + 12; ++m) {
      INFO("packets " << k << " and " << m);
      Conversation c(attributes(0xfffff0, 4));
      c.fate = [&](std::size_t i, const SentPacket&) {
        return i == k || i == m ? Fate::drop : Fate::deliver;
      };
      post_all(c);
      c.run();
      check_outcome(c);
    }
  }
}

TEST_CASE("RC: a peer that never answers ends in retry exceeded, within the bound", "[rc]") {
  for (const std::uint8_t retries : std::initializer_list<std::uint8_t>{0, 1, 7}) {
    QueuePairAttributes a = attributes(7, 4);
    a.retry_count = retries;
    a.timeout = 10;
    Conversation c(a);
    c.fate = [](std::size_t, const SentPacket& p) {
      return p.from == 0 ? Fate::drop : Fate::deliver;
    };
    post_all(c);
    c.run();
    const auto& done = c.ends[0].sends.completions;
    REQUIRE(done.size() == std::size(kSteps));
    REQUIRE(done[0].status == CompletionStatus::retry_exceeded);
    for (std::size_t i = 1; i < done.size(); ++i) {
      REQUIRE(done[i].id == i);
      REQUIRE(done[i].status == CompletionStatus::work_request_flushed);
    }
    REQUIRE(c.ends[0].qp.state() == QueuePairState::error);
    const auto elapsed = c.now - softrnic::wire::Instant{};
    REQUIRE(elapsed >= (retries + 1) * local_ack_timeout(10));
    REQUIRE(elapsed <= (retries + 1) * local_ack_timeout_limit(10));
  }
}

TEST_CASE("RC: no receive ends in RNR retries, waits and their exhaustion", "[rc]") {
  QueuePairAttributes a = attributes(7, 4);
  a.rnr_retry = 2;
  a.min_rnr_timer = 22;
  Conversation c(a);
  const Sge sge{kSource, 64, FlatMemory::kKey};
  REQUIRE_FALSE(c.ends[0].qp.post_send({.id = 9, .sges = {&sge, 1}}));
  c.run();
  int tries = 0;
  for (const SentPacket& p : c.log) tries += p.from == 0;
  REQUIRE(tries == 3);
  REQUIRE(c.ends[0].sends.completions.size() == 1);
  REQUIRE(c.ends[0].sends.completions[0].status == CompletionStatus::rnr_retry_exceeded);
  REQUIRE(c.now - softrnic::wire::Instant{} == 2 * softrnic::wire::rnr_timer(22));
}

TEST_CASE("RC: requests that break a rule get the standard's NAK and move no byte", "[rc]") {
  struct Case {
    SendOperation operation;
    std::uint64_t address;
    std::uint32_t key;
    softrnic::wire::NakCode nak;
    CompletionStatus status;
  };
  using softrnic::wire::NakCode;
  const Case cases[] = {
      {SendOperation::rdma_write, kTarget, 99, NakCode::remote_access_error,
       CompletionStatus::remote_access_error},
      {SendOperation::rdma_write, kTarget, FlatMemory::kReadOnlyKey, NakCode::remote_access_error,
       CompletionStatus::remote_access_error},
      {SendOperation::rdma_write, (1 << 20) - 100, FlatMemory::kKey, NakCode::remote_access_error,
       CompletionStatus::remote_access_error},
      {SendOperation::rdma_read, ~std::uint64_t{0} - 4, FlatMemory::kKey,
       NakCode::remote_access_error, CompletionStatus::remote_access_error},
      {SendOperation::fetch_add, kTarget + 4, FlatMemory::kKey, NakCode::invalid_request,
       CompletionStatus::remote_invalid_request},
  };
  for (const Case& test : cases) {
    Conversation c(attributes(0xffffff, 4));
    const auto before = c.ends[1].memory.bytes;
    const Sge sge{kSource, 1000, FlatMemory::kKey};
    SendRequest r{.id = 1, .operation = test.operation, .sges = {&sge, 1}};
    r.remote_address = test.address;
    r.remote_key = test.key;
    REQUIRE_FALSE(c.ends[0].qp.post_send(r));
    c.run();
    REQUIRE(c.ends[0].sends.completions.size() == 1);
    REQUIRE(c.ends[0].sends.completions[0].status == test.status);
    REQUIRE(c.ends[1].memory.bytes == before);
    REQUIRE(c.ends[1].qp.state() == QueuePairState::error);
    const SentPacket* nak = nullptr;
    for (const SentPacket& p : c.log) {
      if (p.from == 1) nak = &p;
    }
    REQUIRE(nak != nullptr);
    REQUIRE(nak->headers.aeth.syndrome == softrnic::wire::Syndrome::nak(test.nak));
    REQUIRE(nak->headers.bth.psn == Psn(0xffffff));
    REQUIRE(nak->headers.aeth.msn == 0);
  }
}

TEST_CASE("RC: a bad local key fails in its turn and flushes what follows", "[rc]") {
  Conversation c(attributes(0, 4));
  const Sge good{kSource, 600, FlatMemory::kKey};
  const Sge bad{kSource, 600, 77};
  for (std::uint64_t i = 0; i < 4; ++i) {
    SendRequest r{.id = i, .operation = SendOperation::rdma_write, .signaled = false};
    r.sges = {i == 2 ? &bad : &good, 1};
    r.remote_address = kTarget;
    r.remote_key = FlatMemory::kKey;
    REQUIRE_FALSE(c.ends[0].qp.post_send(r));
  }
  c.run();
  const auto& done = c.ends[0].sends.completions;
  REQUIRE(done.size() == 2);
  REQUIRE(done[0].id == 2);
  REQUIRE(done[0].status == CompletionStatus::local_protection_error);
  REQUIRE(done[1].id == 3);
  REQUIRE(done[1].status == CompletionStatus::work_request_flushed);
  // The two good ones arrived and were acknowledged without waiting for a timer.
  REQUIRE(c.now == softrnic::wire::Instant{});
}

TEST_CASE("RC: no more READs outstanding than the initiator depth", "[rc]") {
  for (const std::uint8_t depth : std::initializer_list<std::uint8_t>{1, 3}) {
    Conversation c(attributes(0, depth));
    const Sge sge{kAnswers, 500, FlatMemory::kKey};
    for (std::uint64_t i = 0; i < 10; ++i) {
      SendRequest r{.id = i, .operation = SendOperation::rdma_read, .sges = {&sge, 1}};
      r.remote_address = kSource;
      r.remote_key = FlatMemory::kKey;
      REQUIRE_FALSE(c.ends[0].qp.post_send(r));
    }
    int sent = 0;
    SentPacket packet;
    while (c.take(0, packet)) ++sent;
    REQUIRE(sent == depth);
  }
}

TEST_CASE("RC: a full completion queue fails the queue pair, once", "[rc]") {
  Conversation c(attributes(0, 4));
  c.ends[0].sends.room = 3;
  post_all(c);
  c.run();
  REQUIRE(c.ends[0].sends.completions.size() == 3);
  REQUIRE(c.ends[0].qp.state() == QueuePairState::error);
  REQUIRE(c.ends[0].qp.send_queue_depth() == 0);
}
