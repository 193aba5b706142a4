// SPDX-License-Identifier: BSD-3-Clause
// What the wire shows of memory windows: a peer that oversteps one is told so and cut off (10.6.7,
// 9.7.4.1.5).
#include <catch2/catch.hpp>

#include "conformance/subject.hpp"

namespace softrnic::conformance {

using nic::WindowType;
using wire::Opcode;

namespace {

constexpr std::uint64_t kFirst = Subject::kBase + 4096;
constexpr std::uint64_t kLength = 1024;
constexpr std::uint32_t kEvery =
    transport::kRemoteWrite | transport::kRemoteRead | transport::kRemoteAtomic;

struct Bound {
  WindowType type = WindowType::type_1;
  std::uint32_t access = kEvery;
  transport::ProtectionDomain domain = Subject::kDomain;
  std::uint32_t on_qpn = kSubjectQpn;
};

// A window onto the second page, over a region that may be bound; its key.
std::uint32_t window(Subject& subject, const Bound& how) {
  const auto region =
      subject.add_region(how.domain, transport::kLocalWrite | transport::kBindWindow);
  const auto window = subject.memory().allocate_window(how.domain, how.type);
  REQUIRE(window.has_value());
  const std::uint32_t key = *window ^ 1;
  REQUIRE(subject.memory().bind_window({how.domain, how.on_qpn}, {.window_key = *window,
                                                                  .new_key = key,
                                                                  .region_key = region.local,
                                                                  .access = how.access,
                                                                  .address = kFirst,
                                                                  .length = kLength}) ==
          transport::MemoryFault::none);
  return key;
}

Packet write(std::uint64_t address, std::uint32_t key, std::uint32_t length = 8) {
  return write_request(Opcode::rc_write_only, 500, address, key, length, pattern(length, 200))
      .with_ack_request();
}

void check_refused(Subject& subject, const Packet& packet) {
  const Bytes before = subject.bytes();
  subject.deliver(packet);
  CHECK(describe(subject.transmit()) == Lines{"NAK Remote Access Error psn 500 msn 0"});
  CHECK(subject.bytes() == before);
  CHECK(subject.qp().state() == transport::QueuePairState::error);
}

}  // namespace

TEST_CASE("10.6.7 WRITE, READ and atomics pass a window of each type up to its last byte") {
  for (const WindowType type : {WindowType::type_1, WindowType::type_2a, WindowType::type_2b}) {
    Subject subject;
    const std::uint32_t key = window(subject, {.type = type});
    subject.deliver(write(kFirst + kLength - 8, key));
    CHECK(describe(subject.transmit()) == Lines{"ACK psn 500 msn 1"});
    subject.deliver(read_request(501, kFirst, key, 8));
    CHECK(describe(subject.transmit()) == Lines{"RC RDMA READ response Only psn 501 msn 2 8 B"});
    subject.deliver(fetch_add(502, kFirst + kLength - 8, key, 1));
    CHECK(describe(subject.transmit()) == Lines{"RC ATOMIC Acknowledge psn 502 msn 3"});
  }
}

TEST_CASE("10.6.7 A range that leaves the window, not its region: NAK remote access error") {
  for (const std::uint64_t address :
       {kFirst - 1, kFirst + kLength - 7, kFirst + kLength, kFirst - 8, Subject::kBase}) {
    Subject write_subject;
    check_refused(write_subject, write(address, window(write_subject, {})));
    Subject read_subject;
    check_refused(read_subject, read_request(500, address, window(read_subject, {}), 8));
  }
  Subject atomic;
  check_refused(atomic, fetch_add(500, kFirst + kLength, window(atomic, {}), 1));
}

TEST_CASE("10.6.7 A right that the window was not bound with: NAK remote access error") {
  using namespace transport;
  Subject write_subject, read_subject, atomic;
  check_refused(write_subject, write(kFirst, window(write_subject, {.access = kRemoteRead})));
  check_refused(read_subject,
                read_request(500, kFirst, window(read_subject, {.access = kRemoteWrite}), 8));
  check_refused(atomic,
                fetch_add(500, kFirst, window(atomic, {.access = kRemoteRead | kRemoteWrite}), 1));
}

TEST_CASE("10.6.7 A window of type 2 on another queue pair: NAK remote access error") {
  for (const WindowType type : {WindowType::type_2a, WindowType::type_2b}) {
    Subject subject;
    check_refused(subject, write(kFirst, window(subject, {.type = type, .on_qpn = 0x99})));
  }
}

TEST_CASE("10.6.7 A window of another protection domain: NAK remote access error") {
  for (const WindowType type : {WindowType::type_1, WindowType::type_2b}) {
    Subject subject;
    check_refused(subject,
                  write(kFirst, window(subject, {.type = type, .domain = Subject::kOtherDomain})));
  }
}

TEST_CASE("10.6.7 A window's key from before its last bind: NAK remote access error") {
  Subject subject;
  const std::uint32_t key = window(subject, {});
  check_refused(subject, write(kFirst, key ^ 1));
}

TEST_CASE("10.6.5 A window of type 2 that was invalidated: NAK remote access error") {
  Subject subject;
  const std::uint32_t key = window(subject, {.type = WindowType::type_2b});
  REQUIRE(subject.memory().invalidate_local({Subject::kDomain, kSubjectQpn}, key) ==
          transport::MemoryFault::none);
  check_refused(subject, write(kFirst, key));
}

TEST_CASE("10.6.7 A window that was taken away: NAK remote access error") {
  Subject subject;
  const std::uint32_t key = window(subject, {});
  REQUIRE(subject.memory().remove_window(key));
  check_refused(subject, write(kFirst, key));
}

}  // namespace softrnic::conformance
