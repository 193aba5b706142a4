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

// Which attributes a change names: an OR of these, numbered as ibv_qp_attr_mask.
using AttributeMask = std::uint32_t;

namespace attribute {
inline constexpr AttributeMask state = 1u << 0;
inline constexpr AttributeMask current_state = 1u << 1;
inline constexpr AttributeMask drained_event = 1u << 2;
inline constexpr AttributeMask remote_access = 1u << 3;
inline constexpr AttributeMask partition_key = 1u << 4;
inline constexpr AttributeMask port = 1u << 5;
inline constexpr AttributeMask queue_key = 1u << 6;
inline constexpr AttributeMask address = 1u << 7;  // kept beside the queue pair, by its owner
inline constexpr AttributeMask path_mtu = 1u << 8;
inline constexpr AttributeMask timeout = 1u << 9;
inline constexpr AttributeMask retry_count = 1u << 10;
inline constexpr AttributeMask rnr_retry = 1u << 11;
inline constexpr AttributeMask receive_psn = 1u << 12;
inline constexpr AttributeMask max_rd_atomic = 1u << 13;
inline constexpr AttributeMask alternate_path = 1u << 14;  // not offered: always refused
inline constexpr AttributeMask min_rnr_timer = 1u << 15;
inline constexpr AttributeMask send_psn = 1u << 16;
inline constexpr AttributeMask max_dest_rd_atomic = 1u << 17;
inline constexpr AttributeMask migration_state = 1u << 18;
inline constexpr AttributeMask capacity = 1u << 19;  // queues cannot be resized: always refused
inline constexpr AttributeMask destination_qpn = 1u << 20;
// Ours alone, where ibv has no bits.
inline constexpr AttributeMask selective_repeat = 1u << 28;
inline constexpr AttributeMask advertise_credits = 1u << 29;
inline constexpr AttributeMask honor_credits = 1u << 30;
}  // namespace attribute

// Numbered as ibv_mig_state. There is no alternate path to migrate to (17.2.8), so a queue pair is
// always in the migrated state.
enum class MigrationState : std::uint8_t { migrated = 0, rearm = 1, armed = 2 };

struct QueuePairAttributes {
  // The state that the user believes the queue pair to be in, where a change names it.
  QueuePairState current_state = QueuePairState::reset;
  bool drained_event = false;  // SQD: raise an event when the send queue has drained
  std::uint8_t port = 1;       // there is one
  MigrationState migration_state = MigrationState::migrated;

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

// Why a change was refused. To a verbs user all are EINVAL.
enum class ModifyError : std::uint8_t {
  illegal_transition,
  bad_attribute,      // out of its range
  missing_attribute,  // this transition requires it
  refused_attribute,  // this transition does not take it, or the service or we do not have it
  wrong_state,        // the queue pair is not in the state that the user named
  still_draining,     // SQD can be changed and left when all that was begun has completed
};

// One clause, without a full stop.
std::string_view to_string(ModifyError error);

}  // namespace softrnic::transport
