// SPDX-License-Identifier: BSD-3-Clause
// Fetches all cache lines of a value that will be looked at soon.
#pragma once

#include <cstddef>

namespace softrnic::analysis {

template <class T>
void prefetch_all(const T& value) {
  constexpr std::size_t kLine = 64;
  const auto* const bytes = reinterpret_cast<const std::byte*>(&value);
  for (std::size_t at = 0; at < sizeof(T); at += kLine) __builtin_prefetch(bytes + at);
}

}  // namespace softrnic::analysis
