// SPDX-License-Identifier: BSD-3-Clause
// CRC-32 of IEEE 802.3 (polynomial 0x04C11DB7, reflected), the sum under the ICRC.
//
// ISA-L where the processor has carry-less multiplication, zlib elsewhere; chosen once, at run
// time. Threads may call it freely.
#pragma once

#include <cstdint>
#include <string_view>

#include "wire/bytes.hpp"

namespace softrnic::wire {

// Continues `crc` (0 to start) over `bytes`. The initial and final inversions are inside, so
// pieces chain: crc32(crc32(0, a), b) == crc32(0, ab).
std::uint32_t crc32(std::uint32_t crc, ByteView bytes);

enum class Crc32Backend : std::uint8_t { isal, portable };
Crc32Backend crc32_backend();
std::string_view to_string(Crc32Backend backend);

// The portable implementation whatever the processor, for tests and benchmarks.
std::uint32_t crc32_portable(std::uint32_t crc, ByteView bytes);

}  // namespace softrnic::wire
