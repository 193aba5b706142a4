// SPDX-License-Identifier: BSD-3-Clause
// The stream table: which stream, and which side of it, a packet belongs to.
//
// A packet of a connected service names its destination QP alone. So packets are first sorted into
// directions (from one address to one queue pair), and two directions become one stream when
// something shows that they are one connection: CM, the user, an answer whose PSN fits, or, where
// nothing better comes, that there is but one candidate. A packet keeps the stream it was given.
#pragma once

#include <cstdint>
#include <vector>

#include "analysis/analyzer.hpp"
#include "analysis/block_pool.hpp"
#include "analysis/connection_terms.hpp"
#include "analysis/index_map.hpp"
#include "analysis/number_space.hpp"
#include "analysis/number_table.hpp"
#include "analysis/paged_array.hpp"
#include "analysis/prefetch.hpp"
#include "analysis/stream.hpp"

namespace softrnic::analysis {

// Everything from one address to one queue pair.
struct Direction {
  std::uint32_t stream = kNone;
  std::uint32_t peer = kNone;  // the direction of the answers
  std::uint32_t source = 0;    // numbers of the addresses
  std::uint32_t destination = 0;
  std::uint32_t qpn = 0;                   // destination
  std::uint32_t source_qpn = kUnknownQpn;  // UD
  std::uint16_t udp_source_port = 0;
  wire::Service service{};
  std::uint8_t side = 0;  // of the sender
  PairedBy paired_by = PairedBy::nothing;
  bool owns_stream = false;             // its first packet made the stream
  bool open = false;                    // counted among the unpaired
  bool retired = false;                 // its queue pair is another connection's now
  std::uint32_t reads_allowed = kNone;  // outstanding READs and atomics, as its peer told
  std::uint32_t flow = kNone;           // its number in Congestion
  PoolPointer<NumberSpace> requests;    // null until the first one

  NumberSpace& numbers() {
    if (requests == nullptr) requests = make_pooled<NumberSpace>();
    return *requests;
  }
  bool is_reliable() const {
    return service == wire::Service::reliable_connection ||
           service == wire::Service::extended_reliable_connection;
  }
};

class StreamTable {
 public:
  explicit StreamTable(const AnalyzerOptions& options);

  // The direction of a packet, which has a stream then. A response tells who is whose peer.
  std::uint32_t direction_of(const Frame& frame, const Foreseen& foreseen);
  // See Analyzer::prefetch().
  void prefetch(const Frame& frame, Foreseen& foreseen, unsigned step);
  Direction& direction(std::uint32_t index) { return directions_[index]; }
  // It will be looked at soon.
  void prefetch(std::uint32_t index) const { __builtin_prefetch(&directions_[index]); }
  Direction* peer(const Direction& d) { return d.peer == kNone ? nullptr : &directions_[d.peer]; }

  std::size_t size() const { return streams_.size(); }
  Stream& stream(std::uint32_t index) { return streams_[index]; }
  const Stream& stream(std::uint32_t index) const { return streams_[index]; }

  // A request left in an unpaired direction: an answer may tell who its peer is.
  void await_answer(std::uint32_t direction, wire::Psn psn);

  // Two queue pairs are connected from now on. Whoever used these numbers before is another
  // stream; the same terms told again change nothing.
  void connect(const ConnectionTerms& terms);

  // The queue pairs of this direction begin a new connection: a new stream for both directions.
  void restart(std::uint32_t direction, const Frame& frame);

  // No more packets come: what only finds the direction of a packet is given back.
  void finish();

  std::size_t memory() const;

 private:
  struct Awaited {
    IndexMap::Key key{};
    std::uint32_t direction = kNone;
  };
  static constexpr std::uint32_t kAwaited = 1 << 14;

  std::uint32_t address_number(const wire::Gid& gid);
  IndexMap::Key key_of(const Frame& frame);
  static IndexMap::Key key_of(const Direction& d);
  auto has(const IndexMap::Key& key) const {
    return [this, &key](std::uint32_t i) { return key_of(directions_[i]) == key; };
  }
  std::uint32_t find_or_make(const Frame& frame, const Foreseen& foreseen);
  void prefetch_state(const Direction& d, const Frame& frame) const;
  void prefetch_histories(const Direction& d, const Frame& frame) const;
  std::uint32_t make_direction(const IndexMap::Key& key, const Frame& frame);
  void make_stream(Direction& d, const Frame& frame);
  const std::uint64_t* find_terms(const Direction& d) const;
  std::uint32_t find_direction(const IndexMap::Key& key) const;
  std::uint32_t find_flow_of_cnp(const Frame& frame);
  void apply_terms(std::uint32_t direction);
  void pair_new(std::uint32_t direction, const Frame& frame);
  void pair_by_terms(std::uint32_t direction);
  void pair_datagrams(std::uint32_t direction);
  void pair_by_guess(std::uint32_t direction, const Frame& frame);
  // A response came in a direction without a peer, or with a guessed one: look for what it answers.
  void pair_by_answer(std::uint32_t direction, const Frame& answer);
  void pair(std::uint32_t a, std::uint32_t b, PairedBy how);
  void join(std::uint32_t stays, std::uint32_t joins);
  void part(std::uint32_t direction);
  void set_open(std::uint32_t direction, bool open);
  std::uint32_t only_open(std::uint32_t source, std::uint32_t destination, wire::Service service,
                          std::uint32_t port_key) const;
  Awaited& awaited(const IndexMap::Key& key);
  bool may_pair(const Direction& d) const;
  bool fits(const Direction& d, const Frame& answer) const;

  PagedArray<Stream, 5> streams_;
  PagedArray<Direction, 4> directions_;
  IndexMap addresses_;    // GID: number + 1
  NumberTable by_key_;    // of directions
  IndexMap open_;         // hosts, service, port: how many << 32 | all numbers xored
  IndexMap terms_by_qp_;  // hosts and QPN: (number of the terms << 1 | side) + 1
  std::vector<ConnectionTerms> terms_;
  std::vector<Awaited> awaited_;
  std::uint32_t awaited_size_;  // once it is needed; a power of two
  std::uint32_t address_count_ = 0;
  wire::Gid last_gid_[2];
  std::uint32_t last_number_[2]{kNone, kNone};
};

}  // namespace softrnic::analysis
