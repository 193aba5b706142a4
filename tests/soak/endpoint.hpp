// SPDX-License-Identifier: BSD-3-Clause
// One side of a connection: its queue pair, what it sends, what it receives, and how it begins
// anew together with the other side when the retries are exhausted.
//
// The two sides may live in threads of their own; what they tell each other is in Rendezvous.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "nic/nic.hpp"
#include "soak/receiver.hpp"
#include "soak/sender.hpp"

namespace softrnic::soak {

struct ConnectionTerms {
  std::uint64_t seed = 0;
  wire::RoceVersion version = wire::RoceVersion::v2;
  bool ipv6 = false;
  std::uint32_t path_mtu = 1024;
  std::uint8_t timeout = 8;
  std::uint8_t rnr_timer = 3;
  std::array<std::uint32_t, 2> depths{16, 16};      // of the send queues
  std::array<std::uint8_t, 2> max_rd_atomic{4, 4};  // outstanding from a side
  std::array<std::uint64_t, 2> operations{};        // that a side has to complete
  bool selective_repeat = false;
  bool advertise_credits = false;
  std::uint32_t diligence = 100;  // percent of rounds in which it posts receives
};

// What the two sides tell each other. An epoch is the life of the queue pairs between two resets.
struct Rendezvous {
  // Per side: 4 * epoch + 1 in RESET, + 2 in RTR, + 3 in RTS.
  std::array<std::atomic<std::uint32_t>, 2> stage{};
  // Epochs that are over.
  std::atomic<std::uint32_t> over{0};
  std::array<std::uint32_t, 2> qpns{};         // set before either side runs
  std::array<RemoteTargets, 2> targets{};      // likewise: what a side offers
  std::array<nic::AddressAttributes, 2> to{};  // likewise: the path a side takes
};

class Endpoint {
 public:
  Endpoint(const Noise& noise, nic::Nic& nic, const nic::QueuePairInit& init,
           const ConnectionTerms& terms, Rendezvous& rendezvous, std::uint32_t side);

  std::uint32_t qpn() const { return qpn_; }
  // Posts, or goes a step towards the next epoch.
  void step();
  void on_send_completion(const transport::Completion& completion);
  void on_receive_completion(const transport::Completion& completion);

  // All of its own operations are done.
  bool done() const;
  // Once both sides have stopped: looks at what the other side sent last.
  void finish(const Endpoint& other);
  void destroy();

  std::uint64_t succeeded() const { return succeeded_before_ + sender_->succeeded(); }
  std::uint64_t verified() const { return receiver_->verified(); }
  std::uint32_t epochs() const { return epoch_; }
  std::string failure() const;
  // For a run that stands still.
  std::string what_is_left() const;

 private:
  std::uint64_t flow_seed(std::uint32_t side) const;
  std::uint64_t first_word(std::uint32_t side) const;
  wire::Psn first_psn(std::uint32_t side) const;
  std::uint32_t peer() const { return 1 - side_; }
  std::uint32_t stage_of(std::uint32_t step) const { return 4 * epoch_ + step; }
  bool peer_reached(std::uint32_t step) const;

  void begin_epoch();
  void receive_ready();
  void send_ready();
  void break_up();
  void end_epoch();
  void modify(transport::QueuePairState to, const nic::AddressAttributes* address = nullptr);

  nic::Nic& nic_;
  const ConnectionTerms& terms_;
  Rendezvous& rendezvous_;
  std::uint32_t side_;
  property::Random mood_;
  std::uint32_t qpn_ = 0;
  std::vector<std::byte> memory_;
  std::uint32_t key_ = 0;
  std::byte* word_ = nullptr;
  std::unique_ptr<Sender> sender_;
  std::unique_ptr<Receiver> receiver_;

  enum class Phase : std::uint8_t { resetting, awaiting_reset, awaiting_rtr, running, breaking };
  Phase phase_ = Phase::resetting;
  std::uint32_t epoch_ = 0;
  std::uint64_t succeeded_before_ = 0;  // in earlier epochs
  transport::QueuePairAttributes attributes_;
  std::string failure_;
};

}  // namespace softrnic::soak
