// SPDX-License-Identifier: BSD-3-Clause
#include "capture/tunnel.hpp"

#include <catch2/catch.hpp>

#include "sample_frame.hpp"

using namespace softrnic;
using namespace capture;
using namespace capture::test;

namespace {

void append_be16(Bytes& bytes, std::initializer_list<unsigned> values) {
  for (const unsigned value : values) {
    bytes.resize(bytes.size() + 2);
    wire::store_be16(bytes.data() + bytes.size() - 2, static_cast<std::uint16_t>(value));
  }
}

Bytes operator+(Bytes a, const Bytes& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

// Ethernet and IP around `inside`, which begins with GRE or UDP.
Bytes around(const Bytes& inside, std::uint8_t protocol, bool ipv6 = false) {
  Bytes bytes(12);
  append_be16(bytes, {ipv6 ? 0x86ddu : 0x0800u});
  if (ipv6) {
    wire::Ipv6Header ip;
    ip.next_header = protocol;
    ip.payload_length = static_cast<std::uint16_t>(inside.size());
    append(bytes, ip);
  } else {
    wire::Ipv4Header ip;
    ip.protocol = protocol;
    ip.total_length = static_cast<std::uint16_t>(20 + inside.size());
    append(bytes, ip);
  }
  return bytes + inside;
}

Bytes gre(std::initializer_list<unsigned> words) {
  Bytes bytes;
  append_be16(bytes, words);
  return bytes;
}

Bytes udp_to(unsigned port, std::initializer_list<unsigned> words) {
  Bytes bytes;
  append_be16(bytes, {0xc000, port, 0, 0});
  return bytes + gre(words);
}

void expect_roce(const Bytes& bytes) {
  const PacketReading reading = read_packet(LinkType::ethernet, record_of(bytes));
  CHECK(reading.traffic == Traffic::roce_v2);
  CHECK(reading.fault == HeaderFault::none);
  CHECK(reading.frame.icrc == analysis::IcrcVerdict::good);
  CHECK(reading.tunnelled);
  CHECK(reading.analysable());
}

}  // namespace

TEST_CASE("the packet inside a tunnel is the one that is read") {
  const Bytes inside = frame({});
  // ERSPAN I, II, III, III with its platform's header; GRE with a key and a checksum.
  expect_roce(around(gre({0x0000, 0x88be}) + inside, 47));
  expect_roce(around(gre({0x1000, 0x88be, 0, 1, 0x1001, 1, 0, 7}) + inside, 47));
  expect_roce(around(gre({0x1000, 0x22eb, 0, 1, 0x2001, 1, 0, 7, 0, 0}) + inside, 47));
  expect_roce(around(gre({0x1000, 0x22eb, 0, 1, 0x2001, 1, 0, 7, 0, 1, 0, 0, 0, 0}) + inside, 47));
  expect_roce(around(gre({0xa000, 0x6558, 0, 0, 0, 5}) + inside, 47, true));
  expect_roce(around(gre({0x0000, 0x0800}) + packet({}), 47));
  // VXLAN; GENEVE with an option of four bytes.
  expect_roce(around(udp_to(4789, {0x0800, 0, 0, 0x2a00}) + inside, 17));
  expect_roce(around(udp_to(6081, {0x0100, 0x6558, 0, 0x2a00, 1, 2}) + inside, 17, true));
  // One in another.
  expect_roce(
      around(gre({0x0000, 0x88be}) + around(udp_to(4789, {0x0800, 0, 0, 0}) + inside, 17), 47));
}

TEST_CASE("what a mirror cut inside its tunnel is cut, not wrong") {
  Sample sample;
  sample.payload = 1000;
  Bytes inside = frame(sample);
  inside.resize(80);
  const Bytes bytes = around(gre({0x1000, 0x88be, 0, 1, 0x1001, 1, 0, 7}) + inside, 47);
  const PacketReading reading = read_packet(LinkType::ethernet, record_of(bytes));
  CHECK(reading.fault == HeaderFault::none);
  CHECK(reading.frame.icrc == analysis::IcrcVerdict::unverified);
  CHECK(reading.analysable());
}

TEST_CASE("a tunnel that ends too early, or is none, is what it is outside") {
  const Bytes erspan = around(gre({0x1000, 0x88be, 0, 1, 0x1001, 1, 0, 7}) + frame({}), 47);
  // The header says how long its options are, which the record may end in.
  const Bytes geneve =
      around(udp_to(6081, {0x0300, 0x0800, 0, 0x2a00, 1, 2, 3, 4, 5, 6}) + packet({}), 17);
  const Bytes keyed = around(gre({0x3000, 0x0800, 0, 5, 0, 1}) + packet({}), 47);
  for (const Bytes& whole : {erspan, geneve, keyed}) {
    for (std::size_t size = 14; size < whole.size(); ++size) {
      INFO(size);
      const Bytes part(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(size));
      const auto start = find_network(LinkType::ethernet, part);  // under the sanitizers
      CHECK((!start || start->offset <= size));
    }
  }
  const auto traffic = [](const Bytes& bytes) {
    return read_packet(LinkType::ethernet, record_of(bytes)).traffic;
  };
  CHECK(traffic(around(gre({0x0001, 0x88be}) + frame({}), 47)) == Traffic::other_ip);
  CHECK(traffic(around(gre({0x0000, 0x880b}) + frame({}), 47)) == Traffic::other_ip);
  CHECK(traffic(around(udp_to(4789, {0, 0, 0, 0}) + frame({}), 17)) == Traffic::udp);
  CHECK(traffic(around(udp_to(53, {0x0800, 0, 0, 0}) + frame({}), 17)) == Traffic::udp);
}

TEST_CASE("tunnels without end are left at some depth") {
  Bytes bytes = frame({});
  for (int i = 0; i < 50; ++i) bytes = around(gre({0x0000, 0x88be}) + bytes, 47);
  CHECK(read_packet(LinkType::ethernet, record_of(bytes)).traffic == Traffic::other_ip);
}
