// SPDX-License-Identifier: BSD-3-Clause
#include "transport/rc_responder.hpp"

#include <algorithm>
#include <array>

#include "transport/opcode_choice.hpp"
#include "transport/retry_policy.hpp"
#include "transport/work_completion.hpp"
#include "transport/xrc_domain.hpp"

namespace softrnic::transport {

using wire::Instant;
using wire::NakCode;
using wire::Psn;
using wire::Syndrome;

namespace {

// What the user hears of a request refused before it had taken a receive (11.6.3.2).
AsyncEvent event_of(NakCode code) {
  switch (code) {
    case NakCode::invalid_request:
      return AsyncEvent::queue_pair_request_error;
    case NakCode::remote_access_error:
      return AsyncEvent::queue_pair_access_error;
    default:
      return AsyncEvent::queue_pair_fatal;
  }
}

}  // namespace

RcResponder::RcResponder(const QueuePairContext& context, const QueuePairAttributes& attributes)
    : context_(context), attributes_(attributes), receives_(context), domain_(context.domain) {}

void RcResponder::start() {
  expected_psn_ = attributes_.receive_psn;
  msn_ = 0;
  resources_.start(depth_of_resources());
  answers_.start(depth_of_resources());
  if (attributes_.selective_repeat) early_.enable(attributes_.path_mtu);
}

void RcResponder::adapt() {
  resources_.adapt(depth_of_resources());
  answers_.adapt(depth_of_resources());
}

std::uint32_t RcResponder::depth_of_resources() const {
  return std::max<std::uint32_t>(attributes_.max_dest_rd_atomic, 1);
}

void RcResponder::reset() {
  receives_.clear();
  answers_.clear();
  resources_.clear();
  nak_sent_ = failed_ = told_none_ = false;
  message_.end();
  early_.disable();
}

void RcResponder::flush(bool keep_answers) {
  if (context_.xrc_domain != nullptr && !receives_.empty()) {
    // The queue that the receive was taken from, and completes with, may be no more.
    SharedReceiveQueue* queue = context_.xrc_domain->find(shared_number_);
    if (queue == nullptr) {
      receives_.clear();
    } else {
      receives_.draw_from(*queue);
    }
  }
  flush_receives(context_, receives_);
  if (!keep_answers) answers_.clear();
  told_none_ = false;
  message_.end();
}

std::optional<PostError> RcResponder::post(const ReceiveRequest& request) {
  const auto error = receives_.push(request);
  if (!error && told_none_ && !failed_) {
    told_none_ = false;
    answer_acknowledge();
  }
  return error;
}

// ---------------------------------------------------------------- checks

void RcResponder::on_request(Instant, const InboundPacket& packet) {
  if (failed_) return;
  const std::int32_t distance = packet.headers.bth.psn.since(expected_psn_);
  if (distance < 0) return on_duplicate(packet);
  if (distance > 0) return is_selective() ? on_early(packet) : on_gap();

  // One that was kept early and could not be executed then, for want of a receive, comes anew.
  if (early_.empty()) return on_expected(packet, false);
  const Psn before = expected_psn_;
  early_.drop(before);
  on_expected(packet, false);
  early_.drop_range(before, expected_psn_);
  take_up_early();
}

void RcResponder::on_expected(const InboundPacket& packet, bool placed) {
  if (!message_.accepts(packet.opcode) || !payload_size_is_right(packet, attributes_.path_mtu)) {
    return answer_fatal(NakCode::invalid_request);
  }
  if (context_.xrc_domain != nullptr && !turn_to_queue(packet.headers.xrceth)) return;
  if (needs_receive(packet.opcode) && !receives_.provide()) return answer_rnr();
  nak_sent_ = false;
  execute(packet, placed);
}

// The queue must be in the queue pair's XRC domain, and one message has one queue (annex A14).
bool RcResponder::turn_to_queue(const wire::Xrceth& header) {
  SharedReceiveQueue* queue = context_.xrc_domain->find(header.shared_receive_queue);
  const bool begun = message_.kind() != InboundMessage::Kind::none;
  if (begun && header.shared_receive_queue != shared_number_) {
    answer_fatal(NakCode::invalid_request);
    return false;
  }
  if (queue == nullptr) {
    answer_fatal(NakCode::remote_access_error);
    return false;
  }
  receives_.draw_from(*queue);
  domain_ = queue->domain();
  shared_number_ = queue->number();
  return true;
}

void RcResponder::on_gap() {
  ++context_.counters.out_of_sequence;
  if (nak_sent_) return;
  nak_sent_ = true;
  answers_.push({.kind = Answer::Kind::acknowledge,
                 .syndrome = Syndrome::nak(NakCode::psn_sequence_error),
                 .psn = expected_psn_,
                 .msn = msn_});
}

// 9.7.5.1.5 and 9.7.5.1.6: requests executed before are answered again and not executed again.
void RcResponder::on_duplicate(const InboundPacket& packet) {
  ++context_.counters.duplicate_request;
  const Psn psn = packet.headers.bth.psn;
  switch (packet.opcode.operation) {
    case wire::Operation::send:
    case wire::Operation::write:
      return answer_acknowledge();
    case wire::Operation::read_request:
      return on_duplicate_read(psn, packet.headers.reth);
    case wire::Operation::compare_swap:
    case wire::Operation::fetch_add: {
      const ResponderResource* resource = resources_.find(psn, false);
      if (resource == nullptr || !answers_.takes_replay() || answers_.find_unsent(psn) != nullptr) {
        return;
      }
      answers_.push({.kind = Answer::Kind::atomic,
                     .replay = true,
                     .syndrome = Syndrome::ack(),
                     .psn = psn,
                     .msn = msn_,
                     .packets = 1,
                     .original = resource->original});
      return;
    }
    // Their answers say nothing but that they were executed, so nothing was kept (A19).
    case wire::Operation::atomic_write:
    case wire::Operation::flush: {
      if (!answers_.takes_replay() || answers_.find_unsent(psn) != nullptr) return;
      const bool flush = packet.opcode.operation == wire::Operation::flush;
      return answer_placement(flush ? Answer::Kind::flush : Answer::Kind::atomic_write, psn, true);
    }
    default:
      return;
  }
}

// The duplicate may ask for the tail only, from a missing response on. An answer still on its way
// out is taken up again from there: the peer must drop the rest of it anyway.
void RcResponder::on_duplicate_read(Psn psn, const wire::Reth& reth) {
  const ResponderResource* resource = resources_.find(psn, true);
  if (resource == nullptr) return;
  const std::uint64_t offset =
      static_cast<std::uint64_t>(psn.since(resource->first_psn)) * attributes_.path_mtu;
  const bool same = reth.remote_key == resource->remote_key &&
                    reth.virtual_address == resource->address + offset &&
                    offset <= resource->length && reth.dma_length <= resource->length - offset;
  if (!same) return;
  const Psn end = psn + packets_of(reth.dma_length, attributes_.path_mtu);
  Answer* unsent = answers_.find_unsent(psn);
  if (unsent != nullptr && end == unsent->psn + unsent->packets) {
    unsent->next_packet =
        std::min(unsent->next_packet, static_cast<std::uint32_t>(psn.since(unsent->psn)));
    return;
  }
  if (answers_.takes_replay()) answer_read(psn, reth, resource->domain, true);
}

// A SEND takes a receive with its first packet; a WRITE with immediate with its last (9.7.5.2.8).
bool RcResponder::needs_receive(const wire::OpcodeInfo& opcode) const {
  if (opcode.operation == wire::Operation::send) return opcode.starts_message();
  return opcode.operation == wire::Operation::write && opcode.has(wire::kImmDt);
}

// ---------------------------------------------------------------- execution

void RcResponder::execute(const InboundPacket& packet, bool placed) {
  switch (packet.opcode.operation) {
    case wire::Operation::send:
      return execute_send(packet);
    case wire::Operation::write:
      return execute_write(packet, placed);
    case wire::Operation::read_request:
      return execute_read(packet);
    case wire::Operation::atomic_write:
      return execute_atomic_write(packet);
    case wire::Operation::flush:
      return execute_flush(packet);
    default:
      return execute_atomic(packet);
  }
}

void RcResponder::execute_send(const InboundPacket& packet) {
  if (packet.opcode.starts_message()) message_.begin_send();
  const ReceiveEntry& receive = receives_.front();
  if (message_.offset() + packet.payload.size() > receive.length) {
    // Longer than the receive posted for it (9.7.4.1.6).
    ++context_.counters.resp_local_length_error;
    fail_receive(context_, receives_, CompletionStatus::local_length_error);
    return answer_fatal(NakCode::invalid_request, Told::by_completion);
  }
  const MemoryFault fault =
      context_.memory.scatter(receives_.domain(), receive.sges, message_.offset(), packet.payload);
  if (fault != MemoryFault::none) {
    fail_receive(context_, receives_, CompletionStatus::local_protection_error);
    return answer_fatal(NakCode::remote_operational_error, Told::by_completion);
  }
  message_.advance(packet.payload.size());
  if (packet.opcode.has(wire::kIeth) && !invalidates(packet.headers.ieth)) return;
  if (packet.opcode.ends_message()) {
    const bool delivered = complete_receive(context_, receives_, packet,
                                            CompletionOperation::receive, message_.offset());
    // Nobody got the message: it must not be acknowledged.
    if (!delivered) return answer_fatal(NakCode::remote_operational_error);
  }
  finish_packet(packet);
}

// The message is complete; its last act is to make a key of ours invalid (9.4.1.1.3). A key that
// cannot be invalidated so ends the connection.
bool RcResponder::invalidates(const wire::Ieth& ieth) {
  const MemoryFault fault = context_.memory.invalidate_remote(accessor(), ieth.remote_key);
  if (fault == MemoryFault::none) return true;
  fail_receive(context_, receives_, CompletionStatus::local_access_error);
  answer_fatal(NakCode::remote_access_error, Told::by_completion);
  return false;
}

void RcResponder::execute_write(const InboundPacket& packet, bool placed) {
  if (packet.opcode.starts_message()) {
    const wire::Reth& reth = packet.headers.reth;
    if (!grants(kRemoteWrite)) return answer_fatal(NakCode::invalid_request);
    if (reth.dma_length > context_.max_message) return answer_fatal(NakCode::invalid_request);
    // Writing all of it checks the same.
    const bool whole = packet.payload.size() == reth.dma_length && !placed;
    const MemoryFault fault =
        whole ? MemoryFault::none
              : context_.memory.check_remote(accessor(), reth.remote_key, reth.virtual_address,
                                             reth.dma_length, kRemoteWrite);
    if (fault != MemoryFault::none) return answer_fatal(NakCode::remote_access_error);
    message_.begin_write(reth);
  }
  if (!message_.fits_announcement(packet)) return answer_fatal(NakCode::invalid_request);
  if (!packet.payload.empty() && !placed) {
    const MemoryFault fault =
        place(expected_psn_, message_.write_key(), message_.write_address(), packet.payload);
    if (fault != MemoryFault::none) return answer_fatal(NakCode::remote_access_error);
  }
  message_.advance(packet.payload.size());
  if (packet.opcode.ends_message()) {
    ++context_.counters.rx_write_requests;
    if (packet.opcode.has(wire::kImmDt)) {
      const bool delivered = complete_receive(context_, receives_, packet,
                                              CompletionOperation::receive_rdma_with_immediate,
                                              message_.write_length());
      if (!delivered) return answer_fatal(NakCode::remote_operational_error);
    }
  }
  finish_packet(packet);
}

// The packet is done: the next PSN is expected, a message more may be complete, and the peer may
// have asked to be told.
void RcResponder::finish_packet(const InboundPacket& packet) {
  ++expected_psn_;
  if (packet.opcode.ends_message()) {
    message_.end();
    count_message();
  }
  if (packet.headers.bth.ack_request) answer_acknowledge();
}

void RcResponder::execute_read(const InboundPacket& packet) {
  const wire::Reth& reth = packet.headers.reth;
  const std::uint32_t packets = packets_of(reth.dma_length, attributes_.path_mtu);
  if (!grants(kRemoteRead) || reth.dma_length > context_.max_message || resources_exhausted()) {
    return answer_fatal(NakCode::invalid_request);
  }
  const MemoryFault fault = context_.memory.check_remote(
      accessor(), reth.remote_key, reth.virtual_address, reth.dma_length, kRemoteRead);
  if (fault != MemoryFault::none) return answer_fatal(NakCode::remote_access_error);
  if (packets > kMaxReadPackets) return answer_fatal(NakCode::invalid_request);
  ++context_.counters.rx_read_requests;
  resources_.keep({.is_read = true,
                   .first_psn = expected_psn_,
                   .packets = packets,
                   .domain = domain_,
                   .address = reth.virtual_address,
                   .remote_key = reth.remote_key,
                   .length = reth.dma_length});
  count_message();  // a READ counts when it is executed, before its responses
  answer_read(expected_psn_, reth, domain_, false);
  expected_psn_ = expected_psn_ + packets;
}

void RcResponder::execute_atomic(const InboundPacket& packet) {
  const wire::AtomicEth& request = packet.headers.atomic_eth;
  if (!grants(kRemoteAtomic) || resources_exhausted()) {
    return answer_fatal(NakCode::invalid_request);
  }
  const AtomicOperation operation = packet.opcode.operation == wire::Operation::compare_swap
                                        ? AtomicOperation::compare_swap
                                        : AtomicOperation::fetch_add;
  std::uint64_t original = 0;
  const MemoryFault fault =
      context_.memory.atomic_remote(accessor(), request.remote_key, request.virtual_address,
                                    operation, request.swap_add, request.compare, original);
  if (fault == MemoryFault::misaligned) return answer_fatal(NakCode::invalid_request);
  if (fault != MemoryFault::none) return answer_fatal(NakCode::remote_access_error);
  ++context_.counters.rx_atomic_requests;
  resources_.keep({.first_psn = expected_psn_, .packets = 1, .original = original});
  count_message();
  answers_.push({.kind = Answer::Kind::atomic,
                 .syndrome = Syndrome::ack(),
                 .psn = expected_psn_,
                 .msn = msn_,
                 .packets = 1,
                 .original = original});
  ++expected_psn_;
}

void RcResponder::execute_atomic_write(const InboundPacket& packet) {
  const wire::Reth& reth = packet.headers.reth;
  std::array<std::byte, 8> bytes;
  if (!grants(kRemoteWrite) || resources_exhausted() || reth.dma_length != bytes.size() ||
      packet.payload.size() != bytes.size()) {
    return answer_fatal(NakCode::invalid_request);
  }
  packet.payload.copy_to(0, wire::ByteSpan(bytes));
  const MemoryFault fault =
      context_.memory.atomic_write_remote(accessor(), reth.remote_key, reth.virtual_address, bytes);
  if (fault == MemoryFault::misaligned) return answer_fatal(NakCode::invalid_request);
  if (fault != MemoryFault::none) return answer_fatal(NakCode::remote_access_error);
  ++context_.counters.rx_atomic_requests;
  count_message();
  answer_placement(Answer::Kind::atomic_write, expected_psn_, false);
  ++expected_psn_;
}

// All before it has been executed, so what it covers is flushed when it is answered, and nothing
// behind it is executed earlier.
void RcResponder::execute_flush(const InboundPacket& packet) {
  const wire::Reth& reth = packet.headers.reth;
  const wire::Feth& feth = packet.headers.feth;
  constexpr std::uint8_t kPlacements = wire::Feth::kGlobalVisibility | wire::Feth::kPersistence;
  std::uint32_t access = 0;
  if ((feth.placement_type & wire::Feth::kGlobalVisibility) != 0) access |= kFlushGlobal;
  if ((feth.placement_type & wire::Feth::kPersistence) != 0) access |= kFlushPersistent;
  const bool known = access != 0 && (feth.placement_type & ~kPlacements) == 0 &&
                     feth.selectivity <= wire::Feth::kWholeRegion;
  const bool all = feth.selectivity == wire::Feth::kWholeRegion;
  if (!known || (attributes_.remote_access & access) != access ||
      (!all && reth.dma_length > context_.max_message)) {
    return answer_fatal(NakCode::invalid_request);
  }
  const MemoryFault fault = context_.memory.flush_remote(
      accessor(), reth.remote_key, reth.virtual_address, reth.dma_length, all, access);
  if (fault == MemoryFault::not_flushed) return answer_fatal(NakCode::remote_operational_error);
  if (fault != MemoryFault::none) return answer_fatal(NakCode::remote_access_error);
  count_message();
  answer_placement(Answer::Kind::flush, expected_psn_, false);
  ++expected_psn_;
}

// ---------------------------------------------------------------- selective repeat

// Keeps what came before its turn and says so. What lies too far ahead to be kept is treated as
// without selective repeat.
void RcResponder::on_early(const InboundPacket& packet) {
  const Psn psn = packet.headers.bth.psn;
  const auto ahead = static_cast<std::uint32_t>(psn.since(expected_psn_));
  // A packet of the wrong size is dropped: when its turn has come it is refused with a NAK.
  if (ahead >= EarlyRequests::kWindow || !payload_size_is_right(packet, attributes_.path_mtu) ||
      !early_.has_room()) {
    return on_gap();
  }
  if (!early_.holds(psn) && !place_early(packet) && !early_.keep(packet)) return on_gap();
  ++context_.counters.out_of_sequence;
  answer_selective(psn);
}

// Which WRITE the packet is of, if that can be told: its own headers say it, or those of a packet
// before it.
std::optional<WriteExtent> RcResponder::extent_for(const InboundPacket& packet) const {
  const Psn psn = packet.headers.bth.psn;
  if (packet.opcode.starts_message()) {
    const wire::Reth& reth = packet.headers.reth;
    if (!grants(kRemoteWrite) || reth.dma_length > context_.max_message) return std::nullopt;
    return WriteExtent{psn, packets_of(reth.dma_length, attributes_.path_mtu), reth.virtual_address,
                       reth.dma_length, reth.remote_key};
  }
  std::optional<WriteExtent> now;
  if (message_.kind() == InboundMessage::Kind::write) {
    const std::uint64_t rest = message_.write_length() - message_.offset();
    now = WriteExtent{expected_psn_, packets_of(rest, attributes_.path_mtu),
                      message_.write_address(), rest, message_.write_key()};
  }
  return early_.extent_of(psn, expected_psn_, now);
}

bool RcResponder::place_early(const InboundPacket& packet) {
  if (packet.opcode.operation != wire::Operation::write) return false;
  const std::optional<WriteExtent> extent = extent_for(packet);
  if (!extent) return false;
  const Psn psn = packet.headers.bth.psn;
  const auto index = static_cast<std::uint32_t>(psn.since(extent->first_psn));
  const std::uint64_t offset = std::uint64_t{index} * attributes_.path_mtu;
  const std::uint64_t size = std::min<std::uint64_t>(attributes_.path_mtu, extent->length - offset);
  // What does not fit the announcement is refused in its turn.
  if (packet.payload.size() != size ||
      packet.opcode.ends_message() != (index + 1 == extent->packets)) {
    return false;
  }
  std::uint64_t location = 0;
  if (size > 0) {
    const std::uint64_t address = extent->address + offset;
    if (place(psn, extent->remote_key, address, packet.payload) != MemoryFault::none) return false;
    location = context_.memory.locate_remote(accessor(), extent->remote_key, address, size);
  }
  early_.keep_placed(packet, *extent, location);
  return true;
}

MemoryFault RcResponder::place_around(Psn psn, std::uint32_t remote_key, std::uint64_t address,
                                      const wire::ByteChain& payload) {
  const MemoryFault fault =
      context_.memory.check_remote(accessor(), remote_key, address, payload.size(), kRemoteWrite);
  if (fault != MemoryFault::none) return fault;
  const std::uint64_t location =
      context_.memory.locate_remote(accessor(), remote_key, address, payload.size());
  std::uint64_t done = 0;
  while (done < payload.size()) {
    const auto later = early_.placed_behind(psn, location + done, payload.size() - done);
    const std::uint64_t until =
        later ? std::max(later->begin, location + done) - location : payload.size();
    if (until > done) {
      const MemoryFault moved = context_.memory.write_remote(accessor(), remote_key, address + done,
                                                             payload.slice(done, until - done));
      if (moved != MemoryFault::none) return moved;
    }
    done = later ? later->end - location : until;
  }
  return MemoryFault::none;
}

void RcResponder::take_up_early() {
  const Psn before = expected_psn_;
  while (!failed_ && early_.holds(expected_psn_)) {
    const Psn psn = expected_psn_;
    on_expected(early_.packet(psn), early_.is_placed(psn));
    if (expected_psn_ == psn) return;  // no receive for it, and told so: it will come again
    early_.drop_range(psn, expected_psn_);
  }
  // The peer waits to hear that the gap is filled, whatever its packets asked for.
  if (!failed_ && expected_psn_ != before) answer_acknowledge();
}

void RcResponder::answer_selective(Psn psn) {
  const std::uint32_t run = early_.run_up_to(psn, Syndrome::kLongestRun);
  Answer* last = answers_.last();
  if (last != nullptr && last->kind == Answer::Kind::selective && last->psn + 1 == psn &&
      last->packets < Syndrome::kLongestRun) {
    ++context_.counters.ack_deferred;
    ++last->packets;
    last->psn = psn;
    last->syndrome = Syndrome::selective(run);
    last->msn = expected_psn_.value();
    return;
  }
  ++context_.counters.selective_acks_sent;
  answers_.push({.kind = Answer::Kind::selective,
                 .syndrome = Syndrome::selective(run),
                 .psn = psn,
                 .msn = expected_psn_.value(),
                 .packets = 1});
}

// ---------------------------------------------------------------- answers

// Acknowledges all that was executed. An acknowledgement still unsent grows instead of being
// followed by another.
void RcResponder::answer_acknowledge() {
  Answer* last = answers_.last();
  if (last != nullptr && last->kind == Answer::Kind::acknowledge && last->syndrome.is_ack()) {
    ++context_.counters.ack_deferred;
    last->psn = expected_psn_ - 1;
    last->msn = msn_;
    return;
  }
  answers_.push({.kind = Answer::Kind::acknowledge,
                 .syndrome = Syndrome::ack(),
                 .psn = expected_psn_ - 1,
                 .msn = msn_});
}

void RcResponder::answer_rnr() {
  ++context_.counters.out_of_buffer;
  ++context_.counters.send_rnr_err;
  nak_sent_ = true;
  answers_.push({.kind = Answer::Kind::acknowledge,
                 .syndrome = Syndrome::rnr_nak(attributes_.min_rnr_timer),
                 .psn = expected_psn_,
                 .msn = msn_});
}

void RcResponder::answer_fatal(NakCode code, Told told) {
  if (told == Told::by_event) context_.events.raise(event_of(code), context_.qpn);
  switch (code) {
    case NakCode::remote_access_error:
      ++context_.counters.resp_remote_access_errors;
      break;
    case NakCode::remote_operational_error:
      ++context_.counters.resp_remote_operational_errors;
      break;
    default:
      ++context_.counters.resp_remote_invalid_request;
  }
  answers_.push({.kind = Answer::Kind::acknowledge,
                 .syndrome = Syndrome::nak(code),
                 .psn = expected_psn_,
                 .msn = msn_});
  failed_ = true;
}

void RcResponder::answer_placement(Answer::Kind kind, Psn psn, bool replay) {
  answers_.push({.kind = kind,
                 .replay = replay,
                 .syndrome = Syndrome::ack(),
                 .psn = psn,
                 .msn = msn_,
                 .packets = 1});
}

void RcResponder::answer_read(Psn psn, const wire::Reth& reth, ProtectionDomain domain,
                              bool replay) {
  answers_.push({.kind = Answer::Kind::read,
                 .replay = replay,
                 .syndrome = Syndrome::ack(),
                 .psn = psn,
                 .msn = msn_,
                 .domain = domain,
                 .address = reth.virtual_address,
                 .remote_key = reth.remote_key,
                 .length = reth.dma_length,
                 .packets = packets_of(reth.dma_length, attributes_.path_mtu)});
}

// 9.4.4, 9.7.4.1.5.
bool RcResponder::resources_exhausted() {
  return answers_.first_answers() >= attributes_.max_dest_rd_atomic || !resources_.make_room();
}

bool RcResponder::poll_transmit(Instant, OutboundPacket& out) {
  if (answers_.empty()) return false;
  Answer& answer = answers_.front();
  out.headers = {};
  out.payload_size = 0;
  wire::Bth& bth = out.headers.bth;
  bth.migration_request = true;
  bth.partition_key = attributes_.partition_key;
  bth.destination_qpn = attributes_.destination_qpn;
  bth.psn = answer.psn + answer.next_packet;
  out.headers.aeth = {.syndrome = with_credits(answer.syndrome), .msn = answer.msn};
  switch (answer.kind) {
    case Answer::Kind::acknowledge:
    case Answer::Kind::selective:
      bth.opcode = wire::Opcode::rc_acknowledge;
      answers_.pop();
      break;
    case Answer::Kind::atomic:
      bth.opcode = wire::Opcode::rc_atomic_acknowledge;
      out.headers.atomic_ack_eth.original = answer.original;
      answers_.pop();
      break;
    case Answer::Kind::atomic_write:
    case Answer::Kind::flush:
      bth.opcode = wire::Opcode::rc_read_response_only;
      answers_.pop();
      break;
    case Answer::Kind::read:
      fill_read_response(answer, out);
      break;
  }
  bth.opcode = in_service(context_.service(), bth.opcode);
  return true;
}

// The message that has begun still has its receive, and its credit. Of a shared receive queue
// nobody can promise anything.
Syndrome RcResponder::with_credits(Syndrome syndrome) {
  if (!attributes_.advertise_credits || !syndrome.is_ack()) return syndrome;
  if (!receives_.takes_posts()) return syndrome;
  told_none_ = receives_.empty();
  return Syndrome::ack(wire::credit_code(receives_.size()));
}

void RcResponder::fill_read_response(Answer& answer, OutboundPacket& out) {
  const std::uint64_t offset = std::uint64_t{answer.next_packet} * attributes_.path_mtu;
  const auto size = static_cast<std::uint32_t>(
      std::min<std::uint64_t>(attributes_.path_mtu, answer.length - offset));
  if (size > 0) {
    const MemoryFault fault =
        context_.memory.read_remote({answer.domain, context_.qpn}, answer.remote_key,
                                    answer.address + offset, out.payload_room.slice(0, size));
    if (fault != MemoryFault::none) {
      // The region went away under the READ.
      context_.events.raise(AsyncEvent::queue_pair_access_error, context_.qpn);
      ++context_.counters.resp_remote_access_errors;
      out.headers.bth.opcode = wire::Opcode::rc_acknowledge;
      out.headers.aeth.syndrome = Syndrome::nak(NakCode::remote_access_error);
      answers_.clear();
      failed_ = true;
      return;
    }
  }
  const bool first = answer.next_packet == 0;
  const bool last = answer.next_packet + 1 == answer.packets;
  out.headers.bth.opcode =
      first ? (last ? wire::Opcode::rc_read_response_only : wire::Opcode::rc_read_response_first)
            : (last ? wire::Opcode::rc_read_response_last : wire::Opcode::rc_read_response_middle);
  out.payload_size = size;
  ++answer.next_packet;
  if (last) answers_.pop();
}

}  // namespace softrnic::transport
