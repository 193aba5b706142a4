// SPDX-License-Identifier: BSD-3-Clause
#include "transport/rc_requester.hpp"

#include <algorithm>
#include <array>
#include <bit>

#include "transport/memory_operation.hpp"
#include "transport/request_packet.hpp"
#include "transport/retry_policy.hpp"
#include "transport/work_completion.hpp"

namespace softrnic::transport {

using wire::Instant;
using wire::Psn;

RcRequester::RcRequester(const QueuePairContext& context, const QueuePairAttributes& attributes)
    : context_(context),
      attributes_(attributes),
      is_extended_(context.type == QueuePairType::xrc_initiator),
      queue_(context.capacity, context.max_message),
      window_(kMaxUnackedPackets) {}

void RcRequester::start() {
  next_psn_ = unacked_psn_ = sent_end_ = attributes_.send_psn;
  retries_left_ = attributes_.retry_count;
  rnr_retries_left_ = attributes_.rnr_retry;
  if (attributes_.selective_repeat && !is_extended_) scoreboard_.enable();
}

void RcRequester::reset() {
  queue_.clear();
  cursor_ = cursor_packet_ = begun_ = 0;
  packets_in_flight_ = responses_due_ = since_ack_request_ = 0;
  window_ = kMaxUnackedPackets;
  timeouts_in_row_ = 0;
  catching_up_ = implied_nak_taken_ = draining_ = failed_ = lost_completion_ = false;
  unacked_psn_ = sent_end_ = next_psn_;
  credits_ = {};
  scoreboard_.disable();
  loss_probe_ = {};
  probing_ = false;
  ack_deadline_ = rnr_deadline_ = wire::kNever;
}

void RcRequester::flush() {
  flush_sends(context_, queue_);
  reset();
}

void RcRequester::drain() {
  draining_ = true;
  ask_again();
}

void RcRequester::ask_again() {
  const bool at_rest = cursor_ == begun_ && cursor_packet_ == 0;
  if (!at_rest || begun_ == 0 || since_ack_request_ == 0) return;
  const SendEntry& last = queue_[begun_ - 1];
  if (last.wants_response() || last.is_local()) return;  // answered, or completed, by themselves
  --cursor_;
  cursor_packet_ = last.packets - 1;
  if (packets_in_flight_ > 0) --packets_in_flight_;
  if (last.consumes_receive()) credits_.on_repeat();
  if (scoreboard_.enabled()) scoreboard_.lose(cursor_psn());
}

void RcRequester::resume() {
  draining_ = false;
  retries_left_ = attributes_.retry_count;
  rnr_retries_left_ = attributes_.rnr_retry;
}

std::optional<PostError> RcRequester::post(const SendRequest& request) {
  const auto error = queue_.push(request);
  if (error) return error;
  SendEntry& entry = queue_[queue_.size() - 1];
  // An atomic moves eight bytes, whatever the list could hold (9.4.5); an ATOMIC WRITE has just
  // those, and a FLUSH has none (annex A19).
  const bool right_length = entry.is_atomic()                                  ? entry.length >= 8
                            : request.operation == SendOperation::atomic_write ? entry.length == 8
                            : request.operation == SendOperation::flush
                                ? entry.length == 0 && request.flush_length <= context_.max_message
                                : true;
  if (!right_length) entry.failure = CompletionStatus::local_length_error;
  if (is_extended_ && request.remote_srq > 0xffffff) {
    entry.failure = CompletionStatus::local_qp_operation_error;
  }
  constexpr std::uint8_t kPlacements = kGlobalVisibility | kPersistence;
  if (request.operation == SendOperation::flush &&
      (request.placement == 0 || (request.placement & ~kPlacements) != 0)) {
    entry.failure = CompletionStatus::local_qp_operation_error;
  }
  return std::nullopt;
}

// ---------------------------------------------------------------- sending

bool RcRequester::wants_transmit(Instant) const {
  return !failed_ && rnr_deadline_ == wire::kNever && may_send();
}

bool RcRequester::may_send() const {
  if (at_queue_end() || (draining_ && cursor_ == begun_)) return false;
  const SendEntry& entry = queue_[cursor_];
  // Begun and in the middle of its packets, or to be looked at for the first time.
  if (cursor_ < begun_ && entry.failure != CompletionStatus::success) return false;
  return (entry.is_local() && cursor_ < begun_) || may_begin(entry);
}

bool RcRequester::may_begin(const SendEntry& entry) const {
  // A fenced request waits for earlier READs and atomics (10.8.3.3).
  if (entry.request.fence && cursor_packet_ == 0 && responses_due_ > 0) return false;
  if (entry.is_local()) {
    // What an earlier request may still need is not invalidated under it: the local invalidate
    // fence (10.6.5.1) is always on, as in Linux.
    return entry.request.operation != SendOperation::local_invalidate || cursor_ == 0;
  }
  if (entry.wants_response()) {
    // The initiator depth (9.4.4: no more outstanding than the responder has resources for).
    return responses_due_ < std::max<std::uint32_t>(attributes_.max_rd_atomic, 1) &&
           cursor_psn().since(unacked_psn_) < kMaxPsnsInFlight;
  }
  if (is_limited(entry) && !may_ask_beyond(entry)) return false;
  return packets_in_flight_ < window() && cursor_psn().since(unacked_psn_) < kMaxPsnsInFlight;
}

std::uint32_t RcRequester::selective_window() const {
  return std::min(window_ + scoreboard_.held(), kSelectiveWindow);
}

// Beyond its credits a requester may send one request, a SEND's first packet and no more, to learn
// by the answer how things stand (9.7.7.2.5). It may also when nothing that is under way asks for
// an answer, and with the oldest request, whatever the peer counts.
bool RcRequester::may_ask_beyond(const SendEntry& entry) const {
  const bool one_beyond = credits_.at_limit() || since_ack_request_ > 0;
  if (!one_beyond && cursor_ != 0) return false;
  return cursor_packet_ == 0 || entry.is_write() || unacked_psn_.after(entry.first_psn);
}

Psn RcRequester::cursor_psn() const {
  return cursor_ < begun_ ? queue_[cursor_].first_psn + cursor_packet_ : next_psn_;
}

void RcRequester::begin() {
  SendEntry& entry = queue_[cursor_];
  entry.first_psn = next_psn_;
  ++begun_;
  if (entry.failure != CompletionStatus::success) return;
  if (entry.is_local()) {
    entry.failure = execute_locally(context_, entry.request);
    return;
  }
  if (entry.wants_response() && attributes_.max_rd_atomic == 0) {
    entry.failure = CompletionStatus::local_qp_operation_error;
    return;
  }
  const bool single = entry.is_atomic() || entry.is_placement();
  const std::uint32_t packets = single ? 1 : packets_of(entry.length, attributes_.path_mtu);
  if (entry.is_read() && packets > kMaxReadPackets) {
    entry.failure = CompletionStatus::local_length_error;
    return;
  }
  // One piece that leaves in one packet is checked when that is filled, at once.
  const bool checked_soon =
      packets == 1 && !entry.fetches() && entry.length > 0 && entry.request.sges.size() == 1;
  const MemoryFault fault =
      checked_soon
          ? MemoryFault::none
          : context_.memory.check_local(context_.domain, entry.request.sges, entry.fetches());
  if (fault != MemoryFault::none) {
    entry.failure = CompletionStatus::local_protection_error;
    return;
  }
  entry.packets = packets;
  next_psn_ = entry.end_psn();
}

void RcRequester::pass_local() {
  while (!failed_ && may_send() && queue_[cursor_].is_local()) {
    if (cursor_ == begun_) begin();
    const bool failed = queue_[cursor_].failure != CompletionStatus::success;
    if (!failed) ++cursor_;
    settle_head();
    if (failed) return;
  }
}

bool RcRequester::poll_transmit(Instant now, OutboundPacket& out) {
  if (!wants_transmit(now)) return false;
  if (queue_[cursor_].is_local()) {
    pass_local();
    if (!wants_transmit(now)) return false;
  }
  if (cursor_ == begun_) begin();
  SendEntry& entry = queue_[cursor_];
  if (entry.failure != CompletionStatus::success) {
    settle_head();
    return false;
  }
  begin_request(attributes_, cursor_psn(), out);
  if (fill_request(context_, attributes_, entry, cursor_packet_, out) != MemoryFault::none) {
    entry.failure = CompletionStatus::local_protection_error;
    settle_head();
    return false;
  }
  out.headers.bth.ack_request = asks_acknowledgement(entry);
  advance(now, entry, out);
  return true;
}

bool RcRequester::asks_acknowledgement(const SendEntry& entry) const {
  if (entry.wants_response()) return true;
  const bool last = cursor_packet_ + 1 == entry.packets;
  if (since_ack_request_ + 1 >= kAckRequestInterval || probing_) return true;
  if (packets_in_flight_ + 1 >= window()) return true;
  if (is_limited(entry) && (last || (cursor_packet_ == 0 && !entry.is_write()))) return true;
  return last && (entry.request.signaled || entry.request.solicited || catching_up_ ||
                  next_cannot_follow());
}

// Whether the entry behind the cursor's cannot be sent at once, so that no later packet would ask.
bool RcRequester::next_cannot_follow() const {
  if (cursor_ + 1 >= (draining_ ? begun_ : queue_.size())) return true;
  const SendEntry& next = queue_[cursor_ + 1];
  if (next.failure != CompletionStatus::success || next.is_local()) return true;
  if (next.request.fence && responses_due_ > 0) return true;
  if (next.wants_response() && responses_due_ >= attributes_.max_rd_atomic) return true;
  return context_.memory.check_local(context_.domain, next.request.sges, next.fetches()) !=
         MemoryFault::none;
}

void RcRequester::advance(Instant now, SendEntry& entry, OutboundPacket& out) {
  const Psn psn = out.headers.bth.psn;
  if (psn.before(sent_end_)) {
    ++context_.counters.retransmitted_pkts;
  } else if (cursor_packet_ == 0) {
    ++context_.counters.rdma_sends;
  }
  since_ack_request_ = out.headers.bth.ack_request ? 0 : since_ack_request_ + 1;

  const Psn end = entry.wants_response() ? entry.end_psn() : psn + 1;
  if (scoreboard_.enabled()) {
    scoreboard_.sent(entry.wants_response() ? entry.first_psn : psn, !entry.wants_response());
    if (out.headers.bth.ack_request && psn == sent_end_) loss_probe_.measure(now, psn);
    loss_probe_.arm(now);
    probing_ = false;
  }
  pass(entry);
  if (end.after(sent_end_)) sent_end_ = end;
  if (catching_up_) skip_delivered();
  if (ack_deadline_ == wire::kNever) rearm(now);
}

void RcRequester::pass(const SendEntry& entry) {
  if (entry.wants_response()) {
    ++responses_due_;
    cursor_packet_ = entry.packets;
  } else {
    ++packets_in_flight_;
    ++cursor_packet_;
  }
  if (cursor_packet_ == entry.packets) {
    if (entry.consumes_receive()) credits_.on_sent();
    ++cursor_;
    cursor_packet_ = 0;
  }
}

// ---------------------------------------------------------------- hearing

void RcRequester::on_response(Instant now, const InboundPacket& packet) {
  if (failed_) return;
  switch (packet.opcode.operation) {
    case wire::Operation::read_response:
      on_read_response(now, packet);
      break;
    case wire::Operation::atomic_acknowledge:
      on_atomic_response(now, packet);
      break;
    case wire::Operation::acknowledge:
      on_acknowledge(now, packet);
      break;
    default:
      ++context_.counters.unexpected_response;
  }
  // Credits count from what this answer accounts for; older ones say nothing new.
  const wire::Syndrome syndrome = packet.headers.aeth.syndrome;
  if (attributes_.honor_credits && packet.opcode.has(wire::kAeth) && syndrome.is_ack() &&
      packet.headers.bth.psn + 1 == unacked_psn_) {
    credits_.take(syndrome);
  }
  if (catching_up_) skip_delivered();
  if (scoreboard_.enabled()) rearm_probe(now);
}

bool RcRequester::is_outstanding(Psn psn) const {
  return !psn.before(unacked_psn_) && psn.before(sent_end_);
}

bool RcRequester::acknowledge_before(Instant now, Psn end) {
  while (!queue_.empty() && begun_ > 0 && unacked_psn_.before(end)) {
    SendEntry& head = queue_[0];
    if (head.failure != CompletionStatus::success && head.packets == 0) break;
    if (head.wants_response()) {
      implied_nak(now);
      return false;
    }
    if (end.before(head.end_psn())) {
      progress(now, end);
      return true;
    }
    progress(now, head.end_psn());
    retire_head(CompletionStatus::success, static_cast<std::uint32_t>(head.length));
    if (failed_) return false;
  }
  return true;
}

// Everything before `unacked` is accounted for. Also moves the cursor forward when it was rewound
// behind what has now been answered.
void RcRequester::progress(Instant now, Psn unacked) {
  const SendEntry& head = queue_[0];
  if (!head.wants_response()) {
    const auto acked = static_cast<std::uint32_t>(unacked.since(unacked_psn_));
    packets_in_flight_ -= std::min(packets_in_flight_, acked);
    window_ = std::min(kMaxUnackedPackets, window_ + acked);
  }
  if (scoreboard_.enabled()) {
    if (!head.wants_response()) scoreboard_.acknowledged(unacked_psn_, unacked);
    loss_probe_.acknowledged(now, unacked);
  }
  unacked_psn_ = unacked;
  implied_nak_taken_ = false;
  timeouts_in_row_ = 0;
  retries_left_ = attributes_.retry_count;
  rnr_retries_left_ = attributes_.rnr_retry;
  if (cursor_ == 0 && cursor_psn().before(unacked)) {
    cursor_packet_ = static_cast<std::uint32_t>(unacked.since(head.first_psn));
    if (cursor_packet_ >= head.packets) {
      if (head.consumes_receive()) credits_.on_sent();
      cursor_ = 1;
      cursor_packet_ = 0;
    }
  }
  if (catching_up_ && unacked_psn_ == sent_end_) catching_up_ = false;
  rearm(now);
}

void RcRequester::retire_head(CompletionStatus status, std::uint32_t byte_length) {
  retire_one(status, byte_length);
  settle_head();
}

void RcRequester::retire_one(CompletionStatus status, std::uint32_t byte_length) {
  const SendRequest& request = queue_[0].request;  // stays in its slot until another is posted
  if (queue_[0].consumes_receive()) credits_.on_done();
  queue_.pop();
  if (begun_ > 0) --begun_;
  if (cursor_ > 0) {
    --cursor_;
  } else {
    cursor_packet_ = 0;
  }
  const bool delivered = complete_send(context_, request, status, byte_length);
  lost_completion_ = lost_completion_ || !delivered;
  failed_ = failed_ || lost_completion_ || status != CompletionStatus::success;
  if (!failed_) return;
  ack_deadline_ = rnr_deadline_ = wire::kNever;
  loss_probe_.disarm();
}

void RcRequester::on_read_response(Instant now, const InboundPacket& packet) {
  const Psn psn = packet.headers.bth.psn;
  if (!is_outstanding(psn)) {
    ++context_.counters.unexpected_response;
    return;
  }
  // A response acknowledges everything before it (9.7.5.1.1).
  if (!acknowledge_before(now, psn)) return;
  if (queue_[0].is_placement()) return on_placement_response(now, packet);
  SendEntry& head = queue_[0];
  if (!head.is_read()) return fail_head(CompletionStatus::bad_response);

  const std::uint64_t offset = std::uint64_t{head.received} * attributes_.path_mtu;
  const bool last = head.received + 1 == head.packets;
  const std::uint64_t expected_size = last ? head.length - offset : attributes_.path_mtu;
  if (packet.payload.size() != expected_size || packet.opcode.ends_message() != last) {
    return fail_head(CompletionStatus::bad_response);
  }
  const MemoryFault fault =
      context_.memory.scatter(context_.domain, head.request.sges, offset, packet.payload);
  if (fault != MemoryFault::none) return fail_head(CompletionStatus::local_protection_error);

  ++head.received;
  if (last) return complete_response(now, static_cast<std::uint32_t>(head.length));
  progress(now, psn + 1);
}

// ATOMIC WRITE and FLUSH are answered by a READ response of nothing (annex A19).
void RcRequester::on_placement_response(Instant now, const InboundPacket& packet) {
  if (packet.opcode.position != wire::Position::only || !packet.payload.empty()) {
    return fail_head(CompletionStatus::bad_response);
  }
  complete_response(now, static_cast<std::uint32_t>(queue_[0].length));
}

void RcRequester::on_atomic_response(Instant now, const InboundPacket& packet) {
  const Psn psn = packet.headers.bth.psn;
  if (!is_outstanding(psn)) {
    ++context_.counters.unexpected_response;
    return;
  }
  if (!acknowledge_before(now, psn)) return;
  const SendEntry& head = queue_[0];
  if (!head.is_atomic() || head.first_psn != psn) return fail_head(CompletionStatus::bad_response);

  std::array<std::byte, 8> original;
  const std::uint64_t value = packet.headers.atomic_ack_eth.original;
  original = std::bit_cast<std::array<std::byte, 8>>(value);
  const MemoryFault fault = context_.memory.scatter(context_.domain, head.request.sges, 0,
                                                    wire::ByteChain(wire::ByteView(original)));
  if (fault != MemoryFault::none) return fail_head(CompletionStatus::local_protection_error);
  complete_response(now, 8);
}

void RcRequester::complete_response(Instant now, std::uint32_t byte_length) {
  if (cursor_ > 0) --responses_due_;
  progress(now, queue_[0].end_psn());
  retire_head(CompletionStatus::success, byte_length);
}

void RcRequester::on_acknowledge(Instant now, const InboundPacket& packet) {
  const Psn psn = packet.headers.bth.psn;
  const wire::Syndrome syndrome = packet.headers.aeth.syndrome;
  if (!is_outstanding(psn)) {
    // A ghost: acknowledged before, or never sent (9.7.5.1.4). It may bring new credits.
    const bool brings_credits = credits_.limited() && psn + 1 == unacked_psn_ && syndrome.is_ack();
    if (!brings_credits) ++context_.counters.unexpected_response;
    return;
  }
  switch (syndrome.kind()) {
    case wire::Syndrome::Kind::ack:
      acknowledge_before(now, psn + 1);
      return;
    case wire::Syndrome::Kind::rnr_nak:
      return on_rnr_nak(now, psn, syndrome.value());
    case wire::Syndrome::Kind::nak:
      return on_nak(now, psn, syndrome);
    case wire::Syndrome::Kind::reserved:
      if (scoreboard_.enabled() && syndrome.is_selective()) {
        return on_selective_acknowledge(now, packet);
      }
      // Reserved codes are dropped (table 44); the timer will see to it.
      ++context_.counters.unexpected_response;
      return;
  }
}

// The peer has packets that came before their turn, up to this one, and waits for another; what was
// sent before them and has not arrived is lost.
void RcRequester::on_selective_acknowledge(Instant now, const InboundPacket& packet) {
  ++context_.counters.selective_acks_rcvd;
  const Psn last = packet.headers.bth.psn;
  const Psn expected(packet.headers.aeth.msn);
  if (expected.after(last)) {
    ++context_.counters.unexpected_response;
    return;
  }
  if (!acknowledge_before(now, expected) || failed_ || queue_.empty()) return;
  const std::uint32_t run = packet.headers.aeth.syndrome.selective_run();
  for (std::uint32_t i = 0; i < run && (last - i).after(unacked_psn_); ++i) {
    scoreboard_.received(last - i);
  }
  const bool was_lost = is_head_lost();
  // During an RNR wait the cursor stands at the oldest packet already.
  if (!scoreboard_.find_losses() || rnr_deadline_ != wire::kNever) return;
  // Only the oldest packet's repetitions count: the others' are judged when they are the oldest.
  if (!was_lost && is_head_lost()) {
    if (!take_retry()) return;
    rearm(now);
  }
  rewind(window_);
}

void RcRequester::lose_head() {
  const SendEntry& head = queue_[0];
  scoreboard_.lose(head.wants_response() ? head.first_psn : unacked_psn_);
}

bool RcRequester::is_head_lost() const {
  const SendEntry& head = queue_[0];
  return begun_ > 0 && !head.is_local() && needs_repeat(head, unacked_psn_);
}

void RcRequester::on_rnr_nak(Instant now, Psn psn, std::uint8_t timer_code) {
  ++context_.counters.rnr_nak_retry_err;
  if (rnr_deadline_ != wire::kNever) return;  // a copy of the one being waited for
  if (!acknowledge_before(now, psn) || queue_.empty()) return;
  if (attributes_.rnr_retry != kInfiniteRnrRetry) {
    if (rnr_retries_left_ == 0) {
      ++context_.counters.retry_rnr_exceeded_err;
      return fail_head(CompletionStatus::rnr_retry_exceeded);
    }
    --rnr_retries_left_;
  }
  scoreboard_.lose(psn);
  rewind(kRestartWindow);
  ack_deadline_ = wire::kNever;
  rnr_deadline_ = now + wire::rnr_timer(timer_code);
}

void RcRequester::on_nak(Instant now, Psn psn, wire::Syndrome syndrome) {
  // A NAK acknowledges everything before its PSN (9.7.5.1.3).
  if (!acknowledge_before(now, psn) || queue_.empty()) return;
  switch (static_cast<wire::NakCode>(syndrome.value())) {
    case wire::NakCode::psn_sequence_error:
      ++context_.counters.packet_seq_err;
      // Packets that followed the one that met no receive are resent after the wait anyway.
      if (rnr_deadline_ != wire::kNever) return;
      if (!take_retry()) return;
      scoreboard_.lose_all();
      rewind(half_window());
      rearm(now);
      return;
    case wire::NakCode::invalid_request:
      ++context_.counters.req_remote_invalid_request;
      return fail_head(CompletionStatus::remote_invalid_request);
    case wire::NakCode::remote_access_error:
      ++context_.counters.req_remote_access_errors;
      return fail_head(CompletionStatus::remote_access_error);
    case wire::NakCode::remote_operational_error:
      ++context_.counters.req_remote_operational_errors;
      return fail_head(CompletionStatus::remote_operational_error);
    default:
      ++context_.counters.unexpected_response;
  }
}

// A response that must have been sent did not arrive. Taken once for each oldest PSN: later
// answers on their way say the same again and must not multiply the traffic.
void RcRequester::implied_nak(Instant now) {
  if (implied_nak_taken_) return;
  ++context_.counters.implied_nak_seq_err;
  if (!take_retry()) return;
  scoreboard_.lose_all();
  lose_head();
  rewind(half_window());
  rearm(now);
  implied_nak_taken_ = true;
}

// ---------------------------------------------------------------- recovering

void RcRequester::rewind(std::uint32_t window) {
  window_ = window;
  cursor_ = 0;
  cursor_packet_ =
      begun_ == 0 ? 0 : static_cast<std::uint32_t>(unacked_psn_.since(queue_[0].first_psn));
  packets_in_flight_ = 0;
  responses_due_ = 0;
  since_ack_request_ = 0;
  credits_.rewind();
  loss_probe_.forget_measurement();
  catching_up_ = true;
}

void RcRequester::probe(Instant now) {
  loss_probe_.sent(now);
  // What is sent next tells as much.
  if (queue_.empty() || begun_ == 0 || wants_transmit(now)) return;
  lose_head();
  probing_ = true;
  rewind(window_);
}

void RcRequester::rearm_probe(Instant now) {
  const bool outstanding = unacked_psn_ != sent_end_ && rnr_deadline_ == wire::kNever;
  if (outstanding && !failed_) {
    loss_probe_.arm(now);
  } else {
    loss_probe_.disarm();
  }
}

void RcRequester::skip_delivered() {
  if (!scoreboard_.enabled()) return;
  while (cursor_ < begun_ && cursor_psn().before(sent_end_)) {
    const SendEntry& entry = queue_[cursor_];
    if (entry.failure != CompletionStatus::success) return;
    if (entry.is_local()) {
      ++cursor_;
    } else if (needs_repeat(entry, cursor_psn())) {
      return;
    } else {
      pass(entry);
    }
  }
}

bool RcRequester::needs_repeat(const SendEntry& entry, Psn psn) const {
  if (!entry.wants_response()) return scoreboard_.is_lost(psn);
  // A READ that is being answered was not lost.
  return entry.received == 0 ? scoreboard_.is_lost(entry.first_psn)
                             : scoreboard_.is_abandoned(entry.first_psn);
}

std::uint32_t RcRequester::half_window() const {
  return std::max(window_ / 2, kRestartWindow);
}

bool RcRequester::take_retry() {
  if (retries_left_ == 0) {
    ++context_.counters.retry_exceeded_err;
    fail_head(CompletionStatus::retry_exceeded);
    return false;
  }
  --retries_left_;
  return true;
}

void RcRequester::fail_head(CompletionStatus status) {
  retire_head(status, 0);
}

void RcRequester::settle_head() {
  while (!failed_ && begun_ > 0 &&
         (queue_[0].packets == 0 || queue_[0].failure != CompletionStatus::success)) {
    retire_one(queue_[0].failure, 0);
  }
}

void RcRequester::rearm(Instant now) {
  const bool outstanding = unacked_psn_ != sent_end_ && rnr_deadline_ == wire::kNever;
  ack_deadline_ = outstanding && attributes_.timeout != 0
                      ? now + local_ack_timeout_after(attributes_.timeout, timeouts_in_row_)
                      : wire::kNever;
}

Instant RcRequester::next_deadline() const {
  return std::min({ack_deadline_, rnr_deadline_, loss_probe_.deadline()});
}

void RcRequester::on_deadline(Instant now) {
  if (rnr_deadline_ <= now) {
    // The wait is over: what the cursor was rewound to goes out again.
    rnr_deadline_ = wire::kNever;
    rearm(now);
  }
  if (loss_probe_.deadline() <= now && ack_deadline_ > now) probe(now);
  if (ack_deadline_ <= now) {
    ++context_.counters.local_ack_timeout_err;
    if (!take_retry()) return;
    ++timeouts_in_row_;
    scoreboard_.lose_all();
    lose_head();
    if (timeouts_in_row_ > 1) scoreboard_.forget_received();
    rewind(kRestartWindow);
    rearm(now);
    implied_nak_taken_ = false;
  }
  if (catching_up_) skip_delivered();
}

}  // namespace softrnic::transport
