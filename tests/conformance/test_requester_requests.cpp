// SPDX-License-Identifier: BSD-3-Clause
// What the RC requester sends: segmentation, headers, acknowledge requests, depth, fence.
#include <catch2/catch.hpp>

#include "conformance/subject.hpp"

namespace softrnic::conformance {

using transport::SendOperation;
using transport::SendRequest;
using wire::Opcode;

namespace {

Bytes memory_of(Subject& subject, std::size_t offset, std::size_t length) {
  const auto from = subject.bytes().begin() + static_cast<std::ptrdiff_t>(offset);
  return {from, from + static_cast<std::ptrdiff_t>(length)};
}

}  // namespace

TEST_CASE("9.7.3 A SEND of nothing is one packet") {
  Subject subject;
  subject.post(SendOperation::send, 1, 0, 0);
  const Packet packet = subject.transmit_one();
  CHECK(describe(packet) == "RC SEND Only psn 1000 ackreq 0 B");
  CHECK(packet.bth().destination_qpn == kPeerQpn);
  CHECK(packet.bth().partition_key == 0xffff);
  CHECK(packet.bth().version == 0);
  CHECK(packet.bth().pad_count == 0);
}

TEST_CASE("9.2.3 The pad count fills the payload up to a multiple of four") {
  for (std::uint32_t length = 0; length < 9; ++length) {
    Subject subject;
    subject.post(SendOperation::send, 1, 0, length);
    CHECK(subject.transmit_one().bth().pad_count == (4 - length % 4) % 4);
  }
}

TEST_CASE("9.4 Messages are cut at the path MTU: first, middle, last, or only") {
  Subject subject;
  subject.post(SendOperation::send, 1, 0, kPathMtu);
  subject.post(SendOperation::send, 2, 0, kPathMtu + 1);
  subject.post(SendOperation::rdma_write, 3, 0, 3 * kPathMtu);
  const auto packets = subject.transmit();
  CHECK(describe(packets) ==
        Lines{"RC SEND Only psn 1000 ackreq 256 B", "RC SEND First psn 1001 256 B",
              "RC SEND Last psn 1002 ackreq 1 B", "RC RDMA WRITE First psn 1003 256 B",
              "RC RDMA WRITE Middle psn 1004 256 B", "RC RDMA WRITE Last psn 1005 ackreq 256 B"});
  CHECK(packets[2].payload == memory_of(subject, 256, 1));
  CHECK(packets[4].payload == memory_of(subject, 256, 256));
}

TEST_CASE("9.4 Every path MTU cuts a message of 10000 bytes as it should") {
  for (const std::uint32_t mtu : {256u, 512u, 1024u, 2048u, 4096u}) {
    Subject subject(Setup().with([&](auto& a) { a.path_mtu = mtu; }));
    subject.post(SendOperation::rdma_write, 1, 0, 10000);
    const auto packets = subject.transmit();
    REQUIRE(packets.size() == (10000 + mtu - 1) / mtu);
    Bytes all;
    for (const Packet& packet : packets) {
      CHECK(packet.payload.size() == std::min<std::size_t>(mtu, 10000 - all.size()));
      all.insert(all.end(), packet.payload.begin(), packet.payload.end());
    }
    CHECK(all == memory_of(subject, 0, 10000));
  }
}

TEST_CASE("9.3.3 The RETH stands in the first packet and tells the whole message") {
  Subject subject;
  subject.post(SendOperation::rdma_write, 1, 0, 300, [](SendRequest& r) {
    r.remote_address = 0x123456789abcdef0;
    r.remote_key = 0xcafe;
  });
  const auto packets = subject.transmit();
  REQUIRE(packets.size() == 2);
  CHECK(packets[0].headers.reth.virtual_address == 0x123456789abcdef0);
  CHECK(packets[0].headers.reth.remote_key == 0xcafe);
  CHECK(packets[0].headers.reth.dma_length == 300);
}

TEST_CASE("9.3.6 Immediate data and the solicited bit stand in the last packet") {
  const auto edit = [](SendRequest& r) {
    r.immediate = 0x01020304;
    r.solicited = true;
  };
  Subject subject;
  subject.post(SendOperation::send_with_immediate, 1, 0, 300, edit);
  subject.post(SendOperation::rdma_write_with_immediate, 2, 0, 0, edit);
  const auto packets = subject.transmit();
  CHECK(describe(packets) ==
        Lines{"RC SEND First psn 1000 256 B",
              "RC SEND Last with Immediate psn 1001 ackreq solicited 44 B",
              "RC RDMA WRITE Only with Immediate psn 1002 ackreq solicited 0 B"});
  CHECK(packets[1].headers.immdt.data == 0x01020304);
  CHECK(packets[2].headers.immdt.data == 0x01020304);
}

TEST_CASE("9.7.1 A READ takes as many PSNs as its response, an atomic one") {
  Subject subject;
  subject.post(SendOperation::rdma_read, 1, 0, 3 * kPathMtu + 1);
  subject.post(SendOperation::fetch_add, 2, 8, 8);
  subject.post(SendOperation::rdma_read, 3, 0, 0);
  subject.post(SendOperation::send, 4, 0, 1);
  const auto packets = subject.transmit();
  CHECK(describe(packets) ==
        Lines{"RC RDMA READ Request psn 1000 ackreq", "RC FetchAdd psn 1004 ackreq",
              "RC RDMA READ Request psn 1005 ackreq", "RC SEND Only psn 1006 ackreq 1 B"});
  CHECK(packets[0].headers.reth.dma_length == 769);
}

TEST_CASE("9.7.1 The first PSN is the one agreed, and PSNs wrap") {
  Subject subject(Setup().with([](auto& a) { a.send_psn = wire::Psn(0xffffff); }));
  subject.post(SendOperation::rdma_write, 1, 0, 3 * kPathMtu);
  CHECK(describe(subject.transmit()) == Lines{"RC RDMA WRITE First psn 16777215 256 B",
                                              "RC RDMA WRITE Middle psn 0 256 B",
                                              "RC RDMA WRITE Last psn 1 ackreq 256 B"});
  subject.deliver(acknowledge(1, 1));
  CHECK(describe(subject.sent()) == Lines{"1 success"});
  CHECK(subject.qp().next_deadline() == wire::kNever);
}

TEST_CASE("9.4.5 An atomic carries its operands where the standard puts them") {
  Subject subject;
  const auto edit = [](SendRequest& r) {
    r.remote_address = 0x1008;
    r.remote_key = 0xcafe;
    r.swap_add = 0x1111;
    r.compare = 0x2222;
  };
  subject.post(SendOperation::compare_swap, 1, 0, 8, edit);
  subject.post(SendOperation::fetch_add, 2, 8, 8, edit);
  const auto packets = subject.transmit();
  REQUIRE(packets.size() == 2);
  CHECK(packets[0].headers.atomic_eth == wire::AtomicEth{0x1008, 0xcafe, 0x1111, 0x2222});
  CHECK(packets[1].headers.atomic_eth.swap_add == 0x1111);
}

TEST_CASE("9.7.3 The last packet of a signaled request asks for an acknowledgement") {
  Subject subject;
  subject.post(SendOperation::rdma_write, 1, 0, 4, [](SendRequest& r) { r.signaled = false; });
  subject.post(SendOperation::rdma_write, 2, 0, 4, [](SendRequest& r) { r.signaled = false; });
  subject.post(SendOperation::rdma_write, 3, 0, 4);
  CHECK(describe(subject.transmit()) == Lines{"RC RDMA WRITE Only psn 1000 4 B",
                                              "RC RDMA WRITE Only psn 1001 4 B",
                                              "RC RDMA WRITE Only psn 1002 ackreq 4 B"});
}

TEST_CASE("9.7.3 The last request in the queue asks for an acknowledgement, signaled or not") {
  Subject subject;
  subject.post(SendOperation::rdma_write, 1, 0, 4, [](SendRequest& r) { r.signaled = false; });
  CHECK(describe(subject.transmit()) == Lines{"RC RDMA WRITE Only psn 1000 ackreq 4 B"});
  subject.deliver(acknowledge(1000, 1));
  CHECK(subject.sent().empty());
  CHECK(subject.qp().send_queue_depth() == 0);
}

TEST_CASE("9.7.3 A long message asks on its way, so that a window can move") {
  Subject subject;
  subject.post(SendOperation::rdma_write, 1, 0, 64 * kPathMtu);
  std::size_t without = 0;
  std::size_t longest = 0;
  for (const Packet& packet : subject.transmit()) {
    without = packet.bth().ack_request ? 0 : without + 1;
    longest = std::max(longest, without);
  }
  CHECK(longest < 64);
}

TEST_CASE("9.7.3 No more READs and atomics are outstanding than the agreed depth") {
  Subject subject(Setup().with([](auto& a) { a.max_rd_atomic = 2; }));
  for (std::uint64_t id = 1; id <= 4; ++id) {
    subject.post(SendOperation::rdma_read, id, 8 * id, 8);
  }
  CHECK(describe(subject.transmit()) ==
        Lines{"RC RDMA READ Request psn 1000 ackreq", "RC RDMA READ Request psn 1001 ackreq"});
  subject.deliver(read_response(Opcode::rc_read_response_only, 1000, pattern(8), 1));
  CHECK(describe(subject.transmit()) == Lines{"RC RDMA READ Request psn 1002 ackreq"});
  subject.deliver(read_response(Opcode::rc_read_response_only, 1001, pattern(8), 2));
  subject.deliver(read_response(Opcode::rc_read_response_only, 1002, pattern(8), 3));
  CHECK(describe(subject.transmit()) == Lines{"RC RDMA READ Request psn 1003 ackreq"});
  CHECK(describe(subject.sent()) == Lines{"1 success", "2 success", "3 success"});
}

TEST_CASE("9.7.3 Requests behind a READ that must wait keep their order") {
  Subject subject(Setup().with([](auto& a) { a.max_rd_atomic = 1; }));
  subject.post(SendOperation::rdma_read, 1, 0, 8);
  subject.post(SendOperation::fetch_add, 2, 8, 8);
  subject.post(SendOperation::send, 3, 0, 4);
  CHECK(describe(subject.transmit()) == Lines{"RC RDMA READ Request psn 1000 ackreq"});
  subject.deliver(read_response(Opcode::rc_read_response_only, 1000, pattern(8), 1));
  CHECK(describe(subject.transmit()) ==
        Lines{"RC FetchAdd psn 1001 ackreq", "RC SEND Only psn 1002 ackreq 4 B"});
}

TEST_CASE("10.8.3.3 A fenced request waits for the READs and atomics before it") {
  Subject subject;
  subject.post(SendOperation::rdma_read, 1, 0, 8);
  subject.post(SendOperation::rdma_write, 2, 0, 8, [](SendRequest& r) { r.fence = true; });
  CHECK(describe(subject.transmit()) == Lines{"RC RDMA READ Request psn 1000 ackreq"});
  subject.deliver(read_response(Opcode::rc_read_response_only, 1000, pattern(8, 77), 1));
  const Packet write = subject.transmit_one();
  CHECK(describe(write) == "RC RDMA WRITE Only psn 1001 ackreq 8 B");
  CHECK(write.payload == pattern(8, 77));
}

TEST_CASE("10.8.3.3 A fence does not wait for SENDs and WRITEs") {
  Subject subject;
  subject.post(SendOperation::rdma_write, 1, 0, 8);
  subject.post(SendOperation::send, 2, 0, 8, [](SendRequest& r) { r.fence = true; });
  CHECK(subject.transmit().size() == 2);
}

TEST_CASE("11.4.1.1 A request whose memory is not the user's fails in its turn") {
  Subject subject;
  subject.post(SendOperation::send, 1, 0, 4);
  subject.post(SendOperation::send, 2, Subject::kSize - 3, 4);  // one byte too far
  subject.post(SendOperation::send, 3, 0, 4);
  CHECK(describe(subject.transmit()) == Lines{"RC SEND Only psn 1000 ackreq 4 B"});
  CHECK(subject.sent().empty());  // not before the one ahead of it
  subject.deliver(acknowledge(1000, 1));
  subject.transmit();
  CHECK(describe(subject.sent()) ==
        Lines{"1 success", "2 local protection error", "3 Work Request Flushed Error"});
  CHECK(subject.qp().state() == transport::QueuePairState::error);
}

TEST_CASE("11.4.1.1 What a READ fetches must go where the user may write") {
  Subject subject;
  const auto read_only = subject.add_region(Subject::kDomain, transport::kRemoteRead);
  const transport::Sge sge{Subject::kBase, 8, read_only.local};
  SendRequest request;
  request.id = 1;
  request.operation = SendOperation::rdma_read;
  request.sges = {&sge, 1};
  REQUIRE_FALSE(subject.qp().post_send(request).has_value());
  CHECK(subject.transmit().empty());
  CHECK(describe(subject.sent()) == Lines{"1 local protection error"});
}

TEST_CASE("11.4.1.1 A message is gathered from its elements in order") {
  Subject subject;
  const transport::Sge sges[] = {subject.local(100, 3), subject.local(50, 0), subject.local(0, 300),
                                 subject.local(7, 5)};
  SendRequest request;
  request.id = 1;
  request.sges = sges;
  REQUIRE_FALSE(subject.qp().post_send(request).has_value());
  const auto packets = subject.transmit();
  REQUIRE(packets.size() == 2);
  Bytes expected = memory_of(subject, 100, 3);
  for (const auto& [offset, length] : {std::pair{0, 300}, std::pair{7, 5}}) {
    const Bytes piece =
        memory_of(subject, static_cast<std::size_t>(offset), static_cast<std::size_t>(length));
    expected.insert(expected.end(), piece.begin(), piece.end());
  }
  Bytes all = packets[0].payload;
  all.insert(all.end(), packets[1].payload.begin(), packets[1].payload.end());
  CHECK(all == expected);
}

}  // namespace softrnic::conformance
