// SPDX-License-Identifier: BSD-3-Clause
#include "capture/mirror_copies.hpp"

#include <algorithm>
#include <array>
#include <cstring>

namespace softrnic::capture {
namespace {

constexpr std::size_t kMostHeaders = 128;  // network header to the end of the transport headers

std::uint64_t mix(std::uint64_t x) {
  x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
  x = (x ^ x >> 27) * 0x94d049bb133111ebu;
  return x ^ x >> 31;
}

std::uint64_t hash(wire::ByteView bytes) {
  std::uint64_t sum = bytes.size();
  while (!bytes.empty()) {
    std::uint64_t word = 0;
    const std::size_t n = std::min(bytes.size(), sizeof word);
    std::memcpy(&word, bytes.data(), n);
    sum = mix(sum ^ word) + 0x9e3779b97f4a7c15u;
    bytes = bytes.subspan(n);
  }
  return sum;
}

// What a switch leaves alone of the headers; at least 1.
std::uint64_t key_of(const Record& record, const PacketReading& r) {
  std::array<std::byte, kMostHeaders> kept{};
  const std::size_t wanted = r.bth - r.network + wire::Bth::kSize + r.frame.opcode->extension_size;
  const std::size_t there = std::min(record.bytes.size() - r.network, wanted);
  const std::size_t size = std::min(there, kMostHeaders);
  std::memcpy(kept.data(), record.bytes.data() + r.network, size);
  const auto forget = [&](std::size_t from, std::size_t count) {
    std::fill_n(kept.begin() + static_cast<std::ptrdiff_t>(from), count, std::byte{0});
  };
  if (r.layer == wire::NetworkLayer::ipv4) {
    forget(1, 1);   // DSCP, ECN
    forget(8, 1);   // TTL
    forget(10, 2);  // checksum
  } else {
    forget(0, 4);  // traffic class, flow label
    forget(7, 1);  // hop limit
  }
  const std::size_t bth = r.bth - r.network;
  if (r.layer != wire::NetworkLayer::grh) forget(bth - 2, 2);  // UDP checksum
  forget(bth + 4, 1);                                          // FECN, BECN
  return hash(wire::ByteView(kept).first(size)) | 1;
}

std::uint32_t place_of(const Record& record, const PacketReading& r) {
  constexpr std::size_t kLinkHeader = 18;  // MAC addresses, a VLAN tag, EtherType
  const std::size_t before = std::min(r.network, kLinkHeader);
  const wire::ByteView link = record.bytes.subspan(r.network - before, before);
  const std::size_t limit = r.layer == wire::NetworkLayer::ipv4 ? 8 : 7;  // TTL, hop limit
  const auto left = wire::load_u8(record.bytes.data() + r.network + limit);
  return static_cast<std::uint32_t>(mix(hash(link) + left));
}

// A NAK, an RNR NAK, or a READ that was seen before.
bool asks_again(const PacketReading& r, bool seen_before) {
  const analysis::Frame& frame = r.frame;
  if (frame.opcode->has(wire::kAeth)) return !frame.headers.aeth.syndrome.is_ack();
  return seen_before && frame.opcode->operation == wire::Operation::read_request;
}

}  // namespace

MirrorCopies::Sight& MirrorCopies::sight_of(std::uint64_t key) {
  if (sights_.empty()) sights_.resize(sets_ * kWays);
  Sight* const set = &sights_[(mix(key) & (sets_ - 1)) * kWays];
  Sight* oldest = set;
  for (std::size_t way = 0; way < kWays; ++way) {
    if (set[way].key == key) return set[way];
    if (set[way].key == 0 || set[way].time < oldest->time) oldest = &set[way];
    if (oldest->key == 0) break;
  }
  *oldest = {};
  return *oldest;
}

std::uint64_t& MirrorCopies::asked_again(const wire::Gid& of, const wire::Gid& by) {
  if (asked_.empty()) asked_.resize(kAsked);
  const std::uint64_t hosts =
      hash(std::as_bytes(std::span(of.bytes))) * 3 + hash(std::as_bytes(std::span(by.bytes)));
  return asked_[mix(hosts) % kAsked];
}

bool MirrorCopies::is_copy(const Record& record, const PacketReading& reading) {
  const std::uint64_t key = key_of(record, reading);
  const std::uint32_t place = place_of(record, reading);
  const std::uint64_t asked = asked_again(reading.frame.source, reading.frame.destination);
  Sight& sight = sight_of(key);
  // A capture's clock may go back by a little where ports are mirrored side by side.
  const wire::Duration since = record.at - sight.time;
  const bool recent = sight.key == key && since <= kWindow && -since <= kWindow;
  bool copy = recent;
  if (recent && place != sight.place) {
    places_differ_ = true;
  } else if (recent) {
    // Once more in the same place. Where nothing tells the places apart, the second is a copy.
    copy = !places_differ_ && sight.copies == 0 && sight.asked == asked;
  }
  if (copy) {
    ++sight.copies;
  } else {
    sight = {key, record.at, place, 0, asked};
  }
  if (!copy && asks_again(reading, recent)) {
    ++asked_again(reading.frame.destination, reading.frame.source);
  }
  return copy;
}

}  // namespace softrnic::capture
