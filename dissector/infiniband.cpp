// SPDX-License-Identifier: GPL-2.0-or-later
#include "dissector/infiniband.hpp"

#include <array>

#include "dissector/header_fields.hpp"
#include "dissector/message_reassembly.hpp"
#include "dissector/preferences.hpp"
#include "wire/grh.hpp"

namespace softrnic::dissector {
namespace {

struct BuiltIn {
  int protocol = -1;
  dissector_handle_t v1 = nullptr;
  dissector_handle_t v2 = nullptr;
  heur_dtbl_entry_t* rpcrdma = nullptr;
  // The upper layers it offers payload to, RPC-over-RDMA among them.
  std::array<heur_dtbl_entry_t*, 32> upper_layers{};
  unsigned upper_layer_count = 0;
  int invariant_crc = -1;
};
BuiltIn builtin;

// The smallest RPC-over-RDMA header: 28 bytes (RFC 8166, 4.1). The built-in's heuristic reads
// beyond the end of shorter messages and calls them malformed.
constexpr unsigned kSmallestRpcRdma = 28;

// Its fields for the headers it knows, in the order of wire's tables; empty: it has none.
struct StandIn {
  Header header;
  wire::ExtensionHeader bit;  // 0: the BTH
  std::array<const char*, 13> names;
  std::array<int, 13> ids{};
};
std::array<StandIn, 8> stand_ins = {{
    {Header::bth,
     wire::ExtensionHeader{},
     {"infiniband.bth.opcode", "infiniband.bth.se", "infiniband.bth.m", "infiniband.bth.padcnt",
      "infiniband.bth.tver", "infiniband.bth.p_key", "", "", "", "infiniband.bth.destqp",
      "infiniband.bth.a", "infiniband.bth.reserved7", "infiniband.bth.psn"}},
    {Header::deth, wire::kDeth, {"infiniband.deth.q_key", "", "infiniband.deth.srcqp"}},
    {Header::reth,
     wire::kReth,
     {"infiniband.reth.va", "infiniband.reth.r_key", "infiniband.reth.dmalen"}},
    {Header::atomic_eth,
     wire::kAtomicEth,
     {"infiniband.reth.va", "infiniband.reth.r_key", "infiniband.atomiceth.swapdt",
      "infiniband.atomiceth.cmpdt"}},
    {Header::aeth, wire::kAeth, {"infiniband.aeth.syndrome", "infiniband.aeth.msn"}},
    {Header::atomic_ack_eth, wire::kAtomicAckEth, {"infiniband.atomicacketh.origremdt"}},
    {Header::immdt, wire::kImmDt, {"infiniband.immdt"}},
    {Header::ieth, wire::kIeth, {"infiniband.ieth"}},
}};

// The headers it does not know, which only take room.
unsigned size_of(wire::ExtensionHeader bit) {
  switch (bit) {
    case wire::kXrceth:
      return wire::Xrceth::kSize;
    case wire::kFeth:
      return wire::Feth::kSize;
    case wire::kCnpReserved:
      return wire::CnpReserved::kSize;
    default:
      break;
  }
  for (const StandIn& known : stand_ins) {
    if (known.bit == bit && known.header != Header::bth) return layout(known.header).size;
  }
  return 0;
}

int field_named(const char* name) {
  if (*name == '\0') return -1;
  const header_field_info* info = proto_registrar_get_byname(name);
  return info == nullptr ? -1 : info->id;
}

void add_fields(proto_tree* tree, const Packet& packet, const StandIn& known, unsigned offset) {
  const HeaderLayout& row = layout(known.header);
  for (std::size_t i = 0; i < row.fields.size(); ++i) {
    if (known.ids[i] < 0) continue;
    const wire::Field& field = *row.fields[i].field;
    const int bytes = (field.bit_offset % 8 + field.bit_width + 7) / 8;
    proto_tree_add_item(tree, known.ids[i], packet.tvb,
                        packet.tvb_offset(offset + field.bit_offset / 8u), bytes, ENC_BIG_ENDIAN);
  }
}

void add_extensions(proto_tree* tree, const Packet& packet) {
  unsigned offset = wire::Bth::kSize;
  for (unsigned bit = 1; bit <= wire::kCnpReserved; bit <<= 1) {
    const auto header = static_cast<wire::ExtensionHeader>(bit);
    if (!packet.opcode->has(header)) continue;
    const unsigned size = size_of(header);
    if (offset + size > packet.captured) return;
    for (const StandIn& known : stand_ins) {
      if (known.bit == header) add_fields(tree, packet, known, offset);
    }
    offset += size;
  }
}

// Payload that no upper layer was asked about.
void add_data(const Packet& packet, packet_info* pinfo, proto_tree* tree) {
  const unsigned captured = packet.payload_captured();
  if (packet.opcode == nullptr || packet.payload_size == 0 || captured == 0) return;
  tvbuff_t* payload = tvb_new_subset_length_caplen(
      packet.tvb, packet.tvb_offset(packet.header_size), static_cast<int>(captured),
      static_cast<int>(packet.payload_size));
  call_data_dissector(payload, pinfo, tree);
}

// Its fields without it, so that filters such as infiniband.bth.opcode == 0x81 find what it would
// not have understood.
void stand_in(const Packet& packet, packet_info* pinfo, proto_tree* tree) {
  if (tree == nullptr || !packet.has_bth || builtin.protocol < 0) return;
  proto_item* item = proto_tree_add_item(tree, builtin.protocol, packet.tvb, packet.tvb_offset(0),
                                         static_cast<int>(packet.captured), ENC_NA);
  proto_item_append_text(item, " (field names of the built-in dissector)");
  proto_tree* subtree = proto_item_add_subtree(item, header_subtree(Header::bth));
  add_fields(subtree, packet, stand_ins[0], 0);
  if (packet.opcode != nullptr) add_extensions(subtree, packet);
  if (builtin.invariant_crc >= 0 && !packet.cut_short() && packet.icrc_offset != 0) {
    proto_tree_add_item(subtree, builtin.invariant_crc, packet.tvb,
                        packet.tvb_offset(packet.icrc_offset), 4, ENC_BIG_ENDIAN);
  }
  add_data(packet, pinfo, tree);
}

// RC up to FETCH and ADD and the two with invalidate, UC, RD (which it takes for Mellanox DC), UD.
bool knows(std::uint8_t opcode) {
  return opcode <= 0x14 || opcode == 0x16 || opcode == 0x17 || (opcode >= 0x20 && opcode <= 0x2b) ||
         (opcode >= 0x40 && opcode <= 0x55) || opcode == 0x64 || opcode == 0x65;
}

bool understands(const Packet& packet) {
  if (!packet.has_bth || !knows(packet.raw_opcode) || packet.cut_short()) return false;
  return is_rd(packet.raw_opcode) ||
         (packet.defect != Defect::headers_too_long && packet.defect != Defect::too_short);
}

// What the built-in changes in a packet's description when it learns a connection from CM: it
// leaves LIDs behind as addresses.
struct SavedAddresses {
  address src, dst, net_src, net_dst, dl_src, dl_dst;
};

SavedAddresses save(const packet_info* pinfo) {
  return {pinfo->src, pinfo->dst, pinfo->net_src, pinfo->net_dst, pinfo->dl_src, pinfo->dl_dst};
}

void restore(packet_info* pinfo, const SavedAddresses& saved) {
  pinfo->src = saved.src;
  pinfo->dst = saved.dst;
  pinfo->net_src = saved.net_src;
  pinfo->net_dst = saved.net_dst;
  pinfo->dl_src = saved.dl_src;
  pinfo->dl_dst = saved.dl_dst;
}

bool too_short_for_rpcrdma(const Packet& packet) {
  return packet.opcode != nullptr && packet.opcode->operation == wire::Operation::send &&
         packet.opcode->position == wire::Position::only && packet.payload_size < kSmallestRpcRdma;
}

// A part of a SEND: upper layers get the message once it is whole. By themselves they take its
// first packet for a message cut short, and RPC-over-RDMA, which collects the parts of every SEND,
// fails an assertion when it sees some for the second time.
bool is_part_of_send(const Packet& packet) {
  return packet.opcode != nullptr && packet.opcode->operation == wire::Operation::send &&
         packet.opcode->position != wire::Position::only && reassembles_messages();
}

// What the user chose by `Decode As` for payload of InfiniBand.
bool payload_has_dissector() {
  static dissector_table_t table = find_dissector_table("infiniband");
  return table != nullptr && dissector_get_payload_handle(table) != nullptr;
}

// Without a tree the built-in is worth its time only where an upper layer may keep state or fill
// columns. READ requests carry no payload, but RPC-over-RDMA remembers them.
bool has_something_to_say(const Packet& packet) {
  if (packet.opcode == nullptr || packet.opcode->operation == wire::Operation::read_request) {
    return true;
  }
  if (packet.payload_size == 0) return false;
  return !is_part_of_send(packet) || payload_has_dissector();
}

// An exception of an upper layer ends that layer and not the analysis; one that says the capture
// or the program is at its end goes on, after everything is as it was. A failed assertion is the
// upper layer's own matter: it would show on the second look at a packet and not on the first.
void call(dissector_handle_t handle, tvbuff_t* tvb, packet_info* pinfo, proto_tree* tree) {
  TRY {
    call_dissector_only(handle, tvb, pinfo, tree, nullptr);
  }
  CATCH_NONFATAL_ERRORS {
    show_exception(tvb, pinfo, tree, EXCEPT_CODE, GET_MESSAGE);
  }
  CATCH(DissectorError) {}
  ENDTRY;
}

// Bit n: upper layer n was silenced here, and not by the user before.
std::uint32_t silence(const Packet& packet) {
  const bool all = is_part_of_send(packet);
  if (!all && !too_short_for_rpcrdma(packet)) return 0;
  std::uint32_t silenced = 0;
  for (unsigned i = 0; i < builtin.upper_layer_count; ++i) {
    heur_dtbl_entry_t* entry = builtin.upper_layers[i];
    if (!entry->enabled || (!all && entry != builtin.rpcrdma)) continue;
    entry->enabled = FALSE;
    silenced |= 1u << i;
  }
  return silenced;
}

void end_silence(std::uint32_t silenced) {
  for (unsigned i = 0; i < builtin.upper_layer_count; ++i) {
    if ((silenced >> i & 1) != 0) builtin.upper_layers[i]->enabled = TRUE;
  }
}

void add_upper_layer(const gchar*, heur_dtbl_entry_t* entry, gpointer) {
  if (builtin.upper_layer_count == builtin.upper_layers.size()) return;
  builtin.upper_layers[builtin.upper_layer_count++] = entry;
}

struct Saved {
  SavedAddresses addresses;
  const char* protocol;
  std::uint32_t silenced;
};

// Nothing in it changes between setjmp() and longjmp().
void call_and_restore(const Packet& packet, packet_info* pinfo, proto_tree* tree,
                      const Saved& saved) {
  TRY {
    call(infiniband_handle(packet.version), packet.tvb, pinfo, tree);
  }
  FINALLY {
    end_silence(saved.silenced);
    restore(pinfo, saved.addresses);
    pinfo->current_proto = saved.protocol;
  }
  ENDTRY;
}

void call_and_mend(const Packet& packet, packet_info* pinfo, proto_tree* tree) {
  const Saved saved{save(pinfo), pinfo->current_proto, silence(packet)};
  call_and_restore(packet, pinfo, tree, saved);
}

void describe(const Packet& packet, packet_info* pinfo) {
  pinfo->ptype = PT_IBQP;
  pinfo->srcport = pinfo->destport = 0xffffffff;  // as the built-in: no queue pair has this number
  if (!packet.has_bth) return;
  pinfo->destport = packet.headers.bth.destination_qpn;
  if (packet.has_headers && packet.opcode != nullptr && packet.opcode->has(wire::kDeth)) {
    pinfo->srcport = packet.headers.deth.source_qpn;
  }
}

}  // namespace

void find_infiniband() {
  builtin.protocol = proto_get_id_by_filter_name("infiniband");
  builtin.v1 = dissector_get_default_uint_handle("ethertype", 0x8915);
  builtin.v2 = dissector_get_default_uint_handle("udp.port", wire::kRoceV2Port);
  builtin.rpcrdma = find_heur_dissector_by_unique_short_name("rpcrdma_infiniband");
  if (has_heur_dissector_list("infiniband.payload")) {
    heur_dissector_table_foreach("infiniband.payload", add_upper_layer, nullptr);
  }
  builtin.invariant_crc = field_named("infiniband.invariant.crc");
  for (StandIn& known : stand_ins) {
    for (std::size_t i = 0; i < known.names.size(); ++i) {
      known.ids[i] = known.names[i] == nullptr ? -1 : field_named(known.names[i]);
    }
  }
}

dissector_handle_t infiniband_handle(wire::RoceVersion version) {
  return version == wire::RoceVersion::v1 ? builtin.v1 : builtin.v2;
}

bool is_infiniband(dissector_handle_t handle, wire::RoceVersion version) {
  return handle != nullptr && handle == infiniband_handle(version);
}

void dissect_infiniband(const Packet& packet, packet_info* pinfo, proto_tree* tree) {
  if (packet.version == wire::RoceVersion::v1) {
    set_address_tvb(&pinfo->src, AT_IB, 16, packet.tvb, wire::Grh::kSourceOffset);
    set_address_tvb(&pinfo->dst, AT_IB, 16, packet.tvb, wire::Grh::kDestinationOffset);
  }
  if (infiniband_handle(packet.version) == nullptr || !understands(packet)) {
    describe(packet, pinfo);
    stand_in(packet, pinfo, tree);
  } else if (tree != nullptr || has_something_to_say(packet)) {
    call_and_mend(packet, pinfo, tree);
  } else {
    describe(packet, pinfo);
  }
}

void dissect_foreign(tvbuff_t* tvb, packet_info* pinfo, proto_tree* tree,
                     wire::RoceVersion version) {
  dissector_handle_t handle = infiniband_handle(version);
  if (handle == nullptr) {
    call_data_dissector(tvb, pinfo, tree);
  } else {
    call(handle, tvb, pinfo, tree);
  }
}

}  // namespace softrnic::dissector
