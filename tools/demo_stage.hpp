// SPDX-License-Identifier: BSD-3-Clause
// The stage of the demo: two cards, alice and bob, on one wire under a virtual clock.
//
// Everything follows from the seed: same options, same packets, same capture, byte for byte.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "fabric/fault_rule.hpp"
#include "link/capture_link.hpp"
#include "link/memory_link.hpp"
#include "nic/nic.hpp"

namespace softrnic::tools {

struct StageOptions {
  std::uint64_t seed = 1;
  wire::RoceVersion version = wire::RoceVersion::v2;
  bool ipv6 = false;
  std::uint32_t path_mtu = 1024;
  // As seen from alice: tx is what she sends, rx what bob sends her.
  std::vector<fabric::FaultRule> faults;
  std::string capture_path;
};

// A frame that met a fault on its way.
struct InjuredFrame {
  wire::Instant at{};
  bool from_alice = false;
  std::string what;  // "RC RDMA WRITE Middle"; "ARP" and the like are never injured
  std::uint32_t psn = 0;
  std::size_t payload = 0;
  std::string fault;  // "drop: drop 1%"
};

// One card with its memory, completion queue and queue pair.
struct Card {
  static constexpr std::size_t kMemory = 2 << 20;

  std::string name;
  std::uint64_t address = 0;  // of the first byte of its memory, as peers name it
  std::vector<std::byte> memory = std::vector<std::byte>(kMemory);
  std::unique_ptr<nic::Nic> nic;
  nic::InterfaceAddress ip;
  std::uint32_t gid_index = 0;
  transport::ProtectionDomain domain{};
  nic::MemoryKeys keys;
  nic::CompletionQueue* completions = nullptr;
  std::uint32_t qpn = 0;
  wire::Psn first_psn;
  std::vector<transport::Completion> finished;  // taken from `completions`, in order

  std::span<std::byte> bytes(std::size_t offset, std::size_t length) {
    return std::span(memory).subspan(offset, length);
  }
  transport::Sge sge(std::size_t offset, std::size_t length) const {
    return {address + offset, static_cast<std::uint32_t>(length), keys.local};
  }
  // Number of finished work requests with this id.
  bool has_finished(std::uint64_t id) const;
};

class Stage {
 public:
  explicit Stage(const StageOptions& options);
  ~Stage();

  Card& alice() { return alice_; }
  Card& bob() { return bob_; }
  wire::Instant now() const { return now_; }
  const std::vector<InjuredFrame>& injured() const { return injured_; }

  void post_send(Card& card, const transport::SendRequest& request);
  void post_receive(Card& card, const transport::ReceiveRequest& request);

  // Turns both cards until `done`; else says why it gave up: nothing happens any more, or too much
  // for too long.
  std::optional<std::string> run_until(const std::function<bool()>& done);
  // Turns both cards for this long.
  void run_for(wire::Duration duration);

  // A Failure when the capture could not be written.
  void close_capture();

 private:
  void plug_in(Card& card, bool is_alice, std::uint64_t which);
  void create_queue_pair(Card& card);
  void connect(Card& card, const Card& other);
  std::vector<fabric::FaultRule> faults_of(bool is_alice) const;
  void note_fault(bool is_alice, wire::Instant at, const wire::ByteChain& frame,
                  std::string_view fault);
  bool turn();
  void take_completions(Card& card);
  wire::Instant next_deadline() const;
  std::uint64_t packets_sent() const;

  StageOptions options_;
  wire::Instant now_;
  link::MemoryWire wire_;
  std::shared_ptr<link::CaptureFile> capture_;
  std::vector<InjuredFrame> injured_;
  Card alice_;
  Card bob_;
};

}  // namespace softrnic::tools
