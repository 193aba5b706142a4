// SPDX-License-Identifier: BSD-3-Clause
#include "link/shm_stations.hpp"

#include <span>

namespace softrnic::link::shm {

namespace {

constexpr std::size_t kBucket = kCacheLine / sizeof(std::uint64_t);
constexpr unsigned kMacAt = 16;

std::uint64_t entry_of(std::uint64_t mac, const Station& station) {
  return mac << kMacAt | kStation | (station.is_host ? kHost : 0) | station.index;
}

bool is_host(std::uint64_t entry) {
  return (entry & kHost) != 0;
}

std::span<Word<std::uint64_t>> bucket_of(Header& header, std::uint64_t mac) {
  const std::uint64_t hash = (mac * 0x9e3779b97f4a7c15) >> 40;
  return std::span(header.stations).subspan(hash % (kStations / kBucket) * kBucket, kBucket);
}

}  // namespace

std::uint64_t mac_key(const std::byte* p) {
  return std::uint64_t{wire::load_be16(p)} << 32 | wire::load_be32(p + 2);
}

std::uint64_t mac_key(const wire::MacAddress& mac) {
  std::uint64_t key = 0;
  for (const std::uint8_t byte : mac.bytes) key = key << 8 | byte;
  return key;
}

wire::MacAddress mac_of(std::uint64_t key) {
  wire::MacAddress mac;
  for (std::size_t i = 0; i < mac.bytes.size(); ++i) {
    mac.bytes[i] = static_cast<std::uint8_t>(key >> (8 * (mac.bytes.size() - 1 - i)));
  }
  return mac;
}

std::optional<Station> StationTable::find(std::uint64_t mac) const {
  for (const Word<std::uint64_t>& word : bucket_of(*header_, mac)) {
    const std::uint64_t entry = word.load(std::memory_order_acquire);
    if ((entry & kStation) == 0 || entry >> kMacAt != mac) continue;
    const Station station{is_host(entry), entry & kIndex};
    if (station.index < (station.is_host ? kHosts : kPorts)) return station;
  }
  return std::nullopt;
}

void StationTable::learn(std::uint64_t mac, const Station& station) {
  const std::uint64_t wanted = entry_of(mac, station);
  Word<std::uint64_t>* room = nullptr;
  for (Word<std::uint64_t>& word : bucket_of(*header_, mac)) {
    const std::uint64_t entry = word.load(std::memory_order_acquire);
    if ((entry & kStation) != 0 && entry >> kMacAt == mac) {
      if (entry == wanted || (is_host(entry) && !station.is_host)) return;
      room = &word;
      break;
    }
    // An empty one, or, if there is none, the last that may be forgotten.
    const bool empty = (entry & kStation) == 0;
    const bool room_is_empty =
        room != nullptr && (room->load(std::memory_order_relaxed) & kStation) == 0;
    if (empty ? !room_is_empty : !is_host(entry) && !room_is_empty) room = &word;
  }
  if (room == nullptr) return;
  std::uint64_t old = room->load(std::memory_order_relaxed);
  if (is_host(old) && !station.is_host) return;
  // Who loses a race learns again with its next frame.
  if (room->compare_exchange_strong(old, wanted, std::memory_order_acq_rel)) {
    header_->version.fetch_add(1, std::memory_order_acq_rel);
  }
}

void StationTable::forget(const Station& station) {
  for (Word<std::uint64_t>& word : header_->stations) {
    std::uint64_t entry = word.load(std::memory_order_acquire);
    if ((entry & kStation) != 0 && Station{is_host(entry), entry & kIndex} == station) {
      word.compare_exchange_strong(entry, 0, std::memory_order_acq_rel);
    }
  }
  header_->version.fetch_add(1, std::memory_order_acq_rel);
}

}  // namespace softrnic::link::shm
