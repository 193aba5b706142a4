// SPDX-License-Identifier: BSD-3-Clause
#include <catch2/catch.hpp>
#include <string>

#include "link/network_interface.hpp"
#include "link/packet_link.hpp"
#include "unit/link/exchange.hpp"
#include "unit/link/network_namespace.hpp"
#include "unit/link/veth_pair.hpp"

namespace softrnic::link {
namespace {

using namespace test;

std::unique_ptr<Link> open(const std::string& name) {
  auto link = open_packet(name);
  if (!link) FAIL(link.error().message);
  return std::move(link).value();
}

TEST_CASE("Packet links carry frames of every size both ways, in order") {
  const NetworkNamespace space;
  if (!make_pair(space, "packet links carry frames both ways")) return;
  const auto left = open("v0");
  const auto right = open("v1");
  CHECK(left->capabilities().name == "packet:v0");
  CHECK(left->capabilities().mtu == 4200);
  CHECK(left->capabilities().mac == NetworkInterface::find("v0")->mac);

  for (const auto& [from, to] : {std::pair{left.get(), right.get()}, {right.get(), left.get()}}) {
    Frames sent;
    for (std::size_t size = 14; size <= 4214; size += 60) {
      sent.push_back(ethernet(station(9), station(8), size, static_cast<int>(size)));
      wire::store_be16(sent.back().data() + 12, wire::ethertype::kRoceV1);
      send(*from, sent.back());
    }
    CHECK(receive_count(*to, sent.size()) == sent);
    CHECK(from->statistics().tx_frames == sent.size());
    CHECK(from->statistics().tx_dropped == 0);
    CHECK(to->statistics().rx_frames == sent.size());
    // What a link sends does not come back to it.
    CHECK(receive(*from).empty());
  }
}

TEST_CASE("A burst larger than one system call's is sent whole") {
  const NetworkNamespace space;
  if (!make_pair(space, "packet links send large bursts")) return;
  const auto left = open("v0");
  const auto right = open("v1");
  std::vector<Frame*> frames(300);
  REQUIRE(left->tx_alloc(frames) == 300);
  Frames sent;
  for (Frame* frame : frames) {
    sent.push_back(ethernet(station(9), station(8), 60 + sent.size(), 1));
    fill(*frame, sent.back());
  }
  left->tx_push({}, frames);
  CHECK(receive_count(*right, 300) == sent);
}

TEST_CASE("A VLAN tag that the kernel takes off is put back") {
  const NetworkNamespace space;
  if (!make_pair(space, "packet link restores VLAN tags")) return;
  const auto left = open("v0");
  const auto right = open("v1");
  Bytes tagged = ethernet(station(9), station(8), 100, 5);
  wire::store_be16(tagged.data() + 12, wire::ethertype::kVlan);
  wire::store_be16(tagged.data() + 14, 0x6123);  // priority 3, VLAN 0x123
  wire::store_be16(tagged.data() + 16, wire::ethertype::kRoceV1);
  send(*left, tagged);
  CHECK(receive_count(*right, 1) == Frames{tagged});
}

TEST_CASE("Once told its address, a packet link leaves other stations' frames out") {
  const NetworkNamespace space;
  if (!make_pair(space, "packet link filters by address")) return;
  const auto left = open("v0");
  const auto right = open("v1");
  right->set_local_addresses(station(9), {});
  const Bytes own = ethernet(station(9), station(8), 60, 1);
  const Bytes other = ethernet(station(7), station(8), 60, 2);
  Bytes near = own;  // differs in the first four bytes only
  near[0] = std::byte{6};
  const Bytes all = ethernet(wire::MacAddress::broadcast(), station(8), 60, 3);
  for (const Bytes& frame : {other, own, near, other, all}) send(*left, frame);
  CHECK(receive_count(*right, 2) == Frames{own, all});
  right->set_local_addresses(station(7), {});
  for (const Bytes& frame : {own, other}) send(*left, frame);
  CHECK(receive_count(*right, 1) == Frames{other});
}

TEST_CASE("A packet link counts what the interface refuses, and sends the rest") {
  const NetworkNamespace space;
  if (!make_pair(space, "packet link counts refused frames", 1500)) return;
  const auto left = open("v0");
  const auto right = open("v1");
  REQUIRE(NetworkInterface::find("v0")->set_mtu(1000) == 0);  // below what the link was told
  std::vector<Frame*> frames(3);
  REQUIRE(left->tx_alloc(frames) == 3);
  const Bytes good = ethernet(station(9), station(8), 60, 1);
  fill(*frames[0], good);
  fill(*frames[1], ethernet(station(9), station(8), 1500, 2));
  fill(*frames[2], good);
  left->tx_push({}, frames);
  CHECK(left->statistics().tx_frames == 2);
  CHECK(left->statistics().tx_dropped == 1);
  CHECK(receive_count(*right, 2) == Frames{good, good});

  REQUIRE(NetworkInterface::find("v0")->set_up(false) == 0);
  send(*left, good);
  CHECK(left->statistics().tx_dropped == 2);
}

TEST_CASE("A frame too long for the packet link is dropped and counted") {
  const NetworkNamespace space;
  if (!make_pair(space, "packet link drops frames that are too long", 1500)) return;
  const auto right = open("v1");
  for (const std::string name : {"v0", "v1"}) {
    REQUIRE(NetworkInterface::find(name)->set_mtu(3000) == 0);
  }
  const auto left = open("v0");
  send(*left, ethernet(station(9), station(8), 2500, 1));
  const Bytes good = ethernet(station(9), station(8), 1500, 2);
  send(*left, good);
  CHECK(receive_count(*right, 1) == Frames{good});
  CHECK(right->statistics().rx_dropped == 1);
}

TEST_CASE("A packet link that cannot be opened says why and what to do") {
  const NetworkNamespace space;
  CHECK(open_packet("none0").error().message ==
        "there is no interface \"none0\": `ip link` lists those of this network namespace");
  CHECK(open_packet("bad/name").error().message ==
        "there is no interface \"bad/name\": `ip link` lists those of this network namespace");
  if (!make_pair(space, "packet link names the cause of its errors")) return;
  CHECK(open_packet("lo").error().message ==
        "interface \"lo\" is not Ethernet: choose an Ethernet, veth or TAP interface");
  REQUIRE(NetworkInterface::find("v0")->set_up(false) == 0);
  CHECK(open_packet("v0").error().message ==
        "interface \"v0\" is down: bring it up with `ip link set v0 up`");
}

TEST_CASE("A specification of no known form is refused with the forms there are") {
  CHECK(open_link("tcp:10.0.0.1").error().message ==
        "there is no link \"tcp:10.0.0.1\": use shm:NAME, udp:ADDRESS, tap:NAME, "
        "packet:INTERFACE or xdp:INTERFACE");
  CHECK(open_link("udp:").error().message == "link \"udp:\" names no address: write udp:ADDRESS");
  CHECK(open_link("tap").error().message == "link \"tap\" names no interface: write tap:NAME");
  CHECK(open_link("packet:").error().message ==
        "link \"packet:\" names no interface: write packet:NAME");
  CHECK_FALSE(open_link(""));
}

}  // namespace
}  // namespace softrnic::link
