// SPDX-License-Identifier: BSD-3-Clause
// The translation that hides who talked: MAC and IP addresses, queue pair numbers, keys, remote
// addresses, ports, immediates and GUIDs become others, by a key.
//
// What means the same to everyone stays: multicast and broadcast, the queue pairs of management,
// their Q_Key. IP addresses keep their common prefixes and their kind (IPv4 class, link-local); all
// addresses under one R_Key move by one step, so that offsets and bounds stay.
#pragma once

#include <string_view>
#include <unordered_map>

#include "edit/frame_parts.hpp"
#include "edit/keyed_permutation.hpp"
#include "edit/translation.hpp"

namespace softrnic::edit {

class Anonymised : public Translation {
 public:
  explicit Anonymised(std::string_view key) : permutation_(key) {}

  wire::MacAddress mac(const wire::MacAddress& address, Side side) const override;
  wire::Gid address(const wire::Gid& address, Side side) const override;
  std::uint64_t number(Quantity quantity, std::uint64_t value,
                       const wire::Gid& owner) const override;
  std::uint64_t virtual_address(std::uint64_t address, std::uint32_t remote_key,
                                const wire::Gid& owner) const override;

 private:
  wire::Gid hide(const wire::Gid& address) const;

  KeyedPermutation permutation_;
  struct HashOfGid {
    std::size_t operator()(const wire::Gid& gid) const;
  };
  // What was hidden lately: an address costs up to 128 encryptions.
  mutable std::unordered_map<wire::Gid, wire::Gid, HashOfGid> hidden_;
};

// Overwrites with zeros what applications sent, and the operands of atomics.
void erase_contents(FrameParts& frame);

}  // namespace softrnic::edit
