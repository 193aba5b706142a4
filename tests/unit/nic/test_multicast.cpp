// SPDX-License-Identifier: BSD-3-Clause
// Multicast datagrams: who hears a group, what stands around them on the wire, and what the network
// is told (IBTA vol. 1, 10.5.2; RFC 2236; RFC 2710).
#include "nic/ip_datagram.hpp"
#include "nic_world.hpp"
#include "raw_packet.hpp"
#include "wire/group_membership.hpp"
#include "wire/icmp.hpp"
#include "wire/packet_view.hpp"

using namespace softrnic;
using namespace softrnic::nic;
using namespace softrnic::nic::test;
using transport::QueuePairType;
using wire::RoceVersion;

namespace {

constexpr std::uint32_t kGroupNumber = 0xffffff;
constexpr std::size_t kGrh = 40;

struct Kind {
  const char* own;
  const char* group;
  RoceVersion version;
};

// As Linux's RDMA CM makes groups: IPv4 groups are mapped in RoCE v2 and ff0e::ffff:a.b.c.d in v1.
constexpr Kind kKinds[] = {
    {"10.0.0.", "239.1.2.3", RoceVersion::v2},
    {"fd00::", "ff0e::1:2:3", RoceVersion::v2},
    {"fd00::", "ff0e::1:2:3", RoceVersion::v1},
    {"10.0.0.", "ff0e::ffff:ef01:203", RoceVersion::v1},
};

Endpoint datagram_endpoint(Nic& nic, std::uint16_t partition_key = wire::kDefaultPartitionKey) {
  Endpoint e = make_endpoint(nic, wire::Service::unreliable_datagram, 4096);
  auto attributes = attributes_to(0);
  attributes.partition_key = partition_key;
  bring_up(e, attributes, nullptr);
  return e;
}

std::uint32_t handle_to(Endpoint& e, std::uint8_t n, const Kind& kind) {
  AddressAttributes to;
  to.gid_index = gid_index(*e.nic, gid(kind.own + std::to_string(n)), kind.version);
  to.destination = gid(kind.group);
  return e.nic->create_address_handle(e.domain, to).value();
}

void send_to_group(Endpoint& e, std::uint32_t handle, std::size_t size,
                   std::uint32_t qpn = kGroupNumber) {
  transport::SendRequest request;
  request.id = 77;
  request.address_handle = handle;
  request.remote_qpn = qpn;
  request.remote_queue_key = 0x11111111;
  e.send(request, 0, size);
}

// Frames that carry membership messages, taken apart.
std::vector<wire::MembershipMessage> told(const std::vector<Bytes>& frames) {
  std::vector<wire::MembershipMessage> out;
  for (const Bytes& frame : frames) {
    const auto ethernet = wire::EthernetHeader::parse(frame);
    const wire::ByteView bytes = wire::ByteView(frame).subspan(ethernet->size());
    const bool v4 = ethernet->ethertype == wire::ethertype::kIpv4;
    const auto datagram = v4 ? IpDatagram::parse_ipv4(bytes) : IpDatagram::parse_ipv6(bytes);
    if (!datagram) continue;
    std::optional<wire::MembershipMessage> message;
    if (v4 && datagram->protocol == wire::ip_protocol::kIgmp) {
      message = wire::MembershipMessage::parse_igmp(datagram->payload);
      CHECK(wire::load_be32(bytes.data() + 20) == 0x94040000);  // router alert (RFC 2113)
    } else if (!v4 && datagram->protocol == wire::ip_protocol::kHopByHop) {
      message = wire::MembershipMessage::parse_mld(datagram->payload, datagram->source,
                                                   datagram->destination);
      CHECK(datagram->source.is_link_local());
    }
    if (!message) continue;
    CHECK(datagram->hop_limit == 1);
    CHECK(datagram->destination == message->destination());
    CHECK(ethernet->destination == wire::multicast_mac(datagram->destination));
    out.push_back(*message);
  }
  return out;
}

Bytes query_frame(const wire::Gid& group, bool v4, wire::Duration within) {
  wire::MembershipMessage query{wire::MembershipKind::query, group, within};
  Bytes payload(v4 ? wire::MembershipMessage::kIgmpSize : wire::MembershipMessage::kMldSize);
  const wire::Gid source = v4 ? gid("10.0.0.99") : gid("fe80::99");
  const wire::Gid to = !group.is_zero() ? group : v4 ? gid("224.0.0.1") : gid("ff02::1");
  if (v4) {
    query.serialize_igmp(std::span<std::byte, 8>(payload));
  } else {
    query.serialize_mld(std::span<std::byte, wire::MembershipMessage::kMldSize>(payload), source,
                        to);
  }
  const wire::EthernetHeader ethernet{
      wire::multicast_mac(to), mac(99), {}, v4 ? wire::ethertype::kIpv4 : wire::ethertype::kIpv6};
  Bytes frame(ethernet.size() + (v4 ? 20 : 40) + payload.size());
  ethernet.serialize(frame);
  const wire::ByteSpan ip = wire::ByteSpan(frame).subspan(ethernet.size());
  if (v4) {
    wire::Ipv4Header header;
    header.total_length = static_cast<std::uint16_t>(20 + payload.size());
    header.protocol = wire::ip_protocol::kIgmp;
    header.time_to_live = 1;
    header.source = source.ipv4();
    header.destination = to.ipv4();
    header.checksum = header.computed_checksum();
    header.serialize(ip.first<20>());
  } else {
    wire::Ipv6Header header;
    header.payload_length = static_cast<std::uint16_t>(payload.size());
    header.next_header = wire::ip_protocol::kHopByHop;
    header.hop_limit = 1;
    header.source = source;
    header.destination = to;
    header.serialize(ip.first<40>());
  }
  std::copy(payload.begin(), payload.end(),
            frame.end() - static_cast<std::ptrdiff_t>(payload.size()));
  return frame;
}

}  // namespace

TEST_CASE("a datagram to a group reaches every queue pair attached to it, once") {
  for (const Kind& kind : kKinds) {
    CAPTURE(kind.own, kind.group, static_cast<int>(kind.version));
    NicWorld world;
    Endpoint sender = datagram_endpoint(world.add(1));
    RawPort port = world.port();
    Nic& bob = world.add(2);
    std::vector<Endpoint> members;
    for (int i = 0; i < 3; ++i) members.push_back(datagram_endpoint(bob));
    members.push_back(datagram_endpoint(world.add(3)));
    Endpoint stranger = datagram_endpoint(bob);
    for (Endpoint* e : {&members[0], &members[1], &members[2], &members[3]}) {
      REQUIRE_FALSE(e->nic->attach_multicast(e->qpn(), gid(kind.group)));
      REQUIRE_FALSE(e->nic->attach_multicast(e->qpn(), gid(kind.group)));  // once is enough
      e->receive(5, 0, 1024);
      e->receive(6, 0, 1024);
    }
    stranger.receive(5, 0, 1024);
    world.settle();
    port.take(world.now());

    const Bytes pattern = random_bytes(sender.buffer.size(), 3);
    std::copy(pattern.begin(), pattern.end(), sender.buffer.begin());
    send_to_group(sender, handle_to(sender, 1, kind), 301);
    world.settle();

    REQUIRE(sender.poll().size() == 1);
    const auto frames = port.take(world.now());
    REQUIRE(frames.size() == 1);
    const auto packet = wire::PacketView::parse(wire::ByteChain(wire::ByteView(frames[0]))).value();
    CHECK(wire::load_mac(frames[0].data()) == wire::multicast_mac(gid(kind.group)));
    CHECK(packet.version() == kind.version);
    CHECK(packet.destination() == gid(kind.group));
    CHECK(packet.bth().destination_qpn == kGroupNumber);
    CHECK(packet.icrc_ok());
    for (Endpoint& e : members) {
      const auto done = e.poll();
      REQUIRE(done.size() == 1);
      CHECK(done[0].id == 5);
      CHECK(done[0].status == transport::CompletionStatus::success);
      CHECK(done[0].has_grh);
      CHECK(done[0].source_qpn == sender.qpn());
      CHECK(done[0].byte_length == kGrh + 301);
      CHECK(
          std::equal(sender.buffer.begin(), sender.buffer.begin() + 301, e.buffer.begin() + kGrh));
      // The GRH room ends with the group's address, whatever the network layer.
      const wire::Gid group = gid(kind.group);
      const std::size_t tail = group.is_ipv4_mapped() ? 4 : 16;
      CHECK(std::equal(group.bytes.end() - static_cast<std::ptrdiff_t>(tail), group.bytes.end(),
                       reinterpret_cast<const std::uint8_t*>(e.buffer.data()) + kGrh - tail));
    }
    CHECK(stranger.poll().empty());
  }
}

TEST_CASE("the sender's NIC gives its own members a copy, the sender among them") {
  NicWorld world;
  Nic& nic = world.add(1);
  RawPort port = world.port();
  Endpoint sender = datagram_endpoint(nic);
  Endpoint other = datagram_endpoint(nic);
  const Kind kind = kKinds[0];
  for (Endpoint* e : {&sender, &other}) {
    REQUIRE_FALSE(nic.attach_multicast(e->qpn(), gid(kind.group)));
    e->receive(5, 1024, 1024);
  }
  world.settle();
  port.take(world.now());
  send_to_group(sender, handle_to(sender, 1, kind), 8);
  world.settle();
  CHECK(port.take(world.now()).size() == 1);
  CHECK(sender.poll().size() == 2);  // of its send, and of its receive
  CHECK(other.poll().size() == 1);
}

TEST_CASE("each member checks a group's datagram for itself") {
  NicWorld world;
  Endpoint sender = datagram_endpoint(world.add(1));
  Nic& bob = world.add(2);
  Endpoint good = datagram_endpoint(bob);
  Endpoint without_receive = datagram_endpoint(bob);
  Endpoint other_partition = datagram_endpoint(bob, 0x8001);
  Endpoint other_key = datagram_endpoint(bob);
  auto attributes = attributes_to(0);
  attributes.queue_key = 0x22222222;
  REQUIRE_FALSE(bob.modify(other_key.qpn(), transport::QueuePairState::reset, attributes));
  bring_up(other_key, attributes, nullptr);
  for (Endpoint* e : {&good, &without_receive, &other_partition, &other_key}) {
    REQUIRE_FALSE(bob.attach_multicast(e->qpn(), gid("239.1.2.3")));
    if (e != &without_receive) e->receive(5, 0, 1024);
  }
  send_to_group(sender, handle_to(sender, 1, kKinds[0]), 8);
  world.settle();
  CHECK(good.poll().size() == 1);
  for (Endpoint* e : {&without_receive, &other_partition, &other_key}) CHECK(e->poll().empty());
  CHECK(bob.counters().bad_pkey == 1);
  CHECK(bob.counters().qkey_violations == 1);
  CHECK(bob.counters().out_of_buffer == 1);
  CHECK(bob.counters().rcvd_pkts == 1);
}

TEST_CASE("what is not quite a group's datagram reaches nobody") {
  NicWorld world;
  Nic& nic = world.add(2);
  RawPort port = world.port();
  Endpoint e = datagram_endpoint(nic);
  REQUIRE_FALSE(nic.attach_multicast(e.qpn(), gid("239.1.2.3")));
  e.receive(5, 0, 1024);
  world.settle();
  RawPacket packet;
  packet.vector.source_mac = mac(1);
  packet.vector.source = gid("10.0.0.1");
  packet.vector.destination = gid("239.1.2.3");
  packet.vector.destination_mac = wire::multicast_mac(packet.vector.destination);
  packet.headers.bth.opcode = wire::Opcode::ud_send_only;
  packet.headers.bth.destination_qpn = kGroupNumber;
  packet.headers.deth = {.queue_key = 0x11111111, .source_qpn = 9};
  packet.payload = random_bytes(8, 1);
  const auto counts = [&](const RawPacket& sent) {
    const transport::Counters before = nic.counters();
    port.send(world.now(), sent.frame());
    world.settle();
    transport::Counters after = nic.counters();
    return std::array{after.not_for_us - before.not_for_us, after.unknown_qpn - before.unknown_qpn,
                      after.wrong_service - before.wrong_service,
                      after.icrc_errors - before.icrc_errors};
  };
  using Counts = std::array<std::uint64_t, 4>;

  RawPacket wrong = packet;  // the group's own Ethernet address, another group's IP address
  wrong.vector.destination = gid("238.129.2.3");
  CHECK(wire::multicast_mac(wrong.vector.destination) == packet.vector.destination_mac);
  CHECK(counts(wrong) == Counts{1, 0, 0, 0});
  wrong = packet;  // another Ethernet group
  wrong.vector.destination_mac = wire::multicast_mac(gid("239.1.2.4"));
  CHECK(counts(wrong) == Counts{1, 0, 0, 0});
  wrong = packet;  // to a single station
  wrong.vector.destination_mac = nic.mac();
  CHECK(counts(wrong) == Counts{1, 0, 0, 0});
  wrong = packet;  // a unicast address under the group's Ethernet address
  wrong.vector.destination = gid("10.0.0.2");
  CHECK(counts(wrong) == Counts{1, 0, 0, 0});
  wrong = packet;  // a number of one queue pair
  wrong.headers.bth.destination_qpn = e.qpn();
  CHECK(counts(wrong) == Counts{0, 1, 0, 0});
  wrong = packet;  // the group's number for a single station
  wrong.vector.destination = gid("10.0.0.2");
  wrong.vector.destination_mac = nic.mac();
  CHECK(counts(wrong) == Counts{0, 1, 0, 0});
  wrong = packet;  // another service
  wrong.headers.bth.opcode = wire::Opcode::rc_send_only;
  CHECK(counts(wrong) == Counts{0, 0, 1, 0});
  auto corrupt = packet.frame();
  corrupt.back() ^= std::byte{1};
  const std::uint64_t errors = nic.counters().icrc_errors;
  port.send(world.now(), corrupt);
  world.settle();
  CHECK(nic.counters().icrc_errors == errors + 1);
  CHECK(e.poll().empty());

  CHECK(counts(packet) == Counts{});
  CHECK(e.poll().size() == 1);
  REQUIRE_FALSE(nic.detach_multicast(e.qpn(), gid("239.1.2.3")));
  e.receive(6, 0, 1024);
  CHECK(counts(packet) == Counts{1, 0, 0, 0});
  CHECK(e.poll().empty());
}

TEST_CASE("attaching and detaching: who may, what is in use, and how many") {
  NicWorld world;
  NicConfig config = NicWorld::config(1);
  config.limits.multicast_groups = 2;
  config.limits.multicast_group_queue_pairs = 2;
  config.limits.multicast_attachments = 3;
  Nic& nic = world.add(config);
  Endpoint a = datagram_endpoint(nic);
  Endpoint b = datagram_endpoint(nic);
  Endpoint c = datagram_endpoint(nic);
  Endpoint connected = make_endpoint(nic, wire::Service::reliable_connection, 64);
  const wire::Gid one = gid("239.0.0.1");
  const wire::Gid two = gid("ff0e::2");
  CHECK(nic.attach_multicast(0x999, one) == ResourceError::no_such_queue_pair);
  CHECK(nic.detach_multicast(0x999, one) == ResourceError::no_such_queue_pair);
  CHECK(nic.attach_multicast(connected.qpn(), one) == ResourceError::bad_group);
  for (const char* no_group : {"10.0.0.1", "fd00::1", "::", "0.0.0.0"}) {
    CHECK(nic.attach_multicast(a.qpn(), gid(no_group)) == ResourceError::bad_group);
  }
  CHECK(nic.detach_multicast(a.qpn(), one) == ResourceError::not_attached);
  CHECK_FALSE(nic.attach_multicast(a.qpn(), one));
  CHECK(nic.detach_multicast(b.qpn(), one) == ResourceError::not_attached);
  CHECK(nic.destroy_queue_pair(a.qpn()) == ResourceError::busy);
  CHECK_FALSE(nic.attach_multicast(b.qpn(), one));
  CHECK(nic.attach_multicast(c.qpn(), one) == ResourceError::table_full);
  CHECK_FALSE(nic.attach_multicast(a.qpn(), two));
  CHECK(nic.attach_multicast(b.qpn(), two) == ResourceError::table_full);
  CHECK_FALSE(nic.detach_multicast(b.qpn(), one));
  CHECK(nic.attach_multicast(b.qpn(), gid("239.0.0.3")) == ResourceError::table_full);
  CHECK_FALSE(nic.detach_multicast(a.qpn(), one));
  CHECK(nic.detach_multicast(a.qpn(), one) == ResourceError::not_attached);
  CHECK(nic.destroy_queue_pair(a.qpn()) == ResourceError::busy);
  CHECK_FALSE(nic.detach_multicast(a.qpn(), two));
  CHECK_FALSE(nic.destroy_queue_pair(a.qpn()));
}

TEST_CASE("the network is told of a group at the first attach, again, when asked, and at the end") {
  for (const bool v4 : {true, false}) {
    CAPTURE(v4);
    NicWorld world;
    Nic& nic = world.add(2);
    RawPort port = world.port();
    Endpoint a = datagram_endpoint(nic);
    Endpoint b = datagram_endpoint(nic);
    const wire::Gid group = v4 ? gid("239.1.2.3") : gid("ff0e::5");
    const auto now_told = [&] { return told(port.take(world.now())); };
    const auto is = [&](const wire::MembershipMessage& m, wire::MembershipKind kind) {
      return m.kind == kind && m.group == group;
    };

    REQUIRE_FALSE(nic.attach_multicast(a.qpn(), group));
    REQUIRE_FALSE(nic.attach_multicast(b.qpn(), group));
    world.settle();
    auto messages = now_told();
    REQUIRE(messages.size() == 1);
    CHECK(is(messages[0], wire::MembershipKind::report));
    world.run_for(std::chrono::seconds(11));
    messages = now_told();
    REQUIRE(messages.size() == 1);  // once more, in case the first was lost
    CHECK(is(messages[0], wire::MembershipKind::report));
    world.run_for(std::chrono::seconds(100));
    CHECK(now_told().empty());

    for (const wire::Gid& asked : {wire::Gid{}, group}) {
      port.send(world.now(), query_frame(asked, v4, std::chrono::seconds(2)));
      world.run_for(std::chrono::milliseconds(2001));
      messages = now_told();
      REQUIRE(messages.size() == 1);
      CHECK(is(messages[0], wire::MembershipKind::report));
    }
    port.send(world.now(),
              query_frame(v4 ? gid("239.1.2.4") : gid("ff0e::6"), v4, std::chrono::seconds(2)));
    world.run_for(std::chrono::seconds(3));
    CHECK(now_told().empty());

    REQUIRE_FALSE(nic.detach_multicast(a.qpn(), group));
    world.settle();
    CHECK(now_told().empty());
    REQUIRE_FALSE(nic.detach_multicast(b.qpn(), group));
    world.settle();
    messages = now_told();
    REQUIRE(messages.size() == 1);
    CHECK(is(messages[0], wire::MembershipKind::leave));
    port.send(world.now(), query_frame({}, v4, std::chrono::seconds(2)));
    world.run_for(std::chrono::seconds(3));
    CHECK(now_told().empty());
  }
}

TEST_CASE("groups that all hosts are in, or that do not leave the host, are not told of") {
  NicWorld world;
  Nic& nic = world.add(2);
  RawPort port = world.port();
  Endpoint e = datagram_endpoint(nic);
  for (const char* group : {"224.0.0.1", "ff02::1", "ff01::7"}) {
    REQUIRE_FALSE(nic.attach_multicast(e.qpn(), gid(group)));
  }
  world.run_for(std::chrono::seconds(20));
  CHECK(told(port.take(world.now())).empty());
}
