// SPDX-License-Identifier: BSD-3-Clause
#include "edit/packet_position.hpp"

namespace softrnic::edit {
namespace {

wire::Position position_of(bool starts, bool ends) {
  if (starts) return ends ? wire::Position::only : wire::Position::first;
  return ends ? wire::Position::last : wire::Position::middle;
}

}  // namespace

const wire::OpcodeInfo* opcode_at(const wire::OpcodeInfo& like, bool starts, bool ends,
                                  const wire::OpcodeInfo& last) {
  constexpr std::uint16_t kAtTheEnd = wire::kImmDt | wire::kIeth;
  const std::uint16_t wanted =
      ends ? static_cast<std::uint16_t>(last.extension_headers & kAtTheEnd) : std::uint16_t{0};
  for (unsigned value = 0; value < 256; ++value) {
    const wire::OpcodeInfo* row = wire::find_opcode(static_cast<std::uint8_t>(value));
    if (row == nullptr || row->service != like.service || row->operation != like.operation ||
        row->position != position_of(starts, ends)) {
      continue;
    }
    if ((row->extension_headers & kAtTheEnd) == wanted) return row;
  }
  return nullptr;
}

}  // namespace softrnic::edit
