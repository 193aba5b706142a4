// SPDX-License-Identifier: BSD-3-Clause
#include <arpa/inet.h>
#include <netinet/in.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include <catch2/catch.hpp>
#include <string>

#include "link/network_interface.hpp"
#include "link/packet_link.hpp"
#include "link/xdp_link.hpp"
#include "unit/link/exchange.hpp"
#include "unit/link/network_namespace.hpp"
#include "unit/link/veth_pair.hpp"
#include "wire/arp.hpp"
#include "wire/icmp.hpp"
#include "wire/ipv6.hpp"

namespace softrnic::link {
namespace {

using namespace test;

const wire::MacAddress kNic{{2, 0, 0, 0, 0, 0x77}};
const wire::MacAddress kRemote{{2, 0, 0, 0, 0, 0x88}};

// A veth pair with an XDP link at v0; without the host's privileges, the test is skipped.
struct XdpPair {
  NetworkNamespace space;
  std::unique_ptr<Link> link;

  explicit XdpPair(const std::string& test, int mtu = 4200, const std::string& queues = "") {
    if (!make_pair(space, test, mtu, queues)) return;
    auto opened = open_xdp("v0");
    if (opened) {
      link = std::move(*opened);
    } else if (opened.error().message.find("cannot load the XDP program") == 0) {
      skip(test, opened.error().message);
    } else {
      FAIL(opened.error().message);
    }
  }
};

// "xdp" (native) or "xdpgeneric", a line each; empty when no program is attached.
std::string attached(const std::string& name) {
  return NetworkNamespace::output("ip link show " + name + " | grep -wo 'xdp[a-z]*' | head -n1");
}

// A RoCE v1 frame of any length: what the link looks at is the EtherType.
Bytes roce_v1(std::size_t size, int mark, const wire::MacAddress& to = kNic) {
  Bytes frame = ethernet(to, kRemote, size, mark);
  wire::store_be16(frame.data() + 12, wire::ethertype::kRoceV1);
  // Not a repeated byte only, so that a piece in the wrong place shows.
  for (std::size_t i = 14; i < size; ++i) frame[i] ^= static_cast<std::byte>(i * 7 >> 3);
  return frame;
}

// Puts an IPv4 header and `body` after it.
Bytes ipv4(std::uint8_t protocol, const Bytes& body, std::uint32_t to,
           const wire::MacAddress& to_mac = kNic) {
  Bytes frame = ethernet(to_mac, kRemote, 34 + body.size(), 0);
  wire::store_be16(frame.data() + 12, wire::ethertype::kIpv4);
  wire::Ipv4Header header;
  header.total_length = static_cast<std::uint16_t>(20 + body.size());
  header.protocol = protocol;
  header.source = 0x0a090009;
  header.destination = to;
  header.checksum = header.computed_checksum();
  header.serialize(std::span<std::byte, 20>(frame.data() + 14, 20));
  std::copy(body.begin(), body.end(), frame.begin() + 34);
  return frame;
}

Bytes ipv6(std::uint8_t next_header, const Bytes& body, const std::string& to,
           const wire::MacAddress& to_mac = kNic) {
  Bytes frame = ethernet(to_mac, kRemote, 54 + body.size(), 0);
  wire::store_be16(frame.data() + 12, wire::ethertype::kIpv6);
  wire::Ipv6Header header;
  header.payload_length = static_cast<std::uint16_t>(body.size());
  header.next_header = next_header;
  header.source = *wire::Gid::from_string("fd09::9");
  header.destination = *wire::Gid::from_string(to);
  header.serialize(std::span<std::byte, 40>(frame.data() + 14, 40));
  std::copy(body.begin(), body.end(), frame.begin() + 54);
  return frame;
}

Bytes udp(std::uint16_t port, std::size_t payload = 20) {
  Bytes bytes(8 + payload, std::byte{0x3c});
  wire::store_be16(bytes.data(), 0xc000);
  wire::store_be16(bytes.data() + 2, port);
  wire::store_be16(bytes.data() + 4, static_cast<std::uint16_t>(bytes.size()));
  wire::store_be16(bytes.data() + 6, 0);
  return bytes;
}

Bytes arp_request(std::uint32_t target) {
  Bytes frame = ethernet(wire::MacAddress::broadcast(), kRemote, 42, 0);
  wire::store_be16(frame.data() + 12, wire::ethertype::kArp);
  wire::Arp arp;
  arp.sender_mac = kRemote;
  arp.sender_ip = 0x0a090009;
  arp.target_ip = target;
  arp.serialize(std::span<std::byte, 28>(frame.data() + 14, 28));
  return frame;
}

Bytes solicitation(const std::string& target) {
  Bytes body(24);
  body[0] = std::byte{135};
  const auto address = *wire::Gid::from_string(target);
  for (std::size_t i = 0; i < 16; ++i) body[8 + i] = std::byte{address.bytes[i]};
  const auto group = wire::solicited_node_multicast(address);
  return ipv6(wire::ip_protocol::kIcmpv6, body, group.to_string(), wire::multicast_mac(group));
}

Bytes tagged(const Bytes& frame) {
  Bytes out(frame.begin(), frame.begin() + 12);
  for (const int b : {0x81, 0x00, 0x60, 0x05}) out.push_back(static_cast<std::byte>(b));
  out.insert(out.end(), frame.begin() + 12, frame.end());
  return out;
}

const std::vector<wire::Gid> kAddresses{*wire::Gid::from_string("10.9.0.2"),
                                        *wire::Gid::from_string("fd09::2")};

TEST_CASE("XDP links carry frames of every size both ways, in order") {
  XdpPair pair("xdp links carry frames both ways");
  if (!pair.link) return;
  auto other = open_xdp("v1");
  REQUIRE(other);
  CHECK(pair.link->capabilities().name == "xdp:v0");
  CHECK(pair.link->capabilities().mtu == 4200);
  CHECK(attached("v0") == "xdp\n");  // native
  for (const auto& [from, to] :
       {std::pair{pair.link.get(), other->get()}, {other->get(), pair.link.get()}}) {
    // 60 bytes to beyond the path MTU of 4096, one by one around the buffers' ends.
    std::vector<std::size_t> sizes{60, 64, 1082, 1514, 2048, 3584};
    for (std::size_t size = 3836; size <= 3844; ++size) sizes.push_back(size);
    for (std::size_t size = 3964; size <= 3972; ++size) sizes.push_back(size);
    for (std::size_t size = 4092; size <= 4100; ++size) sizes.push_back(size);
    for (const std::size_t size : {4154u, 4200u, 4214u}) sizes.push_back(size);
    Frames sent;
    for (const std::size_t size : sizes) {
      sent.push_back(roce_v1(size, static_cast<int>(size)));
      send(*from, sent.back());
    }
    CHECK(receive_count(*to, sent.size()) == sent);
    CHECK(from->statistics().tx_frames == sent.size());
    CHECK(from->next_deadline() == wire::kNever);
  }
}

TEST_CASE("An XDP link works against any Ethernet peer, at MTU 1500 and at 9000") {
  for (const int mtu : {1500, 9000}) {
    XdpPair pair("xdp link against a packet link", mtu);
    if (!pair.link) return;
    const auto peer = open_packet("v1");
    REQUIRE(peer);
    CHECK(pair.link->capabilities().mtu == static_cast<std::uint32_t>(mtu));
    Frames sent;
    for (std::size_t size = 60; size <= static_cast<std::size_t>(mtu) + 14; size += 97) {
      sent.push_back(roce_v1(size, static_cast<int>(size)));
      send(**peer, sent.back());
    }
    CHECK(receive_count(*pair.link, sent.size()) == sent);
    for (const Bytes& frame : sent) send(*pair.link, frame);
    CHECK(receive_count(**peer, sent.size()) == sent);
  }
}

TEST_CASE("Bursts and long runs lose no buffer of an XDP link") {
  XdpPair pair("xdp link keeps its buffers");
  if (!pair.link) return;
  const auto peer = open_packet("v1");
  REQUIRE(peer);
  std::size_t received = 0;
  std::size_t came_back = 0;
  for (int round = 0; round < 200; ++round) {
    std::array<Frame*, 32> frames{};
    REQUIRE(pair.link->tx_alloc(frames) == frames.size());
    for (std::size_t i = 0; i < frames.size(); ++i) {
      fill(*frames[i], roce_v1(i % 3 == 0 ? 4200 : 100 + i, round));
    }
    // Every fourth is not sent after all.
    pair.link->tx_cancel(std::span(frames).first(8));
    pair.link->tx_push({}, std::span(frames).subspan(8));
    received += receive_count(**peer, 24).size();
    for (int i = 0; i < 24; ++i) send(**peer, roce_v1(i % 2 == 0 ? 4200 : 90, i));
    came_back += receive_count(*pair.link, 24).size();
  }
  CHECK(received == 200 * 24);
  CHECK(came_back == 200 * 24);
  CHECK(pair.link->statistics().rx_dropped == 0);
  // What a frame too long or too short took is free again.
  std::vector<Frame*> all(1000);
  const std::size_t capacity = pair.link->tx_alloc(all);
  CHECK(capacity >= 128);
  pair.link->tx_cancel({all.data(), capacity});
  for (int i = 0; i < 300; ++i) {
    Frame* frame = nullptr;
    REQUIRE(pair.link->tx_alloc({&frame, 1}) == 1);
    fill(*frame, Bytes(i % 2 == 0 ? 13 : 4219));
    pair.link->tx_push({}, {&frame, 1});
  }
  CHECK(pair.link->statistics().tx_dropped == 300);
  CHECK(pair.link->tx_alloc(all) == capacity);
  pair.link->tx_cancel({all.data(), capacity});
}

TEST_CASE("An XDP link takes RoCE and the NIC's own traffic") {
  XdpPair pair("xdp link takes the NIC's traffic");
  if (!pair.link) return;
  const auto peer = open_packet("v1");
  REQUIRE(peer);
  pair.link->set_local_addresses(kNic, kAddresses);
  const wire::MacAddress group{{0x33, 0x33, 0, 0, 0, 5}};
  Frames taken{
      roce_v1(100, 1),
      roce_v1(100, 2, group),
      ipv4(17, udp(4791), 0x0a090002),
      ipv6(17, udp(4791), "fd09::2"),
      arp_request(0x0a090002),
      solicitation("fd09::2"),
      ipv4(1, Bytes(64), 0x0a090002),
      ipv6(58, Bytes(64), "fd09::2"),
  };
  const std::size_t plain = taken.size();
  for (std::size_t i = 0; i < plain; ++i) taken.push_back(tagged(taken[i]));
  const Frames left{
      roce_v1(100, 3, kRemote),  // another station's
      arp_request(0x0a090003),   // others are asked for
      solicitation("fd09::3"),           ipv4(1, Bytes(64), 0x0a090003),
      ipv6(58, Bytes(64), "fd09::3"),    ipv4(17, udp(4790), 0x0a090002),  // no RoCE
      ipv6(17, udp(53), "fd09::2"),      ipv4(6, Bytes(40), 0x0a090002),   // TCP
      ethernet(kNic, kRemote, 60, 0x11),                                   // EtherType 0x1111
      ethernet(kNic, kRemote, 14, 0x81),                                   // cut short
      ipv4(17, Bytes(7), 0x0a090002),    ipv6(17, Bytes(7), "fd09::2"),
  };
  Frames all = left;
  all.insert(all.end(), taken.begin(), taken.end());
  for (const Bytes& frame : all) send(**peer, frame);
  CHECK(receive_count(*pair.link, taken.size()) == taken);
  CHECK(receive(*pair.link).empty());

  // A fragment is not RoCE, for no ICRC can be checked.
  Bytes fragment = ipv4(17, udp(4791), 0x0a090002);
  fragment[20] = std::byte{0x20};
  send(**peer, fragment);
  // New addresses take the place of the old.
  const wire::Gid moved = *wire::Gid::from_string("10.9.0.4");
  pair.link->set_local_addresses(kRemote, {&moved, 1});
  const Bytes now_own = arp_request(0x0a090004);
  for (const Bytes& frame :
       {arp_request(0x0a090002), roce_v1(100, 1), solicitation("fd09::2"), now_own}) {
    send(**peer, frame);
  }
  CHECK(receive_count(*pair.link, 1) == Frames{now_own});
}

TEST_CASE("Beside an XDP link the kernel keeps its own traffic") {
  XdpPair pair("the kernel keeps its traffic beside xdp");
  if (!pair.link) return;
  const auto peer = open_packet("v1");
  REQUIRE(peer);
  pair.link->set_local_addresses(kNic, kAddresses);
  REQUIRE(NetworkNamespace::ip("addr add 10.9.0.1/24 dev v0"));
  const FileDescriptor socket(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(5000);
  address.sin_addr.s_addr = htonl(0x0a090001);
  REQUIRE(::bind(socket.get(), reinterpret_cast<sockaddr*>(&address), sizeof address) == 0);

  const auto kernel_mac = NetworkInterface::find("v0")->mac;
  send(**peer, ipv4(17, udp(5000), 0x0a090001, kernel_mac));
  REQUIRE(readable(socket.get()));
  Bytes got(100);
  CHECK(::recv(socket.get(), got.data(), got.size(), 0) == 20);
  // The kernel answers for its own address, and the link did not see the question.
  send(**peer, arp_request(0x0a090001));
  bool answered = false;
  for (int i = 0; i < 10 && !answered && readable((*peer)->descriptor()); ++i) {
    for (const Bytes& frame : receive(**peer)) {
      const auto arp = wire::Arp::parse(wire::ByteView(frame).subspan(14));
      answered |= arp && arp->operation == wire::Arp::kReply && arp->sender_ip == 0x0a090001;
    }
  }
  CHECK(answered);
  CHECK(receive(*pair.link).empty());
}

TEST_CASE("Every queue of an interface has its socket") {
  const std::string queues = "numrxqueues 3 numtxqueues 3";
  XdpPair pair("xdp link binds every queue", 4200, queues);
  if (!pair.link) return;
  CHECK(NetworkNamespace::output("ip -d link show v0").find("numrxqueues 3") != std::string::npos);
  auto other = open_xdp("v1");
  REQUIRE(other);
  const auto peer = open_packet("v1");
  REQUIRE(peer);
  // The kernel spreads flows over the queues: over many flows none may be lost.
  std::size_t count = 0;
  for (std::uint32_t flow = 0; flow < 400; ++flow) {
    Bytes body = udp(4791, 40);
    wire::store_be16(body.data(), static_cast<std::uint16_t>(0xc000 + flow));
    send(**peer, ipv4(17, body, 0x0a090002));
    if (flow % 40 == 39) count += receive_count(*pair.link, 40).size();
  }
  CHECK(count == 400);
  const Bytes answer = roce_v1(4200, 9);
  send(*pair.link, answer);
  CHECK(receive_count(**other, 1) == Frames{answer});
}

TEST_CASE("A killed process leaves no XDP program behind, and the next one starts") {
  const std::string test = "a killed process leaves no XDP program";
  XdpPair pair(test);
  if (!pair.link) return;
  pair.link.reset();
  CHECK(attached("v0").empty());
  const pid_t child = ::fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    auto link = open_xdp("v0");
    if (!link || attached("v0").empty()) ::_exit(3);
    ::raise(SIGKILL);
  }
  int status = 0;
  REQUIRE(::waitpid(child, &status, 0) == child);
  REQUIRE(WIFSIGNALED(status));
  CHECK(attached("v0").empty());
  // At once, while the kernel may still be letting go of the queue.
  auto again = open_xdp("v0");
  REQUIRE(again);
  CHECK(attached("v0") == "xdp\n");
}

TEST_CASE("Where the driver has no XDP the generic one serves") {
  XdpPair pair("generic XDP serves where the driver has none");
  if (!pair.link) return;
  pair.link.reset();
  // A bridge is such an interface: frames to promiscuous ears come out of it.
  REQUIRE(NetworkNamespace::ip("link add br0 type bridge mcast_snooping 0"));
  REQUIRE(NetworkNamespace::ip("link set v0 master br0"));
  REQUIRE(NetworkNamespace::ip("link set br0 addrgenmode none up"));
  wait_until_running("br0");
  const auto peer = open_packet("v1");
  REQUIRE(peer);
  auto link = open_xdp("br0");
  if (!link) FAIL(link.error().message);
  CHECK(attached("br0") == "xdpgeneric\n");
  for (const std::size_t size : {60u, 1514u, 4214u}) {
    const Bytes frame = roce_v1(size, 1);
    send(**peer, frame);
    CHECK(receive_count(**link, 1) == Frames{frame});
    send(**link, frame);
    CHECK(receive_count(**peer, 1) == Frames{frame});
  }
}

TEST_CASE("An XDP link that cannot be opened says why and what to do") {
  XdpPair pair("xdp names the cause of its errors");
  CHECK(open_xdp("none0").error().message ==
        "there is no interface \"none0\": `ip link` lists those of this network namespace");
  CHECK(open_link("xdp:").error().message == "link \"xdp:\" names no interface: write xdp:NAME");
  if (!pair.link) return;
  CHECK(open_link("xdp:v0").error().message ==
        "cannot open an AF_XDP socket on queue 0 of interface \"v0\": another program has one "
        "there: end it, or use packet:v0");
}

}  // namespace
}  // namespace softrnic::link
