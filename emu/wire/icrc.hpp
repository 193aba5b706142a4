// SPDX-License-Identifier: BSD-3-Clause
// Invariant CRC: a CRC-32 over what may not change in flight (IBTA vol. 1, 7.8.1; annex A16 for
// v1, A17 for v2).
//
// Input: eight bytes of ones in place of the LRH, then network header, UDP and BTH with the
// fields a router may change set to ones, then everything up to and including the pad.
#pragma once

#include <cstdint>

#include "wire/byte_chain.hpp"

namespace softrnic::wire {

enum class NetworkLayer : std::uint8_t;

// `headers`: from the network header (GRH, IPv4 or IPv6) to the last extension header, in one
// piece and at most 128 bytes; `bth_offset`: where in it the BTH starts; `payload`: payload and
// pad. IPv4 options are not supported (PacketView refuses them). Returns the value whose
// little-endian bytes stand at the end of the frame.
std::uint32_t icrc(NetworkLayer layer, ByteView headers, std::size_t bth_offset,
                   const ByteChain& payload);

// The same by crc32_portable(), whatever the processor, and with every mask applied to a copy.
std::uint32_t icrc_portable(NetworkLayer layer, ByteView headers, std::size_t bth_offset,
                            const ByteChain& payload);

void store_icrc(std::byte* p, std::uint32_t icrc);
std::uint32_t load_icrc(const std::byte* p);

}  // namespace softrnic::wire
