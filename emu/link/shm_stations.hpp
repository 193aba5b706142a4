// SPDX-License-Identifier: BSD-3-Clause
// Which MAC address lives where: the table of the segment, as a switch learns it. Hosts are in it
// from their beginning, other addresses once they have sent.
#pragma once

#include <cstdint>
#include <optional>

#include "link/shm_layout.hpp"

namespace softrnic::link::shm {

// A MAC address as an integer.
std::uint64_t mac_key(const std::byte* p);
std::uint64_t mac_key(const wire::MacAddress& mac);
wire::MacAddress mac_of(std::uint64_t key);
constexpr bool is_group(std::uint64_t mac) {
  return (mac >> 40 & 1) != 0;
}

struct Station {
  bool is_host = false;
  std::size_t index = 0;  // of the port or the host: within bounds

  friend bool operator==(const Station&, const Station&) = default;
};

class StationTable {
 public:
  explicit StationTable(Header& header) : header_(&header) {}

  std::optional<Station> find(std::uint64_t mac) const;
  // A host's own address is not learned elsewhere. When there is no room another one is forgotten.
  void learn(std::uint64_t mac, const Station& station);
  void forget(const Station& station);

 private:
  Header* header_;
};

}  // namespace softrnic::link::shm
