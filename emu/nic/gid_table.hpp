// SPDX-License-Identifier: BSD-3-Clause
// GID table: for each address of the NIC a RoCE v1 and a RoCE v2 entry, in Linux's order: the
// link-local address made from the MAC first, then the others as they were added.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "wire/gid.hpp"
#include "wire/packet_view.hpp"

namespace softrnic::nic {

struct InterfaceAddress {
  wire::Gid address;
  std::uint8_t prefix_length = 0;  // 24 for 10.0.0.1/24

  // "10.0.0.1/24", "fd00::1/64"; without "/LEN" the whole address is the prefix. No value for
  // anything else, or for what no interface can have: a zero or a multicast address.
  static std::optional<InterfaceAddress> from_string(std::string_view text);
  std::string to_string() const;

  friend bool operator==(const InterfaceAddress&, const InterfaceAddress&) = default;
};

struct GidEntry {
  wire::Gid gid;
  wire::RoceVersion version{};
};

class GidTable {
 public:
  // Addresses given twice, and those no interface can have, are left out.
  GidTable(const wire::MacAddress& mac, std::span<const InterfaceAddress> addresses);
  // Of these addresses alone, and of RoCE v2: where the link carries nothing else.
  explicit GidTable(std::span<const InterfaceAddress> addresses);

  std::span<const GidEntry> entries() const { return entries_; }
  const GidEntry* find(std::uint32_t index) const;  // null beyond the end
  bool owns(const wire::Gid& gid) const;

  // Each address once.
  std::span<const wire::Gid> addresses() const { return addresses_; }
  // The address to speak to `destination` from: of the same IP version, on the same prefix when
  // there is one, of the same scope when there is one (RFC 6724, rules 1, 2 and 8).
  std::optional<wire::Gid> source_for(const wire::Gid& destination) const;

 private:
  void add(const InterfaceAddress& address);

  bool v2_only_ = false;
  std::vector<GidEntry> entries_;
  std::vector<wire::Gid> addresses_;
  std::vector<std::uint8_t> prefix_lengths_;  // beside addresses_; 0 to 128, IPv4 as mapped
};

}  // namespace softrnic::nic
