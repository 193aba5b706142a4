// SPDX-License-Identifier: BSD-3-Clause
#include "wire/cnp.hpp"

#include <algorithm>

namespace softrnic::wire {

CnpReserved CnpReserved::parse(std::span<const std::byte, kSize> bytes) {
  CnpReserved h;
  std::copy(bytes.begin(), bytes.end(), h.bytes.begin());
  return h;
}

void CnpReserved::serialize(std::span<std::byte, kSize> out) const {
  std::copy(bytes.begin(), bytes.end(), out.begin());
}

Bth cnp_bth(std::uint32_t destination_qpn, std::uint16_t partition_key) {
  Bth bth;
  bth.opcode = Opcode::cnp;
  bth.becn = true;
  bth.partition_key = partition_key;
  bth.destination_qpn = destination_qpn;
  return bth;
}

}  // namespace softrnic::wire
