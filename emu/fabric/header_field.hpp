// SPDX-License-Identifier: BSD-3-Clause
// Where a header field, called by its name, lies in a frame.
//
// A name is a field's ("psn") or, where two headers have the same, the header's and the field's
// ("ipv4.checksum"). A bare name means the first header that has it, in this order: BTH, extension
// headers, UDP, network header.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string_view>

#include "wire/packet_view.hpp"

namespace softrnic::fabric {

// Bits of a frame, the first being the most significant of its first byte.
struct BitRange {
  std::size_t first = 0;
  std::size_t count = 0;
};

bool is_header_field(std::string_view name);
// Bits of the widest field of that name; 0 when there is none.
std::size_t header_field_width(std::string_view name);

// No value when the frame has no such field.
std::optional<BitRange> find_header_field(const wire::PacketView& packet, std::string_view name);

// Every name there is, with its header's in front ("bth.psn"), header by header.
void for_each_header_field(const std::function<void(std::string_view name)>& visit);

}  // namespace softrnic::fabric
