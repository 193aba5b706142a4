// SPDX-License-Identifier: GPL-2.0-or-later
#include "dissector/conversations.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <exception>
#include <unordered_map>
#include <vector>

#include "dissector/analysis.hpp"
#include "dissector/direction.hpp"
#include "dissector/tap.hpp"

namespace softrnic::dissector {
namespace {

using analysis::kUnknownQpn;
using analysis::Stream;

// tshark prints no port columns but those of TCP and the like: there the queue pair stands behind
// the address. Wireshark prints them, and makes filters of addresses.
bool ports_are_shown = true;

// Wireshark finds a row by addresses and ports, but the sender's queue pair is known only once the
// other side has answered. So a row is found by a stand-in for good, and what it shows is mended
// when the number comes to light. Queue pair numbers have 24 bits: stand-ins are none. Of two ports
// the larger one's side is shown first: that is to be the stream's first.
std::uint32_t stand_in(std::uint32_t stream, std::uint8_t side) {
  return 0x80000000u | (stream * 2 + (side == 0 ? 1u : 0u));
}

struct Shown {
  guint row = 0;
  bool present = false;
  std::uint32_t found_by = 0;  // an endpoint's port
  std::array<std::uint32_t, 2> qpns{};
};

// Of one table: by stream, or for endpoints by stream and side.
struct ShownRows {
  std::vector<Shown> all;
  std::vector<void*> retired;  // addresses that rows are found by and show no more
};

ShownRows& shown_rows(const conv_hash_t& table) {
  static std::unordered_map<const conv_hash_t*, ShownRows> tables;
  ShownRows& rows = tables[&table];
  if (table.conv_array == nullptr || table.conv_array->len == 0) {  // new, or reset
    for (void* address : rows.retired) g_free(address);
    rows = {};
  }
  return rows;
}

Shown& shown_at(ShownRows& rows, std::size_t index) {
  if (index >= rows.all.size()) rows.all.resize(std::max(index + 1, rows.all.size() * 2));
  return rows.all[index];
}

guint row_count(const conv_hash_t& table) {
  return table.conv_array == nullptr ? 0 : table.conv_array->len;
}

void mend(ShownRows& rows, address& shown_address, guint32& shown_port,
          const analysis::StreamSide& side) {
  shown_port = side.qpn == kUnknownQpn ? 0 : side.qpn;
  if (ports_are_shown) return;
  const std::string name = side_name(side);
  rows.retired.push_back(const_cast<void*>(shown_address.data));
  shown_address.data = nullptr;
  shown_address.len = 0;
  address text;
  set_address(&text, AT_STRINGZ, static_cast<int>(name.size()) + 1, name.c_str());
  copy_address(&shown_address, &text);
}

// --- Filters that Wireshark makes of a row.

const char* filter_field(const address& shown, conv_filter_type_e type) {
  const bool v6 = shown.type == AT_IPv6;
  if (!v6 && shown.type != AT_IPv4) return CONV_FILTER_INVALID;
  switch (type) {
    case CONV_FT_SRC_ADDRESS:
      return v6 ? "ipv6.src" : "ip.src";
    case CONV_FT_DST_ADDRESS:
      return v6 ? "ipv6.dst" : "ip.dst";
    case CONV_FT_ANY_ADDRESS:
      return v6 ? "ipv6.addr" : "ip.addr";
    case CONV_FT_DST_PORT:
      return "roce.bth.destqp";
    case CONV_FT_SRC_PORT:
      return "roce.srcqp";
    case CONV_FT_ANY_PORT:
      return "roce.qp";
  }
  return CONV_FILTER_INVALID;
}

const char* conversation_filter(conv_item_t* row, conv_filter_type_e type) {
  return filter_field(row->src_address, type);
}

const char* endpoint_filter(endpoint_item_t* row, conv_filter_type_e type) {
  return filter_field(row->myaddress, type);
}

ct_dissector_info_t conversation_info = {conversation_filter};
et_dissector_info_t endpoint_info = {endpoint_filter};

// --- Rows

void add_conversation(conv_hash_t& table, const analysis::PacketRecord& record,
                      packet_info& pinfo) {
  const Stream& stream = analyzer()->stream(record.stream);
  ShownRows& rows = shown_rows(table);
  Shown& shown = shown_at(rows, stream.index);
  const auto receiver = static_cast<std::uint8_t>(1 - record.sender);
  const guint before = row_count(table);
  add_conversation_table_data(&table, &pinfo.src, &pinfo.dst, stand_in(stream.index, record.sender),
                              stand_in(stream.index, receiver), 1,
                              static_cast<int>(pinfo.fd->pkt_len), &pinfo.rel_ts, &pinfo.abs_ts,
                              &conversation_info, CONVERSATION_IBQP);
  if (row_count(table) != before) shown = {before, false, 0, {}};
  const std::array<std::uint32_t, 2> qpns{stream.sides[0].qpn, stream.sides[1].qpn};
  if (shown.present && shown.qpns == qpns) return;
  shown.qpns = qpns;
  shown.present = true;
  auto& row = g_array_index(table.conv_array, conv_item_t, shown.row);
  mend(rows, row.src_address, row.src_port, stream.sides[0]);
  mend(rows, row.dst_address, row.dst_port, stream.sides[1]);
}

// A datagram queue pair may be in many streams; its number is known at once and its row is found by
// it.
void add_endpoint(conv_hash_t& table, const Stream& stream, std::uint8_t side, bool is_sender,
                  packet_info& pinfo) {
  ShownRows& rows = shown_rows(table);
  Shown& shown = shown_at(rows, Direction{stream.index, side}.key());
  const std::uint32_t qpn = stream.sides[side].qpn;
  if (!shown.present) {
    shown.found_by = qpn == kUnknownQpn ? stand_in(stream.index, side) : qpn;
  }
  const guint before = row_count(table);
  add_endpoint_table_data(&table, is_sender ? &pinfo.src : &pinfo.dst, shown.found_by, is_sender, 1,
                          static_cast<int>(pinfo.fd->pkt_len), &endpoint_info, ENDPOINT_IBQP);
  const bool added = row_count(table) != before;
  if (!added && shown.present && shown.qpns[0] == qpn) return;
  if (added) shown.row = before;
  const bool known_elsewhere = !added && !shown.present;
  shown.present = true;
  shown.qpns[0] = qpn;
  if (known_elsewhere) return;  // another stream's side has put its name there
  auto& row = g_array_index(table.conv_array, endpoint_item_t, shown.row);
  mend(rows, row.myaddress, row.port, stream.sides[side]);
}

const analysis::PacketRecord* record_of(const void* packet) {
  const analysis::PacketRecord* record = static_cast<const TapPacket*>(packet)->record;
  return analyzer() == nullptr || record == nullptr || record->stream == analysis::kNone ? nullptr
                                                                                         : record;
}

tap_packet_status on_conversation(void* data, packet_info* pinfo, epan_dissect_t*,
                                  const void* packet, tap_flags_t flags) {
  auto& table = *static_cast<conv_hash_t*>(data);
  table.flags = flags;
  const analysis::PacketRecord* record = record_of(packet);
  if (record == nullptr) return TAP_PACKET_DONT_REDRAW;
  try {
    add_conversation(table, *record, *pinfo);
    return TAP_PACKET_REDRAW;
  } catch (const std::exception&) {
    return TAP_PACKET_FAILED;  // no memory
  }
}

tap_packet_status on_endpoint(void* data, packet_info* pinfo, epan_dissect_t*, const void* packet,
                              tap_flags_t flags) {
  auto& table = *static_cast<conv_hash_t*>(data);
  table.flags = flags;
  const analysis::PacketRecord* record = record_of(packet);
  if (record == nullptr) return TAP_PACKET_DONT_REDRAW;
  try {
    const Stream& stream = analyzer()->stream(record->stream);
    add_endpoint(table, stream, record->sender, true, *pinfo);
    add_endpoint(table, stream, static_cast<std::uint8_t>(1 - record->sender), false, *pinfo);
    return TAP_PACKET_REDRAW;
  } catch (const std::exception&) {
    return TAP_PACKET_FAILED;  // no memory
  }
}

}  // namespace

void register_conversations(int protocol) {
  const char* program = g_get_prgname();
  ports_are_shown = program == nullptr || std::strcmp(program, "tshark") != 0;
  register_conversation_table(protocol, FALSE, on_conversation, on_endpoint);
}

}  // namespace softrnic::dissector
