// SPDX-License-Identifier: BSD-3-Clause
// Two udp links of a network namespace's loopback interface, and the frames they carry.
#pragma once

#include <sys/socket.h>

#include <chrono>
#include <string>
#include <thread>
#include <utility>

#include "link/file_descriptor.hpp"
#include "link/socket_address.hpp"
#include "link/udp_link.hpp"
#include "link/udp_neighbors.hpp"
#include "unit/link/exchange.hpp"
#include "unit/link/network_namespace.hpp"
#include "wire/address_vector.hpp"
#include "wire/icrc.hpp"

namespace softrnic::link::test {

struct Addresses {
  std::string left;
  std::string right;
};
inline const Addresses kIpv4{"127.0.0.2", "127.0.0.3"};
inline const Addresses kIpv6{"fd00::a", "fd00::b"};

inline std::unique_ptr<Link> open_address(const std::string& address, std::uint32_t mtu = 0,
                                          bool offload = true) {
  auto link = open_udp({.address = address, .offload = offload, .mtu = mtu});
  if (!link) FAIL(link.error().message);
  return std::move(link).value();
}

// An IPv6 address that was just added takes what is sent to it a moment later: connect() and bind()
// succeed before the kernel has made it a local one. So until something has come through.
inline void await_route(const std::string& address) {
  const FileDescriptor socket(::socket(AF_INET6, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  SocketAddress own(*wire::Gid::from_string(address), 9999);
  REQUIRE(::bind(socket.get(), own.get(), own.size()) == 0);
  const auto give_up = std::chrono::steady_clock::now() + std::chrono::seconds(10);
  char byte = 0;
  while (::recv(socket.get(), &byte, 1, 0) != 1) {
    REQUIRE(std::chrono::steady_clock::now() < give_up);
    ::sendto(socket.get(), &byte, 1, 0, own.get(), own.size());
    std::this_thread::yield();
  }
}

// False, with a skip said, where there is no namespace or no IPv6 in it.
inline bool prepare_loopback(const NetworkNamespace& space, const std::string& test) {
  std::string reason = space.why_not();
  if (reason.empty() && !NetworkNamespace::ip("link set lo up")) {
    reason = "cannot bring the loopback interface up with `ip link`";
  }
  for (const std::string& address : {kIpv6.left, kIpv6.right}) {
    if (reason.empty() && !NetworkNamespace::ip("addr add " + address + "/128 dev lo nodad")) {
      reason = "no IPv6: `ip addr add` on lo failed";
    }
  }
  if (!reason.empty()) {
    skip(test, reason);
    return false;
  }
  for (const std::string& address : {kIpv6.left, kIpv6.right}) await_route(address);
  return true;
}

// From one address to another, as a NIC on a udp link sends.
inline wire::AddressVector way(const std::string& from, const std::string& to) {
  wire::AddressVector vector;
  vector.source = *wire::Gid::from_string(from);
  vector.destination = *wire::Gid::from_string(to);
  vector.source_mac = stand_in_mac(vector.source);
  vector.destination_mac = stand_in_mac(vector.destination);
  vector.udp_source_port = wire::kRoceV2Port;
  return vector;
}

// A SEND ONLY with a right ICRC; `payload` a multiple of four.
inline Bytes roce_frame(const wire::AddressVector& vector, std::size_t payload,
                        std::uint32_t psn = 0, std::uint16_t identification = 0) {
  wire::Bth bth;
  bth.opcode = wire::Opcode::rc_send_only;
  bth.destination_qpn = 17;
  bth.psn = wire::Psn(psn);
  const std::size_t transport = wire::Bth::kSize + payload + 4;
  Bytes frame(vector.size() + transport, static_cast<std::byte>(psn + 1));
  vector.serialize(frame, transport, identification);
  const wire::ByteSpan bytes(frame);
  bth.serialize(bytes.subspan(vector.size()).first<wire::Bth::kSize>());
  const std::size_t headers = vector.size() + wire::Bth::kSize - wire::EthernetHeader::kSize;
  wire::store_icrc(
      frame.data() + frame.size() - 4,
      wire::icrc(vector.network_layer(), bytes.subspan(wire::EthernetHeader::kSize, headers),
                 headers - wire::Bth::kSize,
                 wire::ByteView(frame).subspan(vector.size() + wire::Bth::kSize, payload)));
  return frame;
}

inline bool icrc_ok(const Bytes& frame) {
  const auto packet = wire::PacketView::parse(wire::ByteView(frame));
  return packet && packet->icrc_ok();
}

// Gives all frames to the link at once.
inline void send_all(Link& link, const Frames& frames) {
  std::vector<Frame*> lent(frames.size());
  REQUIRE(link.tx_alloc(lent) == frames.size());
  for (std::size_t i = 0; i < frames.size(); ++i) fill(*lent[i], frames[i]);
  link.tx_push({}, lent);
}

// The frames that come before the last one sent, that one included.
inline Frames await_frames(Link& link, std::size_t count) {
  Frames all = receive(link);
  while (all.size() < count && readable(link.descriptor())) {
    for (Bytes& frame : receive(link)) all.push_back(std::move(frame));
  }
  return all;
}

}  // namespace softrnic::link::test
