// SPDX-License-Identifier: BSD-3-Clause
// The blocks of a pcapng file that a capture needs, as bytes (draft-ietf-opsawg-pcapng).
//
// Written by hand because libpcap writes neither comments nor interface names. Always little
// endian, so that the same frames give the same file on every machine.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "wire/byte_chain.hpp"
#include "wire/instant.hpp"

namespace softrnic::link::pcapng {

// Section header: begins a file.
void append_section_header(std::vector<std::byte>& out);

inline constexpr std::uint16_t kEthernet = 1;  // of the registry of link types

// Interface description, with nanosecond stamps. `snap_length` 0: no limit; a name may be empty.
void append_interface(std::vector<std::byte>& out, std::string_view name, std::uint32_t snap_length,
                      std::uint16_t link_type = kEthernet);

struct Packet {
  wire::Instant at{};
  std::uint32_t interface = 0;
  std::uint32_t direction = 0;    // of epb_flags: 1 inbound, 2 outbound; 0: not told
  std::uint32_t snap_length = 0;  // bytes to keep; 0: all
  std::uint32_t wire_size = 0;    // of a frame of which not all is given; 0: it is whole
  std::string_view comment;       // none when empty
};

// Enhanced packet.
void append_packet(std::vector<std::byte>& out, const Packet& packet, const wire::ByteChain& frame);

// Length of the block that begins here and was appended by one of these.
std::size_t block_length(std::span<const std::byte> block);

}  // namespace softrnic::link::pcapng
