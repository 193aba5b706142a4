// SPDX-License-Identifier: BSD-3-Clause
#include "edit/cm_translation.hpp"

#include <algorithm>
#include <optional>

#include "wire/bth.hpp"
#include "wire/ip_cm.hpp"

namespace softrnic::edit {
namespace {

using namespace wire;  // NOLINT: this file speaks of little else

wire::ByteSpan message_of(wire::ByteSpan datagram) {
  return datagram.subspan(MadHeader::kSize);
}

Gid load_gid(const std::byte* p) {
  Gid gid;
  for (std::size_t i = 0; i < gid.bytes.size(); ++i) gid.bytes[i] = load_u8(p + i);
  return gid;
}

void store_gid(std::byte* p, const Gid& gid) {
  for (std::size_t i = 0; i < gid.bytes.size(); ++i) store_u8(p + i, gid.bytes[i]);
}

class Walk {
 public:
  Walk(ByteSpan message, const Translation& translation, const Gid& sender, const Gid& receiver)
      : p_(message.data()), translation_(translation), sender_(sender), receiver_(receiver) {}

  void request() {
    number(CmReq::kLocalCaGuid, Quantity::ca_guid, sender_);
    number(CmReq::kLocalQueueKey, Quantity::queue_key, sender_);
    number(CmReq::kLocalQpn, Quantity::qpn, sender_);
    number(CmReq::kPartitionKey, Quantity::partition_key, sender_);
    path(CmReq::kPrimaryPathOffset);
    path(CmReq::kAlternatePathOffset);
    if (IpServiceId::from(get(p_, CmReq::kServiceId))) addresses(CmReq::kPrivateDataOffset);
  }
  void reply() {
    number(CmRep::kLocalQueueKey, Quantity::queue_key, sender_);
    number(CmRep::kLocalQpn, Quantity::qpn, sender_);
    number(CmRep::kLocalCaGuid, Quantity::ca_guid, sender_);
  }
  void disconnect_request() { number(CmDreq::kRemoteQpn, Quantity::qpn, receiver_); }
  void resolution_request() {
    number(CmSidrReq::kPartitionKey, Quantity::partition_key, sender_);
    if (IpServiceId::from(get(p_, CmSidrReq::kServiceId))) {
      addresses(CmSidrReq::kPrivateDataOffset);
    }
  }
  void resolution_reply() {
    number(CmSidrRep::kQpn, Quantity::qpn, sender_);
    number(CmSidrRep::kQueueKey, Quantity::queue_key, sender_);
  }
  void load_path() {
    number(CmLap::kRemoteQpn, Quantity::qpn, receiver_);
    gid(CmLap::kLocalGidOffset, Side::source);
    gid(CmLap::kRemoteGidOffset, Side::destination);
    number(CmLap::kFlowLabel, Quantity::flow_label, sender_);
  }

 private:
  // Zero in these messages means that there is nothing to name.
  void number(const Field& field, Quantity quantity, const Gid& owner) {
    const std::uint64_t value = get(p_, field);
    if (value != 0) put(p_, field, translation_.number(quantity, value, owner));
  }
  void gid(std::size_t offset, Side side) {
    const Gid before = load_gid(p_ + offset);
    if (!before.is_zero()) store_gid(p_ + offset, translation_.address(before, side));
  }
  void path(std::size_t offset) {
    gid(offset + CmPath::kLocalGidOffset, Side::source);
    gid(offset + CmPath::kRemoteGidOffset, Side::destination);
    const Field label{"", static_cast<std::uint16_t>(offset * 8 + CmPath::kFlowLabel.bit_offset),
                      CmPath::kFlowLabel.bit_width};
    number(label, Quantity::flow_label, sender_);
  }
  void addresses(std::size_t offset) {
    const std::span<std::byte, IpCmHeader::kSize> bytes(p_ + offset, IpCmHeader::kSize);
    IpCmHeader header = IpCmHeader::parse(bytes);
    if (header.ip_version != 4 && header.ip_version != 6) return;
    const Gid from = translation_.address(header.source_address(), Side::source);
    const Gid to = translation_.address(header.destination_address(), Side::destination);
    // A header has one version for both.
    if (from.is_ipv4_mapped() != to.is_ipv4_mapped()) return;
    header.set_addresses(from, to);
    header.serialize(bytes);
  }

  std::byte* p_;
  const Translation& translation_;
  const Gid& sender_;
  const Gid& receiver_;
};

// Private data by message; the first bytes are not private where RDMA CM has its header in them.
struct PrivateData {
  CmAttribute attribute;
  std::size_t offset;
  std::optional<Field> service_id{};
};
const PrivateData kPrivateData[] = {
    {CmAttribute::connect_request, CmReq::kPrivateDataOffset, CmReq::kServiceId},
    {CmAttribute::message_receipt_acknowledgment, CmMra::kPrivateDataOffset},
    {CmAttribute::connect_reject, CmRej::kInfoOffset},
    {CmAttribute::connect_reply, CmRep::kPrivateDataOffset},
    {CmAttribute::ready_to_use, CmRtu::kPrivateDataOffset},
    {CmAttribute::disconnect_request, CmDreq::kPrivateDataOffset},
    {CmAttribute::disconnect_reply, CmDrep::kPrivateDataOffset},
    {CmAttribute::service_id_resolution_request, CmSidrReq::kPrivateDataOffset,
     CmSidrReq::kServiceId},
    {CmAttribute::service_id_resolution_reply, CmSidrRep::kInfoOffset},
    {CmAttribute::load_alternate_path, CmLap::kPrivateDataOffset},
    {CmAttribute::alternate_path_response, CmApr::kInfoOffset},
};

}  // namespace

ByteSpan cm_datagram(FrameParts& frame) {
  const OpcodeInfo* opcode = frame.opcode();
  if (opcode == nullptr || !opcode->has(kDeth) || opcode->operation != Operation::send) return {};
  if (get(frame.bth(), Bth::kDestinationQpn) != kGeneralServiceQpn) return {};
  const ByteSpan payload = frame.payload();
  if (payload.size() != kMadSize || !CmMad::parse(payload)) return {};
  return payload;
}

CmAttribute cm_attribute(ByteView datagram) {
  return static_cast<CmAttribute>(get(datagram.data(), MadHeader::kAttributeId));
}

void translate_cm(ByteSpan datagram, const Translation& translation, const Gid& sender,
                  const Gid& receiver) {
  Walk walk(message_of(datagram), translation, sender, receiver);
  switch (cm_attribute(datagram)) {
    case CmAttribute::connect_request:
      return walk.request();
    case CmAttribute::connect_reply:
      return walk.reply();
    case CmAttribute::disconnect_request:
      return walk.disconnect_request();
    case CmAttribute::service_id_resolution_request:
      return walk.resolution_request();
    case CmAttribute::service_id_resolution_reply:
      return walk.resolution_reply();
    case CmAttribute::load_alternate_path:
      return walk.load_path();
    default:
      return;
  }
}

CmStartingPsn starting_psn(ByteSpan datagram) {
  std::byte* p = message_of(datagram).data();
  switch (cm_attribute(datagram)) {
    case CmAttribute::connect_request:
      return {p, CmReq::kStartingPsn, static_cast<std::uint32_t>(get(p, CmReq::kLocalQpn))};
    case CmAttribute::connect_reply:
      return {p, CmRep::kStartingPsn, static_cast<std::uint32_t>(get(p, CmRep::kLocalQpn))};
    default:
      return {};
  }
}

void erase_private_data(ByteSpan datagram) {
  const ByteSpan message = message_of(datagram);
  const CmAttribute attribute = cm_attribute(datagram);
  for (const PrivateData& row : kPrivateData) {
    if (row.attribute != attribute) continue;
    std::size_t offset = row.offset;
    if (row.service_id && IpServiceId::from(get(message.data(), *row.service_id))) {
      offset += IpCmHeader::kSize;
    }
    std::ranges::fill(message.subspan(offset), std::byte{});
  }
}

}  // namespace softrnic::edit
