// SPDX-License-Identifier: BSD-3-Clause
// Every operation at every length where its cutting into packets changes: 0, 1, MTU - 1, MTU,
// MTU + 1, 3 MTU (9.4, 9.2.3, 9.7.7.1). Both sides, each packet in full.
#include <fmt/format.h>

#include <algorithm>
#include <catch2/catch.hpp>

#include "conformance/connection.hpp"

namespace softrnic::conformance {

using transport::SendOperation;
using transport::SendRequest;
using wire::Opcode;

namespace {

constexpr std::uint32_t kLengths[] = {0, 1, kPathMtu - 1, kPathMtu, kPathMtu + 1, 3 * kPathMtu};
constexpr std::uint32_t kImmediate = 0x01020304;
constexpr std::uint64_t kAt = 4096;
constexpr std::uint64_t kTo = 8192;

std::uint32_t packets_of(std::uint32_t length) {
  return std::max(1u, (length + kPathMtu - 1) / kPathMtu);
}

// What a message of `length` bytes looks like from `psn` on: "RC SEND First psn 1000 256 B", ...
// `suffix`: what its last packet is named besides.
Lines message(const std::string& name, const std::string& suffix, std::uint32_t psn,
              std::uint32_t length, bool acknowledged) {
  Lines lines;
  const std::uint32_t packets = packets_of(length);
  for (std::uint32_t i = 0; i < packets; ++i) {
    const bool last = i + 1 == packets;
    const char* position = packets == 1 ? "Only" : i == 0 ? "First" : last ? "Last" : "Middle";
    lines.push_back(fmt::format("{} {}{} psn {}{} {} B", name, position, last ? suffix : "",
                                psn + i, last && acknowledged ? " ackreq" : "",
                                std::min(kPathMtu, length - i * kPathMtu)));
  }
  return lines;
}

// What the standard says of every packet, whatever it carries.
void check_header(const Packet& packet) {
  CHECK(packet.bth().pad_count == (4 - packet.payload.size() % 4) % 4);
  CHECK(packet.bth().migration_request);
  CHECK(packet.bth().version == 0);
  CHECK(packet.bth().partition_key == 0xffff);
  CHECK(packet.bth().destination_qpn == kPeerQpn);
  CHECK(packet.bth().reserved6 == 0);
  CHECK(packet.bth().reserved7 == 0);
  CHECK_FALSE(packet.bth().fecn);
  CHECK_FALSE(packet.bth().becn);
}

Bytes payload_of(const std::vector<Packet>& packets) {
  Bytes all;
  for (const Packet& packet : packets) {
    all.insert(all.end(), packet.payload.begin(), packet.payload.end());
  }
  return all;
}

Bytes bytes_at(Subject& subject, std::uint64_t offset, std::uint32_t length) {
  const auto from = subject.bytes().begin() + static_cast<std::ptrdiff_t>(offset);
  return {from, from + length};
}

Setup service(wire::Service service) {
  Setup setup;
  setup.service = service;
  return setup;
}

constexpr auto kRc = wire::Service::reliable_connection;
constexpr auto kUc = wire::Service::unreliable_connection;

// A SEND or WRITE as requester: its packets, their payload, its completion.
void check_request(wire::Service kind, SendOperation operation, const std::string& name,
                   const std::string& suffix) {
  for (const std::uint32_t length : kLengths) {
    INFO(name << suffix << " of " << length << " bytes");
    Subject subject(service(kind));
    subject.post(operation, 1, kAt, length, [](SendRequest& r) {
      r.immediate = kImmediate;
      r.invalidate_key = 0xbeef;
    });
    const auto packets = subject.transmit();
    CHECK(describe(packets) == message(name, suffix, kSendPsn, length, kind == kRc));
    for (const Packet& packet : packets) check_header(packet);
    CHECK(payload_of(packets) == bytes_at(subject, kAt, length));
    if (packets.front().info().has(wire::kReth)) {
      CHECK(packets.front().headers.reth.dma_length == length);
    }
    if (packets.back().info().has(wire::kImmDt)) {
      CHECK(packets.back().headers.immdt.data == kImmediate);
    }
    if (packets.back().info().has(wire::kIeth)) {
      CHECK(packets.back().headers.ieth.remote_key == 0xbeef);
    }
    if (kind == kRc) {
      CHECK(subject.sent().empty());
      subject.deliver(acknowledge(kSendPsn + packets_of(length) - 1, 1));
    }
    CHECK(describe(subject.sent()) == Lines{"1 success"});
  }
}

struct Arriving {
  const char* title;
  Opcode first, middle, last, only;
  bool is_write;
  bool completes_receive;
};

// The packets of a message as a peer sends them.
std::vector<Packet> packets_of(const Arriving& kind, const Bytes& data, std::uint64_t address,
                               std::uint32_t key) {
  const auto length = static_cast<std::uint32_t>(data.size());
  const std::uint32_t count = packets_of(length);
  std::vector<Packet> packets;
  for (std::uint32_t i = 0; i < count; ++i) {
    const bool last = i + 1 == count;
    const Opcode opcode = count == 1 ? kind.only
                          : i == 0   ? kind.first
                          : last     ? kind.last
                                     : kind.middle;
    const auto from = data.begin() + i * kPathMtu;
    Packet packet =
        request(opcode, kReceivePsn + i, {from, from + std::min(kPathMtu, length - i * kPathMtu)});
    if (packet.info().has(wire::kReth)) packet.headers.reth = {address, key, length};
    if (packet.info().has(wire::kImmDt)) packet.headers.immdt.data = kImmediate;
    packet.headers.bth.ack_request = last;
    packets.push_back(std::move(packet));
  }
  return packets;
}

// A SEND or WRITE as responder: where it lands, the answer, the completion.
void check_arrival(wire::Service service_kind, const Arriving& kind) {
  for (const std::uint32_t length : kLengths) {
    INFO(kind.title << " of " << length << " bytes");
    Subject subject(service(service_kind));
    Bytes expected = subject.bytes();
    const Bytes data = pattern(length, 101);
    std::copy(data.begin(), data.end(), expected.begin() + kTo);
    if (kind.completes_receive) subject.post_receive(9, kTo, 3 * kPathMtu);
    for (const Packet& packet : packets_of(kind, data, Subject::kBase + kTo, subject.key())) {
      subject.deliver(packet);
    }
    const auto answers = subject.transmit();
    if (service_kind == kRc) {
      const std::uint32_t last = kReceivePsn + packets_of(length) - 1;
      CHECK(describe(answers) == Lines{fmt::format("ACK psn {} msn 1", last)});
      check_header(answers.at(0));
      CHECK_FALSE(answers.at(0).bth().ack_request);
      CHECK(answers.at(0).headers.aeth.syndrome.raw() == 0x1f);  // no credits told
    } else {
      CHECK(answers.empty());
    }
    CHECK(subject.bytes() == expected);
    const auto done = subject.received();
    REQUIRE(done.size() == (kind.completes_receive ? 1u : 0u));
    if (done.empty()) continue;
    CHECK(done[0].id == 9);
    CHECK(done[0].status == transport::CompletionStatus::success);
    CHECK(done[0].byte_length == length);
  }
}

}  // namespace

TEST_CASE("9.4.1 SEND at every length: the requester's packets") {
  check_request(kRc, SendOperation::send, "RC SEND", "");
}

TEST_CASE("9.4.1 SEND with immediate at every length: the requester's packets") {
  check_request(kRc, SendOperation::send_with_immediate, "RC SEND", " with Immediate");
}

TEST_CASE("9.4.1.1.3 SEND with invalidate at every length: the requester's packets") {
  check_request(kRc, SendOperation::send_with_invalidate, "RC SEND", " with Invalidate");
}

TEST_CASE("9.4.3 WRITE at every length: the requester's packets") {
  check_request(kRc, SendOperation::rdma_write, "RC RDMA WRITE", "");
}

TEST_CASE("9.4.3 WRITE with immediate at every length: the requester's packets") {
  check_request(kRc, SendOperation::rdma_write_with_immediate, "RC RDMA WRITE", " with Immediate");
}

TEST_CASE("9.8.2 UC SENDs and WRITEs at every length: the requester's packets") {
  check_request(kUc, SendOperation::send, "UC SEND", "");
  check_request(kUc, SendOperation::send_with_immediate, "UC SEND", " with Immediate");
  check_request(kUc, SendOperation::rdma_write, "UC RDMA WRITE", "");
  check_request(kUc, SendOperation::rdma_write_with_immediate, "UC RDMA WRITE", " with Immediate");
}

TEST_CASE("9.4.1 SENDs at every length: the responder's memory, answer and completion") {
  using enum Opcode;
  check_arrival(kRc,
                {"SEND", rc_send_first, rc_send_middle, rc_send_last, rc_send_only, false, true});
  check_arrival(kRc, {"SEND with immediate", rc_send_first, rc_send_middle, rc_send_last_immediate,
                      rc_send_only_immediate, false, true});
}

TEST_CASE("9.4.1.1.3 SEND with invalidate at every length: the responder's memory and completion") {
  using enum Opcode;
  const Arriving kind{"SEND with invalidate",
                      rc_send_first,
                      rc_send_middle,
                      rc_send_last_invalidate,
                      rc_send_only_invalidate,
                      false,
                      true};
  for (const std::uint32_t length : kLengths) {
    INFO(length << " bytes");
    Subject subject;
    const auto window =
        subject.memory().allocate_window(Subject::kDomain, nic::WindowType::type_2b);
    const auto region =
        subject.add_region(Subject::kDomain, transport::kLocalWrite | transport::kBindWindow);
    REQUIRE(window.has_value());
    REQUIRE(subject.memory().bind_window({Subject::kDomain, kSubjectQpn},
                                         {.window_key = *window,
                                          .new_key = *window ^ 1,
                                          .region_key = region.local,
                                          .access = transport::kRemoteRead,
                                          .address = Subject::kBase,
                                          .length = 64}) == transport::MemoryFault::none);
    const Bytes data = pattern(length, 101);
    subject.post_receive(9, kTo, 3 * kPathMtu);
    for (Packet packet : packets_of(kind, data, 0, 0)) {
      packet.headers.ieth.remote_key = *window ^ 1;
      subject.deliver(packet);
    }
    const std::uint32_t last = kReceivePsn + packets_of(length) - 1;
    CHECK(describe(subject.transmit()) == Lines{fmt::format("ACK psn {} msn 1", last)});
    CHECK(bytes_at(subject, kTo, length) == data);
    const auto done = subject.received();
    REQUIRE(describe(done) == Lines{"9 success"});
    CHECK(done[0].byte_length == length);
    CHECK(done[0].has_invalidate);
    CHECK(done[0].invalidated_key == (*window ^ 1));
    CHECK(subject.memory().check_remote({Subject::kDomain, kSubjectQpn}, *window ^ 1,
                                        Subject::kBase, 8,
                                        transport::kRemoteRead) == transport::MemoryFault::bad_key);
  }
}

TEST_CASE("9.4.3 WRITEs at every length: the responder's memory, answer and completion") {
  using enum Opcode;
  check_arrival(
      kRc, {"WRITE", rc_write_first, rc_write_middle, rc_write_last, rc_write_only, true, false});
  check_arrival(kRc, {"WRITE with immediate", rc_write_first, rc_write_middle,
                      rc_write_last_immediate, rc_write_only_immediate, true, true});
}

TEST_CASE("9.8.2 UC SENDs and WRITEs at every length: the responder's memory and completion") {
  using enum Opcode;
  check_arrival(kUc,
                {"SEND", uc_send_first, uc_send_middle, uc_send_last, uc_send_only, false, true});
  check_arrival(kUc, {"SEND with immediate", uc_send_first, uc_send_middle, uc_send_last_immediate,
                      uc_send_only_immediate, false, true});
  check_arrival(
      kUc, {"WRITE", uc_write_first, uc_write_middle, uc_write_last, uc_write_only, true, false});
  check_arrival(kUc, {"WRITE with immediate", uc_write_first, uc_write_middle,
                      uc_write_last_immediate, uc_write_only_immediate, true, true});
}

TEST_CASE("9.4.4 READ at every length: request, responses, memory and completion") {
  for (const std::uint32_t length : kLengths) {
    INFO(length << " bytes");
    Connection connection;
    const Bytes data = bytes_at(connection.responder(), kTo, length);
    Bytes expected = connection.requester().bytes();
    std::copy(data.begin(), data.end(), expected.begin() + kAt);
    connection.post(SendOperation::rdma_read, 1, kAt, length, kTo);
    connection.post(SendOperation::send, 2, 0, 0, 0);
    connection.responder().post_receive(9, 0, 8);
    REQUIRE(connection.run());
    const std::uint32_t packets = packets_of(length);
    Lines wire = {"> RC RDMA READ Request psn 1000 ackreq",
                  fmt::format("> RC SEND Only psn {} ackreq 0 B", 1000 + packets)};
    for (const std::string& line : message("RC RDMA READ response", "", 1000, length, false)) {
      wire.push_back("< " + line);
      // First, last and only responses carry an AETH, with an MSN that counts the READ.
      if (line.find("Middle") == std::string::npos) {
        std::string& last = wire.back();
        last.insert(last.find(' ', last.find("psn ") + 4), " msn 1");
      }
    }
    wire.push_back(fmt::format("< ACK psn {} msn 2", 1000 + packets));
    CHECK(connection.wire() == wire);
    const auto done = connection.requester().sent();
    CHECK(describe(done) == Lines{"1 success", "2 success"});
    CHECK(done.at(0).byte_length == length);
    CHECK(connection.requester().bytes() == expected);
  }
}

TEST_CASE("9.8.3 A datagram of every length up to the path MTU") {
  for (const std::uint32_t length : {0u, 1u, kPathMtu - 1, kPathMtu}) {
    Subject subject(service(wire::Service::unreliable_datagram));
    for (const SendOperation operation :
         {SendOperation::send, SendOperation::send_with_immediate}) {
      subject.post(operation, 1, kAt, length, [](SendRequest& r) {
        r.address_handle = 1;
        r.remote_qpn = kPeerQpn;
        r.remote_queue_key = 5;
        r.immediate = kImmediate;
      });
      const Packet packet = subject.transmit_one();
      check_header(packet);
      CHECK(packet.payload == bytes_at(subject, kAt, length));
      CHECK_FALSE(packet.bth().ack_request);
    }
    CHECK(describe(subject.sent()) == Lines{"1 success", "1 success"});
    subject.post_receive(9, kTo, 40 + length);
    Packet arriving = request(Opcode::ud_send_only, 77, pattern(length, 99));
    arriving.headers.deth = {0x11111111, 0, kPeerQpn};
    subject.deliver(arriving);
    const auto done = subject.received();
    REQUIRE(describe(done) == Lines{"9 success"});
    CHECK(done[0].byte_length == 40 + length);
    CHECK(bytes_at(subject, kTo + 40, length) == pattern(length, 99));
    CHECK(subject.transmit().empty());
  }
}

}  // namespace softrnic::conformance
