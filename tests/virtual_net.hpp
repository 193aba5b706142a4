// SPDX-License-Identifier: BSD-3-Clause
// NICs on one segment in memory, under a clock that only the test moves.
#pragma once

#include <algorithm>
#include <cstdlib>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "link/memory_link.hpp"
#include "nic/nic.hpp"

namespace softrnic::test {

class VirtualNet {
 public:
  explicit VirtualNet(std::uint32_t mtu = 9000, std::size_t ring = 1024) : wire_(mtu, ring) {}

  using Wrapper = std::function<std::unique_ptr<link::Link>(std::unique_ptr<link::Link>)>;

  // A NIC on a new port, whose link `wrap` may put something around.
  nic::Nic& add(const nic::NicConfig& config, const Wrapper& wrap = {}) {
    std::unique_ptr<link::Link> port = wire_.attach("port" + std::to_string(nics_.size()));
    if (wrap) port = wrap(std::move(port));
    nics_.push_back(std::make_unique<nic::Nic>(config, std::move(port)));
    return *nics_.back();
  }

  nic::Nic& operator[](std::size_t index) { return *nics_[index]; }
  std::size_t size() const { return nics_.size(); }

  // Every NIC knows every other's addresses, so that no ARP is needed.
  void introduce_all() {
    for (auto& each : nics_) {
      for (auto& other : nics_) {
        if (each == other) continue;
        for (const nic::GidEntry& entry : other->gids().entries()) {
          each->add_neighbor(entry.gid, other->mac());
        }
      }
    }
  }

  wire::Instant now() const { return now_; }
  void advance(wire::Duration by) { now_ += by; }
  // How much time one turn of all cranks takes.
  void set_tick(wire::Duration tick) { tick_ = tick; }
  wire::Duration tick() const { return tick_; }

  // One turn of each crank; when none did anything, the clock jumps to the next deadline, but not
  // beyond `limit`. False when nothing is left to do before `limit`.
  bool step(wire::Instant limit = wire::kNever) {
    bool busy = false;
    for (auto& each : nics_) busy = each->turn(now_) || busy;
    if (busy) {
      now_ += tick_;
      return true;
    }
    const wire::Instant next = next_deadline();
    if (next == wire::kNever || next > limit) return false;
    now_ = std::max(now_ + wire::Duration(1), next);
    return true;
  }

  // Steps until `done()`; false when the net came to rest, or `limit` was reached, before.
  bool run_until(const std::function<bool()>& done, wire::Instant limit = wire::kNever) {
    while (!done()) {
      if (now_ > limit || !step(limit)) return done();
    }
    return true;
  }

  // Until no NIC has anything to do and none waits for anything.
  bool run_to_rest(std::uint64_t max_steps = 10'000'000) {
    while (max_steps-- > 0) {
      if (!step()) return true;
    }
    return false;
  }

  wire::Instant next_deadline() const {
    wire::Instant next = wire::kNever;
    for (const auto& each : nics_) next = std::min(next, each->next_deadline());
    return next;
  }

 private:
  link::MemoryWire wire_;
  std::vector<std::unique_ptr<nic::Nic>> nics_;  // before the wire they hang on goes
  wire::Instant now_{};
  wire::Duration tick_ = std::chrono::microseconds(1);
};

// The index of a GID; the process ends when the NIC does not have it (the test is wrong).
inline std::uint32_t gid_index(const nic::Nic& nic, const wire::Gid& gid,
                               wire::RoceVersion version) {
  const auto entries = nic.gids().entries();
  for (std::size_t i = 0; i < entries.size(); ++i) {
    if (entries[i].gid == gid && entries[i].version == version) {
      return static_cast<std::uint32_t>(i);
    }
  }
  std::abort();
}

}  // namespace softrnic::test
