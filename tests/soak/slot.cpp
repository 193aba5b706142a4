// SPDX-License-Identifier: BSD-3-Clause
#include "soak/slot.hpp"

#include <fmt/format.h>

#include <cstring>

namespace softrnic::soak {

void scatter(const Layout& layout, std::span<const std::byte> from, std::span<std::byte> room) {
  for (std::uint32_t i = 0; i < layout.count && !from.empty(); ++i) {
    const std::size_t n = std::min<std::size_t>(layout.lengths[i], from.size());
    std::copy_n(from.begin(), n, room.begin() + layout.offsets[i]);
    from = from.subspan(n);
  }
}

std::span<const transport::Sge> elements(const Layout& layout, std::span<std::byte> room,
                                         std::uint32_t key,
                                         std::array<transport::Sge, kMaxPieces>& out) {
  const auto base = reinterpret_cast<std::uintptr_t>(room.data());
  for (std::uint32_t i = 0; i < layout.count; ++i) {
    out[i] = {base + layout.offsets[i], layout.lengths[i], key};
  }
  return std::span(out).first(layout.count);
}

std::string difference(const Layout& layout, std::span<const std::byte> expected,
                       std::span<const std::byte> room) {
  std::uint32_t at = 0;
  const auto guarded = [&](std::uint32_t to) {
    const auto part = room.subspan(at, to - at);
    return std::all_of(part.begin(), part.end(), [](std::byte b) { return b == kGuard; });
  };
  for (std::uint32_t i = 0; i < layout.count; ++i) {
    if (!guarded(layout.offsets[i])) return fmt::format("a guard before piece {} is gone", i);
    const std::size_t n = std::min<std::size_t>(layout.lengths[i], expected.size());
    if (n != 0 && std::memcmp(room.data() + layout.offsets[i], expected.data(), n) != 0) {
      return fmt::format("piece {} of {}", i, layout.count);
    }
    expected = expected.subspan(n);
    // Room beyond the message's end must not have been touched.
    at = layout.offsets[i] + static_cast<std::uint32_t>(n);
  }
  return guarded(static_cast<std::uint32_t>(room.size())) ? ""
                                                          : "a guard behind the message is gone";
}

}  // namespace softrnic::soak
