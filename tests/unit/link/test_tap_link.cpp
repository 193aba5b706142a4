// SPDX-License-Identifier: BSD-3-Clause
#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <catch2/catch.hpp>
#include <string>

#include "link/network_interface.hpp"
#include "link/tap_link.hpp"
#include "unit/link/exchange.hpp"
#include "unit/link/network_namespace.hpp"

namespace softrnic::link {
namespace {

using namespace test;

// The NIC's end of the TAP, as the kernel is told to believe.
const wire::MacAddress kNic{{2, 0, 0, 0, 0, 0x77}};

bool can_tap(const NetworkNamespace& space, const std::string& test) {
  std::string reason = space.why_not();
  if (reason.empty() && !FileDescriptor(::open("/dev/net/tun", O_RDWR | O_CLOEXEC)).valid()) {
    reason = "cannot open /dev/net/tun";
  }
  if (!reason.empty()) skip(test, reason);
  return reason.empty();
}

// An IPv4 frame with a UDP datagram from the NIC, 10.9.0.2, to the kernel, 10.9.0.1.
Bytes datagram(const wire::MacAddress& to, std::size_t payload) {
  Bytes frame = ethernet(to, kNic, 42 + payload, 0x5a);
  std::byte* p = frame.data();
  wire::store_be16(p + 12, wire::ethertype::kIpv4);
  const std::uint8_t ip[20] = {0x45, 0, 0,  0, 0, 0, 0x40, 0, 64, 17,
                               0,    0, 10, 9, 0, 2, 10,   9, 0,  1};
  std::memcpy(p + 14, ip, 20);
  wire::store_be16(p + 16, static_cast<std::uint16_t>(28 + payload));
  std::uint32_t sum = 0;
  for (int i = 0; i < 20; i += 2) sum += wire::load_be16(p + 14 + i);
  while (sum > 0xffff) sum = (sum & 0xffff) + (sum >> 16);
  wire::store_be16(p + 24, static_cast<std::uint16_t>(~sum));
  wire::store_be16(p + 34, 4791);
  wire::store_be16(p + 36, 5000);
  wire::store_be16(p + 38, static_cast<std::uint16_t>(8 + payload));
  wire::store_be16(p + 40, 0);
  return frame;
}

FileDescriptor udp_socket() {
  FileDescriptor socket(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(5000);
  address.sin_addr.s_addr = htonl(0x0a090001);
  REQUIRE(::bind(socket.get(), reinterpret_cast<sockaddr*>(&address), sizeof address) == 0);
  return socket;
}

// Gives the kernel's end an address, and the NIC's address to speak to.
void address_kernel_end(const std::string& name) {
  REQUIRE(NetworkNamespace::ip("addr add 10.9.0.1/24 dev " + name));
  REQUIRE(
      NetworkNamespace::ip("neigh replace 10.9.0.2 lladdr "
                           "02:00:00:00:00:77 dev " +
                           name));
}

// The first frame that is an IPv4 datagram: the kernel also sends multicast reports of its own.
Bytes first_ipv4(Link& link) {
  for (int i = 0; i < 100 && readable(link.descriptor()); ++i) {
    for (const Bytes& frame : receive(link)) {
      if (wire::load_be16(frame.data() + 12) == wire::ethertype::kIpv4) return frame;
    }
  }
  return {};
}

TEST_CASE("A TAP is made, exchanges frames with the kernel, and vanishes") {
  const NetworkNamespace space;
  if (!can_tap(space, "tap exchanges frames with the kernel")) return;
  auto opened = open_tap("rnic0", 4200);
  REQUIRE(opened);
  Link& link = **opened;
  CHECK(link.capabilities().name == "tap:rnic0");
  CHECK(link.capabilities().mtu == 4200);
  const auto device = NetworkInterface::find("rnic0");
  REQUIRE(device);
  CHECK(device->mtu == 4200);
  CHECK(device->up);
  CHECK(link.capabilities().mac == device->mac);
  address_kernel_end("rnic0");
  const FileDescriptor socket = udp_socket();

  for (const std::size_t payload : {1u, 18u, 1024u, 4172u}) {
    INFO("payload " << payload);
    const auto before = link.statistics();
    const Bytes frame = datagram(device->mac, payload);
    send(link, frame);
    CHECK(link.statistics().tx_frames == before.tx_frames + 1);
    CHECK(link.statistics().tx_bytes == before.tx_bytes + frame.size());
    REQUIRE(readable(socket.get()));
    Bytes got(9000);
    sockaddr_in from{};
    socklen_t size = sizeof from;
    const ssize_t n = ::recvfrom(socket.get(), got.data(), got.size(), 0,
                                 reinterpret_cast<sockaddr*>(&from), &size);
    CHECK(n == static_cast<ssize_t>(payload));

    REQUIRE(::sendto(socket.get(), got.data(), payload, 0, reinterpret_cast<sockaddr*>(&from),
                     size) == static_cast<ssize_t>(payload));
    const Bytes answer = first_ipv4(link);
    REQUIRE(answer.size() == 42 + payload);
    CHECK(std::equal(answer.begin() + 42, answer.end(), got.begin()));
  }
  opened = wire::Unexpected{OpenError{}};
  CHECK_FALSE(NetworkInterface::find("rnic0"));
}

TEST_CASE("A TAP counts what its device refuses") {
  const NetworkNamespace space;
  if (!can_tap(space, "tap counts what its device refuses")) return;
  auto link = open_tap("rnic0");
  REQUIRE(link);
  const auto before = (*link)->statistics();
  send(**link, Bytes(13));
  send(**link, {});
  CHECK((*link)->statistics().tx_dropped == before.tx_dropped + 2);
  REQUIRE(NetworkInterface::find("rnic0")->set_up(false) == 0);
  send(**link, ethernet(wire::MacAddress::broadcast(), kNic, 60, 1));
  CHECK((*link)->statistics().tx_dropped == before.tx_dropped + 3);
  CHECK((*link)->statistics().tx_frames == before.tx_frames);
}

TEST_CASE("A frame longer than the TAP's MTU at opening is dropped and counted") {
  const NetworkNamespace space;
  if (!can_tap(space, "tap drops frames that are too long")) return;
  auto link = open_tap("rnic0", 1500);
  REQUIRE(link);
  address_kernel_end("rnic0");
  REQUIRE(NetworkInterface::find("rnic0")->set_mtu(3000) == 0);
  const FileDescriptor socket = udp_socket();
  sockaddr_in to{};
  to.sin_family = AF_INET;
  to.sin_port = htons(4791);
  to.sin_addr.s_addr = htonl(0x0a090002);
  const Bytes payload(2000);
  for (const std::size_t size : {2000u, 100u}) {
    REQUIRE(::sendto(socket.get(), payload.data(), size, 0, reinterpret_cast<sockaddr*>(&to),
                     sizeof to) == static_cast<ssize_t>(size));
  }
  CHECK(first_ipv4(**link).size() == 142);
  CHECK((*link)->statistics().rx_dropped == 1);
}

TEST_CASE("A persistent TAP that is a bridge's port is used and left as it was") {
  const NetworkNamespace space;
  if (!can_tap(space, "tap leaves a persistent device as it was")) return;
  REQUIRE(NetworkNamespace::ip("tuntap add keep mode tap"));
  REQUIRE(NetworkNamespace::ip("link set keep mtu 2000"));
  REQUIRE(NetworkNamespace::ip("link add br0 type bridge"));
  REQUIRE(NetworkNamespace::ip("link set keep master br0"));
  const auto before = NetworkInterface::find("keep");
  {
    auto link = open_tap("keep", 4200);
    REQUIRE(link);
    CHECK((*link)->capabilities().mtu == 4200);
    CHECK(NetworkInterface::find("keep")->up);
    const auto busy = open_tap("keep");
    REQUIRE_FALSE(busy);
    CHECK(busy.error().message ==
          "cannot open TAP \"keep\": another process has it open: end that one, or choose "
          "another name");
  }
  const auto after = NetworkInterface::find("keep");
  REQUIRE(after);
  CHECK(after->mtu == 2000);
  CHECK_FALSE(after->up);
  CHECK(after->mac == before->mac);
  CHECK(NetworkNamespace::output("ip -o link show keep").find("master br0") != std::string::npos);
}

TEST_CASE("A TAP made with several queues opens too") {
  const NetworkNamespace space;
  if (!can_tap(space, "tap opens a multi-queue device")) return;
  REQUIRE(NetworkNamespace::ip("tuntap add many mode tap multi_queue"));
  CHECK(open_tap("many"));
}

TEST_CASE("A TAP that cannot be opened says why and what to do") {
  const NetworkNamespace space;
  CHECK(open_tap("a/b").error().message ==
        "\"a/b\" cannot name an interface: use 1 to 15 characters without '/', ':', '%' or "
        "blanks");
  CHECK_FALSE(open_tap("tap%d"));
  CHECK_FALSE(open_tap("sixteen-letters-"));
  if (!can_tap(space, "tap names the cause of its errors")) return;
  CHECK(open_tap("lo").error().message ==
        "cannot open TAP \"lo\": an interface of that name exists and is no TAP: choose another");
  CHECK(open_tap("rnic0", 70000).error().message ==
        "cannot set the MTU of TAP \"rnic0\" to 70000: Invalid argument: a TAP takes 68 to 65521");
}

}  // namespace
}  // namespace softrnic::link
