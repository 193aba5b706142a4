// SPDX-License-Identifier: BSD-3-Clause
#include "transport/queue_pair_transition.hpp"

namespace softrnic::transport {
namespace {

using namespace attribute;
using enum QueuePairState;

using Types = unsigned;
constexpr Types kUd = 1;
constexpr Types kUc = 2;
constexpr Types kRc = 4;
constexpr Types kInitiator = 8;  // XRC
constexpr Types kTarget = 16;
constexpr Types kReliable = kRc | kInitiator | kTarget;
constexpr Types kConnected = kUc | kReliable;
constexpr Types kAll = kUd | kConnected;

constexpr AttributeMask kPath = address | path_mtu | destination_qpn | receive_psn;
constexpr AttributeMask kResponder = max_dest_rd_atomic | min_rnr_timer;
constexpr AttributeMask kRequester = timeout | retry_count | rnr_retry | max_rd_atomic;
constexpr AttributeMask kMigration = alternate_path | migration_state;
constexpr AttributeMask kNone = 0;

struct Row {
  QueuePairState from;
  QueuePairState to;
  Types types;
  AttributeMask required;
  AttributeMask optional;
};

// clang-format off
constexpr Row kRows[] = {
    {reset, init, kUd, partition_key | port | queue_key, kNone},
    {reset, init, kConnected, partition_key | port | remote_access, kNone},

    {init, init, kUd, kNone, partition_key | port | queue_key},
    {init, init, kConnected, kNone, partition_key | port | remote_access},

    {init, ready_to_receive, kUd, kNone, partition_key | queue_key},
    {init, ready_to_receive, kUc | kInitiator,
     kPath, alternate_path | remote_access | partition_key},
    {init, ready_to_receive, kRc, kPath | kResponder,
     alternate_path | remote_access | partition_key | selective_repeat | advertise_credits},
    {init, ready_to_receive, kTarget,
     kPath | kResponder, alternate_path | remote_access | partition_key},

    {ready_to_receive, ready_to_send, kUd, send_psn, current_state | queue_key},
    {ready_to_receive, ready_to_send, kUc,
     send_psn, current_state | kMigration | remote_access},
    {ready_to_receive, ready_to_send, kRc, send_psn | kRequester,
     current_state | kMigration | remote_access | min_rnr_timer | honor_credits},
    {ready_to_receive, ready_to_send, kInitiator,
     send_psn | kRequester, current_state | kMigration | remote_access},
    {ready_to_receive, ready_to_send, kTarget,
     send_psn | timeout, current_state | kMigration | remote_access | min_rnr_timer},

    {ready_to_send, ready_to_send, kUd, kNone, current_state | queue_key},
    {ready_to_send, ready_to_send, kUc | kInitiator,
     kNone, current_state | kMigration | remote_access},
    {ready_to_send, ready_to_send, kRc | kTarget,
     kNone, current_state | kMigration | remote_access | min_rnr_timer},

    {ready_to_send, send_queue_drain, kAll, kNone, drained_event},

    {send_queue_drain, ready_to_send, kUd, kNone, current_state | queue_key},
    {send_queue_drain, ready_to_send, kUc | kInitiator,
     kNone, current_state | kMigration | remote_access},
    {send_queue_drain, ready_to_send, kRc | kTarget,
     kNone, current_state | kMigration | remote_access | min_rnr_timer},

    {send_queue_drain, send_queue_drain, kUd, kNone, partition_key | queue_key},
    {send_queue_drain, send_queue_drain, kUc,
     kNone, address | kMigration | remote_access | partition_key},
    {send_queue_drain, send_queue_drain, kRc,
     kNone, port | address | kRequester | kResponder | kMigration | remote_access | partition_key},
    {send_queue_drain, send_queue_drain, kInitiator,
     kNone, port | address | kRequester | kMigration | remote_access | partition_key},
    {send_queue_drain, send_queue_drain, kTarget,
     kNone, port | address | timeout | kResponder | kMigration | remote_access | partition_key},

    // A reliable service never comes to SQE: an error of its requester ends the connection.
    {send_queue_error, ready_to_send, kUd, kNone, current_state | queue_key},
    {send_queue_error, ready_to_send, kUc, kNone, current_state | remote_access},
};
// clang-format on

constexpr Types bit_of(QueuePairType type) {
  switch (type) {
    case QueuePairType::ud:
      return kUd;
    case QueuePairType::uc:
      return kUc;
    case QueuePairType::xrc_initiator:
      return kInitiator;
    case QueuePairType::xrc_target:
      return kTarget;
    case QueuePairType::rc:
      break;
  }
  return kRc;
}

}  // namespace

std::optional<QueuePairTransition> transition(QueuePairType type, QueuePairState from,
                                              QueuePairState to) {
  if (to == reset || to == error) return QueuePairTransition{};  // from anywhere
  for (const Row& row : kRows) {
    if (row.from == from && row.to == to && (row.types & bit_of(type)) != 0) {
      return QueuePairTransition{row.required, row.optional};
    }
  }
  return std::nullopt;
}

}  // namespace softrnic::transport
