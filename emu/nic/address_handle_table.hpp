// SPDX-License-Identifier: BSD-3-Clause
// Address handles: paths that UD requests name by number (IBTA vol. 1, 10.2.2.2). Owns them.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "nic/number_map.hpp"
#include "nic/path.hpp"
#include "transport/memory_gate.hpp"

namespace softrnic::nic {

struct AddressHandle {
  transport::ProtectionDomain domain{};
  Path path;
  std::uint32_t number = 0;
  std::size_t place = 0;  // in the table's list
};

class AddressHandleTable {
 public:
  explicit AddressHandleTable(std::uint64_t max) : max_(max) {}

  // The new handle; null when the table is full.
  AddressHandle* add(transport::ProtectionDomain domain, const Path& path);
  // False when there is none of that number.
  bool remove(std::uint32_t number);
  AddressHandle* find(std::uint32_t number) { return by_number_.find(number); }
  bool uses(transport::ProtectionDomain domain) const;

 private:
  std::uint32_t next_number();

  NumberMap<AddressHandle> by_number_;
  std::vector<std::unique_ptr<AddressHandle>> handles_;
  std::uint64_t max_;
  std::uint32_t last_number_ = 0;  // numbers count up, so that a stale one names nothing for long
};

}  // namespace softrnic::nic
