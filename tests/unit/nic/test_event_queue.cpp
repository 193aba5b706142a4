// SPDX-License-Identifier: BSD-3-Clause
#include <catch2/catch.hpp>
#include <set>
#include <string>

#include "nic/event_queue.hpp"
#include "nic_world.hpp"

namespace softrnic::nic {
namespace {

using transport::AsyncEvent;
using transport::EventObject;

TEST_CASE("events come out in order, once each while they wait") {
  EventQueue events;
  CHECK(events.poll() == std::nullopt);
  events.raise(AsyncEvent::send_queue_drained, 7);
  events.raise(AsyncEvent::queue_pair_fatal, 7);
  events.raise(AsyncEvent::send_queue_drained, 8);
  events.raise(AsyncEvent::send_queue_drained, 7);
  CHECK(events.size() == 3);
  CHECK(events.poll() == Event{AsyncEvent::send_queue_drained, 7});
  events.raise(AsyncEvent::send_queue_drained, 7);  // after it was heard it is news again
  CHECK(events.poll() == Event{AsyncEvent::queue_pair_fatal, 7});
  CHECK(events.poll() == Event{AsyncEvent::send_queue_drained, 8});
  CHECK(events.poll() == Event{AsyncEvent::send_queue_drained, 7});
  CHECK(events.poll() == std::nullopt);
}

TEST_CASE("the same number of another kind of object is another object") {
  EventQueue events;
  events.raise(AsyncEvent::completion_queue_error, 7);
  events.raise(AsyncEvent::shared_receive_queue_limit, 7);
  events.raise(AsyncEvent::last_request_reached, 7);
  events.raise(AsyncEvent::communication_established, 7);
  events.raise(AsyncEvent::communication_established, 8);
  events.forget(EventObject::queue_pair, 7);
  events.forget(EventObject::queue_pair, 9);
  CHECK(events.poll() == Event{AsyncEvent::completion_queue_error, 7});
  events.forget(EventObject::shared_receive_queue, 7);
  CHECK(events.poll() == Event{AsyncEvent::communication_established, 8});
  CHECK(events.poll() == std::nullopt);
}

TEST_CASE("whoever waits is woken once for each time the queue fills") {
  EventQueue events;
  int woken = 0;
  events.on_first([&] { ++woken; });
  events.raise(AsyncEvent::queue_pair_fatal, 1);
  events.raise(AsyncEvent::queue_pair_fatal, 2);
  CHECK(woken == 1);
  events.poll();
  events.raise(AsyncEvent::queue_pair_fatal, 3);
  CHECK(woken == 1);
  while (events.poll()) {
  }
  events.raise(AsyncEvent::queue_pair_fatal, 1);
  CHECK(woken == 2);
}

TEST_CASE("every event has words of its own") {
  std::set<std::string> words;
  int events = 0;
  for (unsigned i = 0; i < 32; ++i) {
    const auto text = transport::to_string(static_cast<AsyncEvent>(i));
    if (text == "unknown event") continue;
    ++events;
    words.emplace(text);
  }
  CHECK(events == 9);
  CHECK(words.size() == 9);
}

TEST_CASE("a queue pair's events go with it") {
  test::NicWorld world;
  Nic& nic = world.add(1);
  test::Endpoint e = test::make_endpoint(nic, wire::Service::reliable_connection, 64);
  const std::uint32_t qpn = e.qpn();
  nic.events().raise(AsyncEvent::communication_established, qpn);
  nic.events().raise(AsyncEvent::communication_established, qpn + 1);
  REQUIRE_FALSE(nic.destroy_queue_pair(qpn));
  CHECK(nic.events().poll() == Event{AsyncEvent::communication_established, qpn + 1});
  CHECK(nic.events().poll() == std::nullopt);
}

}  // namespace
}  // namespace softrnic::nic
