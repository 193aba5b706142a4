// SPDX-License-Identifier: GPL-2.0-or-later
#include "dissector/upper_layer.hpp"

#include <iterator>

namespace softrnic::dissector {
namespace {

constexpr const char* kTable = "roce.qp";

int roce = -1;
int infiniband = -1;
dissector_table_t queue_pairs = nullptr;
heur_dissector_list_t heuristics = nullptr;

// --- Decode As

void label_destination(packet_info* pinfo, gchar* label) {
  g_snprintf(label, MAX_DECODE_AS_PROMPT_LEN, "destination queue pair (0x%x)", pinfo->destport);
}

void label_source(packet_info* pinfo, gchar* label) {
  g_snprintf(label, MAX_DECODE_AS_PROMPT_LEN, "source queue pair (0x%x)", pinfo->srcport);
}

gpointer destination(packet_info* pinfo) {
  return GUINT_TO_POINTER(pinfo->destport);
}

gpointer source(packet_info* pinfo) {
  return GUINT_TO_POINTER(pinfo->srcport);
}

void register_table(int protocol) {
  queue_pairs = register_dissector_table(kTable, "RoCE queue pair", protocol, FT_UINT32, BASE_HEX);
  static build_valid_func destination_values[] = {destination};
  static build_valid_func source_values[] = {source};
  static decode_as_value_t values[] = {{label_destination, 1, destination_values},
                                       {label_source, 1, source_values}};
  static decode_as_t decode_as = {"roce",
                                  kTable,
                                  std::size(values),
                                  0,
                                  values,
                                  "RDMA payload of",
                                  nullptr,
                                  decode_as_default_populate_list,
                                  decode_as_default_reset,
                                  decode_as_default_change,
                                  nullptr};
  register_decode_as(&decode_as);
}

// Any protocol may be carried, so each can be chosen by its own name. Of protocols with several
// dissectors the one of that name is taken.
void offer_all_dissectors() {
  GList* names = get_dissector_names();
  for (const GList* name = names; name != nullptr; name = name->next) {
    dissector_handle_t handle = find_dissector(static_cast<const char*>(name->data));
    if (handle == nullptr) continue;
    const int protocol = dissector_handle_get_protocol_index(handle);
    if (protocol < 0 || protocol == roce || protocol == infiniband) continue;
    const char* filter_name = proto_get_protocol_filter_name(protocol);
    if (g_strcmp0(filter_name, static_cast<const char*>(name->data)) != 0) continue;
    dissector_add_for_decode_as(kTable, handle);
  }
  g_list_free(names);
}

// The rule that fits the message: one of its receiver's queue pair goes before one of its sender's.
bool rule_of(std::uint32_t receiver_qpn, std::uint32_t sender_qpn, std::uint32_t* qpn) {
  if (dissector_get_uint_handle(queue_pairs, receiver_qpn) != nullptr) {
    *qpn = receiver_qpn;
    return true;
  }
  *qpn = sender_qpn;
  return dissector_get_uint_handle(queue_pairs, sender_qpn) != nullptr;
}

// --- Heuristics

// Single packets were offered by the built-in.
bool is_long_send(const analysis::Message& message, const Packet& packet) {
  return message.operation == wire::Operation::send &&
         packet.opcode->position != wire::Position::only;
}

std::uint8_t opcode_of_whole(const analysis::Message& message, const Packet& packet) {
  const bool connected = packet.opcode->service != wire::Service::unreliable_connection;
  if (message.has_invalidate) return RC_SEND_ONLY_INVAL;
  if (message.has_immediate) return connected ? RC_SEND_ONLY_IMM : UC_SEND_ONLY_IMM;
  return connected ? RC_SEND_ONLY : UC_SEND_ONLY;
}

// What an upper layer reads does not end the analysis of the packet.
void try_heuristics(const Packet& packet, const analysis::Message& message, tvbuff_t* payload,
                    packet_info* pinfo, proto_tree* tree) {
  infinibandinfo info = {};
  info.payload_tree = tree;
  info.opCode = opcode_of_whole(message, packet);
  info.packet_seq_num = packet.headers.bth.psn.value();
  TRY {
    heur_dtbl_entry_t* entry = nullptr;
    dissector_try_heuristic(heuristics, payload, pinfo, tree, &entry, &info);
  }
  CATCH_NONFATAL_ERRORS {
    show_exception(payload, pinfo, tree, EXCEPT_CODE, GET_MESSAGE);
  }
  ENDTRY;
}

void try_rule(std::uint32_t qpn, tvbuff_t* payload, packet_info* pinfo, proto_tree* tree) {
  TRY {
    dissector_try_uint(queue_pairs, qpn, payload, pinfo, tree);
  }
  CATCH_NONFATAL_ERRORS {
    show_exception(payload, pinfo, tree, EXCEPT_CODE, GET_MESSAGE);
  }
  ENDTRY;
}

}  // namespace

void register_upper_layer(int protocol) {
  roce = protocol;
  register_table(protocol);
}

void find_upper_layers() {
  infiniband = proto_get_id_by_filter_name("infiniband");
  heuristics = find_heur_dissector_list("infiniband.payload");
  offer_all_dissectors();
}

bool wants_message(const Packet& packet, const analysis::Message& message,
                   std::uint32_t sender_qpn) {
  std::uint32_t qpn = 0;
  if (rule_of(packet.headers.bth.destination_qpn, sender_qpn, &qpn)) return true;
  return heuristics != nullptr && is_long_send(message, packet);
}

void dissect_upper_layer(const Packet& packet, const analysis::Message& message,
                         const WholeMessage& whole, std::uint32_t sender_qpn, packet_info* pinfo,
                         proto_tree* tree) {
  if (whole.payload == nullptr) return;
  std::uint32_t qpn = 0;
  if (rule_of(packet.headers.bth.destination_qpn, sender_qpn, &qpn)) {
    try_rule(qpn, whole.payload, pinfo, tree);
  } else if (heuristics != nullptr && is_long_send(message, packet)) {
    try_heuristics(packet, message, whole.payload, pinfo, tree);
  }
}

}  // namespace softrnic::dissector
