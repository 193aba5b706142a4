// SPDX-License-Identifier: BSD-3-Clause
// Headers that libtins knows too, encoded by both.
#include <tins/tins.h>

#include <catch2/catch.hpp>

#include "frames.hpp"
#include "wire/arp.hpp"
#include "wire/frame.hpp"
#include "wire/icmp.hpp"

namespace softrnic::wire {
namespace {

using testing::Bytes;
using testing::Random;

Bytes encode(Tins::PDU& pdu) {
  const auto raw = pdu.serialize();
  const auto view = std::as_bytes(std::span(raw));
  return Bytes(view.begin(), view.end());
}

Tins::RawPDU raw_of(const Bytes& bytes) {
  return Tins::RawPDU(reinterpret_cast<const std::uint8_t*>(bytes.data()),
                      static_cast<std::uint32_t>(bytes.size()));
}

Tins::HWAddress<6> to_tins(const MacAddress& mac) {
  return Tins::HWAddress<6>(mac.bytes.data());
}

Tins::IPv4Address ipv4_to_tins(std::uint32_t host_order) {
  return Tins::IPv4Address(Gid::from_ipv4(host_order).to_string());
}

Tins::IPv6Address to_tins(const Gid& gid) {
  return Tins::IPv6Address(gid.bytes.data());
}

MacAddress random_mac(Random& random) {
  MacAddress mac;
  for (std::uint8_t& b : mac.bytes) b = random.number<std::uint8_t>();
  return mac;
}

Gid random_gid(Random& random) {
  Gid gid;
  for (std::uint8_t& b : gid.bytes) b = random.number<std::uint8_t>();
  gid.bytes[0] = 0xfd;
  return gid;
}

// A RoCE v2 frame of libtins' making around `transport`, and the headers it is to have.
struct Case {
  EthernetHeader ethernet;
  bool v4;
  Ipv4Header ipv4;
  Ipv6Header ipv6;
  UdpHeader udp;
  Bytes transport;
};

Case random_case(Random& random) {
  Case c;
  c.v4 = random.below(2) == 0;
  c.ethernet.source = random_mac(random);
  c.ethernet.destination = random_mac(random);
  c.ethernet.ethertype = c.v4 ? ethertype::kIpv4 : ethertype::kIpv6;
  if (random.below(2) == 0) {
    c.ethernet.vlan = VlanTag{static_cast<std::uint8_t>(random.below(8)), random.below(2) == 1,
                              static_cast<std::uint16_t>(random.below(4096))};
  }
  const TransportHeaders headers =
      testing::random_headers(random, Opcode::rc_write_only_immediate, 0);
  c.transport.resize(headers.size());
  headers.serialize(c.transport);
  const Bytes rest = random.bytes(4 * random.below(50) + 4);  // payload and some ICRC
  c.transport.insert(c.transport.end(), rest.begin(), rest.end());

  c.udp.source_port = random.number<std::uint16_t>();
  c.udp.length = static_cast<std::uint16_t>(8 + c.transport.size());
  c.ipv4.traffic_class = random.number<std::uint8_t>();
  c.ipv4.total_length = static_cast<std::uint16_t>(20 + c.udp.length);
  c.ipv4.identification = random.number<std::uint16_t>();
  c.ipv4.time_to_live = random.number<std::uint8_t>();
  c.ipv4.source = random.number<std::uint32_t>();
  c.ipv4.destination = random.number<std::uint32_t>();
  c.ipv4.checksum = c.ipv4.computed_checksum();
  c.ipv6.traffic_class = random.number<std::uint8_t>();
  c.ipv6.flow_label = static_cast<std::uint32_t>(random.below(1 << 20));
  c.ipv6.payload_length = c.udp.length;
  c.ipv6.hop_limit = random.number<std::uint8_t>();
  c.ipv6.source = random_gid(random);
  c.ipv6.destination = random_gid(random);
  return c;
}

Bytes by_libtins(const Case& c) {
  Tins::EthernetII frame(to_tins(c.ethernet.destination), to_tins(c.ethernet.source));
  Tins::PDU* last = &frame;
  const auto stack = [&last](const Tins::PDU& pdu) {
    last->inner_pdu(pdu);
    last = last->inner_pdu();
  };
  if (c.ethernet.vlan) {
    Tins::Dot1Q tag(c.ethernet.vlan->id);
    tag.priority(c.ethernet.vlan->priority);
    tag.cfi(c.ethernet.vlan->drop_eligible ? 1 : 0);
    stack(tag);
  }
  if (c.v4) {
    Tins::IP ip(ipv4_to_tins(c.ipv4.destination), ipv4_to_tins(c.ipv4.source));
    ip.tos(c.ipv4.traffic_class);
    ip.id(c.ipv4.identification);
    ip.flags(Tins::IP::DONT_FRAGMENT);
    ip.ttl(c.ipv4.time_to_live);
    stack(ip);
  } else {
    Tins::IPv6 ip(to_tins(c.ipv6.destination), to_tins(c.ipv6.source));
    ip.traffic_class(c.ipv6.traffic_class);
    ip.flow_label(c.ipv6.flow_label);
    ip.hop_limit(c.ipv6.hop_limit);
    stack(ip);
  }
  stack(Tins::UDP(c.udp.destination_port, c.udp.source_port));
  stack(raw_of(c.transport));
  return encode(frame);
}

TEST_CASE("frames of libtins parse into the values they were made from, and come back") {
  const auto seed = Catch::rngSeed();
  INFO("seed " << seed);
  Random random(seed);
  for (int i = 0; i < 500; ++i) {
    INFO("case " << i);
    Case c = random_case(random);
    const Bytes frame = by_libtins(c);
    const auto view = PacketView::parse(ByteChain(ByteView(frame)));
    REQUIRE(view);
    REQUIRE(view->ethernet() == c.ethernet);
    if (c.v4) {
      REQUIRE(view->ipv4() == c.ipv4);
    } else {
      REQUIRE(view->ipv6() == c.ipv6);
    }
    c.udp.checksum = view->udp().checksum;  // libtins always makes one
    REQUIRE(view->udp() == c.udp);

    Bytes rebuilt(view->size());
    REQUIRE(serialize(*view, rebuilt) == rebuilt.size());
    rebuilt.resize(view->icrc_offset());  // the ICRC was random
    REQUIRE(rebuilt == Bytes(frame.begin(), frame.begin() + view->icrc_offset()));
  }
}

TEST_CASE("an address vector writes what libtins writes, but for the UDP checksum") {
  const auto seed = Catch::rngSeed();
  INFO("seed " << seed);
  Random random(seed);
  for (int i = 0; i < 500; ++i) {
    INFO("case " << i);
    Case c = random_case(random);
    AddressVector av;
    av.source_mac = c.ethernet.source;
    av.destination_mac = c.ethernet.destination;
    av.vlan = c.ethernet.vlan;
    av.udp_source_port = c.udp.source_port;
    av.source = c.v4 ? Gid::from_ipv4(c.ipv4.source) : c.ipv6.source;
    av.destination = c.v4 ? Gid::from_ipv4(c.ipv4.destination) : c.ipv6.destination;
    av.traffic_class = c.v4 ? c.ipv4.traffic_class : c.ipv6.traffic_class;
    av.hop_limit = c.v4 ? c.ipv4.time_to_live : c.ipv6.hop_limit;
    av.flow_label = c.ipv6.flow_label;

    Bytes ours(av.size());
    av.serialize(ours, c.transport.size(), c.ipv4.identification);
    Bytes theirs = by_libtins(c);
    theirs.resize(ours.size());
    store_be16(theirs.data() + theirs.size() - 2, 0);
    REQUIRE(ours == theirs);
  }
}

TEST_CASE("ARP is what libtins makes of it") {
  const auto seed = Catch::rngSeed();
  INFO("seed " << seed);
  Random random(seed);
  for (int i = 0; i < 200; ++i) {
    const bool reply = random.below(2) == 1;
    const Arp arp{reply ? Arp::kReply : Arp::kRequest, random_mac(random),
                  random.number<std::uint32_t>(), random_mac(random),
                  random.number<std::uint32_t>()};
    Tins::ARP theirs(ipv4_to_tins(arp.target_ip), ipv4_to_tins(arp.sender_ip),
                     to_tins(arp.target_mac), to_tins(arp.sender_mac));
    theirs.opcode(reply ? Tins::ARP::REPLY : Tins::ARP::REQUEST);
    Bytes ours(Arp::kSize);
    arp.serialize(std::span<std::byte, Arp::kSize>(ours));
    REQUIRE(ours == encode(theirs));
  }
}

TEST_CASE("ICMP echo is what libtins makes of it") {
  const auto seed = Catch::rngSeed();
  INFO("seed " << seed);
  Random random(seed);
  for (std::size_t size = 0; size < 200; ++size) {
    INFO("size " << size);
    const Bytes data = random.bytes(size);
    const Echo echo{random.below(2) == 1, random.number<std::uint16_t>(),
                    random.number<std::uint16_t>(), data};
    Tins::ICMP icmp(echo.reply ? Tins::ICMP::ECHO_REPLY : Tins::ICMP::ECHO_REQUEST);
    icmp.id(echo.identifier);
    icmp.sequence(echo.sequence);
    icmp.inner_pdu(raw_of(data));
    Bytes ours(echo.size());
    echo.serialize_icmp(ours);
    REQUIRE(ours == encode(icmp));
  }
}

// The ICMPv6 message of a packet, whose checksum libtins makes only inside IPv6.
Bytes inside_ipv6(const Tins::ICMPv6& icmp, const Gid& source, const Gid& destination) {
  Tins::IPv6 packet(to_tins(destination), to_tins(source));
  packet.inner_pdu(icmp);
  const Bytes bytes = encode(packet);
  return Bytes(bytes.begin() + Ipv6Header::kSize, bytes.end());
}

TEST_CASE("ICMPv6 echo is what libtins makes of it") {
  const auto seed = Catch::rngSeed();
  INFO("seed " << seed);
  Random random(seed);
  for (std::size_t size = 0; size < 200; ++size) {
    INFO("size " << size);
    const Bytes data = random.bytes(size);
    const Echo echo{random.below(2) == 1, random.number<std::uint16_t>(),
                    random.number<std::uint16_t>(), data};
    const Gid source = random_gid(random);
    const Gid destination = random_gid(random);
    Tins::ICMPv6 icmp(echo.reply ? Tins::ICMPv6::ECHO_REPLY : Tins::ICMPv6::ECHO_REQUEST);
    icmp.identifier(echo.identifier);
    icmp.sequence(echo.sequence);
    icmp.inner_pdu(raw_of(data));
    Bytes ours(echo.size());
    echo.serialize_icmpv6(ours, source, destination);
    REQUIRE(ours == inside_ipv6(icmp, source, destination));
  }
}

TEST_CASE("neighbour messages are what libtins makes of them") {
  const auto seed = Catch::rngSeed();
  INFO("seed " << seed);
  Random random(seed);
  for (int i = 0; i < 200; ++i) {
    NeighborMessage m;
    m.advertisement = random.below(2) == 1;
    m.router = m.advertisement && random.below(2) == 1;
    m.solicited = m.advertisement && random.below(2) == 1;
    m.override_flag = m.advertisement && random.below(2) == 1;
    m.target = random_gid(random);
    if (random.below(2) == 1) m.link_address = random_mac(random);
    const Gid source = random_gid(random);
    const Gid destination = random_gid(random);

    Tins::ICMPv6 icmp(m.advertisement ? Tins::ICMPv6::NEIGHBOUR_ADVERT
                                      : Tins::ICMPv6::NEIGHBOUR_SOLICIT);
    icmp.target_addr(to_tins(m.target));
    if (m.advertisement) {
      icmp.router(m.router ? 1 : 0);
      icmp.solicited(m.solicited ? 1 : 0);
      icmp.override(m.override_flag ? 1 : 0);
      if (m.link_address) icmp.target_link_layer_addr(to_tins(*m.link_address));
    } else if (m.link_address) {
      icmp.source_link_layer_addr(to_tins(*m.link_address));
    }
    Bytes ours(m.size());
    m.serialize(ours, source, destination);
    REQUIRE(ours == inside_ipv6(icmp, source, destination));
    const auto parsed = NeighborMessage::parse(ours, source, destination);
    REQUIRE(parsed);
    REQUIRE(parsed->link_address == m.link_address);
  }
}

}  // namespace
}  // namespace softrnic::wire
