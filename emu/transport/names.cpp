// SPDX-License-Identifier: BSD-3-Clause
// The words for the transport's enumerations and counters.
#include <iterator>

#include "transport/completion.hpp"
#include "transport/counters.hpp"
#include "transport/queue_pair_attributes.hpp"
#include "transport/queue_pair_type.hpp"
#include "transport/work_request.hpp"

namespace softrnic::transport {

std::string_view to_string(SendOperation operation) {
  switch (operation) {
    case SendOperation::send:
      return "SEND";
    case SendOperation::send_with_immediate:
      return "SEND with immediate";
    case SendOperation::rdma_write:
      return "RDMA WRITE";
    case SendOperation::rdma_write_with_immediate:
      return "RDMA WRITE with immediate";
    case SendOperation::rdma_read:
      return "RDMA READ";
    case SendOperation::compare_swap:
      return "COMPARE and SWAP";
    case SendOperation::fetch_add:
      return "FETCH and ADD";
    case SendOperation::send_with_invalidate:
      return "SEND with invalidate";
    case SendOperation::local_invalidate:
      return "local invalidate";
    case SendOperation::fast_register:
      return "fast registration";
    case SendOperation::bind_window:
      return "memory window bind";
    case SendOperation::atomic_write:
      return "ATOMIC WRITE";
    case SendOperation::flush:
      return "FLUSH";
  }
  return "unknown operation";
}

std::string_view to_string(PostError error) {
  switch (error) {
    case PostError::queue_full:
      return "the queue is full";
    case PostError::too_many_sges:
      return "more scatter/gather elements than the queue pair was made for";
    case PostError::bad_state:
      return "the queue pair's state does not take this request";
    case PostError::bad_operation:
      return "the queue pair's service does not offer this operation";
    case PostError::message_too_long:
      return "the message is longer than the service allows";
    case PostError::bad_address_handle:
      return "no such address handle";
    case PostError::shared_receive_queue:
      return "the queue pair receives through a shared receive queue: post to that";
    case PostError::bad_inline:
      return "inline data that is too long, or beside a list, or for an operation that sends none";
  }
  return "unknown error";
}

std::string_view to_string(CompletionStatus status) {
  switch (status) {
    case CompletionStatus::success:
      return "success";
    case CompletionStatus::local_length_error:
      return "local length error";
    case CompletionStatus::local_qp_operation_error:
      return "local QP operation error";
    case CompletionStatus::local_protection_error:
      return "local protection error";
    case CompletionStatus::work_request_flushed:
      return "Work Request Flushed Error";
    case CompletionStatus::memory_management_error:
      return "memory management operation error";
    case CompletionStatus::bad_response:
      return "bad response error";
    case CompletionStatus::local_access_error:
      return "local access error";
    case CompletionStatus::remote_invalid_request:
      return "remote invalid request error";
    case CompletionStatus::remote_access_error:
      return "remote access error";
    case CompletionStatus::remote_operational_error:
      return "remote operation error";
    case CompletionStatus::retry_exceeded:
      return "transport retry counter exceeded";
    case CompletionStatus::rnr_retry_exceeded:
      return "RNR retry counter exceeded";
    case CompletionStatus::fatal:
      return "fatal error";
    case CompletionStatus::general_error:
      return "general error";
  }
  return "unknown status";
}

std::string_view to_string(QueuePairType type) {
  switch (type) {
    case QueuePairType::rc:
      return "RC";
    case QueuePairType::uc:
      return "UC";
    case QueuePairType::ud:
      return "UD";
    case QueuePairType::xrc_initiator:
      return "XRC initiator";
    case QueuePairType::xrc_target:
      return "XRC target";
  }
  return "unknown type";
}

std::string_view to_string(ModifyError error) {
  switch (error) {
    case ModifyError::illegal_transition:
      return "the queue pair's state does not allow this transition";
    case ModifyError::bad_attribute:
      return "an attribute is out of its range";
    case ModifyError::missing_attribute:
      return "the transition requires an attribute that is not named";
    case ModifyError::refused_attribute:
      return "the transition does not take an attribute that is named";
    case ModifyError::wrong_state:
      return "the queue pair is not in the state named as its present one";
    case ModifyError::still_draining:
      return "the send queue is still draining";
  }
  return "unknown error";
}

std::string_view to_string(QueuePairState state) {
  switch (state) {
    case QueuePairState::reset:
      return "RESET";
    case QueuePairState::init:
      return "INIT";
    case QueuePairState::ready_to_receive:
      return "RTR";
    case QueuePairState::ready_to_send:
      return "RTS";
    case QueuePairState::send_queue_drain:
      return "SQD";
    case QueuePairState::send_queue_error:
      return "SQE";
    case QueuePairState::error:
      return "ERR";
  }
  return "unknown state";
}

namespace {

constexpr CounterName kCounterNames[] = {
    {"sent_pkts", &Counters::sent_pkts},
    {"rcvd_pkts", &Counters::rcvd_pkts},
    {"sent_bytes", &Counters::sent_bytes},
    {"rcvd_bytes", &Counters::rcvd_bytes},
    {"rdma_sends", &Counters::rdma_sends},
    {"rdma_recvs", &Counters::rdma_recvs},
    {"rx_write_requests", &Counters::rx_write_requests},
    {"rx_read_requests", &Counters::rx_read_requests},
    {"rx_atomic_requests", &Counters::rx_atomic_requests},
    {"out_of_sequence", &Counters::out_of_sequence},
    {"duplicate_request", &Counters::duplicate_request},
    {"out_of_buffer", &Counters::out_of_buffer},
    {"send_rnr_err", &Counters::send_rnr_err},
    {"selective_acks_sent", &Counters::selective_acks_sent},
    {"ack_deferred", &Counters::ack_deferred},
    {"resp_local_length_error", &Counters::resp_local_length_error},
    {"resp_remote_access_errors", &Counters::resp_remote_access_errors},
    {"resp_remote_invalid_request", &Counters::resp_remote_invalid_request},
    {"resp_remote_operational_errors", &Counters::resp_remote_operational_errors},
    {"resp_cqe_error", &Counters::resp_cqe_error},
    {"resp_cqe_flush_error", &Counters::resp_cqe_flush_error},
    {"packet_seq_err", &Counters::packet_seq_err},
    {"selective_acks_rcvd", &Counters::selective_acks_rcvd},
    {"implied_nak_seq_err", &Counters::implied_nak_seq_err},
    {"local_ack_timeout_err", &Counters::local_ack_timeout_err},
    {"rnr_nak_retry_err", &Counters::rnr_nak_retry_err},
    {"retry_exceeded_err", &Counters::retry_exceeded_err},
    {"retry_rnr_exceeded_err", &Counters::retry_rnr_exceeded_err},
    {"retransmitted_pkts", &Counters::retransmitted_pkts},
    {"req_remote_invalid_request", &Counters::req_remote_invalid_request},
    {"req_remote_access_errors", &Counters::req_remote_access_errors},
    {"req_remote_operational_errors", &Counters::req_remote_operational_errors},
    {"req_cqe_error", &Counters::req_cqe_error},
    {"req_cqe_flush_error", &Counters::req_cqe_flush_error},
    {"unexpected_response", &Counters::unexpected_response},
    {"icrc_errors", &Counters::icrc_errors},
    {"malformed_pkts", &Counters::malformed_pkts},
    {"unknown_qpn", &Counters::unknown_qpn},
    {"bad_pkey", &Counters::bad_pkey},
    {"qkey_violations", &Counters::qkey_violations},
    {"source_mismatch", &Counters::source_mismatch},
    {"wrong_service", &Counters::wrong_service},
    {"bad_qp_state", &Counters::bad_qp_state},
    {"not_for_us", &Counters::not_for_us},
    {"unreliable_dropped", &Counters::unreliable_dropped},
    {"icrc_id_inferred", &Counters::icrc_id_inferred},
    {"np_ecn_marked_roce_packets", &Counters::np_ecn_marked_roce_packets},
    {"np_cnp_sent", &Counters::np_cnp_sent},
    {"rp_cnp_handled", &Counters::rp_cnp_handled},
    {"rp_cnp_ignored", &Counters::rp_cnp_ignored},
    {"tx_unresolved", &Counters::tx_unresolved},
};

static_assert(std::size(kCounterNames) * sizeof(std::uint64_t) == sizeof(Counters),
              "every counter has a name");

}  // namespace

std::span<const CounterName> counter_names() {
  return kCounterNames;
}

}  // namespace softrnic::transport
