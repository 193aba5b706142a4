// SPDX-License-Identifier: BSD-3-Clause
// The frame around the transport's packet: RoCE v1 and v2, IPv4 and IPv6, VLAN and priority
// (annexes A16 and A17; IEEE 802.1Q). One SEND and its acknowledgement, each frame in full.
#include <catch2/catch.hpp>

#include "conformance/subject.hpp"
#include "observed_link.hpp"
#include "unit/nic/nic_world.hpp"
#include "wire/packet_view.hpp"

namespace softrnic::conformance {

using nic::test::gid;
using nic::test::mac;
using wire::RoceVersion;

namespace {

struct Route {
  RoceVersion version;
  const char* from;
  const char* to;
};

constexpr Route kV1Ipv4{RoceVersion::v1, "10.0.0.1", "10.0.0.2"};
constexpr Route kV1Ipv6{RoceVersion::v1, "fd00::1", "fd00::2"};
constexpr Route kV2Ipv4{RoceVersion::v2, "10.0.0.1", "10.0.0.2"};
constexpr Route kV2Ipv6{RoceVersion::v2, "fd00::1", "fd00::2"};

constexpr std::uint8_t kTrafficClass = 0x68;
constexpr std::uint8_t kHopLimit = 17;
constexpr std::size_t kMessage = 13;

nic::test::Endpoint endpoint(nic::Nic& nic) {
  return nic::test::make_endpoint(nic, wire::Service::reliable_connection, 256);
}

void bring_up(nic::test::Endpoint& own, const nic::test::Endpoint& other, const Route& route,
              const char* from, const char* to, std::uint8_t priority) {
  nic::AddressAttributes address;
  address.gid_index = nic::test::gid_index(*own.nic, gid(from), route.version);
  address.destination = gid(to);
  address.traffic_class = kTrafficClass;
  address.hop_limit = kHopLimit;
  address.service_level = priority;
  nic::test::bring_up(own, nic::test::attributes_to(other.qpn()), &address);
}

// The two RoCE frames of a SEND of 13 bytes over that route. On a VLAN when there is a tag.
std::vector<Bytes> exchange(const Route& route, std::optional<wire::VlanTag> vlan) {
  const auto account = std::make_shared<test::LinkAccount>();
  std::vector<Bytes> frames;
  nic::test::NicWorld world;
  std::vector<nic::test::Endpoint> ends;
  for (const std::uint8_t n : {std::uint8_t{1}, std::uint8_t{2}}) {
    nic::NicConfig config = nic::test::NicWorld::config(n);
    config.vlan = vlan;
    ends.push_back(
        endpoint(world.add(config, std::make_unique<test::ObservedLink>(world.attach(), account))));
  }
  const std::uint8_t priority = vlan ? vlan->priority : 0;
  bring_up(ends[0], ends[1], route, route.from, route.to, priority);
  bring_up(ends[1], ends[0], route, route.to, route.from, priority);
  world.run_for(std::chrono::seconds(1));
  // The neighbours are known now: what comes is RoCE.
  account->on_frame = [&](wire::Instant, link::Direction direction, const wire::ByteChain& bytes) {
    if (direction != link::Direction::outbound) return;
    frames.emplace_back(bytes.size());
    bytes.copy_to(0, wire::ByteSpan(frames.back()));
  };
  ends[1].receive(7, 0, 64);
  ends[0].send({.id = 1}, 0, kMessage);
  world.settle();
  CHECK(describe(ends[0].poll()) == Lines{"1 success"});
  CHECK(describe(ends[1].poll()) == Lines{"7 success"});
  REQUIRE(frames.size() == 2);
  return frames;
}

wire::PacketView parse(const Bytes& frame) {
  const auto view = wire::PacketView::parse(wire::ByteView(frame));
  REQUIRE(view.has_value());
  return *view;
}

// What is the same on every layer: addresses, transport headers, ICRC.
void check_common(const wire::PacketView& send, const wire::PacketView& answer,
                  const Route& route) {
  CHECK(send.version() == route.version);
  CHECK(send.icrc_ok());
  CHECK(answer.icrc_ok());
  CHECK(send.ethernet().source == mac(1));
  CHECK(send.ethernet().destination == mac(2));
  CHECK(answer.ethernet().source == mac(2));
  CHECK(answer.ethernet().destination == mac(1));
  CHECK(send.source() == gid(route.from));
  CHECK(send.destination() == gid(route.to));
  CHECK(answer.source() == gid(route.to));
  CHECK(answer.destination() == gid(route.from));
  CHECK(send.traffic_class() == kTrafficClass);
  CHECK(answer.traffic_class() == kTrafficClass);
  CHECK(send.opcode().opcode == wire::Opcode::rc_send_only);
  CHECK(send.bth().psn == wire::Psn(0xfffff0));
  CHECK(send.bth().pad_count == 3);
  CHECK(send.bth().ack_request);
  CHECK(send.bth().migration_request);
  CHECK(send.payload().size() == kMessage);
  CHECK(answer.opcode().opcode == wire::Opcode::rc_acknowledge);
  CHECK(answer.bth().psn == wire::Psn(0xfffff0));
  CHECK(answer.bth().migration_request);
  CHECK(answer.headers().aeth.msn == 1);
  CHECK(answer.headers().aeth.syndrome.raw() == 0x1f);
}

// BTH, 13 bytes and 3 of pad, ICRC.
constexpr std::size_t kTransportBytes = 12 + 16 + 4;

void check_v1(const Route& route) {
  const auto frames = exchange(route, {});
  const wire::PacketView send = parse(frames[0]);
  check_common(send, parse(frames[1]), route);
  CHECK(send.ethernet().ethertype == wire::ethertype::kRoceV1);
  CHECK(send.network_layer() == wire::NetworkLayer::grh);
  CHECK(send.grh().version == 6);
  CHECK(send.grh().next_header == 0x1b);
  CHECK(send.grh().payload_length == kTransportBytes);
  CHECK(send.grh().hop_limit == kHopLimit);
}

void check_udp(const wire::PacketView& send, const wire::PacketView& answer) {
  CHECK(send.udp().destination_port == 4791);
  CHECK(send.udp().source_port >= 0xc000);  // A17.4.5.2's dynamic ports
  CHECK(send.udp().source_port == answer.udp().source_port);
  CHECK(send.udp().length == 8 + kTransportBytes);
}

}  // namespace

TEST_CASE("A16.4 RoCE v1: EtherType 0x8915, a GRH, next header 0x1b, with IPv6 addresses") {
  check_v1(kV1Ipv6);
}

TEST_CASE("A16.5 RoCE v1 with IPv4 addresses as mapped GIDs") {
  check_v1(kV1Ipv4);
}

TEST_CASE("A17.4.3 RoCE v2 over IPv4: UDP port 4791, don't fragment, hop limit as time to live") {
  const auto frames = exchange(kV2Ipv4, {});
  const wire::PacketView send = parse(frames[0]);
  const wire::PacketView answer = parse(frames[1]);
  check_common(send, answer, kV2Ipv4);
  CHECK(send.ethernet().ethertype == wire::ethertype::kIpv4);
  const wire::Ipv4Header ip = send.ipv4();
  CHECK(ip.header_words == 5);
  CHECK(ip.flags == 2);
  CHECK(ip.fragment_offset == 0);
  CHECK(ip.time_to_live == kHopLimit);
  CHECK(ip.protocol == 17);
  CHECK(ip.total_length == 20 + 8 + kTransportBytes);
  CHECK(ip.checksum == ip.computed_checksum());
  check_udp(send, answer);
}

TEST_CASE("A17.4.3 RoCE v2 over IPv6: UDP port 4791, next header 17, hop limit") {
  const auto frames = exchange(kV2Ipv6, {});
  const wire::PacketView send = parse(frames[0]);
  const wire::PacketView answer = parse(frames[1]);
  check_common(send, answer, kV2Ipv6);
  CHECK(send.ethernet().ethertype == wire::ethertype::kIpv6);
  CHECK(send.ipv6().next_header == 17);
  CHECK(send.ipv6().hop_limit == kHopLimit);
  CHECK(send.ipv6().payload_length == 8 + kTransportBytes);
  check_udp(send, answer);
}

TEST_CASE("802.1Q On a VLAN every frame carries the tag with the path's priority") {
  for (const Route& route : {kV1Ipv4, kV1Ipv6, kV2Ipv4, kV2Ipv6}) {
    for (std::uint8_t priority = 0; priority < 8; ++priority) {
      const wire::VlanTag tag{priority, false, 42};
      const auto frames = exchange(route, tag);
      check_common(parse(frames[0]), parse(frames[1]), route);
      for (const Bytes& frame : frames) CHECK(parse(frame).ethernet().vlan == tag);
    }
  }
}

TEST_CASE("A17.4.5 The ICRC does not cover what routers change, and covers all else") {
  for (const Route& route : {kV1Ipv4, kV2Ipv4, kV2Ipv6}) {
    const Bytes frame = exchange(route, {})[0];
    const wire::PacketView view = parse(frame);
    const std::size_t end = view.icrc_offset();
    const std::size_t network = view.network_offset();
    for (std::size_t at = network; at < end; ++at) {
      Bytes changed = frame;
      changed[at] ^= std::byte{0x01};
      const auto read = wire::PacketView::parse(wire::ByteView(changed), {false});
      if (!read.has_value()) continue;  // not a RoCE packet any more
      // Traffic class and hop limit (v1, IPv6: bytes 0 to 3 but the version, and 7; IPv4: 1, 8, and
      // the checksum in 10 and 11), the UDP checksum, and the BTH's reserved byte 4.
      const std::size_t in_network = at - network;
      const std::size_t udp = view.bth_offset() - 8;
      const bool over_ipv4 = view.network_layer() == wire::NetworkLayer::ipv4;
      const bool masked =
          over_ipv4 ? in_network == 1 || in_network == 8 || in_network == 10 || in_network == 11
                    : in_network < 4 || in_network == 7;
      const bool udp_checksum =
          view.version() == RoceVersion::v2 && (at == udp + 6 || at == udp + 7);
      const bool reserved = at == view.bth_offset() + 4;
      INFO("byte " << at);
      CHECK(read->icrc_ok() == (masked || udp_checksum || reserved));
    }
  }
}

}  // namespace softrnic::conformance
