// SPDX-License-Identifier: BSD-3-Clause
#include "wire/cm_message.hpp"

#include <algorithm>
#include <cstring>

namespace softrnic::wire {
namespace {

template <class Value>
void read(const std::byte* p, const Field& field, Value& value) {
  value = static_cast<Value>(get(p, field));
}

void read(const std::byte* p, const Field& field, bool& value) {
  value = get(p, field) != 0;
}

void read(const std::byte* p, const Field& field, Psn& value) {
  value = Psn(static_cast<std::uint32_t>(get(p, field)));
}

template <class Byte, std::size_t size>
void read(const std::byte* p, std::array<Byte, size>& value) {
  std::memcpy(value.data(), p, size);
}

template <class Value>
void write(std::byte* p, const Field& field, Value value) {
  put(p, field, static_cast<std::uint64_t>(value));
}

void write(std::byte* p, const Field& field, Psn value) {
  put(p, field, value.value());
}

template <class Byte, std::size_t size>
void write(std::byte* p, const std::array<Byte, size>& value) {
  std::memcpy(p, value.data(), size);
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
  const std::byte* p = bytes.data();
  CmPath m;
  read(p, kLocalLid, m.local_lid);
  read(p, kRemoteLid, m.remote_lid);
  read(p + kLocalGidOffset, m.local_gid.bytes);
  read(p + kRemoteGidOffset, m.remote_gid.bytes);
  read(p, kFlowLabel, m.flow_label);
  read(p, kReserved36, m.reserved36);
  read(p, kPacketRate, m.packet_rate);
  read(p, kTrafficClass, m.traffic_class);
  read(p, kHopLimit, m.hop_limit);
  read(p, kServiceLevel, m.service_level);
  read(p, kSubnetLocal, m.subnet_local);
  read(p, kReserved42, m.reserved42);
  read(p, kAckTimeout, m.ack_timeout);
  read(p, kReserved43, m.reserved43);
  return m;
}

void CmPath::serialize(std::span<std::byte, kSize> bytes) const {
  std::byte* p = bytes.data();
  std::fill_n(p, kSize, std::byte{});
  write(p, kLocalLid, local_lid);
  write(p, kRemoteLid, remote_lid);
  write(p + kLocalGidOffset, local_gid.bytes);
  write(p + kRemoteGidOffset, remote_gid.bytes);
  write(p, kFlowLabel, flow_label);
  write(p, kReserved36, reserved36);
  write(p, kPacketRate, packet_rate);
  write(p, kTrafficClass, traffic_class);
  write(p, kHopLimit, hop_limit);
  write(p, kServiceLevel, service_level);
  write(p, kSubnetLocal, subnet_local);
  write(p, kReserved42, reserved42);
  write(p, kAckTimeout, ack_timeout);
  write(p, kReserved43, reserved43);
}

CmReq CmReq::parse(std::span<const std::byte, kSize> bytes) {
  const std::byte* p = bytes.data();
  CmReq m;
  read(p, kLocalCommunicationId, m.local_communication_id);
  read(p, kReserved4, m.reserved4);
  read(p, kServiceId, m.service_id);
  read(p, kLocalCaGuid, m.local_ca_guid);
  read(p, kReserved24, m.reserved24);
  read(p, kLocalQueueKey, m.local_queue_key);
  read(p, kLocalQpn, m.local_qpn);
  read(p, kResponderResources, m.responder_resources);
  read(p, kLocalEecn, m.local_eecn);
  read(p, kInitiatorDepth, m.initiator_depth);
  read(p, kRemoteEecn, m.remote_eecn);
  read(p, kRemoteResponseTimeout, m.remote_response_timeout);
  read(p, kTransportService, m.transport_service);
  read(p, kEndToEndFlowControl, m.end_to_end_flow_control);
  read(p, kStartingPsn, m.starting_psn);
  read(p, kLocalResponseTimeout, m.local_response_timeout);
  read(p, kRetryCount, m.retry_count);
  read(p, kPartitionKey, m.partition_key);
  read(p, kPathMtu, m.path_mtu);
  read(p, kRdcExists, m.rdc_exists);
  read(p, kRnrRetryCount, m.rnr_retry_count);
  read(p, kMaxCmRetries, m.max_cm_retries);
  read(p, kSrq, m.srq);
  read(p, kExtendedTransport, m.extended_transport);
  m.primary_path = CmPath::parse(bytes.subspan<kPrimaryPathOffset, CmPath::kSize>());
  m.alternate_path = CmPath::parse(bytes.subspan<kAlternatePathOffset, CmPath::kSize>());
  read(p + kPrivateDataOffset, m.private_data);
  return m;
}

void CmReq::serialize(std::span<std::byte, kSize> bytes) const {
  std::byte* p = bytes.data();
  std::fill_n(p, kSize, std::byte{});
  write(p, kLocalCommunicationId, local_communication_id);
  write(p, kReserved4, reserved4);
  write(p, kServiceId, service_id);
  write(p, kLocalCaGuid, local_ca_guid);
  write(p, kReserved24, reserved24);
  write(p, kLocalQueueKey, local_queue_key);
  write(p, kLocalQpn, local_qpn);
  write(p, kResponderResources, responder_resources);
  write(p, kLocalEecn, local_eecn);
  write(p, kInitiatorDepth, initiator_depth);
  write(p, kRemoteEecn, remote_eecn);
  write(p, kRemoteResponseTimeout, remote_response_timeout);
  write(p, kTransportService, transport_service);
  write(p, kEndToEndFlowControl, end_to_end_flow_control);
  write(p, kStartingPsn, starting_psn);
  write(p, kLocalResponseTimeout, local_response_timeout);
  write(p, kRetryCount, retry_count);
  write(p, kPartitionKey, partition_key);
  write(p, kPathMtu, path_mtu);
  write(p, kRdcExists, rdc_exists);
  write(p, kRnrRetryCount, rnr_retry_count);
  write(p, kMaxCmRetries, max_cm_retries);
  write(p, kSrq, srq);
  write(p, kExtendedTransport, extended_transport);
  primary_path.serialize(bytes.subspan<kPrimaryPathOffset, CmPath::kSize>());
  alternate_path.serialize(bytes.subspan<kAlternatePathOffset, CmPath::kSize>());
  write(p + kPrivateDataOffset, private_data);
}

CmMra CmMra::parse(std::span<const std::byte, kSize> bytes) {
  const std::byte* p = bytes.data();
  CmMra m;
  read(p, kLocalCommunicationId, m.local_communication_id);
  read(p, kRemoteCommunicationId, m.remote_communication_id);
  read(p, kMessage, m.message);
  read(p, kReserved8, m.reserved8);
  read(p, kServiceTimeout, m.service_timeout);
  read(p, kReserved9, m.reserved9);
  read(p + kPrivateDataOffset, m.private_data);
  return m;
}

void CmMra::serialize(std::span<std::byte, kSize> bytes) const {
  std::byte* p = bytes.data();
  std::fill_n(p, kSize, std::byte{});
  write(p, kLocalCommunicationId, local_communication_id);
  write(p, kRemoteCommunicationId, remote_communication_id);
  write(p, kMessage, message);
  write(p, kReserved8, reserved8);
  write(p, kServiceTimeout, service_timeout);
  write(p, kReserved9, reserved9);
  write(p + kPrivateDataOffset, private_data);
}

CmRej CmRej::parse(std::span<const std::byte, kSize> bytes) {
  const std::byte* p = bytes.data();
  CmRej m;
  read(p, kLocalCommunicationId, m.local_communication_id);
  read(p, kRemoteCommunicationId, m.remote_communication_id);
  read(p, kMessage, m.message);
  read(p, kReserved8, m.reserved8);
  read(p, kInfoLength, m.info_length);
  read(p, kReserved9, m.reserved9);
  read(p, kReason, m.reason);
  read(p + kInfoOffset, m.info);
  read(p + kPrivateDataOffset, m.private_data);
  return m;
}

void CmRej::serialize(std::span<std::byte, kSize> bytes) const {
  std::byte* p = bytes.data();
  std::fill_n(p, kSize, std::byte{});
  write(p, kLocalCommunicationId, local_communication_id);
  write(p, kRemoteCommunicationId, remote_communication_id);
  write(p, kMessage, message);
  write(p, kReserved8, reserved8);
  write(p, kInfoLength, info_length);
  write(p, kReserved9, reserved9);
  write(p, kReason, reason);
  write(p + kInfoOffset, info);
  write(p + kPrivateDataOffset, private_data);
}

CmRep CmRep::parse(std::span<const std::byte, kSize> bytes) {
  const std::byte* p = bytes.data();
  CmRep m;
  read(p, kLocalCommunicationId, m.local_communication_id);
  read(p, kRemoteCommunicationId, m.remote_communication_id);
  read(p, kLocalQueueKey, m.local_queue_key);
  read(p, kLocalQpn, m.local_qpn);
  read(p, kReserved15, m.reserved15);
  read(p, kLocalEecn, m.local_eecn);
  read(p, kReserved19, m.reserved19);
  read(p, kStartingPsn, m.starting_psn);
  read(p, kReserved23, m.reserved23);
  read(p, kResponderResources, m.responder_resources);
  read(p, kInitiatorDepth, m.initiator_depth);
  read(p, kTargetAckDelay, m.target_ack_delay);
  read(p, kFailoverAccepted, m.failover_accepted);
  read(p, kEndToEndFlowControl, m.end_to_end_flow_control);
  read(p, kRnrRetryCount, m.rnr_retry_count);
  read(p, kSrq, m.srq);
  read(p, kReserved27, m.reserved27);
  read(p, kLocalCaGuid, m.local_ca_guid);
  read(p + kPrivateDataOffset, m.private_data);
  return m;
}

void CmRep::serialize(std::span<std::byte, kSize> bytes) const {
  std::byte* p = bytes.data();
  std::fill_n(p, kSize, std::byte{});
  write(p, kLocalCommunicationId, local_communication_id);
  write(p, kRemoteCommunicationId, remote_communication_id);
  write(p, kLocalQueueKey, local_queue_key);
  write(p, kLocalQpn, local_qpn);
  write(p, kReserved15, reserved15);
  write(p, kLocalEecn, local_eecn);
  write(p, kReserved19, reserved19);
  write(p, kStartingPsn, starting_psn);
  write(p, kReserved23, reserved23);
  write(p, kResponderResources, responder_resources);
  write(p, kInitiatorDepth, initiator_depth);
  write(p, kTargetAckDelay, target_ack_delay);
  write(p, kFailoverAccepted, failover_accepted);
  write(p, kEndToEndFlowControl, end_to_end_flow_control);
  write(p, kRnrRetryCount, rnr_retry_count);
  write(p, kSrq, srq);
  write(p, kReserved27, reserved27);
  write(p, kLocalCaGuid, local_ca_guid);
  write(p + kPrivateDataOffset, private_data);
}

CmRtu CmRtu::parse(std::span<const std::byte, kSize> bytes) {
  const std::byte* p = bytes.data();
  CmRtu m;
  read(p, kLocalCommunicationId, m.local_communication_id);
  read(p, kRemoteCommunicationId, m.remote_communication_id);
  read(p + kPrivateDataOffset, m.private_data);
  return m;
}

void CmRtu::serialize(std::span<std::byte, kSize> bytes) const {
  std::byte* p = bytes.data();
  std::fill_n(p, kSize, std::byte{});
  write(p, kLocalCommunicationId, local_communication_id);
  write(p, kRemoteCommunicationId, remote_communication_id);
  write(p + kPrivateDataOffset, private_data);
}

CmDreq CmDreq::parse(std::span<const std::byte, kSize> bytes) {
  const std::byte* p = bytes.data();
  CmDreq m;
  read(p, kLocalCommunicationId, m.local_communication_id);
  read(p, kRemoteCommunicationId, m.remote_communication_id);
  read(p, kRemoteQpn, m.remote_qpn);
  read(p, kReserved11, m.reserved11);
  read(p + kPrivateDataOffset, m.private_data);
  return m;
}

void CmDreq::serialize(std::span<std::byte, kSize> bytes) const {
  std::byte* p = bytes.data();
  std::fill_n(p, kSize, std::byte{});
  write(p, kLocalCommunicationId, local_communication_id);
  write(p, kRemoteCommunicationId, remote_communication_id);
  write(p, kRemoteQpn, remote_qpn);
  write(p, kReserved11, reserved11);
  write(p + kPrivateDataOffset, private_data);
}

CmDrep CmDrep::parse(std::span<const std::byte, kSize> bytes) {
  const std::byte* p = bytes.data();
  CmDrep m;
  read(p, kLocalCommunicationId, m.local_communication_id);
  read(p, kRemoteCommunicationId, m.remote_communication_id);
  read(p + kPrivateDataOffset, m.private_data);
  return m;
}

void CmDrep::serialize(std::span<std::byte, kSize> bytes) const {
  std::byte* p = bytes.data();
  std::fill_n(p, kSize, std::byte{});
  write(p, kLocalCommunicationId, local_communication_id);
  write(p, kRemoteCommunicationId, remote_communication_id);
  write(p + kPrivateDataOffset, private_data);
}

CmSidrReq CmSidrReq::parse(std::span<const std::byte, kSize> bytes) {
  const std::byte* p = bytes.data();
  CmSidrReq m;
  read(p, kRequestId, m.request_id);
  read(p, kPartitionKey, m.partition_key);
  read(p, kReserved6, m.reserved6);
  read(p, kServiceId, m.service_id);
  read(p + kPrivateDataOffset, m.private_data);
  return m;
}

void CmSidrReq::serialize(std::span<std::byte, kSize> bytes) const {
  std::byte* p = bytes.data();
  std::fill_n(p, kSize, std::byte{});
  write(p, kRequestId, request_id);
  write(p, kPartitionKey, partition_key);
  write(p, kReserved6, reserved6);
  write(p, kServiceId, service_id);
  write(p + kPrivateDataOffset, private_data);
}

CmSidrRep CmSidrRep::parse(std::span<const std::byte, kSize> bytes) {
  const std::byte* p = bytes.data();
  CmSidrRep m;
  read(p, kRequestId, m.request_id);
  read(p, kStatus, m.status);
  read(p, kInfoLength, m.info_length);
  read(p, kReserved6, m.reserved6);
  read(p, kQpn, m.qpn);
  read(p, kReserved11, m.reserved11);
  read(p, kServiceId, m.service_id);
  read(p, kQueueKey, m.queue_key);
  read(p + kInfoOffset, m.info);
  read(p + kPrivateDataOffset, m.private_data);
  return m;
}

void CmSidrRep::serialize(std::span<std::byte, kSize> bytes) const {
  std::byte* p = bytes.data();
  std::fill_n(p, kSize, std::byte{});
  write(p, kRequestId, request_id);
  write(p, kStatus, status);
  write(p, kInfoLength, info_length);
  write(p, kReserved6, reserved6);
  write(p, kQpn, qpn);
  write(p, kReserved11, reserved11);
  write(p, kServiceId, service_id);
  write(p, kQueueKey, queue_key);
  write(p + kInfoOffset, info);
  write(p + kPrivateDataOffset, private_data);
}

CmLap CmLap::parse(std::span<const std::byte, kSize> bytes) {
  const std::byte* p = bytes.data();
  CmLap m;
  read(p, kLocalCommunicationId, m.local_communication_id);
  read(p, kRemoteCommunicationId, m.remote_communication_id);
  read(p, kReserved8, m.reserved8);
  read(p, kRemoteQpn, m.remote_qpn);
  read(p, kRemoteResponseTimeout, m.remote_response_timeout);
  read(p, kReserved15, m.reserved15);
  read(p, kReserved16, m.reserved16);
  read(p, kLocalLid, m.local_lid);
  read(p, kRemoteLid, m.remote_lid);
  read(p + kLocalGidOffset, m.local_gid.bytes);
  read(p + kRemoteGidOffset, m.remote_gid.bytes);
  read(p, kFlowLabel, m.flow_label);
  read(p, kReserved58, m.reserved58);
  read(p, kTrafficClass, m.traffic_class);
  read(p, kHopLimit, m.hop_limit);
  read(p, kReserved61, m.reserved61);
  read(p, kPacketRate, m.packet_rate);
  read(p, kServiceLevel, m.service_level);
  read(p, kSubnetLocal, m.subnet_local);
  read(p, kReserved62, m.reserved62);
  read(p, kAckTimeout, m.ack_timeout);
  read(p, kReserved63, m.reserved63);
  read(p + kPrivateDataOffset, m.private_data);
  return m;
}

void CmLap::serialize(std::span<std::byte, kSize> bytes) const {
  std::byte* p = bytes.data();
  std::fill_n(p, kSize, std::byte{});
  write(p, kLocalCommunicationId, local_communication_id);
  write(p, kRemoteCommunicationId, remote_communication_id);
  write(p, kReserved8, reserved8);
  write(p, kRemoteQpn, remote_qpn);
  write(p, kRemoteResponseTimeout, remote_response_timeout);
  write(p, kReserved15, reserved15);
  write(p, kReserved16, reserved16);
  write(p, kLocalLid, local_lid);
  write(p, kRemoteLid, remote_lid);
  write(p + kLocalGidOffset, local_gid.bytes);
  write(p + kRemoteGidOffset, remote_gid.bytes);
  write(p, kFlowLabel, flow_label);
  write(p, kReserved58, reserved58);
  write(p, kTrafficClass, traffic_class);
  write(p, kHopLimit, hop_limit);
  write(p, kReserved61, reserved61);
  write(p, kPacketRate, packet_rate);
  write(p, kServiceLevel, service_level);
  write(p, kSubnetLocal, subnet_local);
  write(p, kReserved62, reserved62);
  write(p, kAckTimeout, ack_timeout);
  write(p, kReserved63, reserved63);
  write(p + kPrivateDataOffset, private_data);
}

CmApr CmApr::parse(std::span<const std::byte, kSize> bytes) {
  const std::byte* p = bytes.data();
  CmApr m;
  read(p, kLocalCommunicationId, m.local_communication_id);
  read(p, kRemoteCommunicationId, m.remote_communication_id);
  read(p, kInfoLength, m.info_length);
  read(p, kStatus, m.status);
  read(p, kReserved10, m.reserved10);
  read(p + kInfoOffset, m.info);
  read(p + kPrivateDataOffset, m.private_data);
  return m;
}

void CmApr::serialize(std::span<std::byte, kSize> bytes) const {
  std::byte* p = bytes.data();
  std::fill_n(p, kSize, std::byte{});
  write(p, kLocalCommunicationId, local_communication_id);
  write(p, kRemoteCommunicationId, remote_communication_id);
  write(p, kInfoLength, info_length);
  write(p, kStatus, status);
  write(p, kReserved10, reserved10);
  write(p + kInfoOffset, info);
  write(p + kPrivateDataOffset, private_data);
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
