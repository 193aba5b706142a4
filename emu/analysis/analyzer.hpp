// SPDX-License-Identifier: BSD-3-Clause
// The analyzer: fed packet by packet in the order of the capture, it says what each one means in
// its connection.
//
// Sans-I/O. Never throws but for lack of memory; any sequence of frames is accepted. A packet costs
// constant time (amortised), whatever the number of frames, streams and outstanding packets. Not
// thread-safe. References are good until the next on_packet().
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "analysis/finding.hpp"
#include "analysis/frame.hpp"
#include "analysis/message.hpp"
#include "analysis/packet_record.hpp"
#include "analysis/stream.hpp"

namespace softrnic::analysis {

// Two queue pairs that the user says are connected, for captures that begin late.
struct KnownConnection {
  wire::Gid address[2];
  std::uint32_t qpn[2]{};
  std::uint32_t path_mtu = 0;  // bytes; 0: find out
};

struct AnalyzerOptions {
  std::vector<KnownConnection> connections;

  // For captures read once from end to end: only what a later packet may still have to do with is
  // kept, so that memory depends on the connections and not on the frames. What is said of a packet
  // is then to be taken from on_packet(), and what became of a message from `message_gone`.
  bool forgets = false;
  // Packets, of all connections together, that are remembered besides those that wait for their
  // answer. A repetition of anything older is not known for one.
  std::uint32_t remembered = 1 << 15;
  // A message that nothing can change any more; its number may be another one's from now on.
  std::function<void(const Message&)> message_gone{};
};

// What is known already of a packet whose turn is still to come.
struct Foreseen {
  std::array<std::uint32_t, 4> key{};
  std::uint64_t hash = 0;
  std::uint32_t direction = kNone;
  std::uint32_t stream = kNone;
};

class Analyzer {
 public:
  explicit Analyzer(AnalyzerOptions options = {});
  ~Analyzer();
  Analyzer(const Analyzer&) = delete;
  Analyzer& operator=(const Analyzer&) = delete;

  const PacketRecord& on_packet(const Frame& frame, const Foreseen& foreseen = {});

  // For one who knows packets before their turn: fetches what is held of a packet's connection into
  // the processor's caches, in steps of which each needs what the one before fetched. Steps 0 to
  // kPrefetchSteps - 1, some packets apart; says nothing and changes nothing.
  static constexpr unsigned kPrefetchSteps = 4;
  void prefetch(const Frame& frame, Foreseen& foreseen, unsigned step) const;

  // No more packets come: the messages that are left go to `message_gone`. The last call.
  void finish();

  // Of a frame given before; the first packet of it when it held several. Null otherwise. O(1).
  // Where the analyzer forgets: of the newest one alone, and so are its findings.
  const PacketRecord* find(std::uint32_t frame) const;
  std::span<const Finding> findings(const PacketRecord& record) const;

  std::size_t stream_count() const;
  const Stream& stream(std::uint32_t index) const;
  std::size_t message_count() const;  // so far
  const Message& message(std::uint32_t index) const;

  // Bytes this analyzer holds, for the curious.
  std::size_t memory() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace softrnic::analysis
