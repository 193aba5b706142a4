// SPDX-License-Identifier: GPL-2.0-or-later
// Handing whole messages to the protocols that RDMA carries: by `Decode As` on queue pair numbers,
// and, for SENDs of several packets, by the heuristics of Wireshark's InfiniBand dissector, which
// by itself gives them single packets only (infiniband.cpp keeps it from that).
#pragma once

#include "analysis/message.hpp"
#include "analysis/packet_record.hpp"
#include "dissector/message_reassembly.hpp"
#include "dissector/packet.hpp"

namespace softrnic::dissector {

void register_upper_layer(int protocol);
// Once all protocols are registered.
void find_upper_layers();

// Whether dissect_upper_layer() would do something with the message of which this packet carries a
// part, once it is whole.
bool wants_message(const Packet& packet, const analysis::Message& message,
                   std::uint32_t sender_qpn);

// `tree` is that of the whole frame, or null.
void dissect_upper_layer(const Packet& packet, const analysis::Message& message,
                         const WholeMessage& whole, std::uint32_t sender_qpn, packet_info* pinfo,
                         proto_tree* tree);

}  // namespace softrnic::dissector
