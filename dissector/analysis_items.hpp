// SPDX-License-Identifier: GPL-2.0-or-later
// What the analysis knows of a packet, as items of its tree: its stream, links to other frames,
// times, what is in flight, its message.
#pragma once

#include "analysis/packet_record.hpp"
#include "dissector/packet.hpp"

namespace softrnic::dissector {

void add_analysis(proto_tree* tree, packet_info* pinfo, const Packet& packet,
                  const analysis::PacketRecord& record);

}  // namespace softrnic::dissector
