// SPDX-License-Identifier: BSD-3-Clause
#include "wire/cm_message.hpp"

#include <algorithm>
#include <cstring>

namespace softrnic::wire {
namespace {

struct Reader {
  const std::byte* p;

  template <class Value>
  void operator()(const Field& field, Value& value) const {
    value = static_cast<Value>(get(p, field));
  }
  void operator()(const Field& field, bool& value) const { value = get(p, field) != 0; }
  void operator()(const Field& field, Psn& value) const {
    value = Psn(static_cast<std::uint32_t>(get(p, field)));
  }
  template <class Byte, std::size_t size>
  void operator()(std::size_t offset, std::array<Byte, size>& value) const {
    std::memcpy(value.data(), p + offset, size);
  }
  void operator()(std::size_t offset, CmPath& path) const {
    path = CmPath::parse(std::span<const std::byte, CmPath::kSize>(p + offset, CmPath::kSize));
  }
};

struct Writer {
  std::byte* p;

  template <class Value>
  void operator()(const Field& field, Value value) const {
    put(p, field, static_cast<std::uint64_t>(value));
  }
  void operator()(const Field& field, Psn value) const { put(p, field, value.value()); }
  template <class Byte, std::size_t size>
  void operator()(std::size_t offset, const std::array<Byte, size>& value) const {
    std::memcpy(p + offset, value.data(), size);
  }
  void operator()(std::size_t offset, const CmPath& path) const {
    path.serialize(std::span<std::byte, CmPath::kSize>(p + offset, CmPath::kSize));
  }
};

// Each layout names the fields of a message once, for reading and for writing: a field of some bits
// at its place, or whole bytes from an offset.
template <class Message>
struct Layout;

template <>
struct Layout<CmPath> {
  template <class Message, class Visitor>
  static void visit(Message& m, Visitor field) {
    field(CmPath::kLocalLid, m.local_lid);
    field(CmPath::kRemoteLid, m.remote_lid);
    field(CmPath::kLocalGidOffset, m.local_gid.bytes);
    field(CmPath::kRemoteGidOffset, m.remote_gid.bytes);
    field(CmPath::kFlowLabel, m.flow_label);
    field(CmPath::kReserved36, m.reserved36);
    field(CmPath::kPacketRate, m.packet_rate);
    field(CmPath::kTrafficClass, m.traffic_class);
    field(CmPath::kHopLimit, m.hop_limit);
    field(CmPath::kServiceLevel, m.service_level);
    field(CmPath::kSubnetLocal, m.subnet_local);
    field(CmPath::kReserved42, m.reserved42);
    field(CmPath::kAckTimeout, m.ack_timeout);
    field(CmPath::kReserved43, m.reserved43);
  }
};

template <>
struct Layout<CmReq> {
  template <class Message, class Visitor>
  static void visit(Message& m, Visitor field) {
    field(CmReq::kLocalCommunicationId, m.local_communication_id);
    field(CmReq::kReserved4, m.reserved4);
    field(CmReq::kServiceId, m.service_id);
    field(CmReq::kLocalCaGuid, m.local_ca_guid);
    field(CmReq::kReserved24, m.reserved24);
    field(CmReq::kLocalQueueKey, m.local_queue_key);
    field(CmReq::kLocalQpn, m.local_qpn);
    field(CmReq::kResponderResources, m.responder_resources);
    field(CmReq::kLocalEecn, m.local_eecn);
    field(CmReq::kInitiatorDepth, m.initiator_depth);
    field(CmReq::kRemoteEecn, m.remote_eecn);
    field(CmReq::kRemoteResponseTimeout, m.remote_response_timeout);
    field(CmReq::kTransportService, m.transport_service);
    field(CmReq::kEndToEndFlowControl, m.end_to_end_flow_control);
    field(CmReq::kStartingPsn, m.starting_psn);
    field(CmReq::kLocalResponseTimeout, m.local_response_timeout);
    field(CmReq::kRetryCount, m.retry_count);
    field(CmReq::kPartitionKey, m.partition_key);
    field(CmReq::kPathMtu, m.path_mtu);
    field(CmReq::kRdcExists, m.rdc_exists);
    field(CmReq::kRnrRetryCount, m.rnr_retry_count);
    field(CmReq::kMaxCmRetries, m.max_cm_retries);
    field(CmReq::kSrq, m.srq);
    field(CmReq::kExtendedTransport, m.extended_transport);
    field(CmReq::kPrimaryPathOffset, m.primary_path);
    field(CmReq::kAlternatePathOffset, m.alternate_path);
    field(CmReq::kPrivateDataOffset, m.private_data);
  }
};

template <>
struct Layout<CmMra> {
  template <class Message, class Visitor>
  static void visit(Message& m, Visitor field) {
    field(CmMra::kLocalCommunicationId, m.local_communication_id);
    field(CmMra::kRemoteCommunicationId, m.remote_communication_id);
    field(CmMra::kMessage, m.message);
    field(CmMra::kReserved8, m.reserved8);
    field(CmMra::kServiceTimeout, m.service_timeout);
    field(CmMra::kReserved9, m.reserved9);
    field(CmMra::kPrivateDataOffset, m.private_data);
  }
};

template <>
struct Layout<CmRej> {
  template <class Message, class Visitor>
  static void visit(Message& m, Visitor field) {
    field(CmRej::kLocalCommunicationId, m.local_communication_id);
    field(CmRej::kRemoteCommunicationId, m.remote_communication_id);
    field(CmRej::kMessage, m.message);
    field(CmRej::kReserved8, m.reserved8);
    field(CmRej::kInfoLength, m.info_length);
    field(CmRej::kReserved9, m.reserved9);
    field(CmRej::kReason, m.reason);
    field(CmRej::kInfoOffset, m.info);
    field(CmRej::kPrivateDataOffset, m.private_data);
  }
};

template <>
struct Layout<CmRep> {
  template <class Message, class Visitor>
  static void visit(Message& m, Visitor field) {
    field(CmRep::kLocalCommunicationId, m.local_communication_id);
    field(CmRep::kRemoteCommunicationId, m.remote_communication_id);
    field(CmRep::kLocalQueueKey, m.local_queue_key);
    field(CmRep::kLocalQpn, m.local_qpn);
    field(CmRep::kReserved15, m.reserved15);
    field(CmRep::kLocalEecn, m.local_eecn);
    field(CmRep::kReserved19, m.reserved19);
    field(CmRep::kStartingPsn, m.starting_psn);
    field(CmRep::kReserved23, m.reserved23);
    field(CmRep::kResponderResources, m.responder_resources);
    field(CmRep::kInitiatorDepth, m.initiator_depth);
    field(CmRep::kTargetAckDelay, m.target_ack_delay);
    field(CmRep::kFailoverAccepted, m.failover_accepted);
    field(CmRep::kEndToEndFlowControl, m.end_to_end_flow_control);
    field(CmRep::kRnrRetryCount, m.rnr_retry_count);
    field(CmRep::kSrq, m.srq);
    field(CmRep::kReserved27, m.reserved27);
    field(CmRep::kLocalCaGuid, m.local_ca_guid);
    field(CmRep::kPrivateDataOffset, m.private_data);
  }
};

template <>
struct Layout<CmRtu> {
  template <class Message, class Visitor>
  static void visit(Message& m, Visitor field) {
    field(CmRtu::kLocalCommunicationId, m.local_communication_id);
    field(CmRtu::kRemoteCommunicationId, m.remote_communication_id);
    field(CmRtu::kPrivateDataOffset, m.private_data);
  }
};

template <>
struct Layout<CmDreq> {
  template <class Message, class Visitor>
  static void visit(Message& m, Visitor field) {
    field(CmDreq::kLocalCommunicationId, m.local_communication_id);
    field(CmDreq::kRemoteCommunicationId, m.remote_communication_id);
    field(CmDreq::kRemoteQpn, m.remote_qpn);
    field(CmDreq::kReserved11, m.reserved11);
    field(CmDreq::kPrivateDataOffset, m.private_data);
  }
};

template <>
struct Layout<CmDrep> {
  template <class Message, class Visitor>
  static void visit(Message& m, Visitor field) {
    field(CmDrep::kLocalCommunicationId, m.local_communication_id);
    field(CmDrep::kRemoteCommunicationId, m.remote_communication_id);
    field(CmDrep::kPrivateDataOffset, m.private_data);
  }
};

template <>
struct Layout<CmSidrReq> {
  template <class Message, class Visitor>
  static void visit(Message& m, Visitor field) {
    field(CmSidrReq::kRequestId, m.request_id);
    field(CmSidrReq::kPartitionKey, m.partition_key);
    field(CmSidrReq::kReserved6, m.reserved6);
    field(CmSidrReq::kServiceId, m.service_id);
    field(CmSidrReq::kPrivateDataOffset, m.private_data);
  }
};

template <>
struct Layout<CmSidrRep> {
  template <class Message, class Visitor>
  static void visit(Message& m, Visitor field) {
    field(CmSidrRep::kRequestId, m.request_id);
    field(CmSidrRep::kStatus, m.status);
    field(CmSidrRep::kInfoLength, m.info_length);
    field(CmSidrRep::kReserved6, m.reserved6);
    field(CmSidrRep::kQpn, m.qpn);
    field(CmSidrRep::kReserved11, m.reserved11);
    field(CmSidrRep::kServiceId, m.service_id);
    field(CmSidrRep::kQueueKey, m.queue_key);
    field(CmSidrRep::kInfoOffset, m.info);
    field(CmSidrRep::kPrivateDataOffset, m.private_data);
  }
};

template <>
struct Layout<CmLap> {
  template <class Message, class Visitor>
  static void visit(Message& m, Visitor field) {
    field(CmLap::kLocalCommunicationId, m.local_communication_id);
    field(CmLap::kRemoteCommunicationId, m.remote_communication_id);
    field(CmLap::kReserved8, m.reserved8);
    field(CmLap::kRemoteQpn, m.remote_qpn);
    field(CmLap::kRemoteResponseTimeout, m.remote_response_timeout);
    field(CmLap::kReserved15, m.reserved15);
    field(CmLap::kReserved16, m.reserved16);
    field(CmLap::kLocalLid, m.local_lid);
    field(CmLap::kRemoteLid, m.remote_lid);
    field(CmLap::kLocalGidOffset, m.local_gid.bytes);
    field(CmLap::kRemoteGidOffset, m.remote_gid.bytes);
    field(CmLap::kFlowLabel, m.flow_label);
    field(CmLap::kReserved58, m.reserved58);
    field(CmLap::kTrafficClass, m.traffic_class);
    field(CmLap::kHopLimit, m.hop_limit);
    field(CmLap::kReserved61, m.reserved61);
    field(CmLap::kPacketRate, m.packet_rate);
    field(CmLap::kServiceLevel, m.service_level);
    field(CmLap::kSubnetLocal, m.subnet_local);
    field(CmLap::kReserved62, m.reserved62);
    field(CmLap::kAckTimeout, m.ack_timeout);
    field(CmLap::kReserved63, m.reserved63);
    field(CmLap::kPrivateDataOffset, m.private_data);
  }
};

template <>
struct Layout<CmApr> {
  template <class Message, class Visitor>
  static void visit(Message& m, Visitor field) {
    field(CmApr::kLocalCommunicationId, m.local_communication_id);
    field(CmApr::kRemoteCommunicationId, m.remote_communication_id);
    field(CmApr::kInfoLength, m.info_length);
    field(CmApr::kStatus, m.status);
    field(CmApr::kReserved10, m.reserved10);
    field(CmApr::kInfoOffset, m.info);
    field(CmApr::kPrivateDataOffset, m.private_data);
  }
};

template <class Message>
Message parse_fields(std::span<const std::byte, Message::kSize> bytes) {
  Message message;
  Layout<Message>::visit(message, Reader{bytes.data()});
  return message;
}

template <class Message>
void serialize_fields(const Message& message, std::span<std::byte, Message::kSize> bytes) {
  std::fill_n(bytes.data(), Message::kSize, std::byte{});
  Layout<Message>::visit(message, Writer{bytes.data()});
}

}  // namespace

std::string_view to_string(CmAttribute attribute) {
  switch (attribute) {
    case CmAttribute::connect_request:
      return "REQ";
    case CmAttribute::message_receipt_acknowledgment:
      return "MRA";
    case CmAttribute::connect_reject:
      return "REJ";
    case CmAttribute::connect_reply:
      return "REP";
    case CmAttribute::ready_to_use:
      return "RTU";
    case CmAttribute::disconnect_request:
      return "DREQ";
    case CmAttribute::disconnect_reply:
      return "DREP";
    case CmAttribute::service_id_resolution_request:
      return "SIDR REQ";
    case CmAttribute::service_id_resolution_reply:
      return "SIDR REP";
    case CmAttribute::load_alternate_path:
      return "LAP";
    case CmAttribute::alternate_path_response:
      return "APR";
  }
  return "unknown";
}

std::string_view to_string(CmRejectReason reason) {
  static constexpr std::array<std::string_view, 36> kNames = {"reserved",
                                                              "no queue pair available",
                                                              "no EE context available",
                                                              "no resources available",
                                                              "time-out",
                                                              "unsupported request",
                                                              "invalid communication id",
                                                              "invalid communication instance",
                                                              "invalid service id",
                                                              "invalid transport service type",
                                                              "stale connection",
                                                              "no RDC exists",
                                                              "primary remote port GID rejected",
                                                              "primary remote port LID rejected",
                                                              "invalid primary service level",
                                                              "invalid primary traffic class",
                                                              "invalid primary hop limit",
                                                              "invalid primary packet rate",
                                                              "alternate remote port GID rejected",
                                                              "alternate remote port LID rejected",
                                                              "invalid alternate service level",
                                                              "invalid alternate traffic class",
                                                              "invalid alternate hop limit",
                                                              "invalid alternate packet rate",
                                                              "port and CM redirection",
                                                              "port redirection",
                                                              "invalid path MTU",
                                                              "insufficient responder resources",
                                                              "rejected by the consumer",
                                                              "RNR retry count rejected",
                                                              "duplicate local communication id",
                                                              "unsupported class version",
                                                              "invalid primary flow label",
                                                              "invalid alternate flow label",
                                                              "reserved",
                                                              "vendor option not supported"};
  const auto index = static_cast<std::size_t>(reason);
  return index < kNames.size() ? kNames[index] : "reserved";
}

std::string_view to_string(CmSidrStatus status) {
  static constexpr std::array<std::string_view, 6> kNames = {"valid",
                                                             "service id not supported",
                                                             "rejected by the service",
                                                             "no queue pair available",
                                                             "redirected",
                                                             "version not supported"};
  const auto index = static_cast<std::size_t>(status);
  return index < kNames.size() ? kNames[index] : "reserved";
}

Duration cm_timeout(std::uint8_t code) {
  return std::chrono::nanoseconds(std::int64_t{4096} << (code & 0x1f));
}

std::uint32_t mtu_bytes(std::uint8_t code) {
  return code >= 1 && code <= 5 ? 128u << code : 0;
}

CmPath CmPath::parse(std::span<const std::byte, kSize> bytes) {
  return parse_fields<CmPath>(bytes);
}

void CmPath::serialize(std::span<std::byte, kSize> bytes) const {
  serialize_fields(*this, bytes);
}

CmReq CmReq::parse(std::span<const std::byte, kSize> bytes) {
  return parse_fields<CmReq>(bytes);
}

void CmReq::serialize(std::span<std::byte, kSize> bytes) const {
  serialize_fields(*this, bytes);
}

CmMra CmMra::parse(std::span<const std::byte, kSize> bytes) {
  return parse_fields<CmMra>(bytes);
}

void CmMra::serialize(std::span<std::byte, kSize> bytes) const {
  serialize_fields(*this, bytes);
}

CmRej CmRej::parse(std::span<const std::byte, kSize> bytes) {
  return parse_fields<CmRej>(bytes);
}

void CmRej::serialize(std::span<std::byte, kSize> bytes) const {
  serialize_fields(*this, bytes);
}

CmRep CmRep::parse(std::span<const std::byte, kSize> bytes) {
  return parse_fields<CmRep>(bytes);
}

void CmRep::serialize(std::span<std::byte, kSize> bytes) const {
  serialize_fields(*this, bytes);
}

CmRtu CmRtu::parse(std::span<const std::byte, kSize> bytes) {
  return parse_fields<CmRtu>(bytes);
}

void CmRtu::serialize(std::span<std::byte, kSize> bytes) const {
  serialize_fields(*this, bytes);
}

CmDreq CmDreq::parse(std::span<const std::byte, kSize> bytes) {
  return parse_fields<CmDreq>(bytes);
}

void CmDreq::serialize(std::span<std::byte, kSize> bytes) const {
  serialize_fields(*this, bytes);
}

CmDrep CmDrep::parse(std::span<const std::byte, kSize> bytes) {
  return parse_fields<CmDrep>(bytes);
}

void CmDrep::serialize(std::span<std::byte, kSize> bytes) const {
  serialize_fields(*this, bytes);
}

CmSidrReq CmSidrReq::parse(std::span<const std::byte, kSize> bytes) {
  return parse_fields<CmSidrReq>(bytes);
}

void CmSidrReq::serialize(std::span<std::byte, kSize> bytes) const {
  serialize_fields(*this, bytes);
}

CmSidrRep CmSidrRep::parse(std::span<const std::byte, kSize> bytes) {
  return parse_fields<CmSidrRep>(bytes);
}

void CmSidrRep::serialize(std::span<std::byte, kSize> bytes) const {
  serialize_fields(*this, bytes);
}

CmLap CmLap::parse(std::span<const std::byte, kSize> bytes) {
  return parse_fields<CmLap>(bytes);
}

void CmLap::serialize(std::span<std::byte, kSize> bytes) const {
  serialize_fields(*this, bytes);
}

CmApr CmApr::parse(std::span<const std::byte, kSize> bytes) {
  return parse_fields<CmApr>(bytes);
}

void CmApr::serialize(std::span<std::byte, kSize> bytes) const {
  serialize_fields(*this, bytes);
}

namespace {

std::optional<CmMessage> parse_message(std::uint16_t attribute,
                                       std::span<const std::byte, kCmDataSize> data) {
  switch (static_cast<CmAttribute>(attribute)) {
    case CmAttribute::connect_request:
      return CmReq::parse(data);
    case CmAttribute::message_receipt_acknowledgment:
      return CmMra::parse(data);
    case CmAttribute::connect_reject:
      return CmRej::parse(data);
    case CmAttribute::connect_reply:
      return CmRep::parse(data);
    case CmAttribute::ready_to_use:
      return CmRtu::parse(data);
    case CmAttribute::disconnect_request:
      return CmDreq::parse(data);
    case CmAttribute::disconnect_reply:
      return CmDrep::parse(data);
    case CmAttribute::service_id_resolution_request:
      return CmSidrReq::parse(data);
    case CmAttribute::service_id_resolution_reply:
      return CmSidrRep::parse(data);
    case CmAttribute::load_alternate_path:
      return CmLap::parse(data);
    case CmAttribute::alternate_path_response:
      return CmApr::parse(data);
  }
  return std::nullopt;
}

}  // namespace

CmMad::CmMad(const MadHeader& mad_header, const CmMessage& cm_message)
    : header(mad_header), message(cm_message) {
  header.attribute_id =
      std::visit([](const auto& m) { return static_cast<std::uint16_t>(m.kAttribute); }, message);
}

std::optional<CmMad> CmMad::parse(ByteView bytes) {
  if (bytes.size() != kMadSize) return std::nullopt;
  const MadHeader header = MadHeader::parse(bytes.first<MadHeader::kSize>());
  const bool is_cm = header.base_version == MadHeader::kBaseVersion1 &&
                     header.management_class == management_class::kCommunication &&
                     header.class_version == 2 && header.method == mad_method::kSend;
  if (!is_cm) return std::nullopt;
  const auto message =
      parse_message(header.attribute_id, bytes.subspan<MadHeader::kSize, kCmDataSize>());
  if (!message) return std::nullopt;
  return CmMad(header, *message);
}

void CmMad::serialize(std::span<std::byte, kMadSize> bytes) const {
  header.serialize(bytes.first<MadHeader::kSize>());
  const auto data = bytes.subspan<MadHeader::kSize, kCmDataSize>();
  std::visit([&](const auto& m) { m.serialize(data); }, message);
}

}  // namespace softrnic::wire
