// SPDX-License-Identifier: BSD-3-Clause
// Reads and writes header fields of a frame by name, and makes the sums over them right again.
//
// `packet` is the view of the frame before any change: it says where things lie, whatever is
// written into lengths, opcodes or versions.
#pragma once

#include <span>

#include "fabric/field_value.hpp"
#include "fabric/header_field.hpp"
#include "link/frame.hpp"
#include "wire/packet_view.hpp"

namespace softrnic::fabric {

// Whether the frame has the field, and a value of that kind fits it.
bool can_hold(const wire::PacketView& packet, const FieldValue& value);
// Whether the frame's field has this value; false when it has no such field.
bool has_value(const wire::PacketView& packet, const FieldValue& value);

void flip_bit(link::Frame& frame, std::size_t bit);
// Writes each value, in order; steps wrap. Fields the frame cannot hold are left.
void write_fields(link::Frame& frame, const wire::PacketView& packet,
                  std::span<const FieldValue> values);

// Makes the ICRC and the IPv4 header checksum right. A UDP checksum that was used becomes 0, none
// (RFC 768). One of these checksums that `kept` names stays as it is.
void repair_sums(link::Frame& frame, const wire::PacketView& packet,
                 std::span<const FieldValue> kept);

}  // namespace softrnic::fabric
