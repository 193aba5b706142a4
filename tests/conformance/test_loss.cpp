// SPDX-License-Identifier: BSD-3-Clause
// One packet lost, doubled or late: each packet of each operation in turn (9.7.5.1, 9.7.6.1).
#include <array>
#include <catch2/catch.hpp>

#include "conformance/connection.hpp"

namespace softrnic::conformance {

using transport::SendOperation;
using transport::SendRequest;

namespace {

// Three packets and a little, from the requester's 4096 to the responder's 8192 or back.
constexpr std::uint32_t kLength = 3 * kPathMtu + 9;
constexpr std::uint64_t kAt = 4096;
constexpr std::uint64_t kTo = 8192;
constexpr std::uint64_t kFirstWord = 500;
constexpr std::uint64_t kAdd = 7;

constexpr std::array kOperations = {
    SendOperation::send,
    SendOperation::send_with_immediate,
    SendOperation::send_with_invalidate,
    SendOperation::rdma_write,
    SendOperation::rdma_write_with_immediate,
    SendOperation::rdma_read,
    SendOperation::compare_swap,
    SendOperation::fetch_add,
    SendOperation::atomic_write,
    SendOperation::flush,
};

bool is_send(SendOperation operation) {
  return operation == SendOperation::send || operation == SendOperation::send_with_immediate ||
         operation == SendOperation::send_with_invalidate;
}

bool takes_receive(SendOperation operation) {
  return is_send(operation) || operation == SendOperation::rdma_write_with_immediate;
}

bool is_word(SendOperation operation) {
  return operation == SendOperation::compare_swap || operation == SendOperation::fetch_add ||
         operation == SendOperation::atomic_write;
}

Bytes bytes_at(Subject& subject, std::uint64_t offset, std::uint32_t length) {
  const auto from = subject.bytes().begin() + static_cast<std::ptrdiff_t>(offset);
  return {from, from + length};
}

// A key of the responder that a SEND with invalidate may name: a region registered fast.
std::uint32_t fast_region(Subject& subject) {
  const auto keys = subject.memory().allocate(Subject::kDomain, 4096);
  REQUIRE(keys.has_value());
  const auto fault = subject.memory().fast_register(
      Subject::kDomain, {.key = keys->remote,
                         .access = transport::kRemoteRead,
                         .address = 0,
                         .host_address = reinterpret_cast<std::uintptr_t>(subject.bytes().data()),
                         .length = 4096});
  REQUIRE(fault == transport::MemoryFault::none);
  return keys->remote;
}

// The operation under examination, and a WRITE behind it that must not overtake it.
void post(Connection& connection, SendOperation operation) {
  const std::uint32_t key =
      operation == SendOperation::send_with_invalidate ? fast_region(connection.responder()) : 0;
  connection.responder().set_word(kTo, kFirstWord);
  if (takes_receive(operation)) {
    connection.responder().post_receive(21, kTo, 2048);
    connection.responder().post_receive(22, 0, 8);
  }
  const std::uint32_t length = is_word(operation)                  ? 8
                               : operation == SendOperation::flush ? 0
                                                                   : kLength;
  connection.post(operation, 1, kAt, length, kTo, [&](SendRequest& request) {
    request.immediate = 0x01020304;
    request.invalidate_key = key;
    request.compare = kFirstWord;
    request.swap_add = kAdd;
    request.flush_length = 64;
    request.placement = transport::kGlobalVisibility;
    if (operation == SendOperation::flush) {
      request.sges = {};
      request.remote_key =
          connection.responder().add_region(Subject::kDomain, transport::kFlushGlobal).remote;
    }
  });
  connection.post(SendOperation::rdma_write, 2, 0, 16, 16384);
}

// The outcome is the same whatever happened on the way.
void check_outcome(Connection& connection, SendOperation operation) {
  Subject& requester = connection.requester();
  Subject& responder = connection.responder();
  CHECK(describe(requester.sent()) == Lines{"1 success", "2 success"});
  CHECK(describe(responder.received()) ==
        (takes_receive(operation) ? Lines{"21 success"} : Lines{}));
  CHECK(responder.qp().receive_queue_depth() == (takes_receive(operation) ? 1 : 0));
  CHECK(requester.qp().state() == transport::QueuePairState::ready_to_send);
  CHECK(responder.qp().state() == transport::QueuePairState::ready_to_send);
  CHECK(bytes_at(requester, 0, 16) == bytes_at(responder, 16384, 16));
  switch (operation) {
    case SendOperation::fetch_add:
      CHECK(responder.word(kTo) == kFirstWord + kAdd);  // once
      CHECK(requester.word(kAt) == kFirstWord);
      break;
    case SendOperation::compare_swap:
      CHECK(responder.word(kTo) == kAdd);
      CHECK(requester.word(kAt) == kFirstWord);  // the saved result, not the swapped word
      break;
    case SendOperation::atomic_write:
      CHECK(responder.word(kTo) == requester.word(kAt));
      break;
    case SendOperation::flush:
      break;
    default:
      CHECK(bytes_at(requester, kAt, kLength) == bytes_at(responder, kTo, kLength));
  }
}

// Every packet of the undisturbed exchange meets `fate`, one at a time, and again where the PSN
// wraps.
void disturb_each(Fate fate) {
  for (const SendOperation operation : kOperations) {
    for (const std::uint32_t first_psn : {kSendPsn, 0xfffffeu, 0xffffffu}) {
      Connection undisturbed(first_psn);
      post(undisturbed, operation);
      REQUIRE(undisturbed.run());
      check_outcome(undisturbed, operation);
      const std::size_t packets = undisturbed.wire().size();
      for (std::size_t k = 0; k < packets; ++k) {
        INFO(to_string(operation) << " from PSN " << first_psn << ", packet " << k << ": "
                                  << undisturbed.wire()[k]);
        Connection connection(first_psn);
        post(connection, operation);
        REQUIRE(connection.run(
            [&](std::size_t i, const Packet&) { return i == k ? fate : Fate::arrives; }));
        check_outcome(connection, operation);
      }
    }
  }
}

Lines wire_of(SendOperation operation, std::size_t lost) {
  Connection connection;
  post(connection, operation);
  REQUIRE(connection.run(
      [&](std::size_t i, const Packet&) { return i == lost ? Fate::is_lost : Fate::arrives; }));
  check_outcome(connection, operation);
  return connection.wire();
}

}  // namespace

TEST_CASE("9.7.6.1 Any one packet of any operation may be lost") {
  disturb_each(Fate::is_lost);
}

TEST_CASE("9.7.6.1 Any two packets of any operation may be lost, the repeated ones too") {
  for (const SendOperation operation : kOperations) {
    Connection undisturbed;
    post(undisturbed, operation);
    REQUIRE(undisturbed.run());
    const std::size_t packets = undisturbed.wire().size();
    for (std::size_t first = 0; first < packets; ++first) {
      for (std::size_t second = first + 1; second < first + packets + 2; ++second) {
        INFO(to_string(operation) << ", packets " << first << " and " << second);
        Connection connection;
        post(connection, operation);
        REQUIRE(connection.run([&](std::size_t i, const Packet&) {
          return i == first || i == second ? Fate::is_lost : Fate::arrives;
        }));
        check_outcome(connection, operation);
      }
    }
  }
}

TEST_CASE("9.7.5.1.5 Any one packet of any operation may come twice") {
  disturb_each(Fate::arrives_twice);
}

TEST_CASE("9.7.4.1.1 Any one packet of any operation may come late") {
  disturb_each(Fate::arrives_late);
}

TEST_CASE("9.7.5.2.8 The first packet of a SEND lost: one NAK, and all is sent again") {
  CHECK(wire_of(SendOperation::send, 0) ==
        Lines{"> RC SEND First psn 1000 256 B (lost)", "> RC SEND Middle psn 1001 256 B",
              "> RC SEND Middle psn 1002 256 B", "> RC SEND Last psn 1003 ackreq 9 B",
              "> RC RDMA WRITE Only psn 1004 ackreq 16 B",
              "< NAK PSN Sequence Error psn 1000 msn 0", "> RC SEND First psn 1000 256 B",
              "> RC SEND Middle psn 1001 256 B", "> RC SEND Middle psn 1002 256 B",
              "> RC SEND Last psn 1003 ackreq 9 B", "> RC RDMA WRITE Only psn 1004 ackreq 16 B",
              "< ACK psn 1004 msn 2"});
}

TEST_CASE("9.7.5.2.8 A middle packet of a WRITE lost: the tail is sent again") {
  CHECK(wire_of(SendOperation::rdma_write, 1) ==
        Lines{"> RC RDMA WRITE First psn 1000 256 B",
              "> RC RDMA WRITE Middle psn 1001 256 B (lost)",
              "> RC RDMA WRITE Middle psn 1002 256 B", "> RC RDMA WRITE Last psn 1003 ackreq 9 B",
              "> RC RDMA WRITE Only psn 1004 ackreq 16 B",
              "< NAK PSN Sequence Error psn 1001 msn 0", "> RC RDMA WRITE Middle psn 1001 256 B",
              "> RC RDMA WRITE Middle psn 1002 256 B", "> RC RDMA WRITE Last psn 1003 ackreq 9 B",
              "> RC RDMA WRITE Only psn 1004 ackreq 16 B", "< ACK psn 1004 msn 2"});
}

TEST_CASE("9.7.5.2.8 The last packet of a WRITE with immediate lost: it is sent again") {
  CHECK(wire_of(SendOperation::rdma_write_with_immediate, 3) ==
        Lines{"> RC RDMA WRITE First psn 1000 256 B", "> RC RDMA WRITE Middle psn 1001 256 B",
              "> RC RDMA WRITE Middle psn 1002 256 B",
              "> RC RDMA WRITE Last with Immediate psn 1003 ackreq 9 B (lost)",
              "> RC RDMA WRITE Only psn 1004 ackreq 16 B",
              "< NAK PSN Sequence Error psn 1003 msn 0",
              "> RC RDMA WRITE Last with Immediate psn 1003 ackreq 9 B",
              "> RC RDMA WRITE Only psn 1004 ackreq 16 B", "< ACK psn 1004 msn 2"});
}

TEST_CASE("9.7.6.1.3 The acknowledgement lost: a timeout, duplicates, and it comes again") {
  CHECK(wire_of(SendOperation::send, 5) ==
        Lines{"> RC SEND First psn 1000 256 B", "> RC SEND Middle psn 1001 256 B",
              "> RC SEND Middle psn 1002 256 B", "> RC SEND Last psn 1003 ackreq 9 B",
              "> RC RDMA WRITE Only psn 1004 ackreq 16 B", "< ACK psn 1004 msn 2 (lost)",
              "> RC SEND First psn 1000 256 B", "> RC SEND Middle psn 1001 256 B",
              "> RC SEND Middle psn 1002 256 B", "> RC SEND Last psn 1003 ackreq 9 B",
              "> RC RDMA WRITE Only psn 1004 ackreq 16 B", "< ACK psn 1004 msn 2"});
}

TEST_CASE("9.7.6.1 A READ's response lost at any place: a new READ for what is missing") {
  const Lines request = {"> RC RDMA READ Request psn 1000 ackreq",
                         "> RC RDMA WRITE Only psn 1004 ackreq 16 B"};
  const Lines responses = {"< RC RDMA READ response First psn 1000 msn 1 256 B",
                           "< RC RDMA READ response Middle psn 1001 256 B",
                           "< RC RDMA READ response Middle psn 1002 256 B",
                           "< RC RDMA READ response Last psn 1003 msn 1 9 B",
                           "< ACK psn 1004 msn 2"};
  const Lines again[] = {
      {"> RC RDMA READ Request psn 1000 ackreq", "> RC RDMA WRITE Only psn 1004 ackreq 16 B",
       "< RC RDMA READ response First psn 1000 msn 2 256 B",
       "< RC RDMA READ response Middle psn 1001 256 B",
       "< RC RDMA READ response Middle psn 1002 256 B",
       "< RC RDMA READ response Last psn 1003 msn 2 9 B", "< ACK psn 1004 msn 2"},
      {"> RC RDMA READ Request psn 1001 ackreq", "> RC RDMA WRITE Only psn 1004 ackreq 16 B",
       "< RC RDMA READ response First psn 1001 msn 2 256 B",
       "< RC RDMA READ response Middle psn 1002 256 B",
       "< RC RDMA READ response Last psn 1003 msn 2 9 B", "< ACK psn 1004 msn 2"},
      {"> RC RDMA READ Request psn 1002 ackreq", "> RC RDMA WRITE Only psn 1004 ackreq 16 B",
       "< RC RDMA READ response First psn 1002 msn 2 256 B",
       "< RC RDMA READ response Last psn 1003 msn 2 9 B", "< ACK psn 1004 msn 2"},
      {"> RC RDMA READ Request psn 1003 ackreq", "> RC RDMA WRITE Only psn 1004 ackreq 16 B",
       "< RC RDMA READ response Only psn 1003 msn 2 9 B", "< ACK psn 1004 msn 2"}};
  for (std::size_t lost = 0; lost < 4; ++lost) {
    Lines expected = request;
    for (std::size_t i = 0; i < responses.size(); ++i) {
      expected.push_back(responses[i] + (i == lost ? " (lost)" : ""));
    }
    expected.insert(expected.end(), again[lost].begin(), again[lost].end());
    CHECK(wire_of(SendOperation::rdma_read, request.size() + lost) == expected);
  }
}

TEST_CASE("9.7.5.1.5 An atomic's response lost: the saved result is sent, nothing is executed") {
  CHECK(wire_of(SendOperation::fetch_add, 2) ==
        Lines{"> RC FetchAdd psn 1000 ackreq", "> RC RDMA WRITE Only psn 1001 ackreq 16 B",
              "< RC ATOMIC Acknowledge psn 1000 msn 1 (lost)", "< ACK psn 1001 msn 2",
              "> RC FetchAdd psn 1000 ackreq", "> RC RDMA WRITE Only psn 1001 ackreq 16 B",
              "< RC ATOMIC Acknowledge psn 1000 msn 2", "< ACK psn 1001 msn 2"});
}

TEST_CASE("9.7.6.1.3 The retransmission lost too: it is sent until an answer comes") {
  Connection connection;
  connection.post(SendOperation::rdma_write, 1, 0, 4, 0);
  REQUIRE(connection.run(
      [](std::size_t i, const Packet&) { return i < 3 ? Fate::is_lost : Fate::arrives; }));
  CHECK(connection.wire() == Lines{"> RC RDMA WRITE Only psn 1000 ackreq 4 B (lost)",
                                   "> RC RDMA WRITE Only psn 1000 ackreq 4 B (lost)",
                                   "> RC RDMA WRITE Only psn 1000 ackreq 4 B (lost)",
                                   "> RC RDMA WRITE Only psn 1000 ackreq 4 B",
                                   "< ACK psn 1000 msn 1"});
  CHECK(describe(connection.requester().sent()) == Lines{"1 success"});
}

TEST_CASE("9.7.1 A retransmission runs over the PSN's end as the first transmission did") {
  Connection connection(0xfffffe);
  connection.post(SendOperation::rdma_write, 1, 0, 4 * kPathMtu, 0);
  REQUIRE(connection.run(
      [](std::size_t i, const Packet&) { return i == 1 ? Fate::is_lost : Fate::arrives; }));
  CHECK(connection.wire() ==
        Lines{"> RC RDMA WRITE First psn 16777214 256 B",
              "> RC RDMA WRITE Middle psn 16777215 256 B (lost)",
              "> RC RDMA WRITE Middle psn 0 256 B", "> RC RDMA WRITE Last psn 1 ackreq 256 B",
              "< NAK PSN Sequence Error psn 16777215 msn 0",
              "> RC RDMA WRITE Middle psn 16777215 256 B", "> RC RDMA WRITE Middle psn 0 256 B",
              "> RC RDMA WRITE Last psn 1 ackreq 256 B", "< ACK psn 1 msn 1"});
}

TEST_CASE("9.7.1 A READ response that runs over the PSN's end is taken up again there") {
  Connection connection(0xfffffe);
  connection.post(SendOperation::rdma_read, 1, 0, 4 * kPathMtu, 0);
  REQUIRE(connection.run(
      [](std::size_t i, const Packet&) { return i == 3 ? Fate::is_lost : Fate::arrives; }));
  CHECK(connection.wire() == Lines{"> RC RDMA READ Request psn 16777214 ackreq",
                                   "< RC RDMA READ response First psn 16777214 msn 1 256 B",
                                   "< RC RDMA READ response Middle psn 16777215 256 B",
                                   "< RC RDMA READ response Middle psn 0 256 B (lost)",
                                   "< RC RDMA READ response Last psn 1 msn 1 256 B",
                                   "> RC RDMA READ Request psn 0 ackreq",
                                   "< RC RDMA READ response First psn 0 msn 1 256 B",
                                   "< RC RDMA READ response Last psn 1 msn 1 256 B"});
  CHECK(describe(connection.requester().sent()) == Lines{"1 success"});
}

}  // namespace softrnic::conformance
