// SPDX-License-Identifier: BSD-3-Clause
#include "capture/packet_reading.hpp"

#include <catch2/catch.hpp>
#include <random>

#include "sample_frame.hpp"
#include "wire/lrh.hpp"

using namespace softrnic;
using namespace capture;
using namespace capture::test;
using analysis::IcrcVerdict;

namespace {

PacketReading read(const Bytes& bytes, std::size_t captured = 0) {
  return read_packet(LinkType::ethernet, record_of(bytes, 1, captured));
}

void expect(const PacketReading& reading, HeaderFault fault) {
  INFO(sentence(reading));
  CHECK(reading.is_roce());
  CHECK(name(reading.fault) == name(fault));
  CHECK_FALSE(reading.analysable());
  CHECK_FALSE(sentence(reading).empty());
}

}  // namespace

TEST_CASE("a packet of every network layer is read whole") {
  for (const auto layer : {NetworkLayer::ipv4, NetworkLayer::ipv6, NetworkLayer::grh}) {
    Sample sample;
    sample.layer = layer;
    const Bytes bytes = frame(sample);
    const PacketReading reading = read(bytes);
    REQUIRE(reading.analysable());
    CHECK(sentence(reading).empty());
    const bool v1 = layer == NetworkLayer::grh;
    CHECK(reading.traffic == (v1 ? Traffic::roce_v1 : Traffic::roce_v2));
    CHECK(reading.frame.version == (v1 ? wire::RoceVersion::v1 : wire::RoceVersion::v2));
    CHECK(reading.frame.source.to_string() == "10.0.0.1");
    CHECK(reading.frame.destination.to_string() == "10.0.0.2");
    CHECK(reading.frame.udp_source_port == (v1 ? 0 : 0xc001));
    CHECK(reading.frame.opcode->opcode == Opcode::rc_send_only);
    CHECK(reading.frame.headers.bth.destination_qpn == 0x12);
    CHECK(reading.frame.headers.bth.psn == wire::Psn(100));
    CHECK(reading.frame.payload_size == 5);
    CHECK(reading.frame.payload.size() == 5);
    CHECK(reading.frame.icrc == IcrcVerdict::good);
  }
}

TEST_CASE("the congestion bits are read in every network layer") {
  Sample sample;
  sample.ipv4 = [](wire::Ipv4Header& ip) { ip.traffic_class = 0x2b; };
  sample.ipv6 = [](wire::Ipv6Header& ip) { ip.traffic_class = 0x2b; };
  for (const auto layer : {NetworkLayer::ipv4, NetworkLayer::ipv6, NetworkLayer::grh}) {
    sample.layer = layer;
    CHECK(read(frame(sample)).frame.ecn == 3);
  }
}

TEST_CASE("any altered bit that the ICRC covers makes it wrong") {
  const Bytes right = frame({});
  for (std::size_t at = 14 + 20 + 8 + 8; at < right.size(); ++at) {  // from the QP number's end on
    Bytes wrong = right;
    wrong[at] ^= std::byte{0x10};
    INFO("byte " << at);
    CHECK(read(wrong).frame.icrc == IcrcVerdict::bad);
  }
}

TEST_CASE("an Ethernet trailer is none of the packet's") {
  Bytes bytes = frame({});
  bytes.resize(bytes.size() + 10, std::byte{0xee});
  const PacketReading reading = read(bytes);
  CHECK(reading.analysable());
  CHECK(reading.frame.icrc == IcrcVerdict::good);
}

TEST_CASE("headers of IP that no receiver takes") {
  Sample sample;
  sample.ipv4 = [](wire::Ipv4Header& ip) { ip.checksum = 0x1234; };
  expect(read(frame(sample)), HeaderFault::ip_checksum);
  sample.ipv4 = [](wire::Ipv4Header& ip) { ip.flags = 1; };
  expect(read(frame(sample)), HeaderFault::fragmented);
  sample.ipv4 = [](wire::Ipv4Header& ip) { ip.total_length += 4; };
  expect(read(frame(sample)), HeaderFault::beyond_frame);
  sample.ipv4 = [](wire::Ipv4Header& ip) { ip.total_length -= 4; };
  expect(read(frame(sample)), HeaderFault::length_mismatch);
  sample.ipv4 = nullptr;
  sample.udp = [](wire::UdpHeader& udp) { udp.length -= 1; };
  expect(read(frame(sample)), HeaderFault::length_mismatch);

  sample.layer = NetworkLayer::ipv6;
  expect(read(frame(sample)), HeaderFault::length_mismatch);
  sample.ipv6 = [](wire::Ipv6Header& ip) { ip.payload_length += 100; };
  expect(read(frame(sample)), HeaderFault::beyond_frame);
  sample.layer = NetworkLayer::grh;
  expect(read(frame(sample)), HeaderFault::beyond_frame);
  sample.ipv6 = [](wire::Ipv6Header& ip) { ip.next_header = 17; };
  expect(read(frame(sample)), HeaderFault::next_header);
  sample.ipv6 = [](wire::Ipv6Header& ip) { ip.version = 5; };
  expect(read(frame(sample)), HeaderFault::ip_version);
}

TEST_CASE("IPv4 options are refused, and the ICRC is not judged") {
  Bytes bytes = frame({});
  bytes.insert(bytes.begin() + 14 + 20, 4, std::byte{1});
  std::byte* ip = bytes.data() + 14;
  ip[0] = std::byte{0x46};
  wire::store_be16(ip + 2, static_cast<std::uint16_t>(wire::load_be16(ip + 2) + 4));
  const PacketReading reading = read(bytes);
  expect(reading, HeaderFault::ip_options);
  CHECK(reading.frame.icrc == IcrcVerdict::unverified);
}

TEST_CASE("an IPv4 checksum left to the hardware is no fault") {
  Bytes bytes = frame({});
  wire::store_be16(bytes.data() + 14 + 10, 0);
  CHECK(read(bytes).analysable());
}

TEST_CASE("headers of the transport that no receiver takes") {
  Sample sample;
  sample.headers = [](wire::TransportHeaders& h) { h.bth.version = 1; };
  expect(read(frame(sample)), HeaderFault::transport_version);
  sample.headers = [](wire::TransportHeaders& h) { h.bth.pad_count = 1; };
  sample.payload = 0;
  expect(read(frame(sample)), HeaderFault::bad_pad);
  sample.headers = [](wire::TransportHeaders& h) { h.bth.opcode = static_cast<Opcode>(0x1f); };
  expect(read(frame(sample)), HeaderFault::reserved_opcode);

  // A WRITE without room for its RETH: what was a SEND of four bytes.
  sample.headers = nullptr;
  sample.payload = 4;
  Bytes bytes = frame(sample);
  bytes[14 + 28] = std::byte{static_cast<std::uint8_t>(Opcode::rc_write_only)};
  const PacketReading reading = read(bytes);
  expect(reading, HeaderFault::headers_too_long);
  CHECK(reading.frame.icrc == IcrcVerdict::bad);
}

TEST_CASE("a packet that is too small for a BTH and an ICRC") {
  Bytes bytes = frame({});
  bytes.resize(14 + 20 + 8 + 12);
  std::byte* ip = bytes.data() + 14;
  wire::store_be16(ip + 2, 40);
  wire::store_be16(ip + 10, 0);
  wire::store_be16(ip + 24, 20);
  expect(read(bytes), HeaderFault::too_short);
}

TEST_CASE("a frame cut anywhere is never called wrong") {
  for (const auto layer : {NetworkLayer::ipv4, NetworkLayer::ipv6, NetworkLayer::grh}) {
    for (const auto opcode : {Opcode::rc_write_only, Opcode::rc_acknowledge, Opcode::ud_send_only,
                              Opcode::xrc_compare_swap, Opcode::rc_read_response_only}) {
      Sample sample;
      sample.layer = layer;
      sample.opcode = opcode;
      const auto& info = wire::info(opcode);
      sample.payload = info.carries_payload ? 20 : 0;
      const Bytes bytes = frame(sample);
      for (std::size_t captured = 1; captured < bytes.size(); ++captured) {
        const PacketReading reading = read(bytes, captured);
        INFO("cut to " << captured << " of " << bytes.size());
        CHECK(reading.fault == HeaderFault::none);
        CHECK(reading.frame.icrc == IcrcVerdict::unverified);
        if (!reading.analysable()) continue;
        CHECK(reading.frame.opcode == &info);
        CHECK(reading.frame.payload_size == sample.payload);
        CHECK(reading.frame.payload.size() <= sample.payload);
        if (info.has(wire::kAeth) || info.has(wire::kDeth)) continue;
        CHECK(reading.frame.headers_cut ==
              (captured < bytes.size() - 4 - sample.payload && info.extension_size != 0));
      }
    }
  }
}

TEST_CASE("what is not RoCE is named") {
  const auto traffic = [](const Sample& sample) { return read(frame(sample)).traffic; };
  Sample sample;
  sample.udp = [](wire::UdpHeader& udp) { udp.destination_port = 4792; };
  CHECK(traffic(sample) == Traffic::udp);
  sample.ipv4 = [](wire::Ipv4Header& ip) { ip.protocol = 6; };
  CHECK(traffic(sample) == Traffic::tcp);
  sample.ipv4 = [](wire::Ipv4Header& ip) { ip.protocol = 1; };
  CHECK(traffic(sample) == Traffic::icmp);
  sample.ipv4 = [](wire::Ipv4Header& ip) { ip.protocol = 89; };
  CHECK(traffic(sample) == Traffic::other_ip);
  sample.layer = NetworkLayer::ipv6;
  sample.ipv6 = [](wire::Ipv6Header& ip) { ip.next_header = 58; };
  CHECK(traffic(sample) == Traffic::icmp);
  Bytes bytes = frame(sample);
  wire::store_be16(bytes.data() + 12, wire::ethertype::kArp);
  CHECK(read(bytes).traffic == Traffic::arp);
  wire::store_be16(bytes.data() + 12, 0x88cc);
  CHECK(read(bytes).traffic == Traffic::other);
  CHECK(read(Bytes(10)).traffic == Traffic::unknown);
}

TEST_CASE("any bytes are accepted") {
  const unsigned seed = Catch::rngSeed() != 0 ? Catch::rngSeed() : 1;
  INFO("seed " << seed);
  std::mt19937 random(seed);
  for (const auto layer : {NetworkLayer::ipv4, NetworkLayer::ipv6, NetworkLayer::grh}) {
    Sample sample;
    sample.layer = layer;
    const Bytes right = frame(sample);
    for (int turn = 0; turn < 20000; ++turn) {
      Bytes bytes = right;
      bytes.resize(1 + random() % (right.size() + 20));
      for (unsigned change = random() % 4; change-- > 0;) {
        bytes[random() % bytes.size()] = static_cast<std::byte>(random());
      }
      // A heap block of exactly this size, so that a sanitizer sees what lies beyond.
      const Bytes exact(bytes.begin(), bytes.begin() + 1 + random() % bytes.size());
      Record record = record_of(exact);
      record.wire_size = static_cast<std::uint32_t>(bytes.size());
      const auto type = static_cast<LinkType>(random() % 5);
      const PacketReading reading = read_packet(turn % 4 == 0 ? type : LinkType::ethernet, record);
      if (!reading.analysable()) continue;
      REQUIRE(reading.frame.opcode != nullptr);
      REQUIRE(reading.frame.payload.size() <= reading.frame.payload_size);
    }
  }
}

namespace {

// Native InfiniBand around a packet from its BTH or GRH on, without its ICRC.
Bytes native(const Bytes& inside, bool grh) {
  const std::size_t words = (wire::Lrh::kSize + inside.size() + 4) / 4;
  Bytes bytes(wire::Lrh::kSize);
  bytes[0] = std::byte{0x30};
  bytes[1] = grh ? std::byte{3} : std::byte{2};
  wire::store_be16(bytes.data() + 2, 0x0007);
  wire::store_be16(bytes.data() + 4, static_cast<std::uint16_t>(words));
  wire::store_be16(bytes.data() + 6, 0x0009);
  bytes.insert(bytes.end(), inside.begin(), inside.end());
  return bytes;
}

void end_native(Bytes& bytes, std::uint32_t icrc) {
  bytes.resize(bytes.size() + 4);
  wire::store_icrc(bytes.data() + bytes.size() - 4, icrc);
  const std::uint16_t vcrc = wire::vcrc(bytes);
  bytes.push_back(static_cast<std::byte>(vcrc));
  bytes.push_back(static_cast<std::byte>(vcrc >> 8));
}

Bytes local_packet() {
  Bytes inside;
  append_transport(inside, {});
  Bytes bytes = native(inside, false);
  end_native(bytes, wire::local_icrc(bytes));
  return bytes;
}

Bytes in_erf(const Bytes& bytes, std::uint8_t type, std::size_t padding = 0) {
  Bytes record(16);
  record[8] = static_cast<std::byte>(type);
  wire::store_be16(record.data() + 14, static_cast<std::uint16_t>(bytes.size()));
  record.insert(record.end(), bytes.begin(), bytes.end());
  record.resize(record.size() + padding);
  return record;
}

}  // namespace

TEST_CASE("native InfiniBand is read, with both of its checksums") {
  const Bytes local = local_packet();
  const PacketReading r = read_packet(LinkType::infiniband, record_of(local));
  CHECK(r.traffic == Traffic::infiniband);
  CHECK(r.fault == HeaderFault::none);
  CHECK(r.frame.icrc == analysis::IcrcVerdict::good);
  CHECK(r.analysable());
  CHECK(r.frame.source.to_string() == "fe80::9");
  CHECK(r.frame.destination.to_string() == "fe80::7");
  CHECK(r.frame.headers.bth.destination_qpn == 0x12);
  CHECK(r.frame.payload_size == 5);

  Bytes spoilt = local;
  spoilt.back() ^= std::byte{1};
  CHECK(read_packet(LinkType::infiniband, record_of(spoilt)).fault == HeaderFault::vcrc);
  spoilt = local;
  spoilt[30] ^= std::byte{1};
  CHECK(read_packet(LinkType::infiniband, record_of(spoilt)).frame.icrc ==
        analysis::IcrcVerdict::bad);
  // Where the VCRC was left out.
  const Bytes without(local.begin(), local.end() - 2);
  CHECK(read_packet(LinkType::infiniband, record_of(without)).analysable());
}

TEST_CASE("native InfiniBand with a GRH, and in ERF records of every length") {
  Sample sample;
  sample.layer = NetworkLayer::grh;
  Bytes inside = packet(sample);
  const std::uint32_t icrc = wire::load_icrc(inside.data() + inside.size() - 4);
  inside.resize(inside.size() - 4);
  Bytes bytes = native(inside, true);
  end_native(bytes, icrc);
  for (const std::size_t padding : {0u, 6u}) {
    const Bytes record = in_erf(bytes, 21, padding);
    const PacketReading r = read_packet(LinkType::erf, record_of(record));
    CHECK(r.traffic == Traffic::infiniband);
    CHECK(r.fault == HeaderFault::none);
    CHECK(r.frame.icrc == analysis::IcrcVerdict::good);
    CHECK(r.analysable());
  }
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    const Bytes part(bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(size));
    read_packet(LinkType::infiniband, record_of(part));
    if (size != 0) read_packet(LinkType::infiniband, record_of(bytes, 1, size));
  }
}

TEST_CASE("ERF records of IP, and InfiniBand that is none of the transport") {
  const Bytes ip = packet({});
  CHECK(read_packet(LinkType::erf, record_of(in_erf(ip, 22))).analysable());
  Bytes raw = local_packet();
  raw[1] = std::byte{0};
  CHECK(read_packet(LinkType::infiniband, record_of(raw)).traffic == Traffic::other);
}
