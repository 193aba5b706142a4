// SPDX-License-Identifier: BSD-3-Clause
#include "nic/event_queue.hpp"

namespace softrnic::nic {
namespace {

using transport::AsyncEvent;

constexpr AsyncEvent kEvents[] = {
    AsyncEvent::completion_queue_error,     AsyncEvent::queue_pair_fatal,
    AsyncEvent::queue_pair_request_error,   AsyncEvent::queue_pair_access_error,
    AsyncEvent::communication_established,  AsyncEvent::send_queue_drained,
    AsyncEvent::shared_receive_queue_error, AsyncEvent::shared_receive_queue_limit,
    AsyncEvent::last_request_reached,
};

std::uint64_t key_of(AsyncEvent event, std::uint32_t number) {
  return std::uint64_t{number} << 8 | static_cast<std::uint8_t>(event);
}

}  // namespace

void EventQueue::raise(AsyncEvent event, std::uint32_t number) {
  const auto [place, is_new] = waiting_.try_emplace(key_of(event, number));
  if (!is_new) return;
  const bool first = order_.empty();
  place->second = order_.insert(order_.end(), {event, number});
  if (first && on_first_) on_first_();
}

std::optional<Event> EventQueue::poll() {
  if (order_.empty()) return std::nullopt;
  const Event event = order_.front();
  waiting_.erase(key_of(event.event, event.number));
  order_.pop_front();
  return event;
}

void EventQueue::forget(transport::EventObject object, std::uint32_t number) {
  for (const AsyncEvent event : kEvents) {
    if (transport::object_of(event) != object) continue;
    const auto found = waiting_.find(key_of(event, number));
    if (found == waiting_.end()) continue;
    order_.erase(found->second);
    waiting_.erase(found);
  }
}

}  // namespace softrnic::nic
