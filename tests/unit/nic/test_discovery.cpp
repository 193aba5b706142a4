// SPDX-License-Identifier: BSD-3-Clause
// ARP, neighbour discovery and ping, between NICs and against frames made by hand.
#include <catch2/catch.hpp>

#include "nic_world.hpp"
#include "segmented_link.hpp"
#include "wire/arp.hpp"
#include "wire/icmp.hpp"
#include "wire/ipv4.hpp"
#include "wire/ipv6.hpp"

namespace softrnic::nic::test {
namespace {

using wire::Arp;
using wire::Gid;
using wire::MacAddress;
using wire::NeighborMessage;

constexpr std::uint8_t kIcmpv6 = wire::ip_protocol::kIcmpv6;

Bytes ethernet(const MacAddress& to, const MacAddress& from, std::uint16_t type,
               wire::ByteView payload) {
  Bytes frame(14 + payload.size());
  wire::EthernetHeader{to, from, {}, type}.serialize(frame);
  std::copy(payload.begin(), payload.end(), frame.begin() + 14);
  return frame;
}

Bytes arp_frame(const MacAddress& to, const Arp& arp) {
  std::array<std::byte, Arp::kSize> bytes;
  arp.serialize(bytes);
  return ethernet(to, arp.sender_mac, wire::ethertype::kArp, bytes);
}

Bytes ipv4_packet(const Gid& source, const Gid& destination, std::uint8_t protocol,
                  wire::ByteView payload) {
  wire::Ipv4Header ip;
  ip.total_length = static_cast<std::uint16_t>(20 + payload.size());
  ip.protocol = protocol;
  ip.source = source.ipv4();
  ip.destination = destination.ipv4();
  ip.checksum = ip.computed_checksum();
  Bytes bytes(20 + payload.size());
  ip.serialize(std::span<std::byte, 20>(bytes.data(), 20));
  std::copy(payload.begin(), payload.end(), bytes.begin() + 20);
  return bytes;
}

Bytes ipv6_packet(const Gid& source, const Gid& destination, std::uint8_t hop_limit,
                  wire::ByteView payload) {
  wire::Ipv6Header ip;
  ip.payload_length = static_cast<std::uint16_t>(payload.size());
  ip.next_header = kIcmpv6;
  ip.hop_limit = hop_limit;
  ip.source = source;
  ip.destination = destination;
  Bytes bytes(40 + payload.size());
  ip.serialize(std::span<std::byte, 40>(bytes.data(), 40));
  std::copy(payload.begin(), payload.end(), bytes.begin() + 40);
  return bytes;
}

Bytes neighbor_frame(const MacAddress& to, const MacAddress& from, const Gid& source,
                     const Gid& destination, const NeighborMessage& message,
                     std::uint8_t hop_limit = 255) {
  Bytes bytes(message.size());
  message.serialize(bytes, source, destination);
  return ethernet(to, from, wire::ethertype::kIpv6,
                  ipv6_packet(source, destination, hop_limit, bytes));
}

Bytes echo_request_v4(const Gid& source, const Gid& destination, std::uint16_t sequence,
                      wire::ByteView data) {
  wire::Echo echo;
  echo.identifier = 7;
  echo.sequence = sequence;
  echo.data = data;
  Bytes message(echo.size());
  echo.serialize_icmp(message);
  return ipv4_packet(source, destination, wire::ip_protocol::kIcmp, message);
}

// A NIC with a raw port beside it that plays the peers.
struct Bench {
  NicWorld world;
  Nic& nic = world.add(1);
  RawPort port = world.port();

  std::vector<Bytes> send(const Bytes& frame) {
    port.send(world.now(), frame);
    world.settle();
    return port.take(world.now());
  }
  // What the NIC sends when it pings an address: a probe, or the request if it knows the neighbour.
  bool knows(const Gid& address, const MacAddress& as) {
    port.take(world.now());
    nic.ping(world.now(), address, 1, 1, {});
    world.settle();
    for (const Bytes& frame : port.take(world.now())) {
      const auto header = wire::EthernetHeader::parse(frame);
      if (header->ethertype != wire::ethertype::kArp && header->destination == as) return true;
    }
    return false;
  }
};

TEST_CASE("an ARP request for our address is answered, and who asked is known") {
  Bench bench;
  const Arp request{Arp::kRequest, mac(9), gid("10.0.0.9").ipv4(), {}, gid("10.0.0.1").ipv4()};
  // By broadcast, and as the unicast probe by which a host confirms what it knows.
  for (const MacAddress& to : {MacAddress::broadcast(), mac(1)}) {
    const auto answers = bench.send(arp_frame(to, request));
    REQUIRE(answers.size() == 1);
    const auto header = wire::EthernetHeader::parse(answers[0]);
    CHECK(header->destination == mac(9));
    CHECK(header->source == mac(1));
    const auto reply = Arp::parse(wire::ByteView(answers[0]).subspan(14));
    REQUIRE(reply);
    CHECK(*reply == Arp{Arp::kReply, mac(1), request.target_ip, mac(9), request.sender_ip});
  }
  CHECK(bench.knows(gid("10.0.0.9"), mac(9)));
}

TEST_CASE("a probe for duplicates is answered but teaches nothing") {
  Bench bench;
  const Arp probe{Arp::kRequest, mac(9), 0, {}, gid("10.0.0.1").ipv4()};
  CHECK(bench.send(arp_frame(MacAddress::broadcast(), probe)).size() == 1);
  CHECK_FALSE(bench.knows(gid("0.0.0.0"), mac(9)));
}

TEST_CASE("ARP that is not for us, malformed or incredible is neither answered nor believed") {
  Bench bench;
  const std::uint32_t us = gid("10.0.0.1").ipv4();
  const std::uint32_t peer = gid("10.0.0.9").ipv4();
  const std::vector<Arp> messages{
      {Arp::kRequest, mac(9), peer, {}, gid("10.0.0.5").ipv4()},
      {Arp::kReply, mac(9), peer, mac(1), us},                 // nobody asked
      {Arp::kRequest, mac(9), peer, {}, peer},                 // an announcement
      {Arp::kReply, mac(9), us, MacAddress::broadcast(), us},  // claims our address
  };
  for (const Arp& message : messages) {
    CHECK(bench.send(arp_frame(MacAddress::broadcast(), message)).empty());
  }
  CHECK_FALSE(bench.knows(gid("10.0.0.9"), mac(9)));

  // A group's or nobody's MAC address is not answered to, nor one that is ours.
  for (const MacAddress& sender : {MacAddress::broadcast(), mac(1)}) {
    Bytes frame = arp_frame(MacAddress::broadcast(), {Arp::kRequest, sender, peer, {}, us});
    wire::store_mac(frame.data() + 6, mac(9));
    CHECK(bench.send(frame).empty());
  }
  Bytes cut = arp_frame(MacAddress::broadcast(), {Arp::kRequest, mac(9), peer, {}, us});
  cut.resize(cut.size() - 1);
  CHECK(bench.send(cut).empty());
}

TEST_CASE("an announcement changes what is known already") {
  Bench bench;
  bench.nic.add_neighbor(gid("10.0.0.9"), mac(9));
  const std::uint32_t peer = gid("10.0.0.9").ipv4();
  CHECK(bench.knows(gid("10.0.0.9"), mac(9)));
  bench.send(arp_frame(MacAddress::broadcast(), {Arp::kRequest, mac(10), peer, {}, peer}));
  CHECK(bench.knows(gid("10.0.0.9"), mac(10)));
  bench.send(arp_frame(mac(1), {Arp::kReply, mac(11), peer, mac(1), gid("10.0.0.1").ipv4()}));
  CHECK(bench.knows(gid("10.0.0.9"), mac(11)));
}

TEST_CASE("a neighbour solicitation is answered, by multicast and unicast") {
  Bench bench;
  for (const char* own : {"fd00::1", "fe80::ff:fe00:1"}) {
    const Gid target = gid(own);
    const Gid peer = gid("fd00::9");
    const Gid group = wire::solicited_node_multicast(target);
    NeighborMessage question;
    question.target = target;
    question.link_address = mac(9);
    struct To {
      MacAddress mac;
      Gid address;
    };
    for (const To& to : {To{wire::multicast_mac(group), group}, To{mac(1), target}}) {
      const auto answers = bench.send(neighbor_frame(to.mac, mac(9), peer, to.address, question));
      REQUIRE(answers.size() == 1);
      const Bytes& answer = answers[0];
      CHECK(wire::EthernetHeader::parse(answer)->destination == mac(9));
      const auto ip =
          wire::Ipv6Header::parse(std::span<const std::byte, 40>(answer.data() + 14, 40));
      CHECK(ip.hop_limit == 255);
      CHECK(ip.source == target);
      CHECK(ip.destination == peer);
      const auto message =
          NeighborMessage::parse(wire::ByteView(answer).subspan(54), ip.source, ip.destination);
      REQUIRE(message);
      CHECK(message->advertisement);
      CHECK(message->solicited);
      CHECK(message->override_flag);
      CHECK(message->target == target);
      CHECK(message->link_address == mac(1));
    }
  }
  CHECK(bench.knows(gid("fd00::9"), mac(9)));
}

TEST_CASE("duplicate address detection is answered to all nodes") {
  Bench bench;
  const Gid target = gid("fd00::1");
  const Gid group = wire::solicited_node_multicast(target);
  NeighborMessage question;
  question.target = target;
  const auto answers =
      bench.send(neighbor_frame(wire::multicast_mac(group), mac(9), Gid{}, group, question));
  REQUIRE(answers.size() == 1);
  const Gid all_nodes = gid("ff02::1");
  CHECK(wire::EthernetHeader::parse(answers[0])->destination == wire::multicast_mac(all_nodes));
  const auto message =
      NeighborMessage::parse(wire::ByteView(answers[0]).subspan(54), target, all_nodes);
  REQUIRE(message);
  CHECK_FALSE(message->solicited);
  CHECK(message->link_address == mac(1));
}

TEST_CASE("a neighbour message that crossed a router, or is for another, does nothing") {
  Bench bench;
  const Gid target = gid("fd00::1");
  NeighborMessage question;
  question.target = target;
  question.link_address = mac(9);
  CHECK(bench.send(neighbor_frame(mac(1), mac(9), gid("fd00::9"), target, question, 254)).empty());
  question.target = gid("fd00::5");
  CHECK(bench.send(neighbor_frame(mac(1), mac(9), gid("fd00::9"), target, question)).empty());
  NeighborMessage unasked;
  unasked.advertisement = unasked.override_flag = true;
  unasked.target = gid("fd00::9");
  unasked.link_address = mac(9);
  CHECK(bench.send(neighbor_frame(mac(1), mac(9), gid("fd00::9"), target, unasked)).empty());
  CHECK_FALSE(bench.knows(gid("fd00::9"), mac(9)));
}

TEST_CASE("an advertisement replaces a known address only with the override flag") {
  Bench bench;
  const Gid peer = gid("fd00::9");
  const Gid all_nodes = gid("ff02::1");
  bench.nic.add_neighbor(peer, mac(9));
  NeighborMessage message;
  message.advertisement = true;
  message.target = peer;
  message.link_address = mac(10);
  const MacAddress to = wire::multicast_mac(all_nodes);
  bench.send(neighbor_frame(to, mac(10), peer, all_nodes, message));
  CHECK(bench.knows(peer, mac(9)));
  message.override_flag = true;
  bench.send(neighbor_frame(to, mac(10), peer, all_nodes, message));
  CHECK(bench.knows(peer, mac(10)));
}

TEST_CASE("an unknown neighbour is asked for three times in the right form") {
  Bench bench;
  for (const char* text : {"10.0.0.77", "fd00::77"}) {
    const Gid target = gid(text);
    REQUIRE(bench.nic.ping(bench.world.now(), target, 1, 1, {}));
    bench.world.run_for(std::chrono::seconds(1));
    const auto probes = bench.port.take(bench.world.now());
    REQUIRE(probes.size() == 3);
    for (const Bytes& probe : probes) {
      const auto header = wire::EthernetHeader::parse(probe);
      CHECK(header->source == mac(1));
      if (target.is_ipv4_mapped()) {
        CHECK(header->destination == MacAddress::broadcast());
        CHECK(Arp::parse(wire::ByteView(probe).subspan(14)) ==
              Arp{Arp::kRequest, mac(1), gid("10.0.0.1").ipv4(), {}, target.ipv4()});
      } else {
        const Gid group = wire::solicited_node_multicast(target);
        CHECK(header->destination == wire::multicast_mac(group));
        const auto message =
            NeighborMessage::parse(wire::ByteView(probe).subspan(54), gid("fd00::1"), group);
        REQUIRE(message);
        CHECK_FALSE(message->advertisement);
        CHECK(message->target == target);
        CHECK(message->link_address == mac(1));
      }
    }
  }
  CHECK(bench.nic.counters().tx_unresolved == 2);
  CHECK(bench.nic.next_deadline() == wire::kNever);
}

TEST_CASE("a new NIC tells everyone its addresses") {
  NicWorld world;
  RawPort port = world.port();
  NicConfig config = NicWorld::config(1);
  config.announce = true;
  Nic& nic = world.add(config);
  CHECK(nic.next_deadline() == wire::Instant::min());
  world.settle();
  const auto frames = port.take(world.now());
  REQUIRE(frames.size() == 3);
  std::size_t arps = 0;
  for (const Bytes& frame : frames) {
    const auto header = wire::EthernetHeader::parse(frame);
    if (header->ethertype == wire::ethertype::kArp) {
      const std::uint32_t own = gid("10.0.0.1").ipv4();
      CHECK(Arp::parse(wire::ByteView(frame).subspan(14)) ==
            Arp{Arp::kRequest, mac(1), own, {}, own});
      ++arps;
    } else {
      CHECK(header->destination == wire::multicast_mac(gid("ff02::1")));
    }
  }
  CHECK(arps == 1);
  world.run_for(std::chrono::hours(1));
  CHECK(port.take(world.now()).empty());
}

TEST_CASE("NICs ping each other over IPv4, IPv6 and link-local addresses, up to the MTU") {
  for (const std::uint32_t mtu : {1500u, 9000u}) {
    NicWorld world(mtu);
    Nic& first = world.add(1);
    Nic& second = world.add(2);
    struct Reply {
      Gid source;
      std::uint16_t identifier, sequence;
      Bytes data;
    };
    std::vector<Reply> replies;
    first.on_echo_reply([&replies](wire::Instant, const Gid& source, std::uint16_t identifier,
                                   std::uint16_t sequence, wire::ByteView data) {
      replies.push_back({source, identifier, sequence, Bytes(data.begin(), data.end())});
    });
    std::uint16_t sequence = 0;
    const Gid second_link_local = Gid::link_local(second.mac());
    for (const Gid& to : {gid("10.0.0.2"), gid("fd00::2"), second_link_local}) {
      const std::size_t most = mtu - (to.is_ipv4_mapped() ? 28 : 48);
      for (const std::size_t n : {std::size_t{0}, std::size_t{1}, std::size_t{56}, most}) {
        INFO(to.to_string() << ", " << n << " bytes");
        const Bytes data = random_bytes(n, 1);
        replies.clear();
        REQUIRE(first.ping(world.now(), to, 77, ++sequence, data));
        world.run_for(std::chrono::seconds(1));
        REQUIRE(replies.size() == 1);
        CHECK(replies[0].source == to);
        CHECK(replies[0].identifier == 77);
        CHECK(replies[0].sequence == sequence);
        CHECK(replies[0].data == data);
      }
      CHECK_FALSE(first.ping(world.now(), to, 77, 1, Bytes(most + 1)));
    }
    CHECK(second.counters().malformed_pkts == 0);
    CHECK(second.counters().not_for_us == 0);
  }
}

TEST_CASE("a NIC answers its own ping without the link") {
  NicWorld world;
  Nic& nic = world.add(1);
  RawPort port = world.port();
  int replies = 0;
  nic.on_echo_reply([&replies](wire::Instant, const Gid&, std::uint16_t, std::uint16_t,
                               wire::ByteView) { ++replies; });
  for (const char* own : {"10.0.0.1", "fd00::1"}) {
    REQUIRE(nic.ping(world.now(), gid(own), 1, 1, random_bytes(100, 1)));
  }
  world.run_for(std::chrono::seconds(1));
  CHECK(replies == 2);
  CHECK(port.take(world.now()).empty());
  CHECK(nic.next_deadline() == wire::kNever);
}

TEST_CASE("ping needs an address of the destination's kind") {
  NicWorld world;
  NicConfig config = NicWorld::config(1);
  config.addresses.clear();
  Nic& nic = world.add(config);
  CHECK_FALSE(nic.ping(world.now(), gid("10.0.0.2"), 1, 1, {}));
  CHECK(nic.ping(world.now(), gid("fe80::2"), 1, 1, {}));
}

TEST_CASE("echo requests in several segments are answered") {
  NicWorld world(9000);
  world.add(NicWorld::config(1),
            std::make_unique<SegmentedLink>(world.attach(),
                                            std::array<std::uint32_t, 3>{200, 4000, 5200}));
  RawPort port = world.port();
  const Bytes data = random_bytes(8000, 3);
  port.send(world.now(), ethernet(mac(1), mac(9), wire::ethertype::kIpv4,
                                  echo_request_v4(gid("10.0.0.9"), gid("10.0.0.1"), 1, data)));
  world.settle();
  const auto answers = port.take(world.now());
  REQUIRE(answers.size() == 1);
  const auto echo = wire::Echo::parse_icmp(wire::ByteView(answers[0]).subspan(34));
  REQUIRE(echo);
  CHECK(std::equal(echo->data.begin(), echo->data.end(), data.begin(), data.end()));
}

TEST_CASE("an echo request that must not be answered is not") {
  Bench bench;
  const Gid us = gid("10.0.0.1");
  const Gid peer = gid("10.0.0.9");
  const auto request = [](const Gid& from, const Gid& to) {
    return echo_request_v4(from, to, 1, random_bytes(8, 1));
  };
  const auto from_peer = [](const MacAddress& to, wire::ByteView packet) {
    return ethernet(to, mac(9), wire::ethertype::kIpv4, packet);
  };
  REQUIRE(bench.send(from_peer(mac(1), request(peer, us))).size() == 1);
  // To a group or from one; from our own address; cut short; with a wrong checksum; a fragment.
  CHECK(bench.send(from_peer(MacAddress::broadcast(), request(peer, us))).empty());
  CHECK(bench.send(from_peer(mac(1), request(gid("224.0.0.1"), us))).empty());
  CHECK(bench.send(from_peer(mac(1), request(gid("0.0.0.0"), us))).empty());
  CHECK(bench.send(from_peer(mac(1), request(gid("255.255.255.255"), us))).empty());
  CHECK(bench.send(from_peer(mac(1), request(us, us))).empty());
  CHECK(bench
            .send(ethernet(mac(1), MacAddress::broadcast(), wire::ethertype::kIpv4,
                           request(peer, us)))
            .empty());
  Bytes packet = request(peer, us);
  packet.back() ^= std::byte{1};
  CHECK(bench.send(from_peer(mac(1), packet)).empty());
  packet = request(peer, us);
  packet.resize(packet.size() - 1);
  CHECK(bench.send(from_peer(mac(1), packet)).empty());
  packet = request(peer, us);
  packet[6] = std::byte{0x20};
  packet[10] = packet[11] = std::byte{};
  wire::store_be16(packet.data() + 10, wire::internet_checksum(wire::ByteView(packet).first(20)));
  CHECK(bench.send(from_peer(mac(1), packet)).empty());
  CHECK(bench.nic.counters().not_for_us == 0);
  CHECK(bench.send(from_peer(mac(1), request(peer, gid("10.0.0.5")))).empty());
  CHECK(bench.nic.counters().not_for_us == 1);
}

TEST_CASE("an Ethernet trailer is not part of an echo") {
  Bench bench;
  Bytes frame = ethernet(mac(1), mac(9), wire::ethertype::kIpv4,
                         echo_request_v4(gid("10.0.0.9"), gid("10.0.0.1"), 1, random_bytes(4, 1)));
  frame.resize(60, std::byte{0x55});
  const auto answers = bench.send(frame);
  REQUIRE(answers.size() == 1);
  CHECK(answers[0].size() == 14 + 20 + 8 + 4);
}

TEST_CASE("echo requests waiting for a neighbour are bounded and all accounted for") {
  Bench bench;
  constexpr std::uint64_t kPings = 100;
  for (std::uint16_t i = 0; i < kPings; ++i) {
    bench.nic.ping(bench.world.now(), gid("10.0.0.9"), 1, i, {});
  }
  const std::uint64_t dropped = bench.nic.counters().tx_unresolved;
  CHECK(dropped > 0);
  bench.world.settle();
  bench.port.take(bench.world.now());
  const auto sent = bench.send(arp_frame(
      mac(1), {Arp::kReply, mac(9), gid("10.0.0.9").ipv4(), mac(1), gid("10.0.0.1").ipv4()}));
  CHECK(sent.size() == kPings - dropped);
  for (const Bytes& frame : sent) {
    CHECK(wire::EthernetHeader::parse(frame)->destination == mac(9));
  }
  CHECK(bench.nic.counters().tx_unresolved == dropped);
}

}  // namespace
}  // namespace softrnic::nic::test
