// SPDX-License-Identifier: BSD-3-Clause
#include "link/udp_socket.hpp"

#include <linux/filter.h>
#include <netinet/udp.h>
#include <sys/epoll.h>

#include <array>
#include <cerrno>
#include <iterator>
#include <string>

#include "link/network_interface.hpp"
#include "wire/udp.hpp"

namespace softrnic::link {

namespace {

// Bytes that the kernel may queue for us in either direction, if the host lets us ask for as much.
constexpr int kSocketBuffer = 4 << 20;
// What packets have that ask for nothing else, so that no message need say it.
constexpr int kHopLimit = 64;

bool set(int socket, int level, int option, int value) {
  return ::setsockopt(socket, level, option, &value, sizeof value) == 0;
}

// The larger of what root may have and what anyone may.
void enlarge(int socket, int forced, int plain) {
  if (!set(socket, SOL_SOCKET, forced, kSocketBuffer)) {
    (void)set(socket, SOL_SOCKET, plain, kSocketBuffer);
  }
}

// RoCE packets are never fragments; sent so and by a socket that is not connected, a packet has
// identification zero (RFC 6864, 4.1: it may be anything where nothing is cut).
void configure(int socket, bool ipv4) {
  enlarge(socket, SO_RCVBUFFORCE, SO_RCVBUF);
  enlarge(socket, SO_SNDBUFFORCE, SO_SNDBUF);
  if (ipv4) {
    (void)set(socket, IPPROTO_IP, IP_MTU_DISCOVER, IP_PMTUDISC_DO);
    (void)set(socket, IPPROTO_IP, IP_TTL, kHopLimit);
    (void)set(socket, IPPROTO_IP, IP_RECVTOS, 1);
    (void)set(socket, IPPROTO_IP, IP_RECVTTL, 1);
    return;
  }
  (void)set(socket, IPPROTO_IPV6, IPV6_MTU_DISCOVER, IPV6_PMTUDISC_DO);
  (void)set(socket, IPPROTO_IPV6, IPV6_UNICAST_HOPS, kHopLimit);
  (void)set(socket, IPPROTO_IPV6, IPV6_RECVTCLASS, 1);
  (void)set(socket, IPPROTO_IPV6, IPV6_RECVHOPLIMIT, 1);
  // RoCE senders leave the UDP checksum out, which IPv6 takes only from whom it is told to
  // (RFC 6935).
  (void)set(socket, IPPROTO_UDP, UDP_NO_CHECK6_RX, 1);
}

wire::Expected<FileDescriptor, int> open_socket(const UdpAddress& address, bool joins) {
  FileDescriptor socket(::socket(address.is_ipv4() ? AF_INET : AF_INET6,
                                 SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!socket.valid()) return wire::Unexpected{errno};
  configure(socket.get(), address.is_ipv4());
  if (joins && !set(socket.get(), SOL_SOCKET, SO_REUSEPORT, 1)) return wire::Unexpected{errno};
  const SocketAddress port = address.with_port(wire::kRoceV2Port);
  if (::bind(socket.get(), port.get(), port.size()) != 0) return wire::Unexpected{errno};
  return socket;
}

// 0, or an errno. Sorts by what stands in the headers, which a program of the port sees and a
// receiver does not: whether an identification below 64 and "don't fragment", and our own source
// port, which no other RoCE sender has (theirs are from 0xc000 on). So all packets of one sender
// come to one socket, and stay in order.
int sort_by_identification(int socket) {
  constexpr auto kIpHeader = static_cast<std::uint32_t>(SKF_NET_OFF);
  constexpr std::uint32_t kHighBits = ~((kMostUdpSegments - 1) << 16);
  constexpr std::uint32_t kDontFragment = 0x4000;
  sock_filter program[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, kIpHeader + 4),  // identification, flags, offset
      BPF_STMT(BPF_ALU | BPF_AND | BPF_K, kHighBits),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, kDontFragment, 0, 3),
      BPF_STMT(BPF_LD | BPF_H | BPF_ABS, kIpHeader + 20),  // UDP source port
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, wire::kRoceV2Port, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, 0),
      BPF_STMT(BPF_RET | BPF_K, 1),
  };
  const sock_fprog sorter{static_cast<unsigned short>(std::size(program)), program};
  return ::setsockopt(socket, SOL_SOCKET, SO_ATTACH_REUSEPORT_CBPF, &sorter, sizeof sorter) == 0
             ? 0
             : errno;
}

// 0, or an errno.
int join_in_epoll(UdpSockets& sockets) {
  sockets.either = FileDescriptor(::epoll_create1(EPOLL_CLOEXEC));
  if (!sockets.either.valid()) return errno;
  for (const int socket : {sockets.first.get(), sockets.second.get()}) {
    epoll_event event{};
    event.events = EPOLLIN;
    if (::epoll_ctl(sockets.either.get(), EPOLL_CTL_ADD, socket, &event) != 0) return errno;
  }
  return 0;
}

// The first has been bound alone, so that no one else is on the port; only then may another join.
int add_second(const UdpAddress& address, UdpSockets& sockets) {
  if (!set(sockets.first.get(), SOL_SOCKET, SO_REUSEPORT, 1)) return errno;
  auto second = open_socket(address, true);
  if (!second) return second.error();
  sockets.second = std::move(second).value();
  if (const int error = sort_by_identification(sockets.first.get())) return error;
  return join_in_epoll(sockets);
}

wire::Unexpected<OpenError> refuse(const UdpAddress& address, int error) {
  std::string why;
  switch (error) {
    case EADDRINUSE:
      why =
          "another program holds port 4791 of it (or rdma_rxe of every address): end it, or give "
          "each process its own address";
      break;
    case EAFNOSUPPORT:
      why = "this machine has no " + std::string(address.is_ipv4() ? "IPv4" : "IPv6");
      break;
    default:
      why = "cannot open port 4791: " + error_text(error);
  }
  return wire::Unexpected{OpenError{"udp:" + address.text + ": " + why}};
}

}  // namespace

wire::Expected<UdpSockets, OpenError> open_udp_sockets(const UdpAddress& address, bool offload) {
  UdpSockets sockets;
  auto first = open_socket(address, false);
  if (!first) return refuse(address, first.error());
  sockets.first = std::move(first).value();
  if (address.is_ipv4()) {
    if (const int error = add_second(address, sockets)) return refuse(address, error);
  }
  if (!offload) return sockets;
  // Linux 4.18 and 5.0.
  int none = 0;
  socklen_t size = sizeof none;
  sockets.segmentation =
      ::getsockopt(sockets.first.get(), IPPROTO_UDP, UDP_SEGMENT, &none, &size) == 0;
  sockets.aggregation = set(sockets.first.get(), IPPROTO_UDP, UDP_GRO, 1);
  if (sockets.second.valid()) (void)set(sockets.second.get(), IPPROTO_UDP, UDP_GRO, 1);
  return sockets;
}

}  // namespace softrnic::link
