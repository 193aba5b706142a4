// SPDX-License-Identifier: BSD-3-Clause
#include "link/shm_forwarding.hpp"

#include <algorithm>

#include "link/shm_stations.hpp"
#include "wire/arp.hpp"
#include "wire/bth.hpp"
#include "wire/grh.hpp"
#include "wire/ipv4.hpp"
#include "wire/udp.hpp"

namespace softrnic::link::shm {

namespace {

using wire::ByteView;
using wire::load_be16;
using wire::load_be32;
using wire::load_u8;

constexpr std::uint16_t kRoceV2Port = 4791;
constexpr std::uint8_t kIcmp = 1;
constexpr std::uint8_t kUdp = 17;
constexpr std::uint8_t kIcmpv6 = 58;
constexpr std::uint8_t kEchoRequest = 8;
constexpr std::uint8_t kEchoRequestV6 = 128;
constexpr std::uint8_t kNeighborSolicitation = 135;
constexpr std::uint16_t kArpRequest = 1;
constexpr std::size_t kArpSize = 28;
constexpr std::size_t kIpv6Size = 40;
constexpr std::size_t kUdpSize = 8;
constexpr std::size_t kBthSize = 12;

constexpr Addressee kFirst{Addressee::Kind::first, 0};
constexpr Addressee kEach{};

ByteView after(ByteView bytes, std::size_t n) {
  return bytes.subspan(std::min(n, bytes.size()));
}

Addressee of_bth(ByteView bth) {
  if (bth.size() < kBthSize) return kEach;
  const std::uint32_t qpn = wire::load_be24(bth.data() + 5);
  if (qpn <= 1) return kEach;  // management: whoever knows the transaction takes it
  return {Addressee::Kind::queue_pair, qpn};
}

Addressee of_udp(ByteView udp) {
  if (udp.size() < kUdpSize || load_be16(udp.data() + 2) != kRoceV2Port) return kEach;
  return of_bth(after(udp, kUdpSize));
}

Addressee of_arp(ByteView arp) {
  if (arp.size() < kArpSize || load_be16(arp.data() + 6) != kArpRequest) return kEach;
  // Who asks for its own address tells it to everybody (RFC 5227, 3).
  const bool announcement = load_be32(arp.data() + 14) == load_be32(arp.data() + 24);
  return announcement ? kEach : kFirst;
}

Addressee of_ipv4(ByteView ip) {
  if (ip.size() < 20) return kEach;
  const ByteView inside = after(ip, std::size_t{4} * (load_u8(ip.data()) & 0xf));
  const std::uint8_t protocol = load_u8(ip.data() + 9);
  if (protocol == kUdp) return of_udp(inside);
  const bool asks = protocol == kIcmp && !inside.empty() && load_u8(inside.data()) == kEchoRequest;
  return asks ? kFirst : kEach;
}

Addressee of_ipv6(ByteView ip) {
  if (ip.size() <= kIpv6Size) return kEach;
  const ByteView inside = after(ip, kIpv6Size);
  const std::uint8_t next_header = load_u8(ip.data() + 6);
  if (next_header == kUdp) return of_udp(inside);
  if (next_header != kIcmpv6) return kEach;
  const std::uint8_t type = load_u8(inside.data());
  return type == kEchoRequestV6 || type == kNeighborSolicitation ? kFirst : kEach;
}

}  // namespace

Addressee Addressee::of(ByteView frame) {
  std::size_t at = 2 * sizeof(wire::MacAddress);
  if (frame.size() < at + 2) return kEach;
  std::uint16_t ethertype = load_be16(frame.data() + at);
  if (ethertype == wire::ethertype::kVlan && frame.size() >= at + wire::VlanTag::kSize + 2) {
    at += wire::VlanTag::kSize;
    ethertype = load_be16(frame.data() + at);
  }
  const ByteView network = after(frame, at + 2);
  switch (ethertype) {
    case wire::ethertype::kArp:
      return of_arp(network);
    case wire::ethertype::kRoceV1:
      return of_bth(after(network, wire::Grh::kSize));
    case wire::ethertype::kIpv4:
      return of_ipv4(network);
    case wire::ethertype::kIpv6:
      return of_ipv6(network);
    default:
      return kEach;
  }
}

Forwarding::Forwarding(Port& port) : port_(&port) {
  for (auto* list : {&others_, &firsts_, &mirrors_, &members_, &fellows_}) list->reserve(kPorts);
}

std::span<const std::uint8_t> Forwarding::route(ByteView frame) {
  const std::uint64_t version = port_->segment().header().version.load(std::memory_order_acquire);
  if (version != version_) {
    version_ = version;
    look_around();
  }
  note_source(mac_key(frame.data() + 6));
  const std::uint64_t destination = mac_key(frame.data());
  if (destination == last_destination_) return last_answer_;
  if (destination == last_host_destination_) return to_member(frame);
  return route_unknown(destination, frame);
}

// Who is there now. What changes meanwhile raises the version again.
void Forwarding::look_around() {
  last_source_ = last_destination_ = last_host_destination_ = kNoAddress;
  others_.clear();
  firsts_.clear();
  mirrors_.clear();
  std::array<bool, kHosts + 1> seen{};
  for (std::size_t i = 0; i < kPorts; ++i) {
    const PortRecord& record = port_->segment().record(i);
    tokens_[i] = 0;
    host_of_[i] = kHosts;
    if (record.state.load(std::memory_order_acquire) !=
        static_cast<std::uint32_t>(PortState::attached)) {
      continue;
    }
    const auto port = static_cast<std::uint8_t>(i);
    tokens_[i] = loan_token(i, record.generation.load(std::memory_order_relaxed));
    if (record.role.load(std::memory_order_relaxed) !=
        static_cast<std::uint32_t>(PortRole::station)) {
      mirrors_.push_back(port);
      continue;
    }
    const std::size_t host =
        std::min<std::size_t>(record.host.load(std::memory_order_relaxed), kHosts);
    host_of_[i] = static_cast<std::uint8_t>(host);
    if (i != port_->index()) {
      others_.push_back(port);
      if (!seen[host]) firsts_.push_back(port);
    }
    seen[host] = true;
  }
}

void Forwarding::note_source(std::uint64_t mac) {
  if (mac == last_source_) return;
  last_source_ = mac;
  learn(mac);
}

void Forwarding::learn(std::uint64_t mac) {
  if (is_group(mac)) return;
  StationTable(port_->segment().header()).learn(mac, {.is_host = false, .index = port_->index()});
}

std::span<const std::uint8_t> Forwarding::route_unknown(std::uint64_t mac, ByteView frame) {
  if (is_group(mac)) return flood(frame);
  const auto station = StationTable(port_->segment().header()).find(mac);
  if (!station) return flood(frame);
  if (station->is_host) return to_host(station->index, mac, frame);
  if (tokens_[station->index] == 0) return flood(frame);
  return remember(mac, to_one(station->index));
}

std::span<const std::uint8_t> Forwarding::flood(ByteView frame) {
  // As long as each process is a host of its own, the two lists are the same.
  if (firsts_.size() == others_.size()) return others_;
  return Addressee::of(frame).kind == Addressee::Kind::first ? firsts_ : others_;
}

std::span<const std::uint8_t> Forwarding::to_host(std::size_t host, std::uint64_t mac,
                                                  ByteView frame) {
  members_.clear();
  last_host_destination_ = kNoAddress;  // whose they were
  for (std::size_t i = 0; i < kPorts; ++i) {
    if (tokens_[i] != 0 && host_of_[i] == host) members_.push_back(static_cast<std::uint8_t>(i));
  }
  if (members_.empty()) return flood(frame);
  if (members_.size() == 1) return remember(mac, to_one(members_.front()));
  fellows_ = members_;
  std::erase(fellows_, port_->index());
  last_host_ = host;
  last_host_destination_ = mac;
  return to_member(frame);
}

std::span<const std::uint8_t> Forwarding::to_member(ByteView frame) {
  const Addressee addressee = Addressee::of(frame);
  switch (addressee.kind) {
    case Addressee::Kind::queue_pair:
      return to_one(owner_of(last_host_, addressee.qpn));
    case Addressee::Kind::first:
      return to_one(members_.front());
    case Addressee::Kind::each:
      break;
  }
  return fellows_;
}

// Whose block the number is of; the first's, which counts it as nobody's, if it is nobody's.
std::size_t Forwarding::owner_of(std::size_t host, std::uint32_t qpn) const {
  const std::uint32_t word = port_->segment().header().hosts[host].blocks[qpn >> kNumberBits].load(
      std::memory_order_acquire);
  const bool owned =
      word >= 1 && word <= kPorts && host_of_[word - 1] == host && tokens_[word - 1] != 0;
  return owned ? word - 1 : members_.front();
}

// Nowhere, when it is us: as a switch filters what is where it came from.
std::span<const std::uint8_t> Forwarding::to_one(std::size_t port) {
  if (port == port_->index()) return {};
  one_[0] = static_cast<std::uint8_t>(port);
  return one_;
}

std::span<const std::uint8_t> Forwarding::remember(std::uint64_t mac,
                                                   std::span<const std::uint8_t> ports) {
  std::copy(ports.begin(), ports.end(), remembered_.begin());
  last_destination_ = mac;
  last_answer_ = std::span(remembered_).first(ports.size());
  return last_answer_;
}

}  // namespace softrnic::link::shm
