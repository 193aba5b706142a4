// SPDX-License-Identifier: BSD-3-Clause
// Shared receive queue: receives that whichever of its queue pairs needs one first takes
// (IBTA vol. 1, 10.2.9). One of an XRC domain serves that domain's targets, and is named by its
// number in each of their requests (annex A14).
#pragma once

#include <cstdint>
#include <optional>

#include "transport/async_event.hpp"
#include "transport/completion.hpp"
#include "transport/memory_gate.hpp"
#include "transport/receive_ring.hpp"

namespace softrnic::transport {

// Of one receive.
inline constexpr std::uint32_t kMaxReceiveSges = 32;

struct SharedReceiveQueueCapacity {
  std::uint32_t requests = 64;
  std::uint32_t sges = 1;  // per request, up to kMaxReceiveSges
};

// What a shared receive queue is made with. References must outlive it.
struct SharedReceiveQueueContext {
  std::uint32_t number = 0;
  ProtectionDomain domain{};  // whose memory its receives name
  SharedReceiveQueueCapacity capacity;
  // Where the receives of an XRC domain's queue complete; those of another complete where their
  // queue pair has it.
  CompletionSink* completions = nullptr;
  EventSink& events = unheard_events();
};

class SharedReceiveQueue {
 public:
  explicit SharedReceiveQueue(const SharedReceiveQueueContext& context);

  std::uint32_t number() const { return context_.number; }
  ProtectionDomain domain() const { return context_.domain; }
  CompletionSink* completions() const { return context_.completions; }
  const SharedReceiveQueueCapacity& capacity() const { return context_.capacity; }
  std::uint32_t size() const { return ring_.size(); }

  std::optional<PostError> post(const ReceiveRequest& request) { return ring_.push(request); }

  // Another number of requests; false, and nothing changes, when more than that wait (11.2.3.3).
  bool resize(std::uint32_t requests);

  // As soon as fewer receives than `limit` wait, be it at once, the limit event is raised, and the
  // limit is zero again, which is never reached (10.2.9.3). False when it is more than the queue
  // can hold.
  bool arm(std::uint32_t limit);
  std::uint32_t limit() const { return limit_; }

  // The oldest receive, for a queue pair to take over before it pops it here; null when none waits.
  const ReceiveEntry* front() const { return ring_.size() == 0 ? nullptr : &ring_.front(); }
  void pop();

 private:
  void check_limit();

  SharedReceiveQueueContext context_;
  ReceiveRing ring_;
  std::uint32_t limit_ = 0;
};

}  // namespace softrnic::transport
