// SPDX-License-Identifier: GPL-2.0-or-later
// The chain: read the packet, check its ICRC, show its headers, let the built-in dissector and the
// upper layers have it, then write the columns and tell the taps.
#include "dissector/dissect.hpp"

#include "dissector/analysis.hpp"
#include "dissector/analysis_items.hpp"
#include "dissector/conversations.hpp"
#include "dissector/expert_wanted.hpp"
#include "dissector/fields.hpp"
#include "dissector/findings.hpp"
#include "dissector/header_fields.hpp"
#include "dissector/headers.hpp"
#include "dissector/icrc.hpp"
#include "dissector/infiniband.hpp"
#include "dissector/info_column.hpp"
#include "dissector/message_chain.hpp"
#include "dissector/packet.hpp"
#include "dissector/preferences.hpp"
#include "dissector/statistics.hpp"
#include "dissector/takeover.hpp"
#include "dissector/tap.hpp"
#include "wire/grh.hpp"

namespace softrnic::dissector {
namespace {

int protocol_id = -1;
int tap_id = -1;

proto_tree* add_packet(proto_tree* tree, packet_info* pinfo, const Packet& packet,
                       const IcrcCheck& icrc) {
  proto_item* item = proto_tree_add_item(tree, protocol_id, packet.tvb, 0, -1, ENC_NA);
  proto_item_append_text(item, packet.version == wire::RoceVersion::v1 ? " v1" : " v2");
  if (packet.opcode != nullptr) proto_item_append_text(item, ", %s", packet.opcode->name.data());
  if (packet.has_bth) {
    const wire::Bth& bth = packet.headers.bth;
    proto_item_append_text(item, ", QP 0x%x, PSN %u", bth.destination_qpn, bth.psn.value());
  }
  proto_tree* subtree = proto_item_add_subtree(item, softrnic::dissector::subtree(Subtree::packet));
  add_defect(item, pinfo, packet);
  proto_item* version = proto_tree_add_uint(subtree, field(FieldId::version), packet.tvb, 0, 0,
                                            packet.version == wire::RoceVersion::v1 ? 1 : 2);
  proto_item_set_generated(version);
  if (packet.opcode != nullptr) {
    proto_item* service =
        proto_tree_add_string(subtree, field(FieldId::service), packet.tvb, packet.tvb_offset(0), 1,
                              wire::to_string(packet.opcode->service).data());
    proto_item_set_generated(service);
    proto_item* operation =
        proto_tree_add_string(subtree, field(FieldId::operation), packet.tvb, packet.tvb_offset(0),
                              1, operation_name(packet.opcode->operation));
    proto_item_set_generated(operation);
  }
  add_headers(subtree, pinfo, packet);
  add_payload(subtree, pinfo, packet);
  add_icrc(subtree, pinfo, packet, icrc);
  return subtree;
}

// What is wrong with the packet itself, for those who look at expert information without a tree.
void add_remarks(packet_info* pinfo, const Packet& packet, const IcrcCheck& icrc) {
  if (packet.defect == Defect::none && icrc.verdict != IcrcCheck::Verdict::bad) return;
  if (!expert_wanted(pinfo, nullptr)) return;
  add_defect(nullptr, pinfo, packet);
  if (icrc.verdict == IcrcCheck::Verdict::bad) {
    expert_add_info(pinfo, nullptr, remark(Remark::icrc_bad));
  }
}

// Says "Packet size limited during capture" as Wireshark does for every protocol.
void show_cut_short(const Packet& packet, packet_info* pinfo, proto_tree* tree) {
  if (packet.cut_short() && !packet.quoted)
    show_exception(packet.tvb, pinfo, tree, BoundsError, nullptr);
}

void tell_taps(packet_info* pinfo, const Packet& packet, const IcrcCheck& icrc,
               const analysis::PacketRecord* record) {
  if (!have_tap_listener(tap_id)) return;
  auto* told = static_cast<TapPacket*>(wmem_alloc(pinfo->pool, sizeof(TapPacket)));
  *told = TapPacket{packet, icrc, record};
  tap_queue_packet(tap_id, pinfo, told);
}

void dissect_packet(const Packet& packet, packet_info* pinfo, proto_tree* tree) {
  const IcrcCheck icrc = check_icrc(packet, *pinfo);
  const analysis::PacketRecord* record = analyse(packet, icrc, pinfo);
  begin_columns(packet, pinfo);
  proto_tree* own = tree == nullptr ? nullptr : add_packet(tree, pinfo, packet, icrc);
  if (tree == nullptr) add_remarks(pinfo, packet, icrc);
  if (record != nullptr) {
    add_findings(own, packet.tvb, pinfo, *record);
    add_analysis(own, pinfo, packet, *record);
  }
  dissect_infiniband(packet, pinfo, tree);
  if (record != nullptr) dissect_message(packet, *record, pinfo, own, tree);
  finish_columns(packet, record, pinfo);
  show_cut_short(packet, pinfo, tree);
  tell_taps(pinfo, packet, icrc, record);
}

int dissect_v2(tvbuff_t* tvb, packet_info* pinfo, proto_tree* tree, void*) {
  Packet packet;
  read_packet(packet, tvb, 0, wire::RoceVersion::v2,
              pinfo->net_src.type == AT_IPv6 ? wire::NetworkLayer::ipv6 : wire::NetworkLayer::ipv4,
              pinfo->flags.in_error_pkt != 0);
  dissect_packet(packet, pinfo, tree);
  return static_cast<int>(tvb_captured_length(tvb));
}

// A GRH that says IBA transport follows; what else EtherType 0x8915 may carry is the built-in's.
bool begins_with_grh(tvbuff_t* tvb) {
  if (tvb_captured_length(tvb) < wire::Grh::kSize) return false;
  const auto* grh = reinterpret_cast<const std::byte*>(tvb_get_ptr(tvb, 0, wire::Grh::kSize));
  return wire::get(grh, wire::Grh::kVersion) == 6 &&
         wire::get(grh, wire::Grh::kNextHeader) == wire::ip_protocol::kGrhBth;
}

// How long the packet is by its GRH. Bytes behind that are Ethernet's: padding or a trailer.
unsigned announced_by_grh(tvbuff_t* tvb) {
  const auto* grh = reinterpret_cast<const std::byte*>(tvb_get_ptr(tvb, 0, wire::Grh::kSize));
  return static_cast<unsigned>(wire::Grh::kSize + wire::get(grh, wire::Grh::kPayloadLength));
}

int dissect_v1(tvbuff_t* tvb, packet_info* pinfo, proto_tree* tree, void*) {
  if (!begins_with_grh(tvb)) {
    dissect_foreign(tvb, pinfo, tree, wire::RoceVersion::v1);
    return static_cast<int>(tvb_captured_length(tvb));
  }
  const unsigned announced = announced_by_grh(tvb);
  if (announced < tvb_reported_length(tvb)) tvb_set_reported_length(tvb, announced);
  Packet packet;
  read_packet(packet, tvb, wire::Grh::kSize, wire::RoceVersion::v1, wire::NetworkLayer::grh);
  const bool readable =
      packet.defect != Defect::too_short && packet.defect != Defect::headers_too_long;
  if (announced > tvb_reported_length(tvb) && readable) packet.defect = Defect::grh_length;
  dissect_packet(packet, pinfo, tree);
  return static_cast<int>(tvb_captured_length(tvb));
}

// On any UDP port: only a right ICRC is proof enough.
Boolean dissect_heuristic(tvbuff_t* tvb, packet_info* pinfo, proto_tree* tree, void*) {
  Packet packet;
  read_packet(packet, tvb, 0, wire::RoceVersion::v2,
              pinfo->net_src.type == AT_IPv6 ? wire::NetworkLayer::ipv6 : wire::NetworkLayer::ipv4);
  if (!packet.well_formed()) return FALSE;
  if (check_icrc(packet, *pinfo).verdict != IcrcCheck::Verdict::good) return FALSE;
  dissect_packet(packet, pinfo, tree);
  return TRUE;
}

}  // namespace

int protocol() {
  return protocol_id;
}

int roce_tap() {
  return tap_id;
}

void register_protocol() {
  protocol_id = proto_register_protocol("RDMA over Converged Ethernet", "RoCE", "roce");
  expert_module_t* experts = expert_register_protocol(protocol_id);
  register_header_fields(protocol_id);
  register_fields(protocol_id, experts);
  register_findings(experts);
  register_preferences(protocol_id);
  register_messages(protocol_id);
  tap_id = register_tap("roce");
  register_conversations(protocol_id);
  register_statistics();
  // The port preference finds it by the description, which must be the protocol's short name.
  register_dissector("roce", dissect_v2, protocol_id);
  register_dissector_with_description("roce.v1", "RoCE v1", dissect_v1, protocol_id);
  register_init_routine(take_over);
  register_init_routine(begin_analysis);
  register_cleanup_routine(end_analysis);
}

void register_handoff() {
  find_infiniband();
  register_messages_handoff();
  register_takeover(find_dissector("roce.v1"), find_dissector("roce"));
  heur_dissector_add("udp", dissect_heuristic, "RoCE v2 on any UDP port", "roce_udp", protocol_id,
                     HEURISTIC_DISABLE);
}

}  // namespace softrnic::dissector
