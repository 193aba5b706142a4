// SPDX-License-Identifier: BSD-3-Clause
// Who of a host's processes gets what.
#include "link/shm_forwarding.hpp"

#include <catch2/catch.hpp>

#include "unit/link/exchange.hpp"
#include "unit/link/shm_scene.hpp"
#include "wire/address_vector.hpp"
#include "wire/bth.hpp"

namespace softrnic::link {
namespace {

using namespace test;
using shm::Addressee;
using wire::MacAddress;
using Kind = Addressee::Kind;

// A RoCE frame's headers up to its BTH.
Bytes roce(wire::RoceVersion version, bool ipv6, bool tagged, std::uint32_t qpn,
           const MacAddress& to = station(2)) {
  wire::AddressVector vector;
  vector.version = version;
  vector.destination_mac = to;
  vector.source_mac = station(1);
  if (tagged) vector.vlan = wire::VlanTag{.id = 7};
  vector.source = *wire::Gid::from_string(ipv6 ? "fd00::1" : "10.0.0.1");
  vector.destination = *wire::Gid::from_string(ipv6 ? "fd00::2" : "10.0.0.2");
  wire::Bth bth;
  bth.opcode = static_cast<wire::Opcode>(4);
  bth.destination_qpn = qpn;
  Bytes bytes(vector.size() + wire::Bth::kSize + 4);
  vector.serialize(bytes, wire::Bth::kSize + 4, 1);
  bth.serialize(wire::ByteSpan(bytes).subspan(vector.size()).first<wire::Bth::kSize>());
  return bytes;
}

// A frame of `size` bytes with some of them set.
struct Field {
  std::size_t at;
  int value;
};
Bytes frame_with(std::size_t size, std::initializer_list<Field> fields,
                 const MacAddress& to = station(2)) {
  Bytes bytes = ethernet(to, station(1), size, 0);
  for (const Field& field : fields) bytes[field.at] = static_cast<std::byte>(field.value);
  return bytes;
}

Bytes arp_request(const MacAddress& to, int sender, int target) {
  return frame_with(60, {{12, 8}, {13, 6}, {21, 1}, {31, sender}, {41, target}}, to);
}

TEST_CASE("A RoCE packet is for the queue pair that its BTH names, in every encapsulation") {
  for (const bool tagged : {false, true}) {
    for (const bool ipv6 : {false, true}) {
      for (const auto version : {wire::RoceVersion::v1, wire::RoceVersion::v2}) {
        const Bytes bytes = roce(version, ipv6, tagged, 0x123456);
        CHECK(Addressee::of(bytes) == Addressee{Kind::queue_pair, 0x123456});
        CHECK(Addressee::of(roce(version, ipv6, tagged, 1)) == Addressee{});
        // However little of it there is, nothing beyond is read.
        for (std::size_t size = 0; size < bytes.size(); ++size) {
          const Bytes cut(bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(size));
          const Addressee addressee = Addressee::of(cut);
          CHECK((addressee == Addressee{} || size >= bytes.size() - 4));
        }
      }
    }
  }
}

TEST_CASE("What only one may answer is for the first process, its answers are for each") {
  CHECK(Addressee::of(arp_request(station(2), 1, 2)).kind == Kind::first);
  CHECK(Addressee::of(arp_request(station(2), 1, 1)).kind == Kind::each);  // an announcement
  CHECK(Addressee::of(frame_with(60, {{12, 8}, {13, 6}, {21, 2}})).kind == Kind::each);
  // ICMP: echo request and reply.
  CHECK(Addressee::of(frame_with(60, {{12, 8}, {14, 0x45}, {23, 1}, {34, 8}})).kind == Kind::first);
  CHECK(Addressee::of(frame_with(60, {{12, 8}, {14, 0x45}, {23, 1}, {34, 0}})).kind == Kind::each);
  // ICMPv6: echo request, reply, solicitation, advertisement.
  const auto icmpv6 = [](int type) {
    return Addressee::of(frame_with(80, {{12, 0x86}, {13, 0xdd}, {20, 58}, {54, type}})).kind;
  };
  CHECK(icmpv6(128) == Kind::first);
  CHECK(icmpv6(129) == Kind::each);
  CHECK(icmpv6(135) == Kind::first);
  CHECK(icmpv6(136) == Kind::each);
  // Somebody else's UDP.
  CHECK(Addressee::of(frame_with(60, {{12, 8}, {14, 0x45}, {23, 17}, {36, 0}, {37, 53}})).kind ==
        Kind::each);
}

TEST_CASE("Of a host's processes the owner of the queue pair number gets a RoCE packet") {
  ShmScene scene;
  const auto one = ShmScene::open("a"), two = ShmScene::open("a"), three = ShmScene::open("a");
  const auto other = ShmScene::open("b");
  const MacAddress to = one->capabilities().mac;
  std::array<Link*, 3> host = {one.get(), two.get(), three.get()};
  for (Link* owner : host) {
    for (const std::uint32_t qpn :
         {owner->capabilities().numbers.first, owner->capabilities().numbers.last}) {
      const Bytes bytes = roce(wire::RoceVersion::v2, false, false, qpn, to);
      send(*other, bytes);
      for (Link* link : host) CHECK(receive(*link) == (link == owner ? Frames{bytes} : Frames{}));
    }
  }
  // From one process to another of the same host, too.
  const Bytes bytes = roce(wire::RoceVersion::v1, true, true, 0x20001, to);
  send(*one, bytes);
  CHECK(receive(*two) == Frames{bytes});
  CHECK(receive(*three).empty());
  CHECK(receive(*other).empty());
  // Nobody's number.
  const Bytes stray = roce(wire::RoceVersion::v2, true, false, 0xf00000, to);
  send(*other, stray);
  CHECK(receive(*one) == Frames{stray});
  CHECK(receive(*two).empty());
}

TEST_CASE("What goes to one host does not go where frames to another went in between") {
  ShmScene scene;
  const auto one = ShmScene::open("a"), two = ShmScene::open("a");
  const auto single = ShmScene::open("b"), third = ShmScene::open("c");
  const auto sender = ShmScene::open("d"), fellow = ShmScene::open("d");
  const MacAddress to = one->capabilities().mac;
  const Bytes request = arp_request(to, 1, 2);
  const Bytes stray = roce(wire::RoceVersion::v2, true, false, 0xf00000, to);
  const auto expect_at_one = [&](const Bytes& bytes) {
    send(*sender, bytes);
    CHECK(receive(*one) == Frames{bytes});
    CHECK(receive(*two).empty());
  };
  for (int i = 0; i < 2; ++i) {
    for (Link* other : {single.get(), third.get(), fellow.get()}) {
      expect_at_one(request);
      expect_at_one(stray);
      const Bytes elsewhere = arp_request(other->capabilities().mac, 1, 3);
      send(*sender, elsewhere);
      CHECK(receive(*single) == (other == single.get() ? Frames{elsewhere} : Frames{}));
      CHECK(receive(*third) == (other == third.get() ? Frames{elsewhere} : Frames{}));
      CHECK(receive(*one).empty());
    }
  }
}

TEST_CASE("Of a host's processes the first answers, and each hears the answers of others") {
  ShmScene scene;
  auto one = ShmScene::open("a");
  const auto two = ShmScene::open("a"), other = ShmScene::open("b");
  const MacAddress to = one->capabilities().mac;
  for (const MacAddress& destination : {to, MacAddress::broadcast()}) {
    const Bytes request = arp_request(destination, 1, 2);
    send(*other, request);
    CHECK(receive(*one) == Frames{request});
    CHECK(receive(*two).empty());
  }
  const Bytes reply = frame_with(60, {{12, 8}, {13, 6}, {21, 2}}, to);
  send(*other, reply);
  CHECK(receive(*one) == Frames{reply});
  CHECK(receive(*two) == Frames{reply});
  one.reset();
  const Bytes request = arp_request(MacAddress::broadcast(), 1, 2);
  send(*other, request);
  CHECK(receive(*two) == Frames{request});
  // Blocks of those who have left are given out again.
  CHECK(ShmScene::open("a")->capabilities().numbers == QueuePairNumbers{2, 0x1ffff});
}

}  // namespace
}  // namespace softrnic::link
