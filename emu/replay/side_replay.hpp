// SPDX-License-Identifier: BSD-3-Clause
// One end of a recorded connection, played on a queue pair of a NIC: it sends what that end sent,
// when what that end had waited for has come, and takes what the other side sends.
//
// Sans-clock as the NIC is: the caller passes `now`. Played at the asking end it drives a live
// peer; at the other it stands in for the captured one.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "nic/nic.hpp"
#include "replay/key_map.hpp"
#include "replay/operation_schedule.hpp"
#include "replay/recorded_memory.hpp"

namespace softrnic::replay {

struct SideReplayOptions {
  std::uint32_t gid_index = 0;
  std::uint32_t path_mtu = 1024;
  std::optional<std::uint32_t> qpn;
  std::uint32_t psn = 0;
  std::uint8_t ack_timeout = 14;
  std::uint8_t retry_count = 7;
  std::uint8_t rnr_retry = 7;
  Pace pace;
  // How long to wait for messages that the other side does not send.
  wire::Duration patience = wire::Duration::max();
  bool primed = false;                   // the peer's memory holds what the captured one held
  bool invalidates = false;              // SENDs with invalidate go out as such, not as plain SENDs
  bool keeps_refused = false;            // what the captured peer refused is asked for as it was
  bool faithful = false;                 // what the captured end refused is refused again
  bool exposes_memory = false;           // registers what the other side's operations name
  std::uint32_t longest_receive = 4096;  // at least; more where the capture has more
};

struct LiveEnd {
  std::uint32_t qpn = 0;
  std::uint32_t psn = 0;
  wire::Gid gid;
};

// What became of it, for reports.
struct SideReplayCounts {
  std::uint32_t posted = 0;
  std::uint32_t completed = 0;
  std::uint64_t bytes = 0;          // payload, either way, of completed operations
  std::uint32_t plain_sends = 0;    // instead of SENDs with invalidate
  std::uint64_t unknown_bytes = 0;  // sent as zeros: the capture lacks them
  // Answers to READs and atomics.
  std::uint32_t answers = 0;
  std::uint32_t answers_captured = 0;  // of these, the capture has the answer
  std::uint32_t answers_compared = 0;
  std::uint32_t answers_different = 0;
  std::uint64_t answer_bytes_compared = 0;
  // Messages taken from the other side.
  std::uint32_t messages = 0;
  std::uint32_t messages_as_captured = 0;
};

// The first thing that went wrong.
struct SideReplayTrouble {
  std::uint32_t operation = 0;  // index
  transport::CompletionStatus status{};
};

struct DifferentAnswer {
  std::uint32_t operation = 0;
  std::uint64_t offset = 0;
};

class SideReplay {
 public:
  // Plays side `side` of `connection`; both must outlive it. Check error() before anything else.
  SideReplay(nic::Nic& nic, RecordedConnection& connection, std::uint8_t side,
             const SideReplayOptions& options);
  ~SideReplay();
  SideReplay(const SideReplay&) = delete;
  SideReplay& operator=(const SideReplay&) = delete;

  // Why it cannot be played, in one sentence; empty when it can.
  const std::string& error() const { return error_; }
  LiveEnd local() const;
  // Of the other side, as this side's operations name it.
  RecordedMemory& memory() { return *memory_; }

  void connect(const LiveEnd& remote, const KeyMap& keys);
  void start(wire::Instant now) { schedule_.start(now); }

  // Takes completions and posts what is due. True when it did anything.
  bool turn(wire::Instant now);
  wire::Instant next_deadline() const { return schedule_.next_deadline(); }

  // Everything was sent and completed, or cannot be.
  bool finished() const { return trouble_ || counts_.completed == operations().size(); }
  // Messages of the other side that its MSN counts, and as many as the capture has.
  std::uint32_t heard() const { return heard_; }
  std::uint32_t heard_in_capture() const;
  bool gave_up_hearing() const { return schedule_.gave_up_hearing(); }

  const SideReplayCounts& counts() const { return counts_; }
  const std::optional<SideReplayTrouble>& trouble() const { return trouble_; }
  const std::optional<DifferentAnswer>& first_different() const { return first_different_; }
  const std::vector<RecordedOperation>& operations() const {
    return connection_.sides[side_].operations;
  }

 private:
  // Where an answer lands until it has been looked at.
  struct Landing {
    std::uint64_t at = 0;
    std::uint32_t size = 0;
  };
  struct ExposedRegion {
    SparseBytes memory;
    std::uint32_t local_key = 0;
    std::uint32_t key = 0;
    std::uint64_t begin = 0;
    std::uint64_t end = 0;
    std::byte* first = nullptr;  // the byte at `begin`
  };

  struct HostChange {
    std::uint32_t after = 0;      // operations that must have come
    std::uint32_t operation = 0;  // that found it
  };

  bool fail(std::string why);
  bool make_queue_pair();
  bool register_payloads();
  bool expose_memory();
  bool expose(const RecordedMemory& memory, ExposedRegion region, std::uint32_t access);
  void find_host_changes(RecordedMemory& memory);
  void make_host_changes();
  std::byte* exposed_at(const RecordedOperation& operation);
  bool make_receives();
  void post_receives();
  void post_receive(std::uint32_t slot);
  void take(const transport::Completion& completion);
  void take_message(const transport::Completion& completion);
  void take_completed(const transport::Completion& completion);
  void compare_answer(const RecordedOperation& operation);
  bool post(const RecordedOperation& operation);
  std::optional<std::uint64_t> land(std::uint32_t size);
  transport::SendRequest request_for(const RecordedOperation& operation);
  void note_progress(wire::Instant now);

  nic::Nic& nic_;
  RecordedConnection& connection_;
  std::uint8_t side_;
  SideReplayOptions options_;
  std::string error_;
  std::optional<RecordedMemory> memory_;  // the other side's
  OperationSchedule schedule_;
  KeyMap keys_;
  bool connected_ = false;

  transport::ProtectionDomain domain_{};
  nic::CompletionQueue* completions_ = nullptr;
  transport::QueuePair* queue_pair_ = nullptr;
  std::uint32_t qpn_ = 0;
  std::uint32_t depth_ = 1;
  std::vector<std::uint32_t> registered_;  // local keys
  std::uint32_t payload_key_ = 0;
  std::uint64_t payload_base_ = 0;
  SparseBytes landing_;
  std::uint32_t landing_key_ = 0;
  std::uint64_t landing_next_ = 0;
  std::deque<Landing> landings_;  // of operations in flight that fetch, oldest first
  std::unordered_map<std::uint32_t, ExposedRegion> exposed_;  // by key
  std::optional<RecordedMemory> asked_memory_;  // what the other side's operations name
  // Operations of the other side before which the captured host changed its own memory.
  std::vector<HostChange> host_changes_;
  std::size_t next_host_change_ = 0;

  SparseBytes receive_memory_;
  std::uint32_t receive_key_ = 0;
  std::uint32_t receive_slots_ = 0;
  std::uint64_t slot_size_ = 0;
  std::vector<std::uint32_t> free_slots_;
  std::uint32_t receives_posted_ = 0;     // ever
  std::vector<std::uint32_t> receiving_;  // the other side's operations that take one
  std::uint32_t next_refusal_ = 0;        // faithful: index in receiving_ to hold back at
  std::uint32_t refusals_ = 0;            // RNR NAKs that were sent for it

  std::uint32_t heard_ = 0;
  std::uint32_t last_msn_ = 0;
  SideReplayCounts counts_;
  std::optional<SideReplayTrouble> trouble_;
  std::optional<DifferentAnswer> first_different_;
};

}  // namespace softrnic::replay
