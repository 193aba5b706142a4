// SPDX-License-Identifier: BSD-3-Clause
// Counters under the names users know from rxe's and mlx5's hw_counters. One set per NIC.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace softrnic::transport {

struct Counters {
  // Traffic.
  std::uint64_t sent_pkts = 0;
  std::uint64_t rcvd_pkts = 0;
  std::uint64_t sent_bytes = 0;
  std::uint64_t rcvd_bytes = 0;
  std::uint64_t rdma_sends = 0;         // messages sent (rxe)
  std::uint64_t rdma_recvs = 0;         // messages received (rxe)
  std::uint64_t rx_write_requests = 0;  // (mlx5)
  std::uint64_t rx_read_requests = 0;
  std::uint64_t rx_atomic_requests = 0;

  // Responder.
  std::uint64_t out_of_sequence = 0;  // requests beyond the expected PSN
  std::uint64_t duplicate_request = 0;
  std::uint64_t out_of_buffer = 0;        // a receive was wanted and none was posted
  std::uint64_t send_rnr_err = 0;         // RNR NAKs sent (rxe)
  std::uint64_t selective_acks_sent = 0;  // of packets that came before their turn
  std::uint64_t ack_deferred = 0;         // acknowledgements coalesced into a later one (rxe)
  std::uint64_t resp_local_length_error = 0;
  std::uint64_t resp_remote_access_errors = 0;
  std::uint64_t resp_remote_invalid_request = 0;  // NAK "invalid request" sent
  std::uint64_t resp_remote_operational_errors = 0;
  std::uint64_t resp_cqe_error = 0;
  std::uint64_t resp_cqe_flush_error = 0;

  // Requester.
  std::uint64_t packet_seq_err = 0;  // NAK "PSN sequence error" received
  std::uint64_t selective_acks_rcvd = 0;
  std::uint64_t implied_nak_seq_err = 0;    // a missing READ or atomic response noticed
  std::uint64_t local_ack_timeout_err = 0;  // timeouts
  std::uint64_t rnr_nak_retry_err = 0;      // RNR NAKs received
  std::uint64_t retry_exceeded_err = 0;
  std::uint64_t retry_rnr_exceeded_err = 0;
  std::uint64_t retransmitted_pkts = 0;
  std::uint64_t req_remote_invalid_request = 0;
  std::uint64_t req_remote_access_errors = 0;
  std::uint64_t req_remote_operational_errors = 0;
  std::uint64_t req_cqe_error = 0;
  std::uint64_t req_cqe_flush_error = 0;
  std::uint64_t unexpected_response = 0;  // acknowledges something never sent, or long ago

  // Dropped on receive.
  std::uint64_t icrc_errors = 0;
  std::uint64_t malformed_pkts = 0;
  std::uint64_t unknown_qpn = 0;
  std::uint64_t bad_pkey = 0;
  std::uint64_t qkey_violations = 0;
  std::uint64_t source_mismatch = 0;  // a connected queue pair's packet from elsewhere
  std::uint64_t wrong_service = 0;    // opcode class does not fit the queue pair
  std::uint64_t bad_qp_state = 0;
  std::uint64_t not_for_us = 0;          // another MAC or IP address
  std::uint64_t unreliable_dropped = 0;  // UC and UD messages lost for want of order or buffer

  // Received without the IPv4 identification, which the ICRC covers (udp): the one that makes the
  // ICRC right was taken.
  std::uint64_t icrc_id_inferred = 0;

  // Congestion.
  std::uint64_t np_ecn_marked_roce_packets = 0;
  std::uint64_t np_cnp_sent = 0;
  std::uint64_t rp_cnp_handled = 0;
  std::uint64_t rp_cnp_ignored = 0;

  // Transmit.
  std::uint64_t tx_unresolved = 0;  // no neighbour answered
};

struct CounterName {
  std::string_view name;
  std::uint64_t Counters::*value;
};

// Every counter, in the order above.
std::span<const CounterName> counter_names();

}  // namespace softrnic::transport
