// SPDX-License-Identifier: BSD-3-Clause
// Every cause is produced as a faulty sender or network would, by a CRC of this file's own, and has
// to be named.
#include "analysis/icrc_diagnosis.hpp"

#include <catch2/catch.hpp>

#include <cstdint>
#include <vector>

#include "wire/icrc.hpp"

using namespace softrnic;
using analysis::diagnose_icrc;
using analysis::IcrcCause;
using wire::NetworkLayer;

namespace {

using Bytes = std::vector<std::byte>;

std::uint32_t bitwise_crc(const Bytes& bytes) {
  std::uint32_t crc = 0xffffffff;
  for (const std::byte byte : bytes) {
    crc ^= std::to_integer<std::uint32_t>(byte);
    for (int i = 0; i < 8; ++i) crc = crc >> 1 ^ (crc % 2 == 0 ? 0 : 0xedb88320u);
  }
  return ~crc;
}

// A WRITE Only of five bytes, padded to eight, from its network header on.
struct Sample {
  NetworkLayer layer;
  std::size_t bth_offset;
  Bytes bytes;
};

template <class Header>
void append(Bytes& bytes, const Header& header) {
  bytes.resize(bytes.size() + Header::kSize);
  header.serialize(std::span<std::byte, Header::kSize>(bytes.data() + bytes.size() - Header::kSize,
                                                       Header::kSize));
}

Sample sample(NetworkLayer layer) {
  Sample made{layer, 0, {}};
  if (layer == NetworkLayer::ipv4) {
    wire::Ipv4Header ip;
    ip.traffic_class = 0x28;
    ip.total_length = 20 + 8 + 12 + 16 + 8 + 4;
    ip.identification = 0x1234;
    ip.source = 0xc0000201;       // 192.0.2.1
    ip.destination = 0xc6336402;  // 198.51.100.2
    ip.checksum = ip.computed_checksum();
    append(made.bytes, ip);
  } else {
    wire::Ipv6Header ip;
    ip.traffic_class = 0x28;
    ip.flow_label = 0x12345;
    ip.next_header =
        layer == NetworkLayer::grh ? wire::ip_protocol::kGrhBth : wire::ip_protocol::kUdp;
    ip.source = *wire::Gid::from_string("fd00::1");
    ip.destination = *wire::Gid::from_string("fd00::2");
    append(made.bytes, ip);
  }
  if (layer != NetworkLayer::grh) {
    wire::UdpHeader udp;
    udp.source_port = 0xc123;
    udp.length = 8 + 12 + 16 + 8 + 4;
    udp.checksum = 0xbeef;
    append(made.bytes, udp);
  }
  made.bth_offset = made.bytes.size();
  wire::Bth bth;
  bth.opcode = wire::Opcode::rc_write_only;
  bth.pad_count = 3;
  bth.destination_qpn = 0x11;
  bth.psn = wire::Psn(4096);
  append(made.bytes, bth);
  append(made.bytes, wire::Reth{0x7f0012345000, 0x77, 5});
  for (int i = 1; i <= 5; ++i) made.bytes.push_back(static_cast<std::byte>(i));
  made.bytes.resize(made.bytes.size() + 3);
  return made;
}

std::uint32_t right_icrc(const Sample& of) {
  const wire::ByteView bytes = of.bytes;
  const std::size_t headers = of.bth_offset + wire::Bth::kSize;
  return wire::icrc(of.layer, bytes.first(headers), of.bth_offset, bytes.subspan(headers));
}

analysis::IcrcDiagnosis diagnose(const Sample& of, std::uint32_t carried) {
  return diagnose_icrc(of.layer, of.bytes, of.bth_offset, carried);
}

// A sample whose masked fields are all ones but for those a sender forgets; and the sum over it.
constexpr std::byte kOnes{0xff};

Bytes with_route_header(Bytes bytes) {
  bytes.insert(bytes.begin(), 8, kOnes);
  return bytes;
}

Bytes masked(const Sample& of) {
  Bytes bytes = of.bytes;
  if (of.layer == NetworkLayer::ipv4) {
    bytes[1] = bytes[8] = bytes[10] = bytes[11] = kOnes;
  } else {
    bytes[0] |= std::byte{0x0f};
    bytes[1] = bytes[2] = bytes[3] = bytes[7] = kOnes;
  }
  if (of.layer != NetworkLayer::grh) bytes[of.bth_offset - 2] = bytes[of.bth_offset - 1] = kOnes;
  bytes[of.bth_offset + 4] = kOnes;
  return bytes;
}

const auto kLayers = {NetworkLayer::grh, NetworkLayer::ipv4, NetworkLayer::ipv6};

}  // namespace

TEST_CASE("the sums of this file are ICRCs") {
  for (const NetworkLayer layer : kLayers) {
    const Sample made = sample(layer);
    CHECK(bitwise_crc(with_route_header(masked(made))) == right_icrc(made));
  }
}

TEST_CASE("a right ICRC has no cause") {
  for (const NetworkLayer layer : kLayers) {
    const Sample made = sample(layer);
    CHECK(diagnose(made, right_icrc(made)).cause == IcrcCause::unknown);
  }
}

TEST_CASE("an ICRC that nothing explains has no cause") {
  // Private addresses would explain every value once in 200 times; these are chosen not to.
  const Sample made = sample(NetworkLayer::ipv6);
  for (const std::uint32_t noise : {0x12345678u, 0xdeadbeefu, 0x87654321u}) {
    const auto diagnosis = diagnose(made, right_icrc(made) ^ noise);
    CHECK(diagnosis.cause == IcrcCause::unknown);
    CHECK(diagnosis.sentence.empty());
  }
}

TEST_CASE("the form of the ICRC") {
  for (const NetworkLayer layer : kLayers) {
    const Sample made = sample(layer);
    CHECK(diagnose(made, 0).cause == IcrcCause::left_out);
    CHECK(diagnose(made, __builtin_bswap32(right_icrc(made))).cause == IcrcCause::byte_order);
    CHECK(diagnose(made, ~right_icrc(made)).cause == IcrcCause::not_inverted);
  }
}

TEST_CASE("one field that was not masked") {
  for (const NetworkLayer layer : kLayers) {
    const Sample made = sample(layer);
    Bytes bytes = masked(made);
    bytes[made.bth_offset + 4] = made.bytes[made.bth_offset + 4];
    const auto diagnosis = diagnose(made, bitwise_crc(with_route_header(bytes)));
    CHECK(diagnosis.cause == IcrcCause::not_masked);
    CHECK(diagnosis.sentence ==
          "it was calculated without masking FECN, BECN and the reserved bits of the BTH");
  }
}

TEST_CASE("several fields that were not masked") {
  const Sample made = sample(NetworkLayer::ipv4);
  Bytes bytes = masked(made);
  bytes[8] = made.bytes[8];
  bytes[1] = made.bytes[1];
  const auto diagnosis = diagnose(made, bitwise_crc(with_route_header(bytes)));
  CHECK(diagnosis.cause == IcrcCause::not_masked);
  CHECK(diagnosis.sentence ==
        "it was calculated without masking the type of service and the time to live");
}

TEST_CASE("nothing was masked") {
  for (const NetworkLayer layer : kLayers) {
    const Sample made = sample(layer);
    CHECK(diagnose(made, bitwise_crc(with_route_header(made.bytes))).cause ==
          IcrcCause::not_masked);
  }
}

TEST_CASE("a time to live that was not masked and has been counted down since") {
  const Sample made = sample(NetworkLayer::ipv4);
  Bytes bytes = masked(made);
  bytes[8] = std::byte{0x41};
  const auto diagnosis = diagnose(made, bitwise_crc(with_route_header(bytes)));
  CHECK(diagnosis.cause == IcrcCause::not_masked);
  CHECK(diagnosis.sentence ==
        "it was calculated without masking the time to live, which was 0x41 then");
}

TEST_CASE("the eight bytes of ones are missing") {
  for (const NetworkLayer layer : kLayers) {
    const Sample made = sample(layer);
    CHECK(diagnose(made, bitwise_crc(masked(made))).cause == IcrcCause::no_route_header);
    CHECK(diagnose(made, bitwise_crc(made.bytes)).cause == IcrcCause::no_route_header);
  }
}

TEST_CASE("the masks of RoCE v1 on IPv4") {
  const Sample made = sample(NetworkLayer::ipv4);
  Bytes bytes = made.bytes;
  bytes[0] |= std::byte{0x0f};
  bytes[1] = bytes[2] = bytes[3] = bytes[7] = kOnes;
  bytes[made.bth_offset + 4] = kOnes;
  CHECK(diagnose(made, bitwise_crc(with_route_header(bytes))).cause == IcrcCause::masked_as_v1);
}

TEST_CASE("the pad is missing") {
  for (const NetworkLayer layer : kLayers) {
    const Sample made = sample(layer);
    Bytes bytes = masked(made);
    bytes.resize(bytes.size() - 3);
    const auto diagnosis = diagnose(made, bitwise_crc(with_route_header(bytes)));
    CHECK(diagnosis.cause == IcrcCause::without_pad);
    CHECK(diagnosis.sentence == "it was calculated without the pad of 3 bytes");
  }
}

TEST_CASE("any one bit that is flipped") {
  for (const NetworkLayer layer : kLayers) {
    const Sample good = sample(layer);
    const Bytes ones = masked(good);
    for (std::size_t bit = 0; bit < good.bytes.size() * 8; ++bit) {
      const auto mask = std::byte{0x80} >> (bit % 8);
      // A masked field may change as it likes.
      Sample flipped = good;
      flipped.bytes[bit / 8] ^= mask;
      if (right_icrc(flipped) == right_icrc(good)) continue;
      INFO("bit " << bit);
      CHECK(diagnose(flipped, right_icrc(good)).cause == IcrcCause::bit_flipped);
    }
    CHECK(diagnose(good, right_icrc(good) ^ 0x100).sentence ==
          "one bit was flipped on the way: bit 8 of the ICRC itself");
  }
}

TEST_CASE("the flipped bit is named") {
  const Sample good = sample(NetworkLayer::ipv4);
  const auto flipped_at = [&good](std::size_t byte, unsigned mask) {
    Sample flipped = good;
    flipped.bytes[byte] ^= static_cast<std::byte>(mask);
    return diagnose(flipped, right_icrc(good)).sentence;
  };
  const std::string begin = "one bit was flipped on the way: ";
  const std::size_t bth = good.bth_offset;
  CHECK(flipped_at(bth + 1, 0x80) == begin + "solicited in the BTH");
  CHECK(flipped_at(bth + 9, 0x40) == begin + "bit 1 of psn in the BTH");
  CHECK(flipped_at(bth + 12, 0x01) == begin + "bit 7 of virtual address in the RETH");
  CHECK(flipped_at(bth + 28 + 4, 0x10) == begin + "bit 3 of payload byte 4");
  CHECK(flipped_at(bth + 28 + 5, 0x10) == begin + "bit 3 of the pad");
  CHECK(flipped_at(4, 0x80) == begin + "bit 0 of identification in the IPv4 header");
}

TEST_CASE("one byte that was changed") {
  const Sample good = sample(NetworkLayer::ipv6);
  Sample changed = good;
  changed.bytes[changed.bth_offset + 28] = std::byte{0xaa};
  const auto diagnosis = diagnose(changed, right_icrc(good));
  CHECK(diagnosis.cause == IcrcCause::byte_changed);
  CHECK(diagnosis.sentence ==
        "one byte was changed on the way, from 0x01 to 0xaa, at bit 0 of payload byte 0");
}

TEST_CASE("a port or an identification that was rewritten") {
  const Sample good = sample(NetworkLayer::ipv4);
  Sample port = good;
  wire::store_be16(port.bytes.data() + 20, 1025);
  CHECK(diagnose(port, right_icrc(good)).cause == IcrcCause::field_rewritten);
  CHECK(diagnose(port, right_icrc(good)).sentence ==
        "the UDP source port was rewritten on the way, as NAT does: it was 49443");
  Sample identification = good;
  wire::store_be16(identification.bytes.data() + 4, 0xffff);
  CHECK(diagnose(identification, right_icrc(good)).sentence ==
        "the IP identification was rewritten on the way, as NAT does: it was 4660");
}

TEST_CASE("an address that was rewritten") {
  Sample inside = sample(NetworkLayer::ipv4);
  wire::store_be32(inside.bytes.data() + 12, 0x0a4d0102);
  Sample outside = inside;
  wire::store_be32(outside.bytes.data() + 12, 0xcb007107);
  const auto diagnosis = diagnose(outside, right_icrc(inside));
  CHECK(diagnosis.cause == IcrcCause::address_rewritten);
  CHECK(diagnosis.sentence ==
        "the source address was probably rewritten on the way, as NAT does: it was 10.77.1.2");
}

TEST_CASE("lengths that do not fit are left alone") {
  const Sample made = sample(NetworkLayer::ipv4);
  const wire::ByteView bytes = made.bytes;
  for (std::size_t size = 0; size < made.bth_offset + wire::Bth::kSize; ++size) {
    CHECK(diagnose_icrc(made.layer, bytes.first(size), made.bth_offset, 1).cause ==
          IcrcCause::unknown);
  }
  CHECK(diagnose_icrc(made.layer, bytes, made.bth_offset + 4, 1).cause == IcrcCause::unknown);
  CHECK(diagnose_icrc(NetworkLayer::ipv6, bytes, made.bth_offset, 1).cause == IcrcCause::unknown);
  // BTH and nothing else; a pad count beyond the payload.
  CHECK_NOTHROW(diagnose_icrc(made.layer, bytes.first(made.bth_offset + 12), made.bth_offset, 1));
}
