// SPDX-License-Identifier: BSD-3-Clause
#include "explain/throughput.hpp"

namespace softrnic::explain {

void Throughput::widen() {
  bin_ *= 2;
  for (std::vector<std::uint64_t>& bins : bins_) {
    for (std::size_t i = 0; i < bins.size(); ++i) {
      const std::uint64_t bytes = bins[i];
      bins[i] = 0;
      bins[i / 2] += bytes;
    }
    bins.resize((bins.size() + 1) / 2);
  }
}

}  // namespace softrnic::explain
