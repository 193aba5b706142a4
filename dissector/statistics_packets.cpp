// SPDX-License-Identifier: GPL-2.0-or-later
// -z roce,tree: packets counted by service and opcode, with rates and bursts.
#include "dissector/statistics.hpp"
#include "dissector/tap.hpp"

namespace softrnic::dissector {
namespace {

constexpr const char* kAll = "RoCE packets";

int all_node = 0;

void begin(stats_tree* tree) {
  all_node = stats_tree_create_node(tree, kAll, 0, STAT_DT_INT, TRUE);
}

// "RC SEND Only" below "RC".
tap_packet_status count(stats_tree* tree, packet_info*, epan_dissect_t*, const void* data,
                        tap_flags_t) {
  const Packet& packet = static_cast<const TapPacket*>(data)->packet;
  tick_stat_node(tree, kAll, 0, TRUE);
  if (packet.opcode == nullptr) {
    tick_stat_node(tree, packet.has_bth ? "reserved opcode" : "cut before the opcode", all_node,
                   FALSE);
    return TAP_PACKET_REDRAW;
  }
  const int service =
      tick_stat_node(tree, wire::to_string(packet.opcode->service).data(), all_node, TRUE);
  tick_stat_node(tree, packet.opcode->name.data(), service, FALSE);
  return TAP_PACKET_REDRAW;
}

}  // namespace

void register_statistics_packets() {
  stats_tree_register_plugin("roce", "roce", "RoCE Packet Counter", 0, count, begin, nullptr);
}

}  // namespace softrnic::dissector
