// SPDX-License-Identifier: GPL-2.0-or-later
#include "dissector/message_chain.hpp"

#include "dissector/analysis.hpp"
#include "dissector/export_object.hpp"
#include "dissector/follow.hpp"
#include "dissector/message_reassembly.hpp"
#include "dissector/upper_layer.hpp"

namespace softrnic::dissector {
namespace {

bool carries_message(const Packet& packet, const analysis::PacketRecord& record) {
  return analyzer() != nullptr && record.message != analysis::kNone && packet.opcode != nullptr &&
         packet.opcode->carries_payload && packet.payload_size != 0;
}

}  // namespace

void register_messages(int protocol) {
  register_message_reassembly(protocol);
  register_upper_layer(protocol);
  register_export(protocol);
  register_follow(protocol);
}

void register_messages_handoff() {
  find_upper_layers();
}

void dissect_message(const Packet& packet, const analysis::PacketRecord& record, packet_info* pinfo,
                     proto_tree* packet_tree, proto_tree* frame_tree) {
  if (!carries_message(packet, record)) return;
  if (record.repeats_payload) return;
  // Copies, for what an upper layer throws must not find anything to destroy.
  const analysis::Message message = analyzer()->message(record.message);
  const std::uint32_t sender_qpn = analyzer()->stream(record.stream).sides[record.sender].qpn;

  tell_followers(packet, record, pinfo);
  const bool wanted = (export_wants_messages() || wants_message(packet, message, sender_qpn));
  const WholeMessage whole =
      reassemble_message(packet, record, message, pinfo, packet_tree, wanted);
  if (whole.payload == nullptr) return;
  export_message(message, whole, pinfo);
  dissect_upper_layer(packet, message, whole, sender_qpn, pinfo, frame_tree);
}

}  // namespace softrnic::dissector
