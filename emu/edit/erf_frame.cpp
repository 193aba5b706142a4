// SPDX-License-Identifier: BSD-3-Clause
#include "edit/erf_frame.hpp"

namespace softrnic::edit {

// The header is as capture/link_layer reads it: 16 bytes, extensions of 8, two bytes of pad.
bool unwrap_erf(capture::Record& record) {
  constexpr std::size_t kHeader = 16;
  constexpr std::size_t kExtension = 8;
  constexpr std::size_t kEthernetPad = 2;
  constexpr unsigned kMore = 0x80;
  const wire::ByteView bytes = record.bytes;
  if (bytes.size() < kHeader) return false;
  const unsigned type = wire::load_u8(bytes.data() + 8);
  switch (type & 0x7f) {
    case 2:   // ETH
    case 11:  // COLOR_ETH
    case 16:  // DSM_COLOR_ETH
    case 20:  // COLOR_HASH_ETH
      break;
    default:
      return false;
  }
  std::size_t offset = kHeader;
  bool more = (type & kMore) != 0;
  while (more) {
    if (offset + kExtension > bytes.size()) return false;
    more = (wire::load_u8(bytes.data() + offset) & kMore) != 0;
    offset += kExtension;
  }
  offset += kEthernetPad;
  if (offset > bytes.size()) return false;
  record.bytes = bytes.subspan(offset);
  record.wire_size -= static_cast<std::uint32_t>(offset);
  return true;
}

}  // namespace softrnic::edit
