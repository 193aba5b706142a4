// SPDX-License-Identifier: BSD-3-Clause
// The protection domains in being (IBTA vol. 1, 10.2.3). A number once given up does not return.
#pragma once

#include <cstdint>
#include <unordered_set>

#include "transport/memory_gate.hpp"

namespace softrnic::nic {

class ProtectionDomainTable {
 public:
  explicit ProtectionDomainTable(std::uint64_t max) : max_(max) {}

  // Zero, which is none, when there are as many as there may be.
  transport::ProtectionDomain allocate() {
    if (domains_.size() >= max_) return {};
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
  std::uint64_t max_;
  std::uint32_t last_ = 0;
};

}  // namespace softrnic::nic
