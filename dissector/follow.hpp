// SPDX-License-Identifier: GPL-2.0-or-later
// `tshark -z follow,roce,MODE,STREAM`: the payload of a stream's both directions. Wireshark's menu
// "Follow" has a fixed list and cannot offer it.
#pragma once

#include "analysis/packet_record.hpp"
#include "dissector/packet.hpp"

namespace softrnic::dissector {

void register_follow(int protocol);

// Of a packet whose payload was not seen before.
void tell_followers(const Packet& packet, const analysis::PacketRecord& record, packet_info* pinfo);

}  // namespace softrnic::dissector
