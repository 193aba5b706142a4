// SPDX-License-Identifier: BSD-3-Clause
// The protection domains in being (IBTA vol. 1, 10.2.3). A number once given up does not return.
#pragma once

#include <cstdint>
#include <unordered_set>

#include "transport/memory_gate.hpp"

namespace softrnic::nic {

class ProtectionDomainTable {
 public:
  transport::ProtectionDomain allocate() {
    domains_.insert(++last_);
    return transport::ProtectionDomain{last_};
  }
  bool contains(transport::ProtectionDomain domain) const {
    return domains_.count(static_cast<std::uint32_t>(domain)) > 0;
  }
  void release(transport::ProtectionDomain domain) {
    domains_.erase(static_cast<std::uint32_t>(domain));
  }

 private:
  std::unordered_set<std::uint32_t> domains_;
  std::uint32_t last_ = 0;
};

}  // namespace softrnic::nic
