// SPDX-License-Identifier: GPL-2.0-or-later
// Wireshark's own InfiniBand dissector: called for what it knows, its defects kept from showing,
// and stood in for where it would go wrong.
#pragma once

#include "dissector/packet.hpp"

namespace softrnic::dissector {

// Finds the built-in's handles, fields and heuristics. Call it once all protocols are registered.
void find_infiniband();

// Whether `handle` is the built-in's for RoCE v1 or v2.
bool is_infiniband(dissector_handle_t handle, wire::RoceVersion version);
dissector_handle_t infiniband_handle(wire::RoceVersion version);

// Shows the packet as the built-in does, with its upper layers: by the built-in itself, or, for a
// packet it would misread, by its fields alone. `tree` may be null.
void dissect_infiniband(const Packet& packet, packet_info* pinfo, proto_tree* tree);

// Hands a packet that is no RoCE packet at all to the built-in.
void dissect_foreign(tvbuff_t* tvb, packet_info* pinfo, proto_tree* tree,
                     wire::RoceVersion version);

}  // namespace softrnic::dissector
