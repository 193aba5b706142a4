// SPDX-License-Identifier: BSD-3-Clause
// The network header of a RoCE packet: its fields whatever its kind, and its change into another
// kind. IPv4 has an identification that the others lack, and they a flow label.
#pragma once

#include "edit/frame_parts.hpp"

namespace softrnic::edit {

std::uint8_t traffic_class(const FrameParts& frame);
void set_traffic_class(FrameParts& frame, std::uint8_t value);
std::uint8_t time_to_live(const FrameParts& frame);
void set_time_to_live(FrameParts& frame, std::uint8_t value);
// Of any frame with an IP header or GRH; IPv4 takes mapped addresses.
void set_addresses(FrameParts& frame, const wire::Gid& source, const wire::Gid& destination);

// RoCE v2 alone. Nothing happens to what is so already. The identification of an IPv4 header made
// anew is 0, its flags "don't fragment", a flow label 0 (RFC 7915, 5.1); unless the identification
// is to be kept, in the low bits of the flow label, so that the change can be undone.
void become_ipv4(FrameParts& frame, bool keep_identification);
void become_ipv6(FrameParts& frame, bool keep_identification);

// RoCE v1 and v2. A GRH keeps the UDP source port in its flow label, from which source ports are
// made (IBTA annex A17); a link without an EtherType has no RoCE v1.
void become_v1(FrameParts& frame);
void become_v2(FrameParts& frame);

}  // namespace softrnic::edit
