// SPDX-License-Identifier: GPL-2.0-or-later
#include "dissector/headers.hpp"

#include <string_view>

#include "analysis/icrc_diagnosis.hpp"
#include "dissector/fields.hpp"
#include "dissector/header_fields.hpp"
#include "dissector/preferences.hpp"
#include "wire/grh.hpp"

namespace softrnic::dissector {
namespace {

// The extension headers in the order of the wire.
constexpr struct {
  wire::ExtensionHeader bit;
  Header header;
} kExtensions[] = {
    {wire::kXrceth, Header::xrceth},
    {wire::kDeth, Header::deth},
    {wire::kFeth, Header::feth},
    {wire::kReth, Header::reth},
    {wire::kAtomicEth, Header::atomic_eth},
    {wire::kAeth, Header::aeth},
    {wire::kAtomicAckEth, Header::atomic_ack_eth},
    {wire::kImmDt, Header::immdt},
    {wire::kIeth, Header::ieth},
    {wire::kCnpReserved, Header::cnp_reserved},
};

proto_item* generated(proto_item* item) {
  proto_item_set_generated(item);
  return item;
}

// One header with its fields; `offset` is the tvbuff's.
proto_tree* add_header(proto_tree* tree, tvbuff_t* tvb, Header header, int offset) {
  const HeaderLayout& row = layout(header);
  proto_item* item = proto_tree_add_item(tree, header_item(header), tvb, offset,
                                         static_cast<int>(row.size), ENC_NA);
  proto_tree* subtree = proto_item_add_subtree(item, header_subtree(header));
  for (std::size_t i = 0; i < row.fields.size(); ++i) {
    const wire::Field& field = *row.fields[i].field;
    const int bytes = (field.bit_offset % 8 + field.bit_width + 7) / 8;
    proto_tree_add_item(subtree, header_field(header, i), tvb, offset + field.bit_offset / 8, bytes,
                        ENC_BIG_ENDIAN);
  }
  return subtree;
}

void add_grh(proto_tree* tree, const Packet& packet) {
  proto_tree* subtree = add_header(tree, packet.tvb, Header::grh, 0);
  proto_tree_add_item(subtree, field(FieldId::source_gid), packet.tvb, wire::Grh::kSourceOffset, 16,
                      ENC_NA);
  proto_tree_add_item(subtree, field(FieldId::destination_gid), packet.tvb,
                      wire::Grh::kDestinationOffset, 16, ENC_NA);
}

// What the syndrome's eight bits say, one line for each part of it.
void add_syndrome(proto_tree* tree, const Packet& packet, int offset) {
  const wire::Syndrome syndrome = packet.headers.aeth.syndrome;
  tvbuff_t* tvb = packet.tvb;
  proto_tree_add_item(tree, field(FieldId::syndrome_kind), tvb, offset, 1, ENC_BIG_ENDIAN);
  if (syndrome.is_ack()) {
    const auto credits = wire::credit_count(syndrome.value());
    if (credits) {
      generated(proto_tree_add_uint(tree, field(FieldId::credits), tvb, offset, 1, *credits));
    } else {
      generated(proto_tree_add_boolean(tree, field(FieldId::credits_unlimited), tvb, offset, 1, 1));
    }
  } else if (syndrome.is_rnr_nak()) {
    const double ms = static_cast<double>(wire::rnr_timer(syndrome.value()).count()) / 1e6;
    generated(proto_tree_add_double_format_value(tree, field(FieldId::rnr_timer), tvb, offset, 1,
                                                 ms, "%.2f ms", ms));
  } else if (syndrome.is_nak()) {
    proto_tree_add_item(tree, field(FieldId::nak), tvb, offset, 1, ENC_BIG_ENDIAN);
  }
}

// A header of RD, if it was captured; returns where the next one begins.
unsigned add_rd_header(proto_tree* tree, const Packet& packet, Header header, unsigned offset) {
  const unsigned end = offset + layout(header).size;
  if (end <= packet.captured) add_header(tree, packet.tvb, header, packet.tvb_offset(offset));
  return end;
}

// RDETH, and DETH in a request; what follows them is as in RC.
unsigned add_rd_headers(proto_tree* tree, const Packet& packet, const wire::OpcodeInfo& opcode) {
  const unsigned offset = add_rd_header(tree, packet, Header::rdeth, wire::Bth::kSize);
  return opcode.is_response() ? offset : add_rd_header(tree, packet, Header::deth, offset);
}

void add_extensions(proto_tree* tree, const Packet& packet, const wire::OpcodeInfo& opcode,
                    unsigned offset) {
  for (const auto& extension : kExtensions) {
    if (!opcode.has(extension.bit)) continue;
    const unsigned size = layout(extension.header).size;
    if (offset + size > packet.captured) return;
    const int at = packet.tvb_offset(offset);
    proto_tree* subtree = add_header(tree, packet.tvb, extension.header, at);
    if (extension.bit == wire::kAeth && packet.has_headers) add_syndrome(subtree, packet, at);
    if (extension.bit == wire::kCnpReserved) {
      proto_tree_add_item(subtree, field(FieldId::cnp_reserved), packet.tvb, at,
                          static_cast<int>(size), ENC_NA);
    }
    offset += size;
  }
}

bool all_zero(wire::ByteView bytes) {
  for (const std::byte byte : bytes) {
    if (byte != std::byte{0}) return false;
  }
  return true;
}

void add_pad(proto_tree* tree, packet_info* pinfo, const Packet& packet) {
  const unsigned offset = packet.header_size + packet.payload_size;
  if (packet.pad == 0 || offset + packet.pad > packet.captured) return;
  proto_item* item =
      proto_tree_add_item(tree, field(FieldId::pad), packet.tvb, packet.tvb_offset(offset),
                          static_cast<int>(packet.pad), ENC_NA);
  if (!all_zero(packet.view(offset, packet.pad))) {
    expert_add_info(pinfo, item, remark(Remark::pad_not_zero));
  }
}

const char* obstacle_text(IcrcCheck::Obstacle obstacle) {
  switch (obstacle) {
    case IcrcCheck::Obstacle::none:
      break;
    case IcrcCheck::Obstacle::cut_short:
      return "the frame does not hold the whole packet";
    case IcrcCheck::Obstacle::no_network_header:
      return "its IP header is not right before it";
    case IcrcCheck::Obstacle::ip_options:
      return "it fails, but the IP header has options";
  }
  return "";
}

// The likeliest reason of a bad ICRC, copied to where Wireshark keeps it as long as the packet;
// null when none fits.
const char* likely_cause(packet_info* pinfo, const Packet& packet, const IcrcCheck& check) {
  const analysis::IcrcDiagnosis diagnosis = analysis::diagnose_icrc(
      packet.network_layer, check.summed, check.bth_in_summed, check.carried);
  if (diagnosis.cause == analysis::IcrcCause::unknown) return nullptr;
  return wmem_strdup(pinfo->pool, diagnosis.sentence.c_str());
}

void add_verdict(proto_tree* tree, packet_info* pinfo, const Packet& packet,
                 const IcrcCheck& check) {
  const bool verified = check.verdict != IcrcCheck::Verdict::unverified;
  const int offset = packet.tvb_offset(packet.icrc_offset);
  proto_item* item = proto_tree_add_checksum(
      tree, packet.tvb, static_cast<unsigned>(offset), field(FieldId::icrc),
      field(FieldId::icrc_status), remark(Remark::icrc_bad), pinfo, check.calculated,
      ENC_LITTLE_ENDIAN, verified ? PROTO_CHECKSUM_VERIFY : PROTO_CHECKSUM_NO_FLAGS);
  proto_tree* subtree = proto_item_add_subtree(item, softrnic::dissector::subtree(Subtree::icrc));
  if (!verified) {
    proto_item_append_text(item, " (%s)", obstacle_text(check.obstacle));
    return;
  }
  generated(proto_tree_add_uint(subtree, field(FieldId::icrc_calculated), packet.tvb, offset, 4,
                                check.calculated));
  if (check.verdict == IcrcCheck::Verdict::good) return;
  const char* cause = likely_cause(pinfo, packet, check);
  if (cause != nullptr) {
    generated(
        proto_tree_add_string(subtree, field(FieldId::icrc_hint), packet.tvb, offset, 4, cause));
  }
}

}  // namespace

void add_headers(proto_tree* tree, packet_info*, const Packet& packet) {
  if (packet.version == wire::RoceVersion::v1) add_grh(tree, packet);
  if (!packet.has_bth) return;
  add_header(tree, packet.tvb, Header::bth, packet.tvb_offset(0));
  if (packet.opcode != nullptr) {
    add_extensions(tree, packet, *packet.opcode, wire::Bth::kSize);
  } else if (is_rd(packet.raw_opcode) && !preferences().rd_is_dc) {
    const wire::OpcodeInfo* opcode = rc_of_rd(packet.raw_opcode);
    if (opcode == nullptr) return;
    add_extensions(tree, packet, *opcode, add_rd_headers(tree, packet, *opcode));
  }
}

void add_payload(proto_tree* tree, packet_info* pinfo, const Packet& packet) {
  if (packet.opcode == nullptr || packet.defect == Defect::headers_too_long ||
      packet.defect == Defect::too_short) {
    return;
  }
  const unsigned captured = packet.payload_captured();
  proto_item* length = proto_tree_add_uint(tree, field(FieldId::payload_length), packet.tvb,
                                           packet.tvb_offset(packet.header_size),
                                           static_cast<int>(captured), packet.payload_size);
  proto_item_set_generated(length);
  if (captured != 0) {
    proto_tree_add_item(tree, field(FieldId::payload), packet.tvb,
                        packet.tvb_offset(packet.header_size), static_cast<int>(captured), ENC_NA);
  }
  add_pad(tree, pinfo, packet);
}

void add_icrc(proto_tree* tree, packet_info* pinfo, const Packet& packet, const IcrcCheck& check) {
  if (check.obstacle != IcrcCheck::Obstacle::cut_short) {
    add_verdict(tree, pinfo, packet, check);
    return;
  }
  if (packet.defect == Defect::too_short) return;
  proto_item* item = proto_tree_add_uint(tree, field(FieldId::icrc_status), packet.tvb,
                                         packet.tvb_offset(0), 0, PROTO_CHECKSUM_E_UNVERIFIED);
  generated(item);
  proto_item_append_text(item, " (%s)", obstacle_text(check.obstacle));
}

void add_defect(proto_item* item, packet_info* pinfo, const Packet& packet) {
  switch (packet.defect) {
    case Defect::none:
      break;
    case Defect::grh_length:
      expert_add_info(pinfo, item, remark(Remark::grh_length));
      break;
    case Defect::too_short:
      expert_add_info(pinfo, item, remark(Remark::too_short));
      break;
    case Defect::reserved_opcode:
      expert_add_info(
          pinfo, item,
          remark(is_rd(packet.raw_opcode) ? Remark::rd_or_dc : Remark::reserved_opcode));
      break;
    case Defect::bad_version:
      expert_add_info(pinfo, item, remark(Remark::bad_version));
      break;
    case Defect::headers_too_long:
      expert_add_info(pinfo, item, remark(Remark::headers_too_long));
      break;
    case Defect::bad_pad:
      expert_add_info(pinfo, item, remark(Remark::bad_pad));
      break;
  }
}

}  // namespace softrnic::dissector
