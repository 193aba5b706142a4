// SPDX-License-Identifier: BSD-3-Clause
// Queue pair states and attributes (IBTA vol. 1, 10.3.1, 11.2.5).
#pragma once

#include <cstdint>
#include <string_view>

#include "transport/memory_gate.hpp"
#include "wire/bth.hpp"
#include "wire/instant.hpp"
#include "wire/opcode.hpp"
#include "wire/psn.hpp"

namespace softrnic::transport {

// Numbered as ibv_qp_state.
enum class QueuePairState : std::uint8_t {
  reset = 0,
  init = 1,
  ready_to_receive = 2,
  ready_to_send = 3,
  send_queue_drain = 4,
  send_queue_error = 5,
  error = 6,
};

std::string_view to_string(QueuePairState state);  // "RESET", "INIT", "RTR", "RTS", ...

struct QueuePairCapacity {
  std::uint32_t send_requests = 64;
  std::uint32_t receive_requests = 64;
  std::uint32_t send_sges = 1;  // per request, up to 32
  std::uint32_t receive_sges = 1;
  std::uint32_t inline_bytes = 0;  // per send request
};

struct QueuePairAttributes {
  std::uint16_t partition_key = wire::kDefaultPartitionKey;
  std::uint32_t remote_access = 0;  // what peers may do: OR of the rights in kRemoteAccess
  std::uint32_t queue_key = 0;      // UD

  std::uint32_t path_mtu = 1024;  // 256, 512, 1024, 2048 or 4096 bytes
  std::uint32_t destination_qpn = 0;
  wire::Psn receive_psn;                // first PSN expected
  std::uint8_t max_dest_rd_atomic = 1;  // READs and atomics it will serve at once (0 to 128)
  std::uint8_t min_rnr_timer = 12;      // code sent in RNR NAKs (0.64 ms)

  wire::Psn send_psn;              // first PSN sent
  std::uint8_t max_rd_atomic = 1;  // READs and atomics it may have outstanding
  std::uint8_t timeout = 14;       // local ACK timeout code; 0 is never
  std::uint8_t retry_count = 7;    // 0 to 7
  std::uint8_t rnr_retry = 7;      // 0 to 6; 7 is for ever

  // RC. Both sides agreed on selective repeat (docs/selective-repeat.md).
  bool selective_repeat = false;
  // RC: tell the peer how many receives are posted, and go by what it tells (9.7.7.2).
  bool advertise_credits = false;
  bool honor_credits = true;
};

enum class ModifyError : std::uint8_t {
  illegal_transition,
  bad_attribute,  // out of its range, or not settable in this transition
};

}  // namespace softrnic::transport
