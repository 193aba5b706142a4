// SPDX-License-Identifier: BSD-3-Clause
#include "analysis/response_sequence.hpp"

#include "analysis/request_sequence.hpp"

namespace softrnic::analysis {

namespace {

using wire::NakCode;
using wire::Operation;
using wire::Position;
using wire::Psn;
using wire::Syndrome;

FindingKind kind_of(Syndrome syndrome) {
  if (!syndrome.is_nak()) return FindingKind::nak_reserved;
  switch (static_cast<NakCode>(syndrome.value())) {
    case NakCode::psn_sequence_error:
      return FindingKind::nak_psn_sequence;
    case NakCode::invalid_request:
      return FindingKind::nak_invalid_request;
    case NakCode::remote_access_error:
      return FindingKind::nak_remote_access;
    case NakCode::remote_operational_error:
      return FindingKind::nak_remote_operational;
    case NakCode::invalid_rd_request:
      return FindingKind::nak_invalid_rd;
  }
  return FindingKind::nak_reserved;
}

// So many PSNs beyond the last request are taken for requests that the capture misses.
constexpr std::int32_t kMostUnseen = 1024;

std::uint64_t as_count(std::int32_t n) {
  return n < 0 ? 0 : static_cast<std::uint64_t>(n);
}

}  // namespace

void ResponseSequence::on_response(Observation& o) {
  if (is_duplicate(o)) {
    on_duplicate(o);
  } else if (o.operation() == Operation::acknowledge) {
    on_acknowledge(o);
  } else {
    on_data(o);
  }
  n_.last_response = o.frame.time;
  n_.last_response_frame = o.frame.number;
  n_.last_response_psn = o.psn();
  n_.last_response_checksum = o.frame.checksum;
}

// The same bits right behind the first ones: doubled by the network. A receiver that repeats an
// answer makes a new packet; without a checksum nothing tells.
bool ResponseSequence::is_duplicate(const Observation& o) const {
  return o.frame.checksum != 0 && o.frame.checksum == n_.last_response_checksum &&
         o.psn() == n_.last_response_psn && n_.last_response_frame != 0 &&
         o.frame.time - n_.last_response < kDuplicateWindow;
}

void ResponseSequence::on_duplicate(Observation& o) {
  o.find(FindingKind::duplicate, n_.last_response_frame);
  ++o.sender().duplicates;
  o.record.original = n_.last_response_frame;
  o.record.repeats_payload = o.frame.payload_size != 0;
  const ReadRequest* read = find_read(n_, o.psn());
  link(o, read == nullptr ? o.psn() : read->first);
  if (read != nullptr && o.record.repeats_payload) {
    o.record.message_offset =
        static_cast<std::uint32_t>(o.psn().since(read->first)) * o.stream.path_mtu;
  }
}

// Among the PSNs that the capture shows; what came before it answers something not captured.
bool ResponseSequence::is_known(Psn psn) const {
  return n_.begun && !psn.before(n_.base);
}

void ResponseSequence::link(Observation& o, Psn psn) {
  const SentPacket* packet = n_.sent.find(psn);
  if (packet == nullptr) return;
  o.record.answers = packet->last_frame;
  o.record.message = packet->message;
}

// --- acknowledgements ---

void ResponseSequence::on_acknowledge(Observation& o) {
  const Syndrome syndrome = o.frame.headers.aeth.syndrome;
  if (syndrome.is_ack()) {
    on_ack(o);
  } else if (syndrome.is_rnr_nak()) {
    on_rnr_nak(o);
  } else if (is_selective(o)) {
    on_selective_ack(o);
  } else {
    on_nak(o);
  }
}

void ResponseSequence::on_ack(Observation& o) {
  const Psn psn = o.psn();
  ++o.sender().acks;
  if (!is_known(psn)) return;
  if (!psn.before(n_.next)) {
    o.find(FindingKind::ack_of_unsent, 0, psn.value());
    return;
  }
  link(o, psn);
  if (psn.before(n_.unacknowledged)) {
    if (psn == n_.last_ack && n_.credits.is_update(o.frame.headers.aeth)) {
      n_.credits.on_acknowledge(o.frame.headers.aeth, n_.outstanding.empty());
      return;
    }
    on_old_ack(o);
    return;
  }
  n_.last_ack = psn;
  progress(o, psn + 1);
  miss_reads(o, psn + 1);
  check_msn(o, 0);
  n_.credits.on_acknowledge(o.frame.headers.aeth, n_.outstanding.empty());
}

// A receiver acknowledges a packet it has had already with the newest PSN it has, which may be
// inside a READ.
void ResponseSequence::on_old_ack(Observation& o) {
  const Psn psn = o.psn();
  const SentPacket* packet = n_.sent.find(psn);
  if (psn + 1 == n_.unacknowledged || psn == n_.last_ack) {
    o.find(FindingKind::duplicate_ack, n_.acknowledging_frame);
  } else if (packet != nullptr) {
    o.find(FindingKind::duplicate_ack, packet->answered_in);
  } else if (n_.is_forgotten(psn)) {
    o.find(FindingKind::duplicate_ack);
  } else {
    o.find(FindingKind::ghost);
  }
}

// The form of docs/selective-repeat.md, and not another use of a reserved syndrome: where the MSN
// stands, is the PSN that the responder waits for, in front of the run of packets that it keeps.
bool ResponseSequence::is_selective(const Observation& o) const {
  constexpr std::int32_t kMostAhead = 256;
  const wire::Aeth& aeth = o.frame.headers.aeth;
  if (!aeth.syndrome.is_selective() || !is_known(o.psn()) || !o.psn().before(n_.next)) return false;
  const Psn first = o.psn() - (aeth.syndrome.selective_run() - 1);
  return Psn(aeth.msn).before(first) && o.psn().since(Psn(aeth.msn)) <= kMostAhead;
}

void ResponseSequence::on_selective_ack(Observation& o) {
  const Psn waits_for(o.frame.headers.aeth.msn);
  const std::uint32_t run = o.frame.headers.aeth.syndrome.selective_run();
  ++o.sender().selective_acks;
  link(o, o.psn());
  Recovery& recovery = n_.recovery.change();
  // There is one for each packet that comes early: the first tells of the loss.
  if (recovery.newest_selective != waits_for.value()) {
    o.find(FindingKind::selective_ack, o.record.answers, waits_for.value(), run);
    recovery.newest_selective = waits_for.value();
  }
  Cause* cause = &recovery.naks[recovery.newest_nak];
  const bool told = cause->pending && cause->kind == FindingKind::retransmission_selective &&
                    cause->psn == waits_for;
  if (!told) {
    recovery.newest_nak = (recovery.newest_nak + 1) % Recovery::kNaks;
    cause = &recovery.naks[recovery.newest_nak];
    cause->kind = FindingKind::retransmission_selective;
    cause->frame = o.frame.number;
    cause->time = o.frame.time;
    cause->psn = waits_for;
    cause->pending = true;
  }
  cause->end = o.psn();
  if (waits_for.before(n_.unacknowledged) || !is_known(waits_for)) return;
  progress(o, waits_for);
  miss_reads(o, waits_for);
}

void ResponseSequence::on_nak(Observation& o) {
  const Psn psn = o.psn();
  const FindingKind kind = kind_of(o.frame.headers.aeth.syndrome);
  if (kind == FindingKind::nak_psn_sequence) {
    on_sequence_nak(o);
    return;
  }
  ++o.sender().other_naks;
  SentPacket* packet = refused(psn);
  if (packet == nullptr) {
    o.find(kind, 0, o.frame.headers.aeth.syndrome.raw());
    return;
  }
  link(o, packet->psn);
  o.find(kind, o.record.answers, o.frame.headers.aeth.syndrome.raw());
  // IBTA vol. 1, table 44: what is no NAK and reserved is dropped, so that it ends nothing.
  if (!o.frame.headers.aeth.syndrome.is_nak()) return;
  if (!psn.before(n_.unacknowledged) && !psn.after(n_.next)) {
    progress(o, psn);
    check_msn(o, 0);
  }
  if (packet->message != kNone) {
    Message& message = o.ledger.messages[packet->message];
    message.state = MessageState::refused;
    message.answer = o.frame.headers.aeth.syndrome;
    message.completed_frame = o.frame.number;
    message.completed_time = o.frame.time;
    if (kind == FindingKind::nak_remote_access) {
      const auto why = o.ledger.extents.explain(o.sender().address, message);
      if (why) o.find(why->kind, o.record.answers, why->a, why->b);
    }
  }
  o.ledger.set_answered(packet->last_record, o.frame.number);
  if (packet->last_record == packet->record) packet->answered_in = o.frame.number;
  o.stream.broken = true;
  Recovery& recovery = n_.recovery.change();
  recovery.error_frame = o.frame.number;
  recovery.error_time = o.frame.time;
}

// The request that a NAK refuses; where its PSN was not seen, the oldest that waits.
SentPacket* ResponseSequence::refused(Psn psn) {
  if (!is_known(psn)) return nullptr;
  if (SentPacket* packet = n_.sent.find(psn)) return packet;
  return n_.outstanding.empty() ? nullptr : n_.sent.find(n_.outstanding.front().psn);
}

// The packet that showed the receiver that `psn` is missing. It came after the one before `psn`.
std::uint32_t ResponseSequence::shower_of_gap(Psn psn) const {
  const SentPacket* before = n_.sent.find(psn - 1);
  const std::uint32_t since = before == nullptr ? 0 : before->last_frame;
  const Recovery& past = *n_.recovery;
  for (std::uint32_t i = 0; i < Recovery::kShownGaps; ++i) {
    const ShownGap& gap =
        past.shown_gaps[(past.newest_gap + Recovery::kShownGaps - i) % Recovery::kShownGaps];
    if (gap.frame > since && gap.expected == psn) return gap.frame;
  }
  // Lost behind the capture: then it was one of those right behind it.
  constexpr int kMost = 8;
  const SentPacket* packet = n_.sent.find(psn);
  for (int i = 0; packet != nullptr && i < kMost; ++i) {
    packet = n_.sent.find(packet->psn + packet->psn_count);
    const std::uint32_t frame = packet == nullptr ? 0 : packet->last_frame;
    if (frame > since) return frame;
  }
  return 0;
}

void ResponseSequence::on_sequence_nak(Observation& o) {
  const Psn psn = o.psn();
  ++o.sender().sequence_naks;
  const std::uint32_t shown_by = shower_of_gap(psn);
  o.find(FindingKind::nak_psn_sequence, shown_by, psn.value());
  if (!n_.begun || psn.after(n_.next)) return;
  o.record.answers = shown_by;
  Recovery& recovery = n_.recovery.change();
  recovery.newest_nak = (recovery.newest_nak + 1) % Recovery::kNaks;
  Cause& nak = recovery.naks[recovery.newest_nak];
  nak.kind = FindingKind::retransmission_nak;
  nak.frame = o.frame.number;
  nak.time = o.frame.time;
  nak.psn = psn;
  nak.end = n_.next;
  nak.pending = true;
  if (psn.before(n_.unacknowledged) || !is_known(psn)) return;
  progress(o, psn);
  miss_reads(o, psn);
  check_msn(o, 0);
  n_.receiver_expects = psn;
  n_.receiver_sees_gap = true;
}

void ResponseSequence::on_rnr_nak(Observation& o) {
  const Psn psn = o.psn();
  ++o.sender().rnr_naks;
  const wire::Duration wait = wire::rnr_timer(o.frame.headers.aeth.syndrome.value());
  Recovery& recovery = n_.recovery.change();
  const bool again = recovery.rnr_in_row != 0 && recovery.rnr.psn == psn;
  recovery.rnr_in_row = again ? recovery.rnr_in_row + 1 : 1;
  if (is_known(psn)) link(o, psn);
  o.find(FindingKind::rnr_nak, o.record.answers, static_cast<std::uint64_t>(wait.count()),
         recovery.rnr_in_row);
  recovery.rnr.kind = FindingKind::retransmission_rnr;
  recovery.rnr.frame = o.frame.number;
  recovery.rnr.time = o.frame.time;
  recovery.rnr.psn = psn;
  recovery.rnr.end = n_.begun && psn.before(n_.next) ? n_.next : psn + 1;
  recovery.rnr.wait = wait;
  recovery.rnr.pending = true;
  const std::uint8_t limit = o.stream.rnr_retry_count[1 - o.record.sender];
  if (limit < 7 && recovery.rnr_in_row == limit + 1u) {
    o.find(FindingKind::retry_limit, 0, limit);
    o.stream.broken = true;
  }
  if (!is_known(psn) || psn.before(n_.unacknowledged) || !psn.before(n_.next)) return;
  progress(o, psn);
  miss_reads(o, psn);
  check_msn(o, 0);
  n_.receiver_expects = psn;
  n_.receiver_sees_gap = true;  // it drops without a NAK what follows
}

// Everything before `end` is acknowledged (an ACK says so of all before it, and coalesces).
void ResponseSequence::progress(Observation& o, Psn end) {
  n_.acknowledged = true;
  const Psn from = n_.unacknowledged;
  if (!end.after(from)) return;
  std::uint32_t found = 0;
  while (!n_.outstanding.empty()) {
    const OutstandingPacket front = n_.outstanding.front();
    if ((front.psn + front.psn_count).after(end)) break;
    n_.outstanding.pop_front();
    n_.bytes_in_flight -= front.bytes;
    if (!front.psn.before(from)) found += front.psn_count;
    SentPacket* packet = n_.sent.find(front.psn);
    if (packet == nullptr) continue;
    packet->answered_in = o.frame.number;
    o.ledger.set_answered(packet->record, o.frame.number);
    o.ledger.set_answered(packet->last_record, o.frame.number);
    if (wire::info(packet->opcode).ends_message()) {
      ++n_.completed;
      complete(o, packet->message);
    }
  }
  n_.unacknowledged = end;
  n_.acknowledging_frame = o.frame.number;
  if (end.after(n_.receiver_expects)) {
    n_.receiver_expects = end;
    n_.receiver_sees_gap = false;
  }
  if (Recovery* recovery = n_.recovery.if_changed()) {
    recovery->retries_in_row = 0;
    recovery->rnr_in_row = 0;
  }
  // What the capture does not show may have been whole messages.
  const bool reading = !n_.outstanding.empty() && n_.outstanding.front().psn.before(end);
  if (!reading && found != static_cast<std::uint32_t>(end.since(from))) n_.msn_known = false;
}

// The response shows the requester that one with this PSN was lost.
void ResponseSequence::imply(const Observation& o, Psn psn) {
  Cause& implied = n_.recovery.change().implied;
  implied.kind = FindingKind::retransmission_implied;
  implied.frame = o.frame.number;
  implied.time = o.frame.time;
  implied.psn = psn;
  implied.end = n_.next;
  implied.pending = true;
}

void ResponseSequence::complete(Observation& o, std::uint32_t index) {
  if (index == kNone) return;
  Message& message = o.ledger.messages[index];
  const bool data = message.operation != Operation::send && message.operation != Operation::write;
  if (data || message.state != MessageState::open) return;
  message.state = MessageState::complete;
  message.completed_frame = o.frame.number;
  message.completed_time = o.frame.time;
  if (o.frame.opcode->has(wire::kAeth) && o.frame.headers.aeth.syndrome.is_ack()) {
    message.answer = o.frame.headers.aeth.syndrome;
  } else {
    message.answer = Syndrome::ack();
  }
  ++o.receiver().messages_complete;
  learn(o, message);
}

// What a message that succeeded shows of the responder.
void ResponseSequence::learn(Observation& o, const Message& message) {
  o.ledger.extents.on_success(o.sender().address, message);
  n_.credits.on_complete(message.operation == Operation::send || message.has_immediate);
}

// An acknowledgement behind a READ or atomic that has no response yet: the response was lost.
void ResponseSequence::miss_reads(Observation& o, Psn end) {
  while (n_.read_front < n_.reads.size()) {
    ReadRequest& read = n_.reads[n_.read_front];
    if (read.end().after(end)) return;
    ++n_.read_front;
    if (read.finished || read.missed) continue;
    read.missed = true;
    // Where the capture shows no such response at all, they may travel past it.
    if (read.next_response != read.end() && !n_.responses.empty()) {
      o.find(FindingKind::read_response_missing, 0, read.next_response.value(),
             as_count(read.end().since(read.next_response)));
    }
    const Cause& implied = n_.recovery->implied;
    if (implied.pending && implied.frame == o.frame.number) continue;
    imply(o, read.next_response);
  }
}

// The MSN counts the messages that the responder completed (IBTA vol. 1, 9.7.7.1). With a READ
// some count it when they begin to answer it, others when they have: it may be one off there.
void ResponseSequence::check_msn(Observation& o, std::uint32_t slack) {
  const std::uint32_t msn = o.frame.headers.aeth.msn;
  // What answers a repetition tells the MSN of now, although the request may be of long ago.
  const SentPacket* packet = n_.sent.find(o.psn());
  if (packet != nullptr && packet->repetitions != 0) return;
  if (n_.msn_known) {
    const std::uint32_t expected = (n_.msn_base + n_.completed) & 0xffffff;
    if (((msn - expected + slack) & 0xffffff) <= 2 * slack) return;
    o.find(FindingKind::msn_jump, 0, expected, msn);
  }
  n_.msn_base = (msn - n_.completed) & 0xffffff;
  n_.msn_known = slack == 0;
}

// --- responses with data ---

// FIRST and MIDDLE are of the path MTU, and ONLY and LAST end the READ.
void ResponseSequence::learn_mtu(Observation& o) {
  const Position position = o.frame.opcode->position;
  if (position == Position::first || position == Position::middle) {
    const std::uint32_t size = o.frame.payload_size;
    if (size < 256 || size > 4096 || (size & (size - 1)) != 0) return;
    if (o.stream.path_mtu == 0 || o.stream.path_mtu_inferred) {
      o.stream.path_mtu = size;
      o.stream.path_mtu_inferred = false;
    }
    if (n_.read_extent_open && n_.open_read_length != 0) {
      settle_read(n_, psns_of_read(n_.open_read_length, size), o.ledger);
    }
  } else if (n_.read_extent_open && !o.psn().before(n_.open_read) && o.psn().before(n_.next)) {
    settle_read(n_, static_cast<std::uint32_t>(o.psn().since(n_.open_read)) + 1, o.ledger);
  }
}

void ResponseSequence::on_data(Observation& o) {
  const Psn psn = o.psn();
  if (!is_known(psn)) return;
  if (o.operation() == Operation::read_response) learn_mtu(o);
  ReadRequest* read = find_read(n_, psn);
  if (read == nullptr) {
    on_data_for_nothing(o);
    return;
  }
  link(o, read->first);
  const std::size_t place = n_.reads.index_of(*read);
  if (SeenResponse* first = n_.responses.find(psn)) {
    on_repeated_data(o, *read, *first);
  } else {
    on_first_data(o, *read, place);
  }
}

// Where the capture misses the request, its answer shows that there was one. Else nobody asked.
void ResponseSequence::on_data_for_nothing(Observation& o) {
  const Psn psn = o.psn();
  if (n_.is_forgotten(psn)) {
    o.find(FindingKind::response_repeated);
    o.record.repeats_payload = o.frame.payload_size != 0;
    return;
  }
  if (psn.before(n_.next)) {
    const SentPacket* packet = n_.sent.find(psn);
    const bool long_past = psn.before(n_.unacknowledged);
    if (packet != nullptr || long_past) o.find(FindingKind::ghost);
    return;
  }
  if (psn.since(n_.next) > kMostUnseen) {
    o.find(FindingKind::ghost);
    return;
  }
  n_.move_next(psn + 1);
  n_.cursor = n_.next;
  n_.unacknowledged = n_.receiver_expects = n_.next;
  n_.msn_known = false;
}

void ResponseSequence::on_repeated_data(Observation& o, ReadRequest& read, SeenResponse& first) {
  const std::uint32_t frame = first.frame;
  const bool changed = o.operation() == Operation::atomic_acknowledge &&
                       first.value != o.frame.headers.atomic_ack_eth.original;
  o.find(changed ? FindingKind::atomic_changed : FindingKind::response_repeated, frame);
  o.record.original = frame;
  o.record.repetition = 1;
  o.record.repeats_payload = o.frame.payload_size != 0;
  if (o.stream.path_mtu != 0 && o.frame.payload_size != 0) {
    o.record.message_offset =
        static_cast<std::uint32_t>(o.psn().since(read.first)) * o.stream.path_mtu;
  }
  if (!o.psn().before(read.next_response)) read.next_response = o.psn() + 1;
}

void ResponseSequence::on_first_data(Observation& o, ReadRequest& read, std::size_t place) {
  const Psn psn = o.psn();
  if (Recovery* recovery = n_.recovery.if_changed();
      recovery != nullptr && recovery->implied.psn == psn) {
    recovery->implied.pending = false;
  }
  check_order(o, read, place);
  const bool new_ground = !psn.before(n_.unacknowledged);
  if (new_ground) {
    progress(o, psn + 1);
    const bool reading = o.operation() == Operation::read_response;
    if (o.frame.opcode->has(wire::kAeth)) {
      check_msn(o, reading ? 1 : 0);
      n_.credits.on_acknowledge(o.frame.headers.aeth, n_.outstanding.empty());
    }
  }
  SeenResponse seen;
  seen.psn = psn;
  seen.frame = o.frame.number;
  seen.value = o.frame.headers.atomic_ack_eth.original;
  n_.responses.insert(seen);
  ++read.answered;
  if (read.message == kNone) return;
  Message& message = o.ledger.messages[read.message];
  if (o.operation() == Operation::read_response) {
    o.record.message_offset = static_cast<std::uint32_t>(psn.since(read.first)) * o.stream.path_mtu;
    message.payload_bytes += o.frame.payload_size;
    check_size(o, read);
  }
  if (read.answered != read.psn_count || read.finished) return;
  read.finished = true;
  if (n_.reads_outstanding > 0) --n_.reads_outstanding;
  if (message.state != MessageState::open) return;
  if (message.headers_cut && message.operation == Operation::read_request) {
    message.length = message.payload_bytes;
  }
  message.whole =
      message.operation != Operation::read_request || message.payload_bytes == message.length;
  o.record.ends_message = message.operation == Operation::read_request && message.whole;
  message.state = MessageState::complete;
  message.answer =
      o.frame.opcode->has(wire::kAeth) ? o.frame.headers.aeth.syndrome : Syndrome::ack();
  message.completed_frame = o.frame.number;
  message.completed_time = o.frame.time;
  ++o.receiver().messages_complete;
  learn(o, message);
}

// Responses come in the order of their PSNs; one that is ahead shows that others were lost.
void ResponseSequence::check_order(Observation& o, ReadRequest& read, std::size_t place) {
  const Psn psn = o.psn();
  std::uint64_t missing = 0;
  Psn expected = psn;
  for (; n_.read_front < place; ++n_.read_front) {
    ReadRequest& before = n_.reads[n_.read_front];
    if (before.finished || before.missed) continue;
    before.missed = true;
    const std::uint64_t of_it = as_count(before.end().since(before.next_response));
    if (of_it != 0 && missing == 0) expected = before.next_response;
    missing += of_it;
  }
  if (place >= n_.read_front && psn.after(read.next_response)) {
    if (missing == 0) expected = read.next_response;
    missing += as_count(psn.since(read.next_response));
  }
  if (!psn.before(read.next_response)) read.next_response = psn + 1;
  if (read.next_response == read.end() && n_.read_front == place) ++n_.read_front;
  if (missing == 0) return;
  o.find(FindingKind::read_response_missing, 0, expected.value(), missing);
  imply(o, expected);
}

void ResponseSequence::check_size(Observation& o, const ReadRequest& read) {
  const Message& message = o.ledger.messages[read.message];
  const Position position = o.frame.opcode->position;
  const std::uint32_t size = o.frame.payload_size;
  if (position == Position::first || position == Position::middle) {
    if (size != o.stream.path_mtu) {
      o.find(FindingKind::payload_not_mtu, 0, size, o.stream.path_mtu);
    }
    return;
  }
  if (message.operation != Operation::read_request || message.headers_cut) return;
  const bool single = read.first == o.psn();
  if (!single && o.stream.path_mtu == 0) return;
  const std::uint64_t total = std::uint64_t{o.record.message_offset} + size;
  if (total != message.length) {
    o.find(FindingKind::read_response_wrong_size, 0, size,
           message.length - o.record.message_offset);
  }
}

void ResponseSequence::on_spoilt(Observation& o) {
  const Psn psn = o.psn();
  if (o.operation() == Operation::acknowledge || !is_known(psn)) return;
  ReadRequest* read = find_read(n_, psn);
  if (read == nullptr || n_.responses.find(psn) != nullptr) return;
  if (psn == read->next_response) read->next_response = psn + 1;
  imply(o, psn);
}

}  // namespace softrnic::analysis
