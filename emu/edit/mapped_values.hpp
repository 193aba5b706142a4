// SPDX-License-Identifier: BSD-3-Clause
// The translation that a user's maps say.
#pragma once

#include <array>

#include "edit/address_map.hpp"
#include "edit/number_map.hpp"
#include "edit/translation.hpp"

namespace softrnic::edit {

class MappedValues : public Translation {
 public:
  MappedValues();

  MacMap macs;
  IpMap addresses;
  NumberMap virtual_addresses{64};
  NumberMap& numbers(Quantity quantity) { return numbers_[static_cast<std::size_t>(quantity)]; }
  bool keep_identification = false;
  bool empty() const;

  wire::MacAddress mac(const wire::MacAddress& address, Side side) const override;
  wire::Gid address(const wire::Gid& address, Side side) const override;
  std::uint64_t number(Quantity quantity, std::uint64_t value,
                       const wire::Gid& owner) const override;
  std::uint64_t virtual_address(std::uint64_t address, std::uint32_t remote_key,
                                const wire::Gid& owner) const override;
  bool keeps_identification() const override { return keep_identification; }

 private:
  std::array<NumberMap, static_cast<std::size_t>(Quantity::count)> numbers_;
};

// Numbers that mean the same to everyone: the queue pairs of management and of multicast, and their
// key. Only a map that names them changes them.
bool is_well_known(Quantity quantity, std::uint64_t value);

}  // namespace softrnic::edit
