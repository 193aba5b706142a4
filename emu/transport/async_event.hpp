// SPDX-License-Identifier: BSD-3-Clause
// Asynchronous events: what happened to a queue that no completion tells (IBTA vol. 1, 11.6.3).
#pragma once

#include <cstdint>
#include <string_view>

namespace softrnic::transport {

// Numbered as ibv_event_type.
enum class AsyncEvent : std::uint8_t {
  completion_queue_error = 0,
  queue_pair_fatal = 1,           // failed, and no completion could tell why
  queue_pair_request_error = 2,   // the responder refused a request as invalid
  queue_pair_access_error = 3,    // the responder refused a request for want of rights
  communication_established = 4,  // the first packet arrived in RTR
  send_queue_drained = 5,
  shared_receive_queue_error = 14,
  shared_receive_queue_limit = 15,
  last_request_reached = 16,  // a queue pair in ERR takes no more from its shared receive queue
};

// The words of ibv_event_type_str: "CQ error", "send queue drained", ...
std::string_view to_string(AsyncEvent event);

// What an event is about; numbers are of these.
enum class EventObject : std::uint8_t { completion_queue, queue_pair, shared_receive_queue };

constexpr EventObject object_of(AsyncEvent event) {
  switch (event) {
    case AsyncEvent::completion_queue_error:
      return EventObject::completion_queue;
    case AsyncEvent::shared_receive_queue_error:
    case AsyncEvent::shared_receive_queue_limit:
      return EventObject::shared_receive_queue;
    default:
      return EventObject::queue_pair;
  }
}

// Where events go. Called in the midst of a packet, a post or a transition: it must not call back.
struct EventSink {
  virtual ~EventSink() = default;
  // `number`: of the completion queue, queue pair or shared receive queue, as object_of() says.
  virtual void raise(AsyncEvent event, std::uint32_t number) = 0;
};

// A sink for whoever does not listen.
EventSink& unheard_events();

}  // namespace softrnic::transport
