// SPDX-License-Identifier: BSD-3-Clause
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <catch2/catch.hpp>
#include <tuple>

#include "link/file_descriptor.hpp"
#include "link/socket_address.hpp"
#include "unit/link/udp_scene.hpp"
#include "wire/arp.hpp"
#include "wire/icmp.hpp"

namespace softrnic::link {
namespace {

using namespace test;

TEST_CASE("udp links carry RoCE v2 of every size both ways, header for header") {
  const NetworkNamespace space;
  if (!prepare_loopback(space, "udp links carry RoCE both ways")) return;
  for (const Addresses& pair : {kIpv4, kIpv6}) {
    INFO(pair.left);
    const auto left = open_address(pair.left);
    const auto right = open_address(pair.right);
    CHECK(left->capabilities().name == "udp:" + pair.left);
    CHECK(left->capabilities().mtu == 4200);
    REQUIRE(left->capabilities().identity);
    CHECK(left->capabilities().identity->addresses[0].ip == *wire::Gid::from_string(pair.left));
    wire::AddressVector vector = way(pair.left, pair.right);
    Frames sent;
    for (std::size_t payload = 0; payload <= 4096; payload += 64) {
      vector.traffic_class = static_cast<std::uint8_t>(payload / 64 % 5 == 0 ? 0x6b : 0);
      vector.hop_limit = payload % 3 == 0 ? 64 : 17;
      sent.push_back(roce_frame(vector, payload, static_cast<std::uint32_t>(payload)));
      send(*left, sent.back());
    }
    CHECK(await_frames(*right, sent.size()) == sent);
    CHECK(left->statistics().tx_frames == sent.size());
    CHECK(left->statistics().tx_dropped == 0);
    CHECK(right->statistics().rx_frames == sent.size());
    CHECK(right->statistics().rx_bytes == left->statistics().tx_bytes);

    const Bytes back = roce_frame(way(pair.right, pair.left), 256);
    send(*right, back);
    CHECK(await_frames(*left, 1) == Frames{back});
  }
}

TEST_CASE("A burst that the kernel carries in one piece arrives whole, in order, ICRCs right") {
  const NetworkNamespace space;
  if (!prepare_loopback(space, "udp links carry bursts")) return;
  for (const auto& [pair, sends_pieces, takes_pieces] : {std::tuple{kIpv4, true, true},
                                                         {kIpv6, true, true},
                                                         {kIpv4, true, false},
                                                         {kIpv6, true, false},
                                                         {kIpv4, false, true},
                                                         {kIpv6, false, true}}) {
    for (const std::size_t payload : {8, 1024, 4096}) {
      INFO(pair.left << ", " << payload << ", " << sends_pieces << takes_pieces);
      const auto left = open_address(pair.left, 0, sends_pieces);
      const auto right = open_address(pair.right, 0, takes_pieces);
      const wire::AddressVector vector = way(pair.left, pair.right);
      Frames sent;
      for (std::uint32_t i = 0; i < 100; ++i) {
        // A message's first is longer, its last shorter.
        const std::size_t size = i % 20 == 0 ? payload + 16 : i % 20 == 19 ? payload / 2 : payload;
        sent.push_back(roce_frame(vector, size, i));
      }
      send_all(*left, sent);
      const Frames got = await_frames(*right, sent.size());
      REQUIRE(got.size() == sent.size());
      bool right_icrcs = true;
      bool right_bytes = true;
      for (std::size_t i = 0; i < got.size(); ++i) {
        right_icrcs = right_icrcs && icrc_ok(got[i]);
        const std::size_t bth = vector.size();
        right_bytes =
            right_bytes && got[i].size() == sent[i].size() &&
            std::equal(got[i].begin() + static_cast<std::ptrdiff_t>(bth), got[i].end() - 4,
                       sent[i].begin() + static_cast<std::ptrdiff_t>(bth));
      }
      CHECK(right_icrcs);
      CHECK(right_bytes);
    }
  }
}

TEST_CASE("What a frame says of identification and port becomes what is sent, its ICRC with it") {
  const NetworkNamespace space;
  if (!prepare_loopback(space, "udp links adjust ICRCs")) return;
  for (const Addresses& pair : {kIpv4, kIpv6}) {
    INFO(pair.left);
    const auto left = open_address(pair.left);
    const auto right = open_address(pair.right);
    wire::AddressVector vector = way(pair.left, pair.right);
    vector.udp_source_port = 0xc123;
    const Bytes good = roce_frame(vector, 512, 1, 0x1234);
    Bytes bad = good;
    bad[bad.size() - 1] ^= std::byte{0x40};
    send_all(*left, {good, bad});
    const Frames got = await_frames(*right, 2);
    REQUIRE(got.size() == 2);
    CHECK(got[0] == roce_frame(way(pair.left, pair.right), 512, 1));
    CHECK_FALSE(icrc_ok(got[1]));  // wrong on purpose, and still so
  }
}

// Sends a frame's IPv4 packet as it is, identification and flags included.
void send_raw(const Bytes& frame) {
  const FileDescriptor socket(::socket(AF_INET, SOCK_RAW | SOCK_CLOEXEC, IPPROTO_RAW));
  REQUIRE(socket.valid());
  const auto packet = wire::PacketView::parse(wire::ByteView(frame), {false});
  REQUIRE(packet);
  const SocketAddress to(packet->destination(), 0);
  const wire::ByteView bytes = wire::ByteView(frame).subspan(wire::EthernetHeader::kSize);
  REQUIRE(::sendto(socket.get(), bytes.data(), bytes.size(), 0, to.get(), to.size()) ==
          static_cast<ssize_t>(bytes.size()));
}

TEST_CASE("An IPv4 identification that no socket tells is found by the ICRC, or there is none") {
  const NetworkNamespace space;
  if (!prepare_loopback(space, "udp links infer the IPv4 identification")) return;
  const auto right = open_address(kIpv4.right);
  wire::AddressVector vector = way(kIpv4.left, kIpv4.right);
  vector.udp_source_port = 0xc0de;  // as rdma_rxe
  Frames sent;
  for (const std::uint16_t identification :
       std::initializer_list<std::uint16_t>{0, 1, 2, 255, 256, 0x8000, 0xffff}) {
    for (const std::size_t payload : {0, 4, 500, 1024, 4096}) {
      sent.push_back(roce_frame(vector, payload, identification, identification));
      send_raw(sent.back());
    }
  }
  Frames got;
  std::size_t inferred = 0;
  std::array<Frame*, 64> frames{};
  while (got.size() < sent.size() && readable(right->descriptor())) {
    const std::size_t n = right->rx_burst({}, frames);
    for (std::size_t i = 0; i < n; ++i) {
      got.push_back(flat(frames[i]->bytes()));
      inferred += frames[i]->identification_inferred ? 1 : 0;
    }
    right->rx_release({frames.data(), n});
  }
  // The order among the two sockets is not kept; that of each is.
  std::sort(got.begin(), got.end());
  std::sort(sent.begin(), sent.end());
  CHECK(got == sent);
  CHECK(inferred == sent.size() / 7 * 6);  // zero is known
}

TEST_CASE("An inferred identification makes no wrong ICRC right, but for one in 32768") {
  const NetworkNamespace space;
  if (!prepare_loopback(space, "udp links check what they infer")) return;
  const auto right = open_address(kIpv4.right);
  const wire::AddressVector vector = way(kIpv4.left, kIpv4.right);
  int wrong = 0;
  int seen = 0;
  for (int i = 0; i < 500; ++i) {
    Bytes frame = roce_frame(vector, 256, static_cast<std::uint32_t>(i), 77);
    frame[60 + static_cast<std::size_t>(i % 200)] ^=
        std::byte{static_cast<std::uint8_t>(1 + i % 255)};
    send_raw(frame);
    for (const Bytes& got : await_frames(*right, 1)) {
      ++seen;
      wrong += icrc_ok(got) ? 1 : 0;
    }
  }
  CHECK(seen == 500);
  CHECK(wrong <= 1);
}

TEST_CASE("A packet without the flag \"don't fragment\" has its identification found too") {
  const NetworkNamespace space;
  if (!prepare_loopback(space, "udp links infer the flags")) return;
  const auto right = open_address(kIpv4.right);
  Bytes frame = roce_frame(way(kIpv4.left, kIpv4.right), 256, 3, 0x4321);
  frame[20] = std::byte{0};
  const wire::ByteView headers = wire::ByteView(frame).subspan(14, 40);
  wire::store_icrc(
      frame.data() + frame.size() - 4,
      wire::icrc(wire::NetworkLayer::ipv4, headers, 28, wire::ByteView(frame).subspan(54, 256)));
  send_raw(frame);
  const Frames got = await_frames(*right, 1);
  REQUIRE(got.size() == 1);
  CHECK(icrc_ok(got[0]));
  CHECK(wire::load_be32(got[0].data() + 18) == 0x43210000);
}

TEST_CASE("A neighbour of a udp link is answered for by the link") {
  const NetworkNamespace space;
  if (!prepare_loopback(space, "udp links answer for neighbours")) return;
  const auto v4 = open_address(kIpv4.left);
  const wire::MacAddress own = v4->capabilities().mac;
  CHECK(own.to_string() == "02:00:7f:00:00:02");
  const wire::Arp question{wire::Arp::kRequest, own, 0x7f000002, {}, 0x0a000001};
  Bytes frame(14 + wire::Arp::kSize);
  wire::EthernetHeader{wire::MacAddress::broadcast(), own, {}, wire::ethertype::kArp}.serialize(
      frame);
  question.serialize(wire::ByteSpan(frame).subspan(14).first<wire::Arp::kSize>());
  send(*v4, frame);
  CHECK(v4->next_deadline() == wire::Instant::min());
  const Frames answers = receive(*v4);
  REQUIRE(answers.size() == 1);
  const auto answer = wire::Arp::parse(wire::ByteView(answers[0]).subspan(14));
  CHECK(*answer == wire::Arp{wire::Arp::kReply, stand_in_mac(wire::Gid::from_ipv4(0x0a000001)),
                             0x0a000001, own, 0x7f000002});
  CHECK(v4->next_deadline() == wire::kNever);
  CHECK(v4->statistics().tx_dropped == 0);
}

TEST_CASE(
    "What is no packet of the link's address is dropped and counted, and nobody's absence ends "
    "it") {
  const NetworkNamespace space;
  if (!prepare_loopback(space, "udp links drop what they cannot send")) return;
  for (const Addresses& pair : {kIpv4, kIpv6}) {
    INFO(pair.left);
    const auto left = open_address(pair.left);
    wire::AddressVector foreign = way(pair.right, pair.left);  // another's address as source
    wire::AddressVector version1 = way(pair.left, pair.right);
    version1.version = wire::RoceVersion::v1;
    const Bytes good = roce_frame(way(pair.left, pair.right), 64);
    send_all(*left, {roce_frame(foreign, 64), roce_frame(version1, 64), good,
                     ethernet(station(1), station(2), 14, 0), good, good});
    CHECK(left->statistics().tx_dropped == 3);
    // Nobody is there: the kernel hears so from ICMP.
    CHECK(left->statistics().tx_frames == 3);
    CHECK(receive(*left).empty());
    const auto right = open_address(pair.right);
    send_all(*left, {good});
    CHECK(await_frames(*right, 1) == Frames{good});
  }
}

TEST_CASE("A path that takes less than a frame drops it, and is counted") {
  const NetworkNamespace space;
  if (!prepare_loopback(space, "udp links drop what is too long")) return;
  for (const Addresses& pair : {kIpv4, kIpv6}) {
    INFO(pair.left);
    const auto left = open_address(pair.left);
    const auto right = open_address(pair.right);
    REQUIRE(NetworkNamespace::ip("link set lo mtu 1500"));
    const wire::AddressVector vector = way(pair.left, pair.right);
    const Bytes good = roce_frame(vector, 1024);
    const Bytes large = roce_frame(vector, 4096);
    send_all(*left, {large, large, large, good, large, good});
    CHECK(left->statistics().tx_dropped == 4);
    CHECK(left->statistics().tx_frames == 2);
    CHECK(await_frames(*right, 2).size() == 2);
    REQUIRE(NetworkNamespace::ip("link set lo mtu 65536"));
  }
}

TEST_CASE("The MTU of a udp link is its interface's, or less if asked for") {
  const NetworkNamespace space;
  if (!prepare_loopback(space, "udp links take their interface's MTU")) return;
  CHECK(open_address(kIpv6.left, 1500)->capabilities().mtu == 1500);
  REQUIRE(NetworkNamespace::ip("link set lo mtu 2000"));
  CHECK(open_address(kIpv6.left)->capabilities().mtu == 2000);
  CHECK(open_address(kIpv4.left, 4200)->capabilities().mtu == 2000);
}

TEST_CASE("A udp link that cannot be opened says why and what to do") {
  const NetworkNamespace space;
  if (!prepare_loopback(space, "udp links name the cause of their errors")) return;
  const auto why = [](const std::string& address) {
    return open_udp({.address = address}).error().message;
  };
  CHECK(why("10.9.9.9") ==
        "udp:10.9.9.9: not an address of this machine: give one that `ip addr` lists");
  CHECK(why("fd00::c") ==
        "udp:fd00::c: not an address of this machine: give one that `ip addr` lists");
  CHECK(why("lo") ==
        "udp:lo: not an IP address: give one of this machine's, such as udp:127.0.0.2");
  for (const std::string any : {"0.0.0.0", "::", "::ffff:0.0.0.0"}) {
    CHECK(why(any) == "udp:" + any +
                          ": stands for every address: give the one that the NIC is to have, of "
                          "those that `ip addr` lists");
  }
  CHECK(why("224.0.0.1") ==
        "udp:224.0.0.1: not the address of one host: give one that `ip addr` lists");
  for (const std::string& address : {kIpv4.left, kIpv6.left}) {
    const auto first = open_address(address);
    CHECK(why(address) == "udp:" + address +
                              ": another program holds port 4791 of it (or rdma_rxe of every "
                              "address): end it, or give each process its own address");
  }
  // Whoever had it leaves nothing behind.
  CHECK(open_address(kIpv4.left));
}

}  // namespace
}  // namespace softrnic::link
