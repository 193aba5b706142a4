// SPDX-License-Identifier: GPL-2.0-or-later
#include "dissector/message_reassembly.hpp"

#include <cstring>
#include <exception>
#include <iterator>

#include "dissector/analysis.hpp"
#include "dissector/payload_log.hpp"

namespace softrnic::dissector {
namespace {

PayloadLog payload_log;

// tshark reads every packet in order each time it shows any; Wireshark shows what is clicked on.
bool shows_in_order = false;

Boolean reassemble = TRUE;
unsigned largest_mib = 16;
unsigned memory_mib = 256;

int hf_fragments = -1;
int hf_fragment = -1;
int hf_fragment_count = -1;
int hf_reassembled_in = -1;
int hf_reassembled_length = -1;
int hf_reassembled_data = -1;
int hf_not_reassembled = -1;
int ett_fragments = -1;

hf_register_info fields[] = {
    {&hf_fragments,
     {"Message Fragments", "roce.message.fragments", FT_NONE, BASE_NONE, nullptr, 0,
      "The packets whose payload makes up the message", HFILL}},
    {&hf_fragment,
     {"Message Fragment", "roce.message.fragment", FT_FRAMENUM, BASE_NONE, nullptr, 0, nullptr,
      HFILL}},
    {&hf_fragment_count,
     {"Message Fragment Count", "roce.message.fragment.count", FT_UINT32, BASE_DEC, nullptr, 0,
      nullptr, HFILL}},
    {&hf_reassembled_in,
     {"Reassembled in", "roce.message.reassembled_in", FT_FRAMENUM, BASE_NONE, nullptr, 0,
      "The packet that shows the whole message", HFILL}},
    {&hf_reassembled_length,
     {"Reassembled Length", "roce.message.reassembled.length", FT_UINT32, BASE_DEC, nullptr, 0,
      "Bytes of the whole message", HFILL}},
    {&hf_reassembled_data,
     {"Reassembled Data", "roce.message.reassembled.data", FT_BYTES, BASE_NONE, nullptr, 0, nullptr,
      HFILL}},
    {&hf_not_reassembled,
     {"Not reassembled", "roce.message.not_reassembled", FT_STRING, BASE_NONE, nullptr, 0,
      "Why the whole message cannot be shown", HFILL}},
};

// Plain values: a tree may be left by longjmp().
struct Fragment {
  std::uint32_t frame;
  std::uint32_t offset;
  std::uint32_t length;
};

struct Reassembled {
  tvbuff_t* tvb = nullptr;
  Fragment* fragments = nullptr;
  unsigned count = 0;
  unsigned size = 0;
};

void reset_log() {
  // A tvbuff's length is an int.
  constexpr unsigned kMostMib = 1024;
  const unsigned largest = largest_mib < kMostMib ? largest_mib : kMostMib;
  payload_log.reset(std::uint64_t{memory_mib} << 20, largest << 20);
}

void free_log() {
  payload_log.reset(0, 0);
}

// Keeps the payload of one packet for later. Never throws.
void keep(const Packet& packet, const analysis::PacketRecord& record,
          const analysis::Message& message) {
  PayloadLog::Packet added;
  added.message = record.message;
  added.piece = {record.frame, record.message_offset,
                 packet.view(packet.header_size, packet.payload_captured())};
  added.cut_short = packet.payload_captured() < packet.payload_size;
  added.ends_message = record.ends_message;
  added.message_size = message.length;
  if (record.ends_message) added.bytes_to_its_end = message.payload_bytes;
  try {
    payload_log.add(added);
  } catch (const std::exception&) {
    free_log();  // no memory: go on without what was kept
  }
}

// The message in one buffer that lives as long as the packet. Never throws but for the tvbuff.
Reassembled put_together(std::uint32_t message, packet_info* pinfo) {
  Reassembled whole;
  std::uint8_t* bytes = nullptr;
  {
    const std::vector<PayloadPiece> pieces = payload_log.pieces(message);
    if (pieces.empty()) return whole;
    whole.count = static_cast<unsigned>(pieces.size());
    for (const PayloadPiece& piece : pieces)
      whole.size += static_cast<unsigned>(piece.bytes.size());
    whole.fragments = wmem_alloc_array(pinfo->pool, Fragment, whole.count);
    bytes = wmem_alloc_array(pinfo->pool, std::uint8_t, whole.size);
    for (unsigned i = 0; i < whole.count; ++i) {
      const PayloadPiece& piece = pieces[i];
      whole.fragments[i] = {piece.frame, piece.offset,
                            static_cast<std::uint32_t>(piece.bytes.size())};
      memcpy(bytes + piece.offset, piece.bytes.data(), piece.bytes.size());
    }
  }
  whole.tvb = bytes == nullptr ? nullptr
                               : tvb_new_real_data(bytes, whole.size, static_cast<int>(whole.size));
  return whole;
}

void show_fragments(const Reassembled& whole, proto_tree* tree) {
  proto_item* item = proto_tree_add_item(tree, hf_fragments, whole.tvb, 0, -1, ENC_NA);
  proto_item_set_text(item, "%u Message Fragments (%u bytes)", whole.count, whole.size);
  proto_item_set_generated(item);
  // As many as a reader looks at; a tree of each packet of a large message would be slow to draw.
  constexpr unsigned kNamed = 8;
  for (unsigned i = 0; i < whole.count && i < kNamed; ++i) {
    proto_item_append_text(item, "%s #%u(%u)", i == 0 ? ":" : ",", whole.fragments[i].frame,
                           whole.fragments[i].length);
  }
  if (whole.count > kNamed) proto_item_append_text(item, ", ...");
  proto_tree* subtree = proto_item_add_subtree(item, ett_fragments);
  for (unsigned i = 0; i < whole.count; ++i) {
    const Fragment& fragment = whole.fragments[i];
    proto_item* one = proto_tree_add_uint_format(
        subtree, hf_fragment, whole.tvb, static_cast<int>(fragment.offset),
        static_cast<int>(fragment.length), fragment.frame, "Frame: %u, payload: %u-%u (%u bytes)",
        fragment.frame, fragment.offset, fragment.offset + fragment.length - 1, fragment.length);
    proto_item_set_generated(one);
  }
  proto_item_set_generated(
      proto_tree_add_uint(subtree, hf_fragment_count, whole.tvb, 0, 0, whole.count));
  proto_item_set_generated(
      proto_tree_add_uint(subtree, hf_reassembled_length, whole.tvb, 0, 0, whole.size));
  proto_item_set_generated(
      proto_tree_add_item(subtree, hf_reassembled_data, whole.tvb, 0, -1, ENC_NA));
}

void show_reason(const Packet& packet, KeptMessage state, packet_info* pinfo, proto_tree* tree) {
  const char* reason = nullptr;
  switch (state) {
    case KeptMessage::too_large:
      reason = wmem_strdup_printf(
          pinfo->pool, "larger than %u MiB (preference \"Largest message to reassemble\")",
          largest_mib);
      break;
    case KeptMessage::cut_short:
      reason = "a packet of it was captured only in part";
      break;
    case KeptMessage::dropped:
      reason = wmem_strdup_printf(
          pinfo->pool,
          "newer messages took its place in the %u MiB kept (preference \"Memory for "
          "reassembly\")",
          memory_mib);
      break;
    case KeptMessage::unknown:
    case KeptMessage::open:
    case KeptMessage::whole:
      return;
  }
  proto_item_set_generated(
      proto_tree_add_string(tree, hf_not_reassembled, packet.tvb, 0, 0, reason));
}

tvbuff_t* own_payload(const Packet& packet) {
  return tvb_new_subset_length_caplen(packet.tvb, packet.tvb_offset(packet.header_size),
                                      static_cast<int>(packet.payload_captured()),
                                      static_cast<int>(packet.payload_size));
}

}  // namespace

void register_message_reassembly(int protocol) {
  proto_register_field_array(protocol, fields, static_cast<int>(std::size(fields)));
  static int* subtrees[] = {&ett_fragments};
  proto_register_subtree_array(subtrees, static_cast<int>(std::size(subtrees)));

  const char* program = g_get_prgname();
  shows_in_order = program != nullptr && std::strcmp(program, "tshark") == 0;

  module_t* module = prefs_find_module("roce");
  if (module == nullptr) module = prefs_register_protocol(protocol, nullptr);
  prefs_register_bool_preference(
      module, "reassemble", "Reassemble messages of several packets",
      "Show SEND, WRITE and READ payloads in one piece, export them as objects and hand whole "
      "SENDs "
      "to upper layers. Costs a copy of the payload while the capture is read.",
      &reassemble);
  prefs_register_uint_preference(
      module, "reassemble_largest", "Largest message to reassemble (MiB)",
      "Larger messages are not put together; each of their packets still shows its part.", 10,
      &largest_mib);
  prefs_register_uint_preference(
      module, "reassemble_memory", "Memory for reassembly (MiB)",
      "The newest payload up to this size is kept, and allocated only as it comes. In a capture "
      "that carries more, earlier messages can no longer be shown by a click on their last packet; "
      "exports, -z follow and tshark are not affected, as they read the capture in order.",
      10, &memory_mib);
  register_init_routine(reset_log);
  register_cleanup_routine(free_log);
}

bool reassembles_messages() {
  return reassemble != 0 && analyzer() != nullptr;
}

WholeMessage reassemble_message(const Packet& packet, const analysis::PacketRecord& record,
                                const analysis::Message& message, packet_info* pinfo,
                                proto_tree* tree, bool wanted) {
  WholeMessage result;
  result.index = record.message;
  if (record.repeats_payload) return result;
  if (record.ends_message && record.message_offset == 0 &&
      message.payload_bytes == packet.payload_size) {
    result.in_one_packet = true;
    if (wanted) result.payload = own_payload(packet);
    return result;
  }
  // Payload that nobody can ask for later is not copied.
  if (!reassemble || (shows_in_order && tree == nullptr && !wanted)) return result;
  keep(packet, record, message);
  if (tree == nullptr && !(wanted && record.ends_message)) return result;

  if (!record.ends_message) {
    const std::uint32_t end = payload_log.end_frame(record.message);
    if (end != 0) {
      proto_item_set_generated(proto_tree_add_uint(tree, hf_reassembled_in, packet.tvb, 0, 0, end));
    }
    return result;
  }
  const Reassembled whole = put_together(record.message, pinfo);
  if (whole.tvb == nullptr) {
    if (tree != nullptr) show_reason(packet, payload_log.state(record.message), pinfo, tree);
    return result;
  }
  tvb_set_child_real_data_tvbuff(packet.tvb, whole.tvb);
  add_new_data_source(pinfo, whole.tvb, "Reassembled RDMA message");
  if (tree != nullptr) show_fragments(whole, tree);
  result.payload = whole.tvb;
  return result;
}

}  // namespace softrnic::dissector
