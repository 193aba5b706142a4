// SPDX-License-Identifier: BSD-3-Clause
#include "transport/async_event.hpp"

namespace softrnic::transport {

std::string_view to_string(AsyncEvent event) {
  switch (event) {
    case AsyncEvent::completion_queue_error:
      return "CQ error";
    case AsyncEvent::queue_pair_fatal:
      return "local work queue catastrophic error";
    case AsyncEvent::queue_pair_request_error:
      return "invalid request local work queue error";
    case AsyncEvent::queue_pair_access_error:
      return "local access violation work queue error";
    case AsyncEvent::communication_established:
      return "communication established";
    case AsyncEvent::send_queue_drained:
      return "send queue drained";
    case AsyncEvent::shared_receive_queue_error:
      return "SRQ catastrophic error";
    case AsyncEvent::shared_receive_queue_limit:
      return "SRQ limit reached";
    case AsyncEvent::last_request_reached:
      return "last WQE reached";
  }
  return "unknown event";
}

EventSink& unheard_events() {
  struct Unheard final : EventSink {
    void raise(AsyncEvent, std::uint32_t) override {}
  };
  static Unheard sink;
  return sink;
}

}  // namespace softrnic::transport
