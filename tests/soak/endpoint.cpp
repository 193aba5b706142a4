// SPDX-License-Identifier: BSD-3-Clause
#include "soak/endpoint.hpp"

#include <fmt/format.h>

#include <cstring>

#include "soak/slot.hpp"

namespace softrnic::soak {

using transport::QueuePairState;

namespace {

constexpr std::size_t kWordRoom = 64;

}  // namespace

Endpoint::Endpoint(const Noise& noise, nic::Nic& nic, const nic::QueuePairInit& init,
                   const ConnectionTerms& terms, Rendezvous& rendezvous, std::uint32_t side)
    : nic_(nic), terms_(terms), rendezvous_(rendezvous), side_(side), mood_(terms.seed * 2 + side) {
  const std::uint32_t depth = terms.depths[side];
  const std::size_t send_bytes = std::size_t{depth} * kSlotSize;
  const std::size_t receive_bytes = std::size_t{kReceives} * kSlotSize;
  const std::size_t target_bytes = std::size_t{kWriteTargets} * kSlotSize;
  memory_.resize(kWordRoom + send_bytes + receive_bytes + target_bytes + kMaxLength);
  const std::span<std::byte> all(memory_);
  word_ = memory_.data();
  const auto sends = all.subspan(kWordRoom, send_bytes);
  const auto receives = all.subspan(kWordRoom + send_bytes, receive_bytes);
  const auto targets = all.subspan(kWordRoom + send_bytes + receive_bytes, target_bytes);
  const auto source = all.last(kMaxLength);
  const std::uint64_t source_name = terms.seed * 2 + side;
  const auto content = noise.of(source_name, kMaxLength);
  std::copy(content.begin(), content.end(), source.begin());

  nic::RegionAttributes region;
  region.domain = init.domain;
  region.base = memory_.data();
  region.length = memory_.size();
  region.access = transport::kLocalWrite | transport::kRemoteAccess;
  const auto keys = nic.memory().add(region);
  const auto made = nic.create_queue_pair(init);
  if (!keys || !made) {
    failure_ = "a queue pair or its memory was refused";
    return;
  }
  key_ = keys->local;
  qpn_ = (*made)->qpn();
  const auto address = [](const auto& part) {
    return static_cast<std::uint64_t>(reinterpret_cast<std::uintptr_t>(part.data()));
  };
  rendezvous_.qpns[side] = qpn_;
  rendezvous_.targets[side] = {keys->remote, address(targets), address(source), address(all),
                               source_name};
  sender_ = std::make_unique<Sender>(noise, nic, qpn_, depth, sends, key_);
  receiver_ = std::make_unique<Receiver>(noise, nic, qpn_, receives, targets, key_);
}

// ---------------------------------------------------------------- what both sides draw alike

std::uint64_t Endpoint::flow_seed(std::uint32_t side) const {
  return property::Random(terms_.seed * 4 + side * 2 + std::uint64_t{epoch_} * 0x100000001).next();
}

std::uint64_t Endpoint::first_word(std::uint32_t side) const {
  return property::Random(flow_seed(side) + 1).next();
}

// Half of all flows wrap within their first packets. No epoch begins near an earlier one, of which
// packets may still be on the wire (the golden ratio keeps them apart).
wire::Psn Endpoint::first_psn(std::uint32_t side) const {
  property::Random random(terms_.seed * 4 + side);
  const std::uint32_t first = random.chance(50)
                                  ? 0xffffff - random.between(0, 300)
                                  : static_cast<std::uint32_t>(random.below(1u << 24));
  return wire::Psn((first + epoch_ * 0x9e3779) & 0xffffff);
}

bool Endpoint::peer_reached(std::uint32_t step) const {
  return rendezvous_.stage[peer()].load() >= stage_of(step);
}

// ---------------------------------------------------------------- epochs

void Endpoint::modify(QueuePairState to, const nic::AddressAttributes* address) {
  const auto error = nic_.modify(qpn_, to, attributes_, address);
  if (error && failure_.empty()) {
    failure_ = fmt::format("to {}: {}", transport::to_string(to), nic::to_string(*error));
  }
}

void Endpoint::begin_epoch() {
  attributes_ = {};
  attributes_.remote_access = transport::kRemoteAccess;
  attributes_.path_mtu = terms_.path_mtu;
  attributes_.destination_qpn = rendezvous_.qpns[peer()];
  attributes_.receive_psn = first_psn(peer());
  attributes_.send_psn = first_psn(side_);
  attributes_.max_dest_rd_atomic = terms_.max_rd_atomic[peer()];
  attributes_.max_rd_atomic = terms_.max_rd_atomic[side_];
  attributes_.min_rnr_timer = terms_.rnr_timer;
  attributes_.timeout = terms_.timeout;
  attributes_.selective_repeat = terms_.selective_repeat;
  attributes_.advertise_credits = terms_.advertise_credits;
  const std::uint64_t word = first_word(peer());
  std::memcpy(word_, &word, sizeof word);
  sender_->restart(flow_seed(side_), first_word(side_), rendezvous_.targets[peer()]);
  receiver_->restart(flow_seed(peer()), terms_.depths[peer()]);
  rendezvous_.stage[side_].store(stage_of(1));
  phase_ = Phase::awaiting_reset;
}

void Endpoint::receive_ready() {
  modify(QueuePairState::init);
  receiver_->post();
  modify(QueuePairState::ready_to_receive, &rendezvous_.to[side_]);
  rendezvous_.stage[side_].store(stage_of(2));
  phase_ = Phase::awaiting_rtr;
}

void Endpoint::send_ready() {
  modify(QueuePairState::ready_to_send);
  rendezvous_.stage[side_].store(stage_of(3));
  phase_ = Phase::running;
}

// Retries are exhausted here or there: both sides flush, and begin anew when all has come back.
void Endpoint::break_up() {
  rendezvous_.over.store(epoch_ + 1);
  sender_->expect_flush();
  receiver_->expect_flush();
  modify(QueuePairState::error);
  phase_ = Phase::breaking;
}

void Endpoint::end_epoch() {
  succeeded_before_ += sender_->succeeded();
  modify(QueuePairState::reset);
  ++epoch_;
  phase_ = Phase::resetting;
}

void Endpoint::step() {
  switch (phase_) {
    case Phase::resetting:
      return begin_epoch();
    case Phase::awaiting_reset:
      if (peer_reached(1)) receive_ready();
      return;
    case Phase::awaiting_rtr:
      if (peer_reached(2)) send_ready();
      return;
    case Phase::running:
      if (sender_->exhausted() || rendezvous_.over.load() > epoch_) return break_up();
      if (mood_.chance(terms_.diligence)) receiver_->post();
      sender_->post(terms_.operations[side_] - succeeded_before_);
      return;
    case Phase::breaking:
      // The flushed completions have been polled since.
      sender_->settle();
      if (sender_->idle() && receiver_->idle()) end_epoch();
      return;
  }
}

void Endpoint::on_send_completion(const transport::Completion& completion) {
  sender_->on_completion(completion);
  // The receives of a queue pair in ERR come back flushed, perhaps before step() hears of it.
  if (sender_->exhausted()) receiver_->expect_flush();
}

void Endpoint::on_receive_completion(const transport::Completion& completion) {
  receiver_->on_completion(completion);
}

// ---------------------------------------------------------------- the end

bool Endpoint::done() const {
  return phase_ == Phase::running && succeeded() == terms_.operations[side_];
}

void Endpoint::finish(const Endpoint& other) {
  receiver_->finish(other.sender_->posted());
  std::uint64_t word = 0;
  std::memcpy(&word, word_, sizeof word);
  if (word != other.sender_->word() && failure_.empty()) {
    failure_ = fmt::format("the word of queue pair {:#x} is {:#x}, not {:#x}", qpn_, word,
                           other.sender_->word());
  }
}

void Endpoint::destroy() {
  if (nic_.destroy_queue_pair(qpn_) || !nic_.memory().remove(key_)) {
    failure_ = "a queue pair or its memory could not be given back";
  }
}

std::string Endpoint::what_is_left() const {
  const transport::QueuePair& qp = *nic_.find_queue_pair(qpn_);
  return fmt::format(
      "queue pair {:#x} ({}, epoch {}, phase {}): {} of {} operations, {} posted, {} in its send "
      "queue, {} receives",
      qpn_, transport::to_string(qp.state()), epoch_, static_cast<int>(phase_), succeeded(),
      terms_.operations[side_], sender_->posted(), qp.send_queue_depth(), qp.receive_queue_depth());
}

std::string Endpoint::failure() const {
  if (!failure_.empty()) return failure_;
  const std::string& what = sender_->failure().empty() ? receiver_->failure() : sender_->failure();
  return what.empty() ? "" : what + "\n  " + what_is_left();
}

}  // namespace softrnic::soak
