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

  // The state of `address`; an unknown one starts resolving. A full table gives up an entry for
  // it: a failed one, else one that was never asked for, else the one longest not asked for. One
  // full of neighbours being resolved takes no more: the new one has failed.
  Lookup lookup(wire::Instant now, const wire::Gid& address);
  // The peer addressed us (ARP request, neighbour solicitation) or the user said so: makes the
  // entry if need be. Peers cannot crowd out what the NIC asked for: a full table ignores it.
  void learn(const wire::Gid& address, const wire::MacAddress& mac);
  // The peer said so to everyone, or answered: changes an entry that is there, makes none.
  void update(const wire::Gid& address, const wire::MacAddress& mac);
  // The entry as it is; nothing starts resolving.
  std::optional<Lookup> find(const wire::Gid& address) const;

  // The next address to probe at `now`, if one is due; call until empty.
  std::optional<wire::Gid> next_probe(wire::Instant now);
  wire::Instant next_deadline() const { return next_due_; }
  // Grows whenever an entry becomes reachable, fails, or changes its MAC address, so that whoever
  // waits can look again.
  std::uint64_t generation() const { return generation_; }
  std::size_t size() const { return entries_.size(); }

 private:
  struct Entry {
    State state = State::resolving;
    wire::MacAddress mac;
    int probes_left = kProbes;
    wire::Instant due{};  // resolving: the next probe, or the end; failed: earliest retry
    std::optional<wire::Instant> asked_at;
  };
  struct Hash {
    std::size_t operator()(const wire::Gid& gid) const;
  };
  using Entries = std::unordered_map<wire::Gid, Entry, Hash>;

  void start(Entry& entry, wire::Instant now);
  bool make_room();
  void set(Entry& entry, const wire::MacAddress& mac);
  void refresh_due();

  Entries entries_;
  wire::Instant next_due_ = wire::kNever;  // of the resolving entries; may be too early
  std::uint64_t generation_ = 0;
};

}  // namespace softrnic::nic
