// SPDX-License-Identifier: GPL-2.0-or-later
// Messages in one piece: the payload of SENDs, WRITEs and READs put together from their packets,
// shown at the packet that ends the message and told to whoever wants whole messages.
#pragma once

#include "analysis/message.hpp"
#include "analysis/packet_record.hpp"
#include "dissector/packet.hpp"

namespace softrnic::dissector {

// A message whose last missing payload byte the packet at hand brought.
struct WholeMessage {
  tvbuff_t* payload = nullptr;  // null: there is none to show, or nobody wants it
  std::uint32_t index = 0;      // the analyzer's
  bool in_one_packet = false;
};

// Fields and preferences. Once, when the protocol is registered.
void register_message_reassembly(int protocol);

// Whether messages of several packets are put together at all.
bool reassembles_messages();

// To be called for every packet that carries payload, on every visit, after the built-in had it.
// `tree` is the packet's own subtree, or null; `wanted`: somebody asks for this message even though
// nothing is shown.
WholeMessage reassemble_message(const Packet& packet, const analysis::PacketRecord& record,
                                const analysis::Message& message, packet_info* pinfo,
                                proto_tree* tree, bool wanted);

}  // namespace softrnic::dissector
