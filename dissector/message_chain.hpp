// SPDX-License-Identifier: GPL-2.0-or-later
// What becomes of payload once a packet is analysed: it joins its message, the message goes to
// upper layers, to exports and to whoever follows the stream.
#pragma once

#include "analysis/packet_record.hpp"
#include "dissector/packet.hpp"

namespace softrnic::dissector {

// Fields, preferences, tables and taps. Once, when the protocol is registered.
void register_messages(int protocol);
// Once all protocols are registered.
void register_messages_handoff();

// Right after the built-in dissector had the packet. `packet_tree` is the packet's own subtree,
// `frame_tree` that of the whole frame; null when nothing is shown.
void dissect_message(const Packet& packet, const analysis::PacketRecord& record, packet_info* pinfo,
                     proto_tree* packet_tree, proto_tree* frame_tree);

}  // namespace softrnic::dissector
