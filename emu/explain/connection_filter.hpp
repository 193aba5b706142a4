// SPDX-License-Identifier: BSD-3-Clause
// Which connections a report is about: all, one of them, or those of an address or queue pair.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "analysis/stream.hpp"

namespace softrnic::explain {

struct ConnectionFilter {
  std::vector<std::uint32_t> connections;  // any of these; empty: all
  std::vector<wire::Gid> addresses;        // of either end
  std::vector<std::uint32_t> qpns;         // of either end

  bool takes_all() const { return connections.empty() && addresses.empty() && qpns.empty(); }

  bool takes(const analysis::Stream& stream) const {
    const auto has = [](const auto& list, const auto& a, const auto& b) {
      return list.empty() ||
             std::any_of(list.begin(), list.end(), [&](const auto& x) { return x == a || x == b; });
    };
    return has(connections, stream.index, stream.index) &&
           has(addresses, stream.sides[0].address, stream.sides[1].address) &&
           has(qpns, stream.sides[0].qpn, stream.sides[1].qpn);
  }
};

}  // namespace softrnic::explain
