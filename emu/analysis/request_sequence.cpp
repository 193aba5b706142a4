// SPDX-License-Identifier: BSD-3-Clause
#include "analysis/request_sequence.hpp"

#include <algorithm>

namespace softrnic::analysis {

namespace {

using wire::Operation;
using wire::Psn;

constexpr std::uint32_t kSmallestMtu = 256;
constexpr std::uint32_t kLargestMtu = 4096;

// A sender that the peer does not tell more may repeat a packet seven times: the field has three
// bits (IBTA vol. 1, 9.9.2.1.2 and 12.7.38).
constexpr std::uint32_t kMostRetries = 7;

// So many repetitions without a sign of life are worth a word, whatever the limit is.
constexpr std::uint32_t kManyRepetitions = 3;

// No sender waits longer before it sends again.
constexpr wire::Duration kLongestTimeout = std::chrono::seconds(10);

// What a READ of unknown length is taken to take until the next request or its last response tells.
constexpr std::uint32_t kUnknownExtent = 1 << 20;

// Packets before the first one seen that are taken for late, not for old.
constexpr std::int32_t kLateDistance = 1024;

void saturating_increment(std::uint8_t& value) {
  if (value != 0xff) ++value;
}

bool is_retry(FindingKind kind) {
  return kind == FindingKind::retransmission_nak || kind == FindingKind::retransmission_timeout ||
         kind == FindingKind::retransmission_selective;
}

bool within(wire::Instant from, wire::Instant to, wire::Duration limit) {
  return to - from < limit;
}

}  // namespace

std::uint32_t psns_of_read(std::uint32_t length, std::uint32_t path_mtu) {
  if (length == 0 || path_mtu == 0) return 1;
  return length / path_mtu + (length % path_mtu != 0 ? 1 : 0);
}

ReadRequest* find_read(NumberSpace& n, Psn psn) {
  std::size_t low = 0;
  std::size_t high = n.reads.size();
  while (low < high) {  // the last READ that begins at or before psn
    const std::size_t middle = (low + high) / 2;
    if (psn.before(n.reads[middle].first)) {
      high = middle;
    } else {
      low = middle + 1;
    }
  }
  if (low == 0) return nullptr;
  ReadRequest& read = n.reads[low - 1];
  return psn.before(read.end()) ? &read : nullptr;
}

void settle_read(NumberSpace& n, std::uint32_t count, Ledger& ledger) {
  if (!n.read_extent_open) return;
  n.read_extent_open = false;
  const Psn old_end = n.next;
  const Psn end = n.open_read + count;
  n.next_relative += end.since(old_end);
  n.next = end;
  if (n.cursor == old_end) n.cursor = end;
  if (n.receiver_expects == old_end) n.receiver_expects = end;
  if (n.unacknowledged == old_end) n.unacknowledged = end;
  if (SentPacket* packet = n.sent.find(n.open_read)) {
    packet->psn_count = count;
    if (packet->message != kNone) ledger.messages[packet->message].psn_count = count;
  }
  if (!n.outstanding.empty() && n.outstanding.back().psn == n.open_read) {
    n.outstanding.back().psn_count = count;
  }
  if (!n.reads.empty() && n.reads.back().first == n.open_read) n.reads.back().psn_count = count;
}

// --- entry ---

void RequestSequence::begin(Psn psn) {
  n_.begun = true;
  // Where CM told the first PSN, what is missing before the first packet seen is a gap.
  if (n_.told_first != kNone && psn.after(Psn(n_.told_first)) &&
      psn.since(Psn(n_.told_first)) <= kLateDistance) {
    psn = Psn(n_.told_first);
  }
  n_.origin = n_.base = n_.next = n_.cursor = n_.unacknowledged = n_.receiver_expects = psn;
  n_.highest = psn;
}

bool RequestSequence::restarts(const Observation& o) const {
  if (!n_.begun || !o.frame.opcode->starts_message()) return false;
  const Psn psn = o.psn();
  const std::int32_t distance = psn.since(n_.next);
  const SentPacket* packet = distance < 0 ? n_.sent.find(psn) : nullptr;
  if (packet != nullptr) {
    // From the first PSN on again, although everything up to the last one was acknowledged.
    if (psn != n_.origin || n_.next == psn + packet->psn_count) return false;
    const bool all_done = !reliable_ || (n_.acknowledged && n_.unacknowledged == n_.next);
    const bool long_ago = !within(n_.last_request, o.frame.time, kLongestTimeout);
    // The same packet may be a repetition, whose acknowledgement was lost behind the capture.
    return all_done && (long_ago || !is_same(o, *packet));
  }
  if (n_.read_extent_open && distance < 0 && psn.after(n_.open_read)) return false;
  return distance > kRestartDistance || distance < -kRestartDistance;
}

RequestSequence::Place RequestSequence::place(Observation& o) {
  const Psn psn = o.psn();
  if (!n_.begun) begin(psn);
  settle_read_by_next(o);
  const std::uint32_t count = psn_count(o);
  Place place;
  SentPacket* packet = psn.before(n_.next) ? n_.sent.find(psn) : nullptr;
  if (!psn.before(n_.next)) {
    place = advance(o, count);
  } else if (ReadRequest* read = resumed(o)) {
    place = resume_read(o, *read);
  } else if (packet != nullptr && !packet->spoilt) {
    place = go_back(o, *packet);
  } else if (packet == nullptr && reliable_ && n_.is_forgotten(psn)) {
    repeat_forgotten(o, count);
  } else {
    place = fill(o, packet, count);
  }
  receive(o, count);
  n_.last_request = o.frame.time;
  return place;
}

void RequestSequence::place_spoilt(Observation& o) {
  const Psn psn = o.psn();
  if (!n_.begun) begin(psn);
  settle_read_by_next(o);
  if (psn.after(n_.next) && psn.since(n_.next) > kRestartDistance) return;
  const std::uint32_t count = psn_count(o);
  if (!psn.before(n_.next)) {
    if (psn.after(n_.next)) find_gap(o, n_.next);
    remember(o, count).spoilt = true;
    n_.highest = psn;
    n_.move_next(psn + count);
    n_.cursor = n_.next;
  }
  Recovery& recovery = n_.recovery.change();
  if (psn != recovery.spoilt_end) recovery.spoilt_begin = psn;
  recovery.spoilt_end = psn + count;
  recovery.spoilt_time = o.frame.time;
}

// What stands in the capture with a wrong ICRC is not missing there.
void RequestSequence::find_gap(Observation& o, Psn expected) {
  const Recovery& past = *n_.recovery;
  const bool spoilt = !expected.before(past.spoilt_begin) && expected.before(past.spoilt_end);
  if (spoilt && within(past.spoilt_time, o.frame.time, kReaction)) {
    expected = o.psn().before(past.spoilt_end) ? o.psn() : past.spoilt_end;
  }
  if (expected == o.psn()) return;
  const auto missing = static_cast<std::uint64_t>(o.psn().since(expected));
  o.find(FindingKind::psn_gap, 0, expected.value(), missing);
  n_.recovery.change().gap_frame = o.frame.number;
}

// --- READs take several PSNs ---

std::uint32_t RequestSequence::psn_count(const Observation& o) const {
  if (o.operation() != Operation::read_request) return 1;
  if (o.frame.headers_cut) return kUnknownExtent;
  const std::uint32_t mtu = o.stream.path_mtu;
  return psns_of_read(o.frame.headers.reth.dma_length, mtu == 0 ? kSmallestMtu : mtu);
}

// The next request tells where the READ before it ends, and so perhaps the path MTU.
void RequestSequence::settle_read_by_next(Observation& o) {
  if (!n_.read_extent_open || !o.psn().after(n_.open_read) || resumed(o) != nullptr) return;
  const auto distance = static_cast<std::uint32_t>(o.psn().since(n_.open_read));
  if (n_.open_read_length == 0) {  // not known: whatever lies between is taken for the READ's
    settle_read(n_, std::min(distance, kUnknownExtent), o.ledger);
    return;
  }
  const std::uint32_t least = psns_of_read(n_.open_read_length, kLargestMtu);
  const std::uint32_t most = psns_of_read(n_.open_read_length, kSmallestMtu);
  if (distance < least) return;
  std::uint32_t fitting = 0;
  std::uint32_t mtu = 0;
  for (std::uint32_t m = kSmallestMtu; m <= kLargestMtu; m *= 2) {
    if (psns_of_read(n_.open_read_length, m) != distance) continue;
    ++fitting;
    mtu = m;
  }
  if (fitting == 1) {
    o.stream.path_mtu = mtu;
    o.stream.path_mtu_inferred = true;
  }
  settle_read(n_, std::min(distance, most), o.ledger);
}

// --- the four places a packet may have ---

RequestSequence::Place RequestSequence::advance(Observation& o, std::uint32_t count) {
  const Psn psn = o.psn();
  Place place;
  const bool first = n_.sent.empty();
  const SentPacket* before = first ? nullptr : n_.sent.find(n_.highest);
  if (psn.after(n_.next)) {
    find_gap(o, n_.next);
  } else {
    place.in_order = before != nullptr && !before->spoilt;
  }
  place.first_seen = true;
  place.packet = &remember(o, count);
  n_.highest = psn;
  n_.move_next(psn + count);
  n_.cursor = n_.next;
  const bool unsettled = o.stream.path_mtu == 0 || o.frame.headers_cut;
  if (o.operation() == Operation::read_request && unsettled && count > 1) {
    n_.read_extent_open = true;
    n_.open_read = psn;
    n_.open_read_length = o.frame.headers_cut ? 0 : o.frame.headers.reth.dma_length;
  }
  return place;
}

RequestSequence::Place RequestSequence::go_back(Observation& o, SentPacket& packet) {
  const Place place{&packet, false, false};
  o.record.original = packet.first_frame;
  if (!is_same(o, packet)) {
    o.find(FindingKind::reused_psn, o.record.original);
    return place;
  }
  if (!reliable_) {
    // Nothing is ever sent again: either the network doubled it, or it is another packet.
    const bool doubled = packet.checksum == o.frame.checksum;
    o.find(doubled ? FindingKind::duplicate : FindingKind::reused_psn, o.record.original);
    if (doubled) ++o.sender().duplicates;
    return place;
  }
  const bool not_ready = n_.recovery->rnr.pending && n_.recovery->rnr.psn == o.psn();
  if (!not_ready && o.psn() + packet.psn_count == n_.cursor && is_duplicate(o, packet)) {
    return doubled(o, packet);  // right behind the first, whatever else was asked for
  }
  Cause* cause = find_cause(o, true);
  // Asked for by name, it begins a go-back of its own, even inside another one.
  const bool named = cause != nullptr && cause->psn == o.psn() && o.psn().before(n_.cursor);
  if (is_in_run(o, &packet) && !named) {
    if (cause != nullptr && cause->psn == o.psn()) {
      cause->pending = false;
      n_.recovery.change().run.cause = *cause;
    }
    follow_run(o, packet.psn_count);
  } else if (cause != nullptr) {
    cause->pending = false;
    begin_run(o, *cause, packet.psn_count);
  } else if (is_duplicate(o, packet)) {
    return doubled(o, packet);
  } else {
    begin_run(o, implied_by_response(o, o.psn()), packet.psn_count);
  }
  packet.run = n_.recovery->run.id;
  say_why(o, packet, true);
  packet.set_newest(o.index, o.frame.number, o.frame.time);
  packet.checksum = o.frame.checksum;
  return place;
}

RequestSequence::Place RequestSequence::doubled(Observation& o, SentPacket& packet) {
  o.find(FindingKind::duplicate, packet.last_frame);
  ++o.sender().duplicates;
  packet.set_newest(o.index, o.frame.number, o.frame.time);
  return {&packet, false, false};
}

// What is sent again so late that only its PSN is known: acknowledged, but not to the sender.
void RequestSequence::repeat_forgotten(Observation& o, std::uint32_t count) {
  if (Cause* cause = find_cause(o, true)) {
    cause->pending = false;
    begin_run(o, *cause, count);
  } else if (is_in_run(o, nullptr)) {
    follow_run(o, count);
  } else {
    begin_run(o, {}, count);
  }
  SentPacket again;
  again.record = o.index;
  say_why(o, again, false);
  o.record.repeats_payload = o.frame.payload_size != 0;
}

// A packet that was not seen before, but others with higher PSNs were.
RequestSequence::Place RequestSequence::fill(Observation& o, SentPacket* spoilt,
                                             std::uint32_t count) {
  const Psn psn = o.psn();
  if (psn.before(n_.base)) lower_base(psn);
  Cause* cause = reliable_ ? find_cause(o, false) : nullptr;
  const bool named = cause != nullptr && psn.before(n_.cursor);
  const bool in_run = reliable_ && is_in_run(o, nullptr) && !named;
  const bool late = spoilt == nullptr && within(n_.last_request, o.frame.time, kReaction);
  bool again = true;
  if (in_run) {
    if (cause != nullptr) n_.recovery.change().run.cause = *cause;
    follow_run(o, count);
  } else if (cause != nullptr) {
    begin_run(o, *cause, count);  // stays pending: it may be the late original
  } else if (!reliable_ || late) {
    o.find(FindingKind::out_of_order, n_.recovery->gap_frame);
    ++o.sender().out_of_order;
    again = false;
  } else {
    begin_run(o, {}, count);
  }
  const SentPacket original = spoilt == nullptr ? SentPacket{} : *spoilt;
  const bool captured = original.record != kNone;
  SentPacket& packet = remember(o, count);
  if (captured) {
    packet.record = original.record;
    packet.first_frame = original.first_frame;
    packet.first_time = original.first_time;
    packet.answered_in = original.answered_in;
  }
  if (again) {
    if (captured) o.record.original = original.first_frame;
    say_why(o, packet, captured);
    ++o.sender().lost;
  }
  return {&packet, true, false};
}

// --- a READ asked again from the first response that is missing (IBTA vol. 1, 9.7.5.2) ---

ReadRequest* RequestSequence::resumed(const Observation& o) const {
  if (!reliable_ || o.operation() != Operation::read_request) return nullptr;
  ReadRequest* read = find_read(n_, o.psn());
  if (read == nullptr || read->first == o.psn() || read->message == kNone) return nullptr;
  if (o.frame.headers_cut) return n_.read_extent_open ? nullptr : read;
  const Message& message = o.ledger.messages[read->message];
  const wire::Reth& reth = o.frame.headers.reth;
  const bool inside = reth.virtual_address > message.virtual_address &&
                      reth.virtual_address - message.virtual_address < message.length;
  return inside && reth.remote_key == message.remote_key ? read : nullptr;
}

RequestSequence::Place RequestSequence::resume_read(Observation& o, ReadRequest& read) {
  SentPacket* packet = n_.sent.find(read.first);
  if (packet == nullptr) return {};
  const auto rest = static_cast<std::uint32_t>(read.end().since(o.psn()));
  o.record.original = packet->first_frame;
  if (Cause* cause = find_cause(o, true)) {
    cause->pending = false;
    begin_run(o, *cause, rest, true);
  } else {
    begin_run(o, implied_by_response(o, o.psn()), rest, true);
  }
  packet->run = n_.recovery->run.id;
  say_why(o, *packet, true);
  packet->set_newest(o.index, o.frame.number, o.frame.time);
  return {packet, false, false};
}

// --- the same packet? ---

bool RequestSequence::is_same(const Observation& o, const SentPacket& packet) const {
  const wire::OpcodeInfo& now = *o.frame.opcode;
  const wire::OpcodeInfo& then = wire::info(packet.opcode);
  if (now.operation != then.operation) return false;
  if (o.frame.payload_size != packet.payload_size) return false;
  // Some hardware cuts a WRITE anew when it goes back to its middle: FIRST or ONLY with a RETH for
  // the rest. SENDs have nothing to begin anew with.
  const bool recut = now.operation == Operation::write;
  if (now.position != then.position && !recut) return false;
  if (packet.message == kNone || now.position != then.position || !now.starts_message())
    return true;
  const Message& message = o.ledger.messages[packet.message];
  if (o.frame.headers_cut || message.headers_cut) return true;  // as far as it can be told
  if (now.has(wire::kReth)) {
    const wire::Reth& reth = o.frame.headers.reth;
    return reth.virtual_address == message.virtual_address &&
           reth.remote_key == message.remote_key && reth.dma_length == message.length;
  }
  if (now.has(wire::kAtomicEth)) {
    const wire::AtomicEth& atomic = o.frame.headers.atomic_eth;
    return atomic.virtual_address == message.virtual_address &&
           atomic.remote_key == message.remote_key;
  }
  return true;
}

// The ICRC covers even the IPv4 identification, so that only the very same packet has the same.
bool RequestSequence::is_duplicate(const Observation& o, const SentPacket& packet) const {
  return packet.checksum == o.frame.checksum &&
         within(packet.last_time, o.frame.time, kDuplicateWindow);
}

// --- why a sender goes back ---

// Whether no packet from one PSN up to another was seen; only a few are looked at.
bool RequestSequence::is_all_missing(Psn from, Psn to) const {
  constexpr std::int32_t kMost = 8;
  if (to.since(from) > kMost) return false;
  for (; from != to; ++from) {
    const SentPacket* packet = n_.sent.find(from);
    if (packet != nullptr && !packet->spoilt) return false;
  }
  return true;
}

// The newest cause that covers this packet. A packet that was not seen before may be just late, so
// that only the one asked for counts, or, should that have been lost once more, the next one.
Cause* RequestSequence::find_cause(const Observation& o, bool seen) const {
  Recovery* recovery = n_.recovery.if_changed();
  if (recovery == nullptr) return nullptr;
  const Psn psn = o.psn();
  Cause* newest = nullptr;
  const auto consider = [&](Cause& cause) {
    if (!cause.pending || psn.before(cause.psn) || !psn.before(cause.end)) return;
    if (!seen && !is_all_missing(cause.psn, psn)) return;
    if (!within(cause.time, o.frame.time, 2 * cause.wait + kReaction)) return;
    if (newest == nullptr || cause.frame > newest->frame) newest = &cause;
  };
  for (Cause& nak : recovery->naks) consider(nak);
  consider(recovery->rnr);
  consider(recovery->implied);
  return newest;
}

// Nothing asked for it. If responses with higher PSNs just came, the sender saw one missing that
// was lost behind the capture; a sender whose answers are not captured had a NAK; else a timer.
Cause RequestSequence::implied_by_response(const Observation& o, Psn psn) const {
  Cause cause;
  const ReadRequest* read = find_read(n_, psn);
  if (read != nullptr && within(n_.last_response, o.frame.time, kReaction)) {
    const SeenResponse* later = n_.responses.find(psn + 1);
    if (later == nullptr) later = n_.responses.find(read->end());
    if (later != nullptr) {
      cause.kind = FindingKind::retransmission_implied;
      cause.frame = later->frame;
      cause.psn = psn;
      return cause;
    }
  }
  const SentPacket* packet = n_.sent.find(psn);
  const bool soon = packet != nullptr && within(packet->last_time, o.frame.time, kReaction);
  if (soon && n_.last_response_frame == 0) cause.kind = FindingKind::retransmission_nak;
  return cause;
}

bool RequestSequence::is_in_run(const Observation& o, const SentPacket* packet) const {
  const Run& run = n_.recovery->run;
  if (run.id == 0 || (packet != nullptr && packet->run == run.id)) return false;
  const Psn psn = o.psn();
  const bool recent = within(run.last_time, o.frame.time, kReaction);
  if (psn.before(run.start)) return recent && !psn.before(run.oldest);
  return !psn.before(n_.cursor) || recent;
}

void RequestSequence::begin_run(Observation& o, const Cause& cause, std::uint32_t count,
                                bool resumes) {
  Recovery& recovery = n_.recovery.change();
  recovery.run.id = ++recovery.runs;
  recovery.run.start = o.psn();
  recovery.run.cause = cause;
  recovery.run.last_time = o.frame.time;
  // It begins with what was asked for, or with the oldest that waits; else that was lost once more.
  const bool timeout = cause.kind == FindingKind::retransmission_timeout;
  const Psn from = timeout ? n_.unacknowledged : cause.psn;
  recovery.run.oldest = o.psn().before(from) ? o.psn() : from;
  const bool leaps = cause.kind == FindingKind::retransmission_selective;
  if (!resumes && !leaps && o.psn().after(from) &&
      (cause.frame != 0 || (timeout && n_.acknowledged))) {
    find_gap(o, from);
  }
  n_.cursor = o.psn() + count;
  recovery.retries_in_row = recovery.retries_in_row != 0 && recovery.retry_psn == o.psn()
                                ? recovery.retries_in_row + 1
                                : 1;
  recovery.retry_psn = o.psn();
  if (timeout) ++o.sender().timeouts;
  if (cause.kind == FindingKind::retransmission_rnr) {
    const std::uint64_t waited = nanoseconds(cause.time, o.frame.time);
    const auto wanted = static_cast<std::uint64_t>(cause.wait.count());
    // Captures round to microseconds.
    if (waited + 1000 < wanted) {
      o.find(FindingKind::rnr_wait_short, cause.frame, waited, wanted);
    }
  }
}

void RequestSequence::follow_run(Observation& o, std::uint32_t count) {
  const Psn psn = o.psn();
  // What was acknowledged in the meantime need not be sent again.
  const Psn expected = n_.unacknowledged.after(n_.cursor) ? n_.unacknowledged : n_.cursor;
  // Nor, with selective repeat, what the receiver keeps.
  const bool leaps = n_.recovery->run.cause.kind == FindingKind::retransmission_selective;
  if (psn.after(expected) && !leaps) find_gap(o, expected);
  if (!psn.before(n_.cursor)) n_.cursor = psn + count;
  n_.recovery.change().run.last_time = o.frame.time;
}

void RequestSequence::say_why(Observation& o, SentPacket& packet, bool captured) {
  saturating_increment(packet.repetitions);
  o.record.repetition = packet.repetitions;
  ++o.sender().retransmissions;
  const Run& run = n_.recovery->run;
  const Cause& cause = run.cause;
  std::uint64_t since = captured ? nanoseconds(packet.first_time, o.frame.time) : 0;
  std::uint32_t related = cause.frame;
  switch (cause.kind) {
    case FindingKind::retransmission_rnr:
      since = nanoseconds(cause.time, o.frame.time);
      break;
    case FindingKind::retransmission_timeout:
      related = o.record.original;
      break;
    default:
      break;
  }
  o.find(cause.kind, related, packet.repetitions, since);
  if (run.start == o.psn() && is_retry(cause.kind)) check_retries(o, packet);
}

void RequestSequence::check_retries(Observation& o, const SentPacket& packet) {
  const std::uint8_t told = o.stream.retry_count[o.record.sender];
  const std::uint32_t limit = told == 0xff ? kMostRetries : told;
  const std::uint32_t in_row = n_.recovery->retries_in_row;
  if (in_row == limit) {
    o.find(FindingKind::retry_limit, 0, in_row);
    return;
  }
  if (packet.record == o.index) return;  // the ones before it are not in the capture
  const std::uint32_t original = packet.first_frame;
  // Where the capture shows no answers at all, a sender that went on from its first packet had
  // some.
  const bool silent = n_.last_response_frame != 0 || o.psn() == n_.origin;
  if (silent && in_row >= kManyRepetitions && n_.last_response_frame < original) {
    o.find(FindingKind::unanswered, original, in_row);
  }
}

// --- what the receiver makes of it ---

void RequestSequence::receive(Observation& o, std::uint32_t count) {
  const Psn psn = o.psn();
  if (psn == n_.receiver_expects) {
    n_.receiver_expects = psn + count;
    n_.receiver_sees_gap = false;
  } else if (psn.after(n_.receiver_expects) && !n_.receiver_sees_gap) {
    n_.receiver_sees_gap = true;
    Recovery& recovery = n_.recovery.change();
    recovery.newest_gap = (recovery.newest_gap + 1) % Recovery::kShownGaps;
    recovery.shown_gaps[recovery.newest_gap] = {n_.receiver_expects, o.frame.number};
  }
}

SentPacket& RequestSequence::remember(Observation& o, std::uint32_t count) {
  SentPacket packet;
  packet.psn = o.psn();
  packet.record = o.index;
  packet.first_frame = o.frame.number;
  packet.first_time = o.frame.time;
  packet.set_newest(o.index, o.frame.number, o.frame.time);
  packet.psn_count = count;
  packet.payload_size = o.frame.payload_size;
  packet.checksum = o.frame.checksum;
  packet.run = n_.recovery->run.id;
  packet.opcode = o.frame.opcode->opcode;
  return n_.sent.insert(
      packet, [&](const SentPacket& former) { o.ledger.messages.release(former.message); });
}

void RequestSequence::lower_base(Psn psn) {
  if (n_.base.since(psn) > kLateDistance) return;
  if (!n_.acknowledged && n_.unacknowledged == n_.base) n_.unacknowledged = psn;
  n_.base = psn;
}

}  // namespace softrnic::analysis
