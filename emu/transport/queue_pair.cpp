// SPDX-License-Identifier: BSD-3-Clause
#include "transport/queue_pair.hpp"

#include "transport/absent_half.hpp"
#include "transport/queue_pair_transition.hpp"
#include "transport/rc_requester.hpp"
#include "transport/rc_responder.hpp"
#include "transport/uc_responder.hpp"
#include "transport/ud_responder.hpp"
#include "transport/unreliable_requester.hpp"

namespace softrnic::transport {
namespace {

bool is_path_mtu(std::uint32_t bytes) {
  return bytes == 256 || bytes == 512 || bytes == 1024 || bytes == 2048 || bytes == 4096;
}

constexpr AttributeMask kEverything = ~AttributeMask{0};

bool in_range(const QueuePairAttributes& a, AttributeMask named) {
  const auto fits = [named](AttributeMask which, bool right) {
    return (named & which) == 0 || right;
  };
  return fits(attribute::remote_access, (a.remote_access & ~kRemoteAccess) == 0) &&
         fits(attribute::port, a.port == 1) && fits(attribute::path_mtu, is_path_mtu(a.path_mtu)) &&
         fits(attribute::timeout, a.timeout <= 31) &&
         fits(attribute::retry_count, a.retry_count <= 7) &&
         fits(attribute::rnr_retry, a.rnr_retry <= 7) &&
         fits(attribute::max_rd_atomic, a.max_rd_atomic <= 128) &&
         fits(attribute::min_rnr_timer, a.min_rnr_timer <= 31) &&
         fits(attribute::max_dest_rd_atomic, a.max_dest_rd_atomic <= 128) &&
         fits(attribute::migration_state, a.migration_state == MigrationState::migrated) &&
         fits(attribute::destination_qpn, a.destination_qpn <= 0xffffff);
}

void take(QueuePairAttributes& into, const QueuePairAttributes& from, AttributeMask named) {
  const auto take_one = [&](AttributeMask which, auto QueuePairAttributes::*member) {
    if ((named & which) != 0) into.*member = from.*member;
  };
  using A = QueuePairAttributes;
  take_one(attribute::drained_event, &A::drained_event);
  take_one(attribute::remote_access, &A::remote_access);
  take_one(attribute::partition_key, &A::partition_key);
  take_one(attribute::port, &A::port);
  take_one(attribute::queue_key, &A::queue_key);
  take_one(attribute::path_mtu, &A::path_mtu);
  take_one(attribute::timeout, &A::timeout);
  take_one(attribute::retry_count, &A::retry_count);
  take_one(attribute::rnr_retry, &A::rnr_retry);
  take_one(attribute::receive_psn, &A::receive_psn);
  take_one(attribute::max_rd_atomic, &A::max_rd_atomic);
  take_one(attribute::min_rnr_timer, &A::min_rnr_timer);
  take_one(attribute::send_psn, &A::send_psn);
  take_one(attribute::max_dest_rd_atomic, &A::max_dest_rd_atomic);
  take_one(attribute::migration_state, &A::migration_state);
  take_one(attribute::destination_qpn, &A::destination_qpn);
  take_one(attribute::selective_repeat, &A::selective_repeat);
  take_one(attribute::advertise_credits, &A::advertise_credits);
  take_one(attribute::honor_credits, &A::honor_credits);
}

// What a user may name on a change and we have not got.
constexpr AttributeMask kNotOffered = attribute::alternate_path | attribute::capacity;

bool leaves_everything(QueuePairState to) {
  return to == QueuePairState::reset || to == QueuePairState::error;
}

bool sends(QueuePairState state) {
  return state == QueuePairState::ready_to_send || state == QueuePairState::send_queue_drain;
}

// In SQE the receive queue goes on as if nothing had happened (10.3.1.6).
bool receives(QueuePairState state) {
  return sends(state) || state == QueuePairState::ready_to_receive ||
         state == QueuePairState::send_queue_error;
}

// In these a request is taken and flushed at once (10.3.1.6, 10.3.1.7).
bool flushes_sends(QueuePairState state) {
  return state == QueuePairState::send_queue_error || state == QueuePairState::error;
}

}  // namespace

QueuePair::QueuePair(const QueuePairContext& context) : context_(context) {
  switch (context.type) {
    case QueuePairType::uc:
      requester_ = std::make_unique<UnreliableRequester>(context_, attributes_);
      responder_ = std::make_unique<UcResponder>(context_, attributes_);
      break;
    case QueuePairType::ud:
      requester_ = std::make_unique<UnreliableRequester>(context_, attributes_);
      responder_ = std::make_unique<UdResponder>(context_, attributes_);
      break;
    case QueuePairType::xrc_initiator:
      requester_ = std::make_unique<RcRequester>(context_, attributes_);
      responder_ = std::make_unique<AbsentResponder>(context_);
      break;
    case QueuePairType::xrc_target:
      requester_ = std::make_unique<AbsentRequester>(context_);
      responder_ = std::make_unique<RcResponder>(context_, attributes_);
      break;
    case QueuePairType::rc:
      requester_ = std::make_unique<RcRequester>(context_, attributes_);
      responder_ = std::make_unique<RcResponder>(context_, attributes_);
      break;
  }
}

QueuePair::~QueuePair() = default;

// ---------------------------------------------------------------- states

std::optional<ModifyError> QueuePair::modify(QueuePairState to,
                                             const QueuePairAttributes& attributes) {
  const auto legal = transition(context_.type, state_, to);
  if (!legal) return ModifyError::illegal_transition;
  if (!leaves_everything(to) && !in_range(attributes, kEverything)) {
    return ModifyError::bad_attribute;
  }
  return modify(to, attributes, legal->takes() & ~(kNotOffered | attribute::current_state));
}

std::optional<ModifyError> QueuePair::modify(QueuePairState to,
                                             const QueuePairAttributes& attributes,
                                             AttributeMask named) {
  if (const auto error = check(to, attributes, named)) return error;
  take(attributes_, attributes, named);
  if (to == QueuePairState::ready_to_receive && context_.type == QueuePairType::ud) {
    attributes_.path_mtu = attributes.path_mtu;
  }
  enter(to);
  return std::nullopt;
}

std::optional<ModifyError> QueuePair::check(QueuePairState to,
                                            const QueuePairAttributes& attributes,
                                            AttributeMask named) const {
  const auto legal = transition(context_.type, state_, to);
  if (!legal) return ModifyError::illegal_transition;
  if ((legal->required & ~named) != 0) return ModifyError::missing_attribute;
  if (!legal->accepts(named) || (named & kNotOffered) != 0) return ModifyError::refused_attribute;
  if ((named & attribute::current_state) != 0 && attributes.current_state != state_) {
    return ModifyError::wrong_state;
  }
  // SQD is two states in one; the second, drained, is what one may change and leave (10.3.1.5).
  if (draining_ && !leaves_everything(to)) return ModifyError::still_draining;
  const bool datagram_mtu =
      to == QueuePairState::ready_to_receive && context_.type == QueuePairType::ud;
  if (!in_range(attributes, named | (datagram_mtu ? attribute::path_mtu : 0))) {
    return ModifyError::bad_attribute;
  }
  return std::nullopt;
}

void QueuePair::enter(QueuePairState to) {
  using enum QueuePairState;
  const QueuePairState from = state_;
  state_ = to;
  if (leaves_everything(to)) draining_ = false;
  switch (to) {
    case reset:
      requester_->reset();
      responder_->reset();
      attributes_ = {};
      break;
    case ready_to_receive:
      established_ = false;
      responder_->start();
      break;
    case ready_to_send:
      if (from == ready_to_receive) requester_->start();
      if (from == send_queue_drain) requester_->resume();
      break;
    case send_queue_drain:
      if (from == send_queue_drain) {
        responder_->adapt();
        break;
      }
      draining_ = true;
      requester_->drain();
      settle();
      break;
    case error:
      if (from == error) break;  // flushed already; a NAK that says why may still be waiting
      requester_->flush();
      responder_->flush(false);
      note_last_receive();
      break;
    case init:
    case send_queue_error:
      break;
  }
}

void QueuePair::settle() {
  const bool failed = requester_->failed() || responder_->failed();
  if (failed && state_ != QueuePairState::error) return fail();
  if (!draining_ || !requester_->drained()) return;
  draining_ = false;
  if (attributes_.drained_event) {
    context_.events.raise(AsyncEvent::send_queue_drained, context_.qpn);
  }
}

void QueuePair::fail() {
  draining_ = false;
  // An unreliable service loses no more than its send queue by an error there (10.3.1.6).
  const bool unreliable = context_.type == QueuePairType::uc || context_.type == QueuePairType::ud;
  const bool only_sends = unreliable && !responder_->failed() && !requester_->lost_completion();
  requester_->flush();
  if (only_sends) {
    state_ = QueuePairState::send_queue_error;
    return;
  }
  state_ = QueuePairState::error;
  // A NAK that says why still leaves; answers of a healthy responder do not.
  responder_->flush(responder_->failed());
  note_last_receive();
}

// Who shares its receives cannot tell by flushed ones that it takes no more (11.6.3.1).
void QueuePair::note_last_receive() {
  if (context_.shared_receive_queue == nullptr) return;
  context_.events.raise(AsyncEvent::last_request_reached, context_.qpn);
}

// ---------------------------------------------------------------- work, packets, time

std::optional<PostError> QueuePair::post_send(const SendRequest& request) {
  if (!sends(state_) && !flushes_sends(state_)) return PostError::bad_state;
  const auto error = requester_->post(request);
  if (!error && flushes_sends(state_)) requester_->flush();
  return error;
}

std::optional<PostError> QueuePair::post_receive(const ReceiveRequest& request) {
  if (state_ == QueuePairState::reset) return PostError::bad_state;
  const auto error = responder_->post(request);
  if (!error && state_ == QueuePairState::error) responder_->flush(true);
  return error;
}

void QueuePair::on_packet(wire::Instant now, const InboundPacket& packet) {
  const bool taken = packet.opcode.is_response() ? sends(state_) : receives(state_);
  if (!taken) {
    ++context_.counters.bad_qp_state;
    return;
  }
  if (packet.opcode.is_response()) {
    requester_->on_response(now, packet);
  } else {
    note_arrival();
    responder_->on_request(now, packet);
  }
  settle();
}

// Whoever waits in RTR for the other side to be ready may go on with the first packet (11.6.3.1).
void QueuePair::note_arrival() {
  if (established_ || state_ != QueuePairState::ready_to_receive) return;
  established_ = true;
  if (context_.type == QueuePairType::ud) return;
  context_.events.raise(AsyncEvent::communication_established, context_.qpn);
}

bool QueuePair::wants_transmit(wire::Instant now) const {
  // In ERR only the answer that says why is still sent.
  return responder_->wants_transmit() || (sends(state_) && requester_->wants_transmit(now));
}

bool QueuePair::poll_transmit(wire::Instant now, OutboundPacket& out) {
  out.address_handle = 0;
  bool filled = responder_->poll_transmit(now, out);
  if (!filled && sends(state_)) filled = requester_->poll_transmit(now, out);
  // Payload is padded to a multiple of four (9.2.3).
  if (filled) out.headers.bth.pad_count = static_cast<std::uint8_t>(-out.payload_size & 3);
  settle();
  return filled;
}

wire::Instant QueuePair::next_deadline() const {
  return sends(state_) ? requester_->next_deadline() : wire::kNever;
}

void QueuePair::on_deadline(wire::Instant now) {
  if (!sends(state_)) return;
  requester_->on_deadline(now);
  settle();
}

std::uint32_t QueuePair::send_queue_depth() const {
  return requester_->depth();
}

std::uint32_t QueuePair::receive_queue_depth() const {
  return responder_->depth();
}

void QueuePair::prime_msn(std::uint32_t msn) {
  responder_->prime_msn(msn);
}

std::uint32_t QueuePair::msn() const {
  return responder_->msn();
}

}  // namespace softrnic::transport
