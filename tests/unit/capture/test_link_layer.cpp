// SPDX-License-Identifier: BSD-3-Clause
#include "capture/link_layer.hpp"

#include <catch2/catch.hpp>

#include "sample_frame.hpp"

using namespace softrnic;
using capture::find_network;
using capture::LinkType;
using capture::test::Bytes;

namespace {

// `zeros` bytes, then these 16-bit values.
Bytes record(std::size_t zeros, std::initializer_list<std::uint16_t> values) {
  Bytes bytes(zeros);
  for (const std::uint16_t value : values) {
    bytes.resize(bytes.size() + 2);
    wire::store_be16(bytes.data() + bytes.size() - 2, value);
  }
  return bytes;
}

void expect(LinkType type, const Bytes& bytes, std::uint16_t ethertype, std::size_t offset) {
  const auto start = find_network(type, bytes);
  REQUIRE(start);
  CHECK(start->ethertype == ethertype);
  CHECK(start->offset == offset);
}

}  // namespace

TEST_CASE("the network header behind Ethernet and its tags") {
  expect(LinkType::ethernet, record(12, {0x0800}), 0x0800, 14);
  expect(LinkType::ethernet, record(12, {0x8100, 42, 0x8915}), 0x8915, 18);
  expect(LinkType::ethernet, record(12, {0x88a8, 1, 0x8100, 2, 0x86dd}), 0x86dd, 22);
  expect(LinkType::ethernet, record(12, {0x9100, 1, 0x8100, 2, 0x8100, 3, 0x0806}), 0x0806, 26);
}

TEST_CASE("the network header behind Linux cooked headers") {
  expect(LinkType::linux_cooked, record(14, {0x0800}), 0x0800, 16);
  expect(LinkType::linux_cooked, record(14, {0x8100, 42, 0x86dd}), 0x86dd, 20);
  Bytes second = record(20, {42, 0x8915});
  wire::store_be16(second.data(), 0x0800);
  expect(LinkType::linux_cooked_2, second, 0x0800, 20);
  wire::store_be16(second.data(), 0x8100);
  expect(LinkType::linux_cooked_2, second, 0x8915, 24);
}

TEST_CASE("the network header where there is nothing before it") {
  expect(LinkType::raw_ip, record(0, {0x4500}), 0x0800, 0);
  expect(LinkType::raw_ip, record(0, {0x6000}), 0x86dd, 0);
  expect(LinkType::raw_ip, record(0, {0x7000}), 0, 0);
}

TEST_CASE("the network header in Endace's records") {
  Bytes ethernet = record(16 + 2 + 12, {0x0800});
  ethernet[8] = std::byte{2};
  expect(LinkType::erf, ethernet, 0x0800, 32);

  // Two extension headers, of which the first says that another one follows.
  Bytes extended = record(16 + 16 + 2 + 12, {0x86dd});
  extended[8] = std::byte{0x82};
  extended[16] = std::byte{0x80};
  expect(LinkType::erf, extended, 0x86dd, 48);

  Bytes infiniband = record(32, {});
  infiniband[8] = std::byte{21};
  expect(LinkType::erf, infiniband, 0, 16);
  CHECK(find_network(LinkType::erf, infiniband)->native);
  infiniband[8] = std::byte{1};  // HDLC
  expect(LinkType::erf, infiniband, 0, 0);
}

TEST_CASE("a record that ends before its network header tells nothing") {
  const Bytes whole = record(12, {0x8100, 42, 0x0800});
  for (std::size_t size = 0; size < whole.size(); ++size) {
    CHECK_FALSE(find_network(LinkType::ethernet, wire::ByteView(whole).first(size)));
  }
  CHECK_FALSE(find_network(LinkType::linux_cooked, Bytes(15)));
  CHECK_FALSE(find_network(LinkType::linux_cooked_2, Bytes(19)));
  CHECK_FALSE(find_network(LinkType::raw_ip, {}));
  CHECK_FALSE(find_network(LinkType::erf, Bytes(15)));
  // Extension headers without end.
  CHECK_FALSE(find_network(LinkType::erf, Bytes(64, std::byte{0x82})));
}
