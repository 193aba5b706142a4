// SPDX-License-Identifier: BSD-3-Clause
#include "analysis/icrc_diagnosis.hpp"

#include "wire/icrc.hpp"

namespace softrnic::analysis {

std::string icrc_hint(wire::NetworkLayer layer, wire::ByteView summed, std::size_t bth_offset,
                      std::uint32_t carried) {
  const std::size_t headers = bth_offset + wire::Bth::kSize;
  if (summed.size() < headers) return {};
  const std::uint32_t right =
      wire::icrc(layer, summed.first(headers), bth_offset, summed.subspan(headers));
  if (carried == __builtin_bswap32(right)) return "its bytes are in the wrong order";
  return {};
}

}  // namespace softrnic::analysis
