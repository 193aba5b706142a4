// SPDX-License-Identifier: GPL-2.0-or-later
// The tree of one packet's headers, payload, pad and ICRC.
#pragma once

#include "dissector/icrc.hpp"
#include "dissector/packet.hpp"

namespace softrnic::dissector {

// Adds what the packet holds below `tree`, as far as it was captured. `tree` is not null.
void add_headers(proto_tree* tree, packet_info* pinfo, const Packet& packet);
void add_payload(proto_tree* tree, packet_info* pinfo, const Packet& packet);
void add_icrc(proto_tree* tree, packet_info* pinfo, const Packet& packet, const IcrcCheck& check);

// What is wrong with the packet, as expert information on `item`.
void add_defect(proto_item* item, packet_info* pinfo, const Packet& packet);

}  // namespace softrnic::dissector
