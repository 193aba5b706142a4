// SPDX-License-Identifier: GPL-2.0-or-later
#include "dissector/fields.hpp"

#include <array>
#include <vector>

namespace softrnic::dissector {
namespace {

constexpr std::size_t kFields = static_cast<std::size_t>(FieldId::count);
constexpr std::size_t kSubtrees = static_cast<std::size_t>(Subtree::count);
constexpr std::size_t kRemarks = static_cast<std::size_t>(Remark::count);

std::array<int, kFields> field_ids;
std::array<int, kSubtrees> subtree_ids;
std::array<expert_field, kRemarks> remark_ids;

const value_string kSyndromeKinds[] = {
    {0, "ACK"}, {1, "RNR NAK"}, {2, "reserved"}, {3, "NAK"}, {0, nullptr}};

const value_string kNakCodes[] = {{0, "PSN sequence error"},  {1, "invalid request"},
                                  {2, "remote access error"}, {3, "remote operational error"},
                                  {4, "invalid RD request"},  {0, nullptr}};

struct FieldRow {
  FieldId id;
  const char* filter;
  const char* title;
  ftenum type;
  int display;
  const void* strings;
  std::uint64_t mask;
  const char* meaning;
};

// clang-format off
const FieldRow kFieldRows[] = {
    {FieldId::version, "roce.version", "RoCE Version", FT_UINT8, BASE_DEC, nullptr, 0,
     "1: EtherType 0x8915 and GRH, 2: UDP"},
    {FieldId::service, "roce.service", "Service", FT_STRING, BASE_NONE, nullptr, 0,
     "RC, UC, UD, XRC or CNP"},
    {FieldId::operation, "roce.operation", "Operation", FT_STRING, BASE_NONE, nullptr, 0,
     "What the opcode does, whatever the service and the place in the message"},
    {FieldId::source_gid, "roce.grh.sgid", "Source GID", FT_IPv6, BASE_NONE, nullptr, 0, nullptr},
    {FieldId::destination_gid, "roce.grh.dgid", "Destination GID", FT_IPv6, BASE_NONE, nullptr, 0,
     nullptr},

    {FieldId::syndrome_kind, "roce.aeth.kind", "Kind", FT_UINT8, BASE_DEC, kSyndromeKinds, 0xe0,
     "ACK, RNR NAK or NAK"},
    {FieldId::credits, "roce.aeth.credits", "Credits", FT_UINT32, BASE_DEC, nullptr, 0,
     "Receives that are posted beyond this message, decoded from the credit code"},
    {FieldId::credits_unlimited, "roce.aeth.credits.unlimited", "No credit limit", FT_BOOLEAN,
     BASE_NONE, nullptr, 0, "The responder keeps no end-to-end credits"},
    {FieldId::rnr_timer, "roce.aeth.rnr_timer", "RNR Timer (ms)", FT_DOUBLE, BASE_NONE, nullptr, 0,
     "How long the requester shall wait before it sends again, in milliseconds"},
    {FieldId::nak, "roce.aeth.nak", "NAK Code", FT_UINT8, BASE_DEC, kNakCodes, 0x1f, nullptr},
    {FieldId::cnp_reserved, "roce.cnp.reserved", "Reserved", FT_BYTES, BASE_NONE, nullptr, 0,
     "16 bytes, zero when sent"},

    {FieldId::payload, "roce.payload", "Payload", FT_BYTES, BASE_NONE, nullptr, 0,
     "Message bytes of this packet, without pad"},
    {FieldId::payload_length, "roce.payload.length", "Payload Length", FT_UINT32, BASE_DEC, nullptr,
     0, "Message bytes in this packet as it was on the wire, without pad"},
    {FieldId::pad, "roce.pad", "Pad", FT_BYTES, BASE_NONE, nullptr, 0, nullptr},
    {FieldId::icrc, "roce.icrc", "Invariant CRC", FT_UINT32, BASE_HEX, nullptr, 0, nullptr},
    {FieldId::icrc_calculated, "roce.icrc.calculated", "Calculated", FT_UINT32, BASE_HEX, nullptr,
     0, "The ICRC as it should be"},
    {FieldId::icrc_status, "roce.icrc.status", "ICRC Status", FT_UINT8, BASE_NONE,
     proto_checksum_vals, 0, nullptr},
    {FieldId::icrc_hint, "roce.icrc.hint", "Likely cause", FT_STRING, BASE_NONE, nullptr, 0,
     "What would explain the wrong ICRC"},

    {FieldId::stream, "roce.stream", "Stream", FT_UINT32, BASE_DEC, nullptr, 0,
     "The connection, both directions of it, or the pair of UD queue pairs; counted from 0"},
    {FieldId::source_qp, "roce.srcqp", "Source Queue Pair", FT_UINT24, BASE_HEX, nullptr, 0,
     "The sender's queue pair, which RC and UC packets do not carry: from CM, from the other "
     "direction, or from the table in the preferences"},
    {FieldId::queue_pair, "roce.qp", "Source or Destination Queue Pair", FT_UINT24, BASE_HEX,
     nullptr, 0, nullptr},
    {FieldId::paired_by, "roce.stream.paired_by", "Directions paired by", FT_STRING, BASE_NONE,
     nullptr, 0, "How the two directions were found to belong together"},
    {FieldId::path_mtu, "roce.stream.path_mtu", "Path MTU", FT_UINT32, BASE_DEC, nullptr, 0,
     "From FIRST and MIDDLE packets, CM or the user, as known on this pass"},
    {FieldId::stream_credits, "roce.credits", "Credits", FT_UINT32, BASE_DEC, nullptr, 0,
     "Receives that the responder has posted, as this acknowledgement says"},
    {FieldId::relative_psn, "roce.psn.relative", "Relative PSN", FT_INT32, BASE_DEC, nullptr, 0,
     "Counted from the first PSN seen of this direction's requests"},
    {FieldId::relative_time, "roce.time_relative", "Time since the stream's first packet",
     FT_RELATIVE_TIME, BASE_NONE, nullptr, 0, nullptr},
    {FieldId::time_delta, "roce.time_delta", "Time since the stream's previous packet",
     FT_RELATIVE_TIME, BASE_NONE, nullptr, 0, nullptr},
    {FieldId::previous_frame, "roce.previous_frame", "Previous packet of the stream", FT_FRAMENUM,
     BASE_NONE, nullptr, 0, nullptr},
    {FieldId::acks, "roce.acks", "Answers the request in", FT_FRAMENUM, BASE_NONE,
     FRAMENUM_TYPE(FT_FRAMENUM_ACK), 0, "The newest request packet that this ACK or NAK is about"},
    {FieldId::acked_in, "roce.acked_in", "Acknowledged in", FT_FRAMENUM, BASE_NONE,
     FRAMENUM_TYPE(FT_FRAMENUM_ACK), 0, "Known on a second pass"},
    {FieldId::request_in, "roce.request_in", "Request in", FT_FRAMENUM, BASE_NONE,
     FRAMENUM_TYPE(FT_FRAMENUM_REQUEST), 0, "The READ or atomic that this response answers"},
    {FieldId::response_in, "roce.response_in", "Response in", FT_FRAMENUM, BASE_NONE,
     FRAMENUM_TYPE(FT_FRAMENUM_RESPONSE), 0, "Known on a second pass"},
    {FieldId::retransmission_of, "roce.retransmission_of", "First sent in", FT_FRAMENUM, BASE_NONE,
     FRAMENUM_TYPE(FT_FRAMENUM_RETRANS_PREV), 0, "The first packet with this PSN"},
    {FieldId::repetition, "roce.repetition", "Repetition", FT_UINT8, BASE_DEC, nullptr, 0,
     "1 when the packet is sent again for the first time"},
    {FieldId::ack_latency, "roce.ack_latency", "Time from request to ACK", FT_RELATIVE_TIME,
     BASE_NONE, nullptr, 0, "From the newest request packet acknowledged"},
    {FieldId::read_latency, "roce.read_latency", "Time from request to last response",
     FT_RELATIVE_TIME, BASE_NONE, nullptr, 0, "Of a READ or an atomic"},
    {FieldId::bytes_in_flight, "roce.bytes_in_flight", "Bytes in flight", FT_UINT32, BASE_DEC,
     nullptr, 0, "Sent by the requester and not yet acknowledged, this packet included"},
    {FieldId::packets_in_flight, "roce.packets_in_flight", "Packets in flight", FT_UINT32, BASE_DEC,
     nullptr, 0, nullptr},
    {FieldId::outstanding_reads, "roce.outstanding_reads", "READs and atomics outstanding",
     FT_UINT16, BASE_DEC, nullptr, 0, nullptr},

    {FieldId::message, "roce.message", "Message", FT_STRING, BASE_NONE, nullptr, 0,
     "The whole message in a line; its end is known on a second pass or at its last packet"},
    {FieldId::message_number, "roce.message.number", "Message number", FT_UINT32, BASE_DEC, nullptr,
     0, "Among the messages of its requester in this stream, from 1"},
    {FieldId::message_operation, "roce.message.operation", "Message operation", FT_STRING,
     BASE_NONE, nullptr, 0, "What the message does: SEND, RDMA WRITE, RDMA READ, ..."},
    {FieldId::message_length, "roce.message.length", "Message length", FT_UINT32, BASE_DEC, nullptr,
     0, "Bytes announced; of a SEND, known at its last packet"},
    {FieldId::message_packets, "roce.message.packets", "Request packets", FT_UINT32, BASE_DEC,
     nullptr, 0, "Without repetitions, as known on this pass"},
    {FieldId::message_offset, "roce.message.offset", "Payload begins at byte", FT_UINT32, BASE_DEC,
     nullptr, 0, "Of the message, from 0"},
    {FieldId::message_begins_in, "roce.message.begins_in", "Message begins in", FT_FRAMENUM,
     BASE_NONE, nullptr, 0, nullptr},
    {FieldId::message_completed_in, "roce.message.completed_in", "Message completed in",
     FT_FRAMENUM, BASE_NONE, nullptr, 0, "Known on a second pass"},
    {FieldId::message_completion_time, "roce.message.completion_time", "Completed after",
     FT_RELATIVE_TIME, BASE_NONE, nullptr, 0, "From its first packet to the answer"},
    {FieldId::message_state, "roce.message.state", "State", FT_STRING, BASE_NONE, nullptr, 0,
     "open, complete, refused or abandoned, as known on this pass"},

    {FieldId::findings, "roce.analysis", "Findings", FT_NONE, BASE_NONE, nullptr, 0,
     "What is worth a remark about this packet in its connection"},
    {FieldId::finding_flags, "roce.analysis.flags", "Above chat", FT_NONE, BASE_NONE, nullptr, 0,
     "Something was found that is more than chat"},
    {FieldId::meaning, "roce.analysis.meaning", "What it means", FT_STRING, BASE_NONE, nullptr, 0,
     nullptr},
    {FieldId::related_frame, "roce.analysis.related", "See", FT_FRAMENUM, BASE_NONE, nullptr, 0,
     "Another frame that has to do with the finding"},
};
// clang-format on

struct RemarkRow {
  Remark id;
  const char* filter;
  int group;
  int severity;
  const char* sentence;
};

const RemarkRow kRemarkRows[] = {
    {Remark::icrc_bad, "roce.icrc.bad", PI_CHECKSUM, PI_ERROR,
     "The ICRC is wrong: the receiver drops this packet without a word"},
    {Remark::too_short, "roce.too_short", PI_MALFORMED, PI_ERROR,
     "Too short for a base transport header and an ICRC"},
    {Remark::reserved_opcode, "roce.bth.opcode.reserved", PI_PROTOCOL, PI_WARN,
     "This opcode is reserved or a manufacturer's own: what follows the base transport header is "
     "not known"},
    {Remark::rd_or_dc, "roce.bth.opcode.rd", PI_ASSUMPTION, PI_CHAT,
     "RD and Mellanox DC share this opcode; the preference 'Opcodes 0x40 to 0x5f are' says which "
     "of "
     "them is shown"},
    {Remark::bad_version, "roce.bth.tver.bad", PI_PROTOCOL, PI_WARN,
     "The transport header version is not 0: a receiver drops this packet"},
    {Remark::headers_too_long, "roce.headers_too_long", PI_MALFORMED, PI_ERROR,
     "The packet ends inside the headers that its opcode calls for"},
    {Remark::bad_pad, "roce.pad.bad", PI_PROTOCOL, PI_WARN,
     "The pad count does not fit the length: payload and pad are no multiple of four bytes, or "
     "shorter than the pad"},
    {Remark::pad_not_zero, "roce.pad.not_zero", PI_PROTOCOL, PI_CHAT,
     "Pad bytes are sent as zeros"},
    {Remark::grh_length, "roce.grh.paylen.bad", PI_MALFORMED, PI_ERROR,
     "The GRH announces more bytes than the frame holds"},
};

void register_remarks(expert_module* experts) {
  static std::vector<ei_register_info> rows;
  for (const RemarkRow& row : kRemarkRows) {
    expert_field& id = remark_ids[static_cast<std::size_t>(row.id)];
    id = EI_INIT;
    rows.push_back({&id, {row.filter, row.group, row.severity, row.sentence, EXPFILL}});
  }
  expert_register_field_array(experts, rows.data(), static_cast<int>(rows.size()));
}

}  // namespace

const char* operation_name(wire::Operation operation) {
  switch (operation) {
    case wire::Operation::send:
      return "SEND";
    case wire::Operation::write:
      return "RDMA WRITE";
    case wire::Operation::read_request:
      return "RDMA READ";
    case wire::Operation::read_response:
      return "RDMA READ response";
    case wire::Operation::acknowledge:
      return "ACK";
    case wire::Operation::atomic_acknowledge:
      return "ATOMIC ACK";
    case wire::Operation::compare_swap:
      return "COMPARE and SWAP";
    case wire::Operation::fetch_add:
      return "FETCH and ADD";
    case wire::Operation::flush:
      return "FLUSH";
    case wire::Operation::atomic_write:
      return "ATOMIC WRITE";
    case wire::Operation::cnp:
      return "CNP";
    case wire::Operation::unknown:
      break;
  }
  return "unknown";
}

int field(FieldId id) {
  return field_ids[static_cast<std::size_t>(id)];
}

int subtree(Subtree id) {
  return subtree_ids[static_cast<std::size_t>(id)];
}

expert_field* remark(Remark id) {
  return &remark_ids[static_cast<std::size_t>(id)];
}

void register_fields(int protocol, expert_module* experts) {
  static std::vector<hf_register_info> rows;
  field_ids.fill(-1);
  for (const FieldRow& row : kFieldRows) {
    rows.push_back({&field_ids[static_cast<std::size_t>(row.id)],
                    {row.title, row.filter, row.type, row.display, row.strings, row.mask,
                     row.meaning, HFILL}});
  }
  proto_register_field_array(protocol, rows.data(), static_cast<int>(rows.size()));

  std::array<int*, kSubtrees> subtrees;
  subtree_ids.fill(-1);
  for (std::size_t i = 0; i < kSubtrees; ++i) subtrees[i] = &subtree_ids[i];
  proto_register_subtree_array(subtrees.data(), static_cast<int>(subtrees.size()));
  register_remarks(experts);
}

}  // namespace softrnic::dissector
