// SPDX-License-Identifier: BSD-3-Clause
#include "wire/bth.hpp"

#include <algorithm>

namespace softrnic::wire {

Bth Bth::parse(std::span<const std::byte, kSize> bytes) {
  const std::byte* p = bytes.data();
  Bth h;
  h.opcode = static_cast<Opcode>(get(p, kOpcode));
  h.solicited = get(p, kSolicited) != 0;
  h.migration_request = get(p, kMigrationRequest) != 0;
  h.pad_count = static_cast<std::uint8_t>(get(p, kPadCount));
  h.version = static_cast<std::uint8_t>(get(p, kVersion));
  h.partition_key = static_cast<std::uint16_t>(get(p, kPartitionKey));
  h.fecn = get(p, kFecn) != 0;
  h.becn = get(p, kBecn) != 0;
  h.reserved6 = static_cast<std::uint8_t>(get(p, kReserved6));
  h.destination_qpn = static_cast<std::uint32_t>(get(p, kDestinationQpn));
  h.ack_request = get(p, kAckRequest) != 0;
  h.reserved7 = static_cast<std::uint8_t>(get(p, kReserved7));
  h.psn = Psn(static_cast<std::uint32_t>(get(p, kPsn)));
  return h;
}

void Bth::serialize(std::span<std::byte, kSize> bytes) const {
  std::byte* p = bytes.data();
  std::fill_n(p, kSize, std::byte{});
  put(p, kOpcode, static_cast<std::uint8_t>(opcode));
  put(p, kSolicited, solicited);
  put(p, kMigrationRequest, migration_request);
  put(p, kPadCount, pad_count);
  put(p, kVersion, version);
  put(p, kPartitionKey, partition_key);
  put(p, kFecn, fecn);
  put(p, kBecn, becn);
  put(p, kReserved6, reserved6);
  put(p, kDestinationQpn, destination_qpn);
  put(p, kAckRequest, ack_request);
  put(p, kReserved7, reserved7);
  put(p, kPsn, psn.value());
}

}  // namespace softrnic::wire
