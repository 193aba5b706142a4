// SPDX-License-Identifier: BSD-3-Clause
// A number space: the PSNs of one requester in one connection, with the requests it numbered and
// the responses that carry the same numbers (IBTA vol. 1, 9.7.2).
//
// The parts of the analysis share it: request_sequence sees what is sent, response_sequence what
// is answered, message_tracker which packets make one message.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>

#include "analysis/credit_limit.hpp"
#include "analysis/finding.hpp"
#include "analysis/on_demand.hpp"
#include "analysis/packet_record.hpp"
#include "analysis/prefetch.hpp"
#include "analysis/psn_history.hpp"
#include "analysis/ring.hpp"
#include "wire/instant.hpp"
#include "wire/opcode.hpp"
#include "wire/psn.hpp"

namespace softrnic::analysis {

// What follows a NAK or a missing response within this time is a reaction to it; what comes later
// is a timer's work. Round trips are shorter and the usual timers (67 ms and up) longer.
inline constexpr wire::Duration kReaction = std::chrono::milliseconds(50);

// The same bits within this time are a duplicate made by the network: no timer is that short.
inline constexpr wire::Duration kDuplicateWindow = std::chrono::microseconds(500);

// A message that begins further off than this is no loss: another connection uses the number.
inline constexpr std::int32_t kRestartDistance = 1 << 16;

// Late packets are sorted in among the newest so many.
inline constexpr std::size_t kSortDepth = 64;

// READs and atomics already answered that are remembered for their repetitions.
inline constexpr std::size_t kFinishedReads = 256;

// A request packet that was seen, or seen spoilt.
struct SentPacket {
  wire::Instant first_time;  // of the first packet with this PSN
  wire::Instant last_time;   // of the newest one
  wire::Psn psn;
  std::uint32_t record = kNone;       // of the first
  std::uint32_t last_record = kNone;  // of the newest
  std::uint32_t first_frame = 0;
  std::uint32_t last_frame = 0;
  std::uint32_t answered_in = 0;  // the first one, as in its record
  std::uint32_t message = kNone;
  std::uint32_t psn_count = 1;
  std::uint32_t payload_size = 0;
  std::uint32_t checksum = 0;
  std::uint32_t run = 0;  // the newest run it was part of
  wire::Opcode opcode{};
  std::uint8_t repetitions = 0;
  bool spoilt = false;  // only with a wrong ICRC so far: taken for lost

  void set_newest(std::uint32_t of_record, std::uint32_t frame, wire::Instant time) {
    last_record = of_record;
    last_frame = frame;
    last_time = time;
  }
};

// A request packet that waits for its acknowledgement.
struct OutstandingPacket {
  wire::Psn psn;
  std::uint32_t psn_count = 1;
  std::uint32_t bytes = 0;
};

// A request that is answered with data: READ, atomic, FLUSH, ATOMIC WRITE.
struct ReadRequest {
  wire::Psn first;
  std::uint32_t psn_count = 1;
  std::uint32_t message = kNone;
  std::uint32_t answered = 0;  // distinct PSNs
  wire::Psn next_response;
  bool finished = false;
  bool missed = false;  // an acknowledgement passed it by

  wire::Psn end() const { return first + psn_count; }
};

// A response that was seen, one per PSN.
struct SeenResponse {
  wire::Psn psn;
  std::uint32_t frame = 0;
  std::uint64_t value = 0;  // of an atomic
};

// What makes a sender go back.
struct Cause {
  FindingKind kind = FindingKind::retransmission_timeout;
  bool pending = false;
  std::uint32_t frame = 0;  // the NAK, the RNR NAK, the response that showed a loss
  wire::Instant time;
  wire::Psn psn;          // from here on
  wire::Psn end;          // what had been sent by then
  wire::Duration wait{};  // RNR only
};

// Packets sent one after the other from one cause: first the original flight, later go-backs.
struct Run {
  std::uint32_t id = 0;  // 0: the original flight
  wire::Psn start;
  wire::Psn oldest;  // what it may have begun with, although something overtook it
  Cause cause;
  wire::Instant last_time;
};

// A packet that showed a gap to the receiver, which then waits for `expected`.
struct ShownGap {
  wire::Psn expected;
  std::uint32_t frame = 0;
};

// What went wrong on the way, and what came of it.
struct Recovery {
  std::uint32_t gap_frame = 0;  // the newest request that came after a gap
  // The newest packets with a wrong ICRC, one behind the other.
  wire::Psn spoilt_begin;
  wire::Psn spoilt_end;
  wire::Instant spoilt_time;

  Run run;
  std::uint32_t runs = 0;
  std::uint32_t retries_in_row = 0;  // go-backs to the same PSN
  wire::Psn retry_psn;

  // --- causes to go back ---
  static constexpr std::size_t kNaks = 4;
  Cause naks[kNaks];
  std::uint32_t newest_nak = 0;
  std::uint32_t newest_selective = kNone;  // the PSN that the newest selective one waits for
  std::uint32_t rnr_in_row = 0;
  Cause rnr;
  Cause implied;

  static constexpr std::size_t kShownGaps = 4;
  ShownGap shown_gaps[kShownGaps];
  std::uint32_t newest_gap = 0;

  std::uint32_t error_frame = 0;  // the NAK that ended the connection
  wire::Instant error_time;
};

// One in each direction of every connection: what is true or false stands together, and nothing is
// wider than it needs.
struct NumberSpace {
  bool begun : 1 = false;             // a request was seen
  bool read_extent_open : 1 = false;  // see open_read
  bool receiver_sees_gap : 1 = false;
  bool acknowledged : 1 = false;  // an answer within the known PSNs came
  bool msn_known : 1 = false;
  bool forgot : 1 = false;       // anything
  std::uint16_t read_front = 0;  // the read, among `reads`, whose response is next
  // Entries of each history that were to be forgotten while they were needed.
  std::uint16_t sent_owed = 0;
  std::uint16_t responses_owed = 0;

  // --- sending ---
  std::uint32_t told_first = kNone;  // PSN that CM told for the first request
  wire::Psn origin;                  // the first one's PSN
  wire::Psn base;                    // the lowest one's
  wire::Psn next;                    // after the highest PSN sent
  wire::Psn cursor;   // what the sender should send next: `next`, or inside a go-back
  wire::Psn highest;  // the packet before `next`
  wire::Instant last_request;
  PsnHistory<SentPacket> sent;
  OnDemand<Recovery> recovery;

  // A READ whose number of PSNs is not known yet, as the path MTU is not: the newest request.
  wire::Psn open_read;
  std::uint32_t open_read_length = 0;

  // --- the receiver, as far as the wire shows it ---
  wire::Psn receiver_expects;

  // --- answers ---
  wire::Psn unacknowledged;  // all before it is acknowledged
  wire::Psn last_ack;
  std::uint32_t acknowledging_frame = 0;  // the newest that moved it on
  wire::Instant last_response;
  std::uint32_t last_response_frame = 0;
  wire::Psn last_response_psn;
  std::uint32_t last_response_checksum = 0;
  std::uint32_t bytes_in_flight = 0;
  Ring<OutstandingPacket, std::uint16_t> outstanding;
  Ring<ReadRequest, std::uint16_t> reads;
  std::uint32_t reads_outstanding = 0;
  std::uint32_t completed = 0;  // messages acknowledged
  PsnHistory<SeenResponse> responses;
  std::uint32_t msn_base = 0;
  CreditLimit credits;

  // --- messages ---
  std::uint32_t open_message = kNone;
  std::uint32_t messages = 0;

  // --- forgetting ---
  wire::Psn forgotten;  // all before it, where it forgot anything

  // From the first PSN seen on, beyond the 24 bits of the wire; it wraps as records do.
  std::uint32_t next_relative = 0;
  std::int32_t relative(wire::Psn psn) const {
    return static_cast<std::int32_t>(next_relative + static_cast<std::uint32_t>(psn.since(next)));
  }

  // Lets go of the oldest READ; says which message it was.
  std::uint32_t drop_read() {
    const ReadRequest& oldest = reads.front();
    const std::uint32_t message = oldest.message;
    if (!oldest.finished && reads_outstanding > 0) --reads_outstanding;
    reads.pop_front();
    if (read_front > 0) --read_front;
    return message;
  }

  // Whether a request with this PSN was seen, and no more is known of it than that.
  bool is_forgotten(wire::Psn psn) const {
    return forgot && psn.before(forgotten) && !psn.before(base);
  }
  void forget_before(wire::Psn psn) {
    if (!forgot || psn.after(forgotten)) forgotten = psn;
    forgot = true;
  }

  void move_next(wire::Psn to) {
    next_relative += (to - next.value()).value();
    next = to;
    // "Before" and "after" are told apart at half the number space only.
    constexpr std::int32_t kReach = wire::Psn::kWindow / 2;
    if (to.since(base) > kReach || to.before(base)) base = to - kReach;
    if (to.since(unacknowledged) > kReach || to.before(unacknowledged))
      unacknowledged = to - kReach;
    if (to.since(forgotten) > kReach || to.before(forgotten)) forgotten = to - kReach;
  }

  // It will be looked at soon.
  void prefetch() const { prefetch_all(*this); }

  void prefetch_histories() const {
    sent.prefetch();
    outstanding.prefetch();
    reads.prefetch();
    responses.prefetch();
  }

  // Nothing was heard of it for long: it takes no more than it needs.
  void trim() {
    sent.trim();
    responses.trim();
    outstanding.trim();
    reads.trim();
  }

  std::size_t memory() const {
    return sent.memory() + outstanding.memory() + reads.memory() + responses.memory() +
           recovery.memory();
  }
};
static_assert(sizeof(NumberSpace) <= 208);

}  // namespace softrnic::analysis
