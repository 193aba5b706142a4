// SPDX-License-Identifier: BSD-3-Clause
// The NIC's asynchronous events, in the order in which they happened (IBTA vol. 1, 11.5.2, 11.6.3).
//
// An event is kept until it is polled or its object is gone; one that is still waiting is not
// queued a second time. So there are never more than one per object and kind, and none is lost.
// Not thread-safe.
#pragma once

#include <cstdint>
#include <functional>
#include <list>
#include <optional>
#include <unordered_map>

#include "transport/async_event.hpp"

namespace softrnic::nic {

struct Event {
  transport::AsyncEvent event{};
  std::uint32_t number = 0;  // of the queue it is about

  bool operator==(const Event&) const = default;
};

class EventQueue final : public transport::EventSink {
 public:
  void raise(transport::AsyncEvent event, std::uint32_t number) override;

  // The oldest, taken out.
  std::optional<Event> poll();
  std::size_t size() const { return order_.size(); }

  // Called, during whatever raised it, when an event comes into the empty queue: for a descriptor
  // that somebody waits on. It must not call the NIC.
  void on_first(std::function<void()> callback) { on_first_ = std::move(callback); }

  // The object is about to go: events about it would name one that is no more, or another.
  void forget(transport::EventObject object, std::uint32_t number);

 private:
  using Order = std::list<Event>;

  Order order_;
  std::unordered_map<std::uint64_t, Order::iterator> waiting_;  // by event and number
  std::function<void()> on_first_;
};

}  // namespace softrnic::nic
