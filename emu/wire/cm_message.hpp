// SPDX-License-Identifier: BSD-3-Clause
// Communication management messages: how queue pairs become connected (IBTA vol. 1, 12.6).
//
// Each is the 232 bytes after the header of a management datagram of class 7, version 2; the
// attribute id tells which. Reserved bits are kept, so that every message round-trips. GIDs, paths
// and private data stand outside the 64-bit field reader, at the offsets named beside kFields.
#pragma once

#include <optional>
#include <string_view>
#include <variant>

#include "wire/gid.hpp"
#include "wire/instant.hpp"
#include "wire/mad.hpp"
#include "wire/psn.hpp"

namespace softrnic::wire {

inline constexpr std::size_t kCmDataSize = kMadSize - MadHeader::kSize;

enum class CmAttribute : std::uint16_t {
  connect_request = 0x10,
  message_receipt_acknowledgment = 0x11,
  connect_reject = 0x12,
  connect_reply = 0x13,
  ready_to_use = 0x14,
  disconnect_request = 0x15,
  disconnect_reply = 0x16,
  service_id_resolution_request = 0x17,
  service_id_resolution_reply = 0x18,
  load_alternate_path = 0x19,
  alternate_path_response = 0x1a,
};

// "REQ", "SIDR REP"; "unknown" for an attribute of no message.
std::string_view to_string(CmAttribute attribute);

// The message an MRA or REJ speaks of; in a REJ, `other` also stands for a time-out.
enum class CmAnswered : std::uint8_t { request = 0, reply = 1, other = 2 };

enum class CmTransport : std::uint8_t { rc = 0, uc = 1, rd = 2, extended = 3 };

// IBTA vol. 1, 12.6.7.2.
enum class CmRejectReason : std::uint16_t {
  no_qp = 1,
  no_eec = 2,
  no_resources = 3,
  timeout = 4,
  unsupported = 5,
  invalid_communication_id = 6,
  invalid_communication_instance = 7,
  invalid_service_id = 8,
  invalid_transport_service = 9,
  stale_connection = 10,
  rdc_missing = 11,
  invalid_gid = 12,
  invalid_lid = 13,
  invalid_service_level = 14,
  invalid_traffic_class = 15,
  invalid_hop_limit = 16,
  invalid_packet_rate = 17,
  invalid_alternate_gid = 18,
  invalid_alternate_lid = 19,
  invalid_alternate_service_level = 20,
  invalid_alternate_traffic_class = 21,
  invalid_alternate_hop_limit = 22,
  invalid_alternate_packet_rate = 23,
  port_and_cm_redirection = 24,
  port_redirection = 25,
  invalid_path_mtu = 26,
  insufficient_responder_resources = 27,
  consumer = 28,
  rnr_retry_count = 29,
  duplicate_communication_id = 30,
  unsupported_class_version = 31,
  invalid_flow_label = 32,
  invalid_alternate_flow_label = 33,
  vendor_option = 35,
};

// A few words, "invalid service id"; "reserved" for a reason the standard does not name.
std::string_view to_string(CmRejectReason reason);

// IBTA vol. 1, table 120.
enum class CmSidrStatus : std::uint8_t {
  valid = 0,
  unsupported_service_id = 1,
  rejected = 2,
  no_qp = 3,
  redirected = 4,
  unsupported_version = 5,
};

std::string_view to_string(CmSidrStatus status);

// IBTA vol. 1, 12.8.2.
enum class CmPathStatus : std::uint8_t {
  loaded = 0,
  invalid_communication_id = 1,
  unsupported = 2,
  rejected = 3,
  redirected = 4,
  already_loaded = 5,
  invalid_qpn = 6,
  invalid_lid = 7,
  invalid_gid = 8,
  invalid_flow_label = 9,
  invalid_traffic_class = 10,
  invalid_hop_limit = 11,
  invalid_packet_rate = 12,
  invalid_service_level = 13,
};

// 4.096 us * 2^code, of every time-out and delay in these messages (5 bits).
Duration cm_timeout(std::uint8_t code);
// Of a path MTU code, 256 to 4096; 0 for a reserved code.
std::uint32_t mtu_bytes(std::uint8_t code);

// A path of a REQ: how packets travel (IBTA vol. 1, table 99).
struct CmPath {
  static constexpr std::size_t kSize = 44;

  std::uint16_t local_lid = 0xffff;  // 0xffff on RoCE
  std::uint16_t remote_lid = 0xffff;
  Gid local_gid;
  Gid remote_gid;
  std::uint32_t flow_label = 0;  // 20 bits
  std::uint8_t reserved36 = 0;
  std::uint8_t packet_rate = 0;  // 6 bits
  std::uint8_t traffic_class = 0;
  std::uint8_t hop_limit = 64;
  std::uint8_t service_level = 0;  // 4 bits
  bool subnet_local = false;
  std::uint8_t reserved42 = 0;
  std::uint8_t ack_timeout = 0;  // local ACK timeout, see cm_timeout()
  std::uint8_t reserved43 = 0;

  static CmPath parse(std::span<const std::byte, kSize> bytes);
  void serialize(std::span<std::byte, kSize> bytes) const;

  friend bool operator==(const CmPath&, const CmPath&) = default;

  static constexpr Field kLocalLid{"local_lid", 0, 16};
  static constexpr Field kRemoteLid{"remote_lid", 16, 16};
  static constexpr Field kFlowLabel{"flow_label", 288, 20};
  static constexpr Field kReserved36{"reserved36", 308, 6};
  static constexpr Field kPacketRate{"packet_rate", 314, 6};
  static constexpr Field kTrafficClass{"traffic_class", 320, 8};
  static constexpr Field kHopLimit{"hop_limit", 328, 8};
  static constexpr Field kServiceLevel{"service_level", 336, 4};
  static constexpr Field kSubnetLocal{"subnet_local", 340, 1};
  static constexpr Field kReserved42{"reserved42", 341, 3};
  static constexpr Field kAckTimeout{"ack_timeout", 344, 5};
  static constexpr Field kReserved43{"reserved43", 349, 3};
  static constexpr std::size_t kLocalGidOffset = 4;
  static constexpr std::size_t kRemoteGidOffset = 20;
  static constexpr std::array kFields{kLocalLid,    kRemoteLid,    kFlowLabel,  kReserved36,
                                      kPacketRate,  kTrafficClass, kHopLimit,   kServiceLevel,
                                      kSubnetLocal, kReserved42,   kAckTimeout, kReserved43};
};

// REQ: asks for a connection.
struct CmReq {
  static constexpr std::size_t kSize = kCmDataSize;
  static constexpr CmAttribute kAttribute = CmAttribute::connect_request;

  std::uint32_t local_communication_id = 0;  // the sender's
  std::uint32_t reserved4 = 0;
  std::uint64_t service_id = 0;  // whom the request is for; see IpServiceId
  std::uint64_t local_ca_guid = 0;
  std::uint32_t reserved24 = 0;
  std::uint32_t local_queue_key = 0;
  std::uint32_t local_qpn = 0;           // 24 bits
  std::uint8_t responder_resources = 0;  // READs and atomics the sender takes at once
  std::uint32_t local_eecn = 0;          // 24 bits
  std::uint8_t initiator_depth = 0;      // READs and atomics the sender wants to ask for at once
  std::uint32_t remote_eecn = 0;         // 24 bits
  std::uint8_t remote_response_timeout = 0;  // of CM messages; see cm_timeout()
  CmTransport transport_service{};
  bool end_to_end_flow_control = false;
  Psn starting_psn;                         // that the receiver of this message is to begin with
  std::uint8_t local_response_timeout = 0;  // 5 bits
  std::uint8_t retry_count = 0;             // 3 bits
  std::uint16_t partition_key = 0xffff;
  std::uint8_t path_mtu = 0;  // 1 to 5: 256 to 4096 bytes; see mtu_bytes()
  bool rdc_exists = false;
  std::uint8_t rnr_retry_count = 0;  // 7: without end
  std::uint8_t max_cm_retries = 0;   // 4 bits
  bool srq = false;
  std::uint8_t extended_transport = 0;  // 1: XRC, when transport_service is extended
  CmPath primary_path;
  CmPath alternate_path;  // all zero when there is none
  std::array<std::byte, 92> private_data{};

  static CmReq parse(std::span<const std::byte, kSize> bytes);
  void serialize(std::span<std::byte, kSize> bytes) const;

  friend bool operator==(const CmReq&, const CmReq&) = default;

  static constexpr Field kLocalCommunicationId{"local_communication_id", 0, 32};
  static constexpr Field kReserved4{"reserved4", 32, 32};
  static constexpr Field kServiceId{"service_id", 64, 64};
  static constexpr Field kLocalCaGuid{"local_ca_guid", 128, 64};
  static constexpr Field kReserved24{"reserved24", 192, 32};
  static constexpr Field kLocalQueueKey{"local_queue_key", 224, 32};
  static constexpr Field kLocalQpn{"local_qpn", 256, 24};
  static constexpr Field kResponderResources{"responder_resources", 280, 8};
  static constexpr Field kLocalEecn{"local_eecn", 288, 24};
  static constexpr Field kInitiatorDepth{"initiator_depth", 312, 8};
  static constexpr Field kRemoteEecn{"remote_eecn", 320, 24};
  static constexpr Field kRemoteResponseTimeout{"remote_response_timeout", 344, 5};
  static constexpr Field kTransportService{"transport_service", 349, 2};
  static constexpr Field kEndToEndFlowControl{"end_to_end_flow_control", 351, 1};
  static constexpr Field kStartingPsn{"starting_psn", 352, 24};
  static constexpr Field kLocalResponseTimeout{"local_response_timeout", 376, 5};
  static constexpr Field kRetryCount{"retry_count", 381, 3};
  static constexpr Field kPartitionKey{"partition_key", 384, 16};
  static constexpr Field kPathMtu{"path_mtu", 400, 4};
  static constexpr Field kRdcExists{"rdc_exists", 404, 1};
  static constexpr Field kRnrRetryCount{"rnr_retry_count", 405, 3};
  static constexpr Field kMaxCmRetries{"max_cm_retries", 408, 4};
  static constexpr Field kSrq{"srq", 412, 1};
  static constexpr Field kExtendedTransport{"extended_transport", 413, 3};
  static constexpr std::size_t kPrimaryPathOffset = 52;
  static constexpr std::size_t kAlternatePathOffset = 96;
  static constexpr std::size_t kPrivateDataOffset = 140;
  static constexpr std::array kFields{kLocalCommunicationId,
                                      kReserved4,
                                      kServiceId,
                                      kLocalCaGuid,
                                      kReserved24,
                                      kLocalQueueKey,
                                      kLocalQpn,
                                      kResponderResources,
                                      kLocalEecn,
                                      kInitiatorDepth,
                                      kRemoteEecn,
                                      kRemoteResponseTimeout,
                                      kTransportService,
                                      kEndToEndFlowControl,
                                      kStartingPsn,
                                      kLocalResponseTimeout,
                                      kRetryCount,
                                      kPartitionKey,
                                      kPathMtu,
                                      kRdcExists,
                                      kRnrRetryCount,
                                      kMaxCmRetries,
                                      kSrq,
                                      kExtendedTransport};
};

// MRA: the answer will take longer.
struct CmMra {
  static constexpr std::size_t kSize = kCmDataSize;
  static constexpr CmAttribute kAttribute = CmAttribute::message_receipt_acknowledgment;

  std::uint32_t local_communication_id = 0;   // the sender's
  std::uint32_t remote_communication_id = 0;  // the receiver's
  CmAnswered message{};                       // what was received
  std::uint8_t reserved8 = 0;
  std::uint8_t service_timeout = 0;  // see cm_timeout()
  std::uint8_t reserved9 = 0;
  std::array<std::byte, 222> private_data{};

  static CmMra parse(std::span<const std::byte, kSize> bytes);
  void serialize(std::span<std::byte, kSize> bytes) const;

  friend bool operator==(const CmMra&, const CmMra&) = default;

  static constexpr Field kLocalCommunicationId{"local_communication_id", 0, 32};
  static constexpr Field kRemoteCommunicationId{"remote_communication_id", 32, 32};
  static constexpr Field kMessage{"message", 64, 2};
  static constexpr Field kReserved8{"reserved8", 66, 6};
  static constexpr Field kServiceTimeout{"service_timeout", 72, 5};
  static constexpr Field kReserved9{"reserved9", 77, 3};
  static constexpr std::size_t kPrivateDataOffset = 10;
  static constexpr std::array kFields{kLocalCommunicationId,
                                      kRemoteCommunicationId,
                                      kMessage,
                                      kReserved8,
                                      kServiceTimeout,
                                      kReserved9};
};

// REJ: no connection, and why.
struct CmRej {
  static constexpr std::size_t kSize = kCmDataSize;
  static constexpr CmAttribute kAttribute = CmAttribute::connect_reject;

  std::uint32_t local_communication_id = 0;   // the sender's
  std::uint32_t remote_communication_id = 0;  // the receiver's
  CmAnswered message{};                       // what is refused
  std::uint8_t reserved8 = 0;
  std::uint8_t info_length = 0;  // bytes of info that mean something
  std::uint8_t reserved9 = 0;
  CmRejectReason reason{};
  std::array<std::byte, 72> info{};  // additional reject information
  std::array<std::byte, 148> private_data{};

  static CmRej parse(std::span<const std::byte, kSize> bytes);
  void serialize(std::span<std::byte, kSize> bytes) const;

  friend bool operator==(const CmRej&, const CmRej&) = default;

  static constexpr Field kLocalCommunicationId{"local_communication_id", 0, 32};
  static constexpr Field kRemoteCommunicationId{"remote_communication_id", 32, 32};
  static constexpr Field kMessage{"message", 64, 2};
  static constexpr Field kReserved8{"reserved8", 66, 6};
  static constexpr Field kInfoLength{"info_length", 72, 7};
  static constexpr Field kReserved9{"reserved9", 79, 1};
  static constexpr Field kReason{"reason", 80, 16};
  static constexpr std::size_t kInfoOffset = 12;
  static constexpr std::size_t kPrivateDataOffset = 84;
  static constexpr std::array kFields{kLocalCommunicationId,
                                      kRemoteCommunicationId,
                                      kMessage,
                                      kReserved8,
                                      kInfoLength,
                                      kReserved9,
                                      kReason};
};

// REP: accepts the connection.
struct CmRep {
  static constexpr std::size_t kSize = kCmDataSize;
  static constexpr CmAttribute kAttribute = CmAttribute::connect_reply;

  std::uint32_t local_communication_id = 0;   // the sender's
  std::uint32_t remote_communication_id = 0;  // the receiver's
  std::uint32_t local_queue_key = 0;
  std::uint32_t local_qpn = 0;  // 24 bits
  std::uint8_t reserved15 = 0;
  std::uint32_t local_eecn = 0;  // 24 bits
  std::uint8_t reserved19 = 0;
  Psn starting_psn;  // that the receiver of this message is to begin with
  std::uint8_t reserved23 = 0;
  std::uint8_t responder_resources = 0;
  std::uint8_t initiator_depth = 0;
  std::uint8_t target_ack_delay = 0;   // see cm_timeout()
  std::uint8_t failover_accepted = 0;  // 0: accepted
  bool end_to_end_flow_control = false;
  std::uint8_t rnr_retry_count = 0;  // 3 bits
  bool srq = false;
  std::uint8_t reserved27 = 0;
  std::uint64_t local_ca_guid = 0;
  std::array<std::byte, 196> private_data{};

  static CmRep parse(std::span<const std::byte, kSize> bytes);
  void serialize(std::span<std::byte, kSize> bytes) const;

  friend bool operator==(const CmRep&, const CmRep&) = default;

  static constexpr Field kLocalCommunicationId{"local_communication_id", 0, 32};
  static constexpr Field kRemoteCommunicationId{"remote_communication_id", 32, 32};
  static constexpr Field kLocalQueueKey{"local_queue_key", 64, 32};
  static constexpr Field kLocalQpn{"local_qpn", 96, 24};
  static constexpr Field kReserved15{"reserved15", 120, 8};
  static constexpr Field kLocalEecn{"local_eecn", 128, 24};
  static constexpr Field kReserved19{"reserved19", 152, 8};
  static constexpr Field kStartingPsn{"starting_psn", 160, 24};
  static constexpr Field kReserved23{"reserved23", 184, 8};
  static constexpr Field kResponderResources{"responder_resources", 192, 8};
  static constexpr Field kInitiatorDepth{"initiator_depth", 200, 8};
  static constexpr Field kTargetAckDelay{"target_ack_delay", 208, 5};
  static constexpr Field kFailoverAccepted{"failover_accepted", 213, 2};
  static constexpr Field kEndToEndFlowControl{"end_to_end_flow_control", 215, 1};
  static constexpr Field kRnrRetryCount{"rnr_retry_count", 216, 3};
  static constexpr Field kSrq{"srq", 219, 1};
  static constexpr Field kReserved27{"reserved27", 220, 4};
  static constexpr Field kLocalCaGuid{"local_ca_guid", 224, 64};
  static constexpr std::size_t kPrivateDataOffset = 36;
  static constexpr std::array kFields{kLocalCommunicationId, kRemoteCommunicationId,
                                      kLocalQueueKey,        kLocalQpn,
                                      kReserved15,           kLocalEecn,
                                      kReserved19,           kStartingPsn,
                                      kReserved23,           kResponderResources,
                                      kInitiatorDepth,       kTargetAckDelay,
                                      kFailoverAccepted,     kEndToEndFlowControl,
                                      kRnrRetryCount,        kSrq,
                                      kReserved27,           kLocalCaGuid};
};

// RTU: the connection is ready to use.
struct CmRtu {
  static constexpr std::size_t kSize = kCmDataSize;
  static constexpr CmAttribute kAttribute = CmAttribute::ready_to_use;

  std::uint32_t local_communication_id = 0;   // the sender's
  std::uint32_t remote_communication_id = 0;  // the receiver's
  std::array<std::byte, 224> private_data{};

  static CmRtu parse(std::span<const std::byte, kSize> bytes);
  void serialize(std::span<std::byte, kSize> bytes) const;

  friend bool operator==(const CmRtu&, const CmRtu&) = default;

  static constexpr Field kLocalCommunicationId{"local_communication_id", 0, 32};
  static constexpr Field kRemoteCommunicationId{"remote_communication_id", 32, 32};
  static constexpr std::size_t kPrivateDataOffset = 8;
  static constexpr std::array kFields{kLocalCommunicationId, kRemoteCommunicationId};
};

// DREQ: ends the connection.
struct CmDreq {
  static constexpr std::size_t kSize = kCmDataSize;
  static constexpr CmAttribute kAttribute = CmAttribute::disconnect_request;

  std::uint32_t local_communication_id = 0;   // the sender's
  std::uint32_t remote_communication_id = 0;  // the receiver's
  std::uint32_t remote_qpn = 0;               // 24 bits
  std::uint8_t reserved11 = 0;
  std::array<std::byte, 220> private_data{};

  static CmDreq parse(std::span<const std::byte, kSize> bytes);
  void serialize(std::span<std::byte, kSize> bytes) const;

  friend bool operator==(const CmDreq&, const CmDreq&) = default;

  static constexpr Field kLocalCommunicationId{"local_communication_id", 0, 32};
  static constexpr Field kRemoteCommunicationId{"remote_communication_id", 32, 32};
  static constexpr Field kRemoteQpn{"remote_qpn", 64, 24};
  static constexpr Field kReserved11{"reserved11", 88, 8};
  static constexpr std::size_t kPrivateDataOffset = 12;
  static constexpr std::array kFields{kLocalCommunicationId, kRemoteCommunicationId, kRemoteQpn,
                                      kReserved11};
};

// DREP: the end is understood.
struct CmDrep {
  static constexpr std::size_t kSize = kCmDataSize;
  static constexpr CmAttribute kAttribute = CmAttribute::disconnect_reply;

  std::uint32_t local_communication_id = 0;   // the sender's
  std::uint32_t remote_communication_id = 0;  // the receiver's
  std::array<std::byte, 224> private_data{};

  static CmDrep parse(std::span<const std::byte, kSize> bytes);
  void serialize(std::span<std::byte, kSize> bytes) const;

  friend bool operator==(const CmDrep&, const CmDrep&) = default;

  static constexpr Field kLocalCommunicationId{"local_communication_id", 0, 32};
  static constexpr Field kRemoteCommunicationId{"remote_communication_id", 32, 32};
  static constexpr std::size_t kPrivateDataOffset = 8;
  static constexpr std::array kFields{kLocalCommunicationId, kRemoteCommunicationId};
};

// SIDR REQ: asks which UD queue pair serves a service id.
struct CmSidrReq {
  static constexpr std::size_t kSize = kCmDataSize;
  static constexpr CmAttribute kAttribute = CmAttribute::service_id_resolution_request;

  std::uint32_t request_id = 0;
  std::uint16_t partition_key = 0xffff;
  std::uint16_t reserved6 = 0;
  std::uint64_t service_id = 0;
  std::array<std::byte, 216> private_data{};

  static CmSidrReq parse(std::span<const std::byte, kSize> bytes);
  void serialize(std::span<std::byte, kSize> bytes) const;

  friend bool operator==(const CmSidrReq&, const CmSidrReq&) = default;

  static constexpr Field kRequestId{"request_id", 0, 32};
  static constexpr Field kPartitionKey{"partition_key", 32, 16};
  static constexpr Field kReserved6{"reserved6", 48, 16};
  static constexpr Field kServiceId{"service_id", 64, 64};
  static constexpr std::size_t kPrivateDataOffset = 16;
  static constexpr std::array kFields{kRequestId, kPartitionKey, kReserved6, kServiceId};
};

// SIDR REP: names it.
struct CmSidrRep {
  static constexpr std::size_t kSize = kCmDataSize;
  static constexpr CmAttribute kAttribute = CmAttribute::service_id_resolution_reply;

  std::uint32_t request_id = 0;
  CmSidrStatus status{};
  std::uint8_t info_length = 0;
  std::uint16_t reserved6 = 0;
  std::uint32_t qpn = 0;  // 24 bits
  std::uint8_t reserved11 = 0;
  std::uint64_t service_id = 0;
  std::uint32_t queue_key = 0;
  std::array<std::byte, 72> info{};  // additional information
  std::array<std::byte, 136> private_data{};

  static CmSidrRep parse(std::span<const std::byte, kSize> bytes);
  void serialize(std::span<std::byte, kSize> bytes) const;

  friend bool operator==(const CmSidrRep&, const CmSidrRep&) = default;

  static constexpr Field kRequestId{"request_id", 0, 32};
  static constexpr Field kStatus{"status", 32, 8};
  static constexpr Field kInfoLength{"info_length", 40, 8};
  static constexpr Field kReserved6{"reserved6", 48, 16};
  static constexpr Field kQpn{"qpn", 64, 24};
  static constexpr Field kReserved11{"reserved11", 88, 8};
  static constexpr Field kServiceId{"service_id", 96, 64};
  static constexpr Field kQueueKey{"queue_key", 160, 32};
  static constexpr std::size_t kInfoOffset = 24;
  static constexpr std::size_t kPrivateDataOffset = 96;
  static constexpr std::array kFields{kRequestId, kStatus,     kInfoLength, kReserved6,
                                      kQpn,       kReserved11, kServiceId,  kQueueKey};
};

// LAP: offers another alternate path.
struct CmLap {
  static constexpr std::size_t kSize = kCmDataSize;
  static constexpr CmAttribute kAttribute = CmAttribute::load_alternate_path;

  std::uint32_t local_communication_id = 0;   // the sender's
  std::uint32_t remote_communication_id = 0;  // the receiver's
  std::uint32_t reserved8 = 0;
  std::uint32_t remote_qpn = 0;              // 24 bits
  std::uint8_t remote_response_timeout = 0;  // 5 bits
  std::uint8_t reserved15 = 0;
  std::uint32_t reserved16 = 0;
  std::uint16_t local_lid = 0xffff;
  std::uint16_t remote_lid = 0xffff;
  Gid local_gid;
  Gid remote_gid;
  std::uint32_t flow_label = 0;  // 20 bits
  std::uint8_t reserved58 = 0;
  std::uint8_t traffic_class = 0;
  std::uint8_t hop_limit = 64;
  std::uint8_t reserved61 = 0;
  std::uint8_t packet_rate = 0;    // 6 bits
  std::uint8_t service_level = 0;  // 4 bits
  bool subnet_local = false;
  std::uint8_t reserved62 = 0;
  std::uint8_t ack_timeout = 0;  // 5 bits
  std::uint8_t reserved63 = 0;
  std::array<std::byte, 168> private_data{};

  static CmLap parse(std::span<const std::byte, kSize> bytes);
  void serialize(std::span<std::byte, kSize> bytes) const;

  friend bool operator==(const CmLap&, const CmLap&) = default;

  static constexpr Field kLocalCommunicationId{"local_communication_id", 0, 32};
  static constexpr Field kRemoteCommunicationId{"remote_communication_id", 32, 32};
  static constexpr Field kReserved8{"reserved8", 64, 32};
  static constexpr Field kRemoteQpn{"remote_qpn", 96, 24};
  static constexpr Field kRemoteResponseTimeout{"remote_response_timeout", 120, 5};
  static constexpr Field kReserved15{"reserved15", 125, 3};
  static constexpr Field kReserved16{"reserved16", 128, 32};
  static constexpr Field kLocalLid{"local_lid", 160, 16};
  static constexpr Field kRemoteLid{"remote_lid", 176, 16};
  static constexpr Field kFlowLabel{"flow_label", 448, 20};
  static constexpr Field kReserved58{"reserved58", 468, 4};
  static constexpr Field kTrafficClass{"traffic_class", 472, 8};
  static constexpr Field kHopLimit{"hop_limit", 480, 8};
  static constexpr Field kReserved61{"reserved61", 488, 2};
  static constexpr Field kPacketRate{"packet_rate", 490, 6};
  static constexpr Field kServiceLevel{"service_level", 496, 4};
  static constexpr Field kSubnetLocal{"subnet_local", 500, 1};
  static constexpr Field kReserved62{"reserved62", 501, 3};
  static constexpr Field kAckTimeout{"ack_timeout", 504, 5};
  static constexpr Field kReserved63{"reserved63", 509, 3};
  static constexpr std::size_t kLocalGidOffset = 24;
  static constexpr std::size_t kRemoteGidOffset = 40;
  static constexpr std::size_t kPrivateDataOffset = 64;
  static constexpr std::array kFields{kLocalCommunicationId,
                                      kRemoteCommunicationId,
                                      kReserved8,
                                      kRemoteQpn,
                                      kRemoteResponseTimeout,
                                      kReserved15,
                                      kReserved16,
                                      kLocalLid,
                                      kRemoteLid,
                                      kFlowLabel,
                                      kReserved58,
                                      kTrafficClass,
                                      kHopLimit,
                                      kReserved61,
                                      kPacketRate,
                                      kServiceLevel,
                                      kSubnetLocal,
                                      kReserved62,
                                      kAckTimeout,
                                      kReserved63};
};

// APR: the answer to a LAP.
struct CmApr {
  static constexpr std::size_t kSize = kCmDataSize;
  static constexpr CmAttribute kAttribute = CmAttribute::alternate_path_response;

  std::uint32_t local_communication_id = 0;   // the sender's
  std::uint32_t remote_communication_id = 0;  // the receiver's
  std::uint8_t info_length = 0;
  CmPathStatus status{};
  std::uint16_t reserved10 = 0;
  std::array<std::byte, 72> info{};  // additional information
  std::array<std::byte, 148> private_data{};

  static CmApr parse(std::span<const std::byte, kSize> bytes);
  void serialize(std::span<std::byte, kSize> bytes) const;

  friend bool operator==(const CmApr&, const CmApr&) = default;

  static constexpr Field kLocalCommunicationId{"local_communication_id", 0, 32};
  static constexpr Field kRemoteCommunicationId{"remote_communication_id", 32, 32};
  static constexpr Field kInfoLength{"info_length", 64, 8};
  static constexpr Field kStatus{"status", 72, 8};
  static constexpr Field kReserved10{"reserved10", 80, 16};
  static constexpr std::size_t kInfoOffset = 12;
  static constexpr std::size_t kPrivateDataOffset = 84;
  static constexpr std::array kFields{kLocalCommunicationId, kRemoteCommunicationId, kInfoLength,
                                      kStatus, kReserved10};
};

using CmMessage = std::variant<CmReq, CmMra, CmRej, CmRep, CmRtu, CmDreq, CmDrep, CmSidrReq,
                               CmSidrRep, CmLap, CmApr>;

// A whole communication management datagram.
struct CmMad {
  MadHeader header;
  CmMessage message;

  // Sets header.attribute_id by the message.
  CmMad(const MadHeader& header, const CmMessage& message);

  // No value unless it is one: size, base version, class and its version, method and attribute.
  static std::optional<CmMad> parse(ByteView bytes);
  void serialize(std::span<std::byte, kMadSize> bytes) const;

  friend bool operator==(const CmMad&, const CmMad&) = default;
};

}  // namespace softrnic::wire
