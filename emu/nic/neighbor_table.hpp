// SPDX-License-Identifier: BSD-3-Clause
// Neighbour table: which MAC address an on-link IP address has (RFC 826, RFC 4861), with the
// probes still to send. Sans-I/O, not thread-safe.
//
// An entry begins as `resolving`: kProbes probes, kProbeInterval apart; then `failed`, and is
// probed again no sooner than kRetryAfter when asked for.
#pragma once

#include <cstdint>
#include <optional>
#include <unordered_map>
#include <vector>

#include "wire/gid.hpp"
#include "wire/instant.hpp"

namespace softrnic::nic {

class NeighborTable {
 public:
  static constexpr int kProbes = 3;
  static constexpr wire::Duration kProbeInterval = std::chrono::milliseconds(200);
  static constexpr wire::Duration kRetryAfter = std::chrono::seconds(1);
  static constexpr std::size_t kMaxEntries = 4096;

  enum class State : std::uint8_t { resolving, reachable, failed };

  struct Lookup {
    State state{};
    wire::MacAddress mac;  // when reachable
  };

  // The state of `address`; an unknown one starts resolving.
  Lookup lookup(wire::Instant now, const wire::Gid& address);
  // The peer said so itself (ARP, neighbour discovery) or the user did.
  void learn(const wire::Gid& address, const wire::MacAddress& mac);

  // The next address to probe at `now`, if one is due; call until empty.
  std::optional<wire::Gid> next_probe(wire::Instant now);
  wire::Instant next_deadline() const;
  // Grows with every change of an entry's state, so that whoever waits can look again.
  std::uint64_t generation() const { return generation_; }

 private:
  struct Entry {
    State state = State::resolving;
    wire::MacAddress mac;
    int probes_left = kProbes;
    wire::Instant next_probe{};
  };
  struct Hash {
    std::size_t operator()(const wire::Gid& gid) const;
  };

  std::unordered_map<wire::Gid, Entry, Hash> entries_;
  std::uint64_t generation_ = 0;
};

}  // namespace softrnic::nic
