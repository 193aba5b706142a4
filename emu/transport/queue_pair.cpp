// SPDX-License-Identifier: BSD-3-Clause
#include "transport/queue_pair.hpp"

#include "transport/absent_half.hpp"
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

bool in_range(const QueuePairAttributes& a) {
  return is_path_mtu(a.path_mtu) && a.destination_qpn <= 0xffffff && a.max_rd_atomic <= 128 &&
         a.max_dest_rd_atomic <= 128 && a.min_rnr_timer <= 31 && a.timeout <= 31 &&
         a.retry_count <= 7 && a.rnr_retry <= 7 && (a.remote_access & ~kRemoteAccess) == 0;
}

// The transitions a user may ask for (11.2.5.3, table 91); the drained and send-error states are
// not among them yet.
bool is_legal(QueuePairState from, QueuePairState to) {
  using enum QueuePairState;
  if (to == reset || to == error) return true;
  if (to == init) return from == reset || from == init;
  if (to == ready_to_receive) return from == init;
  if (to == ready_to_send) return from == ready_to_receive || from == ready_to_send;
  return false;
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

std::optional<ModifyError> QueuePair::modify(QueuePairState to,
                                             const QueuePairAttributes& attributes) {
  if (!is_legal(state_, to)) return ModifyError::illegal_transition;
  if (to == QueuePairState::reset) {
    requester_->reset();
    responder_->reset();
    attributes_ = {};
    state_ = to;
    return std::nullopt;
  }
  if (to == QueuePairState::error) {
    requester_->flush();
    responder_->flush(false);
    state_ = to;
    return std::nullopt;
  }
  if (!in_range(attributes)) return ModifyError::bad_attribute;
  const QueuePairState from = state_;
  const QueuePairAttributes before = attributes_;
  attributes_ = attributes;
  if (from == QueuePairState::ready_to_receive || from == QueuePairState::ready_to_send) {
    // What the path and the responder stand on is settled at RTR (11.2.5.3).
    attributes_.path_mtu = before.path_mtu;
    attributes_.destination_qpn = before.destination_qpn;
    attributes_.receive_psn = before.receive_psn;
    attributes_.max_dest_rd_atomic = before.max_dest_rd_atomic;
    attributes_.selective_repeat = before.selective_repeat;
    attributes_.advertise_credits = before.advertise_credits;
  }
  if (from == QueuePairState::ready_to_send) attributes_.send_psn = before.send_psn;
  state_ = to;
  if (to == QueuePairState::ready_to_receive) responder_->start();
  if (to == QueuePairState::ready_to_send && from == QueuePairState::ready_to_receive) {
    requester_->start();
  }
  return std::nullopt;
}

std::optional<PostError> QueuePair::post_send(const SendRequest& request) {
  if (state_ != QueuePairState::ready_to_send && state_ != QueuePairState::error) {
    return PostError::bad_state;
  }
  const auto error = requester_->post(request);
  // In ERR a request is taken and flushed at once (10.3.1.6).
  if (!error && state_ == QueuePairState::error) requester_->flush();
  return error;
}

std::optional<PostError> QueuePair::post_receive(const ReceiveRequest& request) {
  if (state_ == QueuePairState::reset) return PostError::bad_state;
  const auto error = responder_->post(request);
  if (!error && state_ == QueuePairState::error) responder_->flush(true);
  return error;
}

void QueuePair::on_packet(wire::Instant now, const InboundPacket& packet) {
  const bool receives =
      state_ == QueuePairState::ready_to_receive || state_ == QueuePairState::ready_to_send;
  if (!receives || (packet.opcode.is_response() && state_ != QueuePairState::ready_to_send)) {
    ++context_.counters.bad_qp_state;
    return;
  }
  if (packet.opcode.is_response()) {
    requester_->on_response(now, packet);
  } else {
    responder_->on_request(now, packet);
  }
  enter_error_if_failed();
}

bool QueuePair::wants_transmit(wire::Instant now) const {
  // In ERR only the answer that says why is still sent.
  return responder_->wants_transmit() ||
         (state_ == QueuePairState::ready_to_send && requester_->wants_transmit(now));
}

bool QueuePair::poll_transmit(wire::Instant now, OutboundPacket& out) {
  out.address_handle = 0;
  bool filled = responder_->poll_transmit(now, out);
  if (!filled && state_ == QueuePairState::ready_to_send) {
    filled = requester_->poll_transmit(now, out);
  }
  // Payload is padded to a multiple of four (9.2.3).
  if (filled) out.headers.bth.pad_count = static_cast<std::uint8_t>(-out.payload_size & 3);
  enter_error_if_failed();
  return filled;
}

wire::Instant QueuePair::next_deadline() const {
  return state_ == QueuePairState::ready_to_send ? requester_->next_deadline() : wire::kNever;
}

void QueuePair::on_deadline(wire::Instant now) {
  if (state_ != QueuePairState::ready_to_send) return;
  requester_->on_deadline(now);
  enter_error_if_failed();
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

void QueuePair::enter_error_if_failed() {
  if (state_ == QueuePairState::error || (!requester_->failed() && !responder_->failed())) return;
  state_ = QueuePairState::error;
  requester_->flush();
  // A NAK that says why still leaves; answers of a healthy responder do not.
  responder_->flush(responder_->failed());
}

}  // namespace softrnic::transport
