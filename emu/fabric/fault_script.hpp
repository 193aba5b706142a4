// SPDX-License-Identifier: BSD-3-Clause
// Decides which rule, if any, acts on a frame, and which bit a corruption flips.
//
// Sans-I/O. Every rule has a count and a stream of random numbers for each direction, drawn from
// the seed: what one direction or one rule does never depends on how the others interleave with it.
#pragma once

#include <array>
#include <bitset>
#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "fabric/fault_rule.hpp"
#include "fabric/header_field.hpp"
#include "fabric/message_count.hpp"
#include "fabric/splitmix64.hpp"
#include "link/capture_link.hpp"
#include "wire/packet_view.hpp"

namespace softrnic::fabric {

// The queue pair that sends what goes to queue pair `qpn` of the host `destination`: of a request
// received, its sender; of one sent, our own. No value when that is not known.
using ConnectedQueuePair = std::function<std::optional<std::uint32_t>(
    link::Direction direction, const wire::Gid& destination, std::uint32_t qpn)>;

class FaultScript {
 public:
  // `all_traffic`: rules without a filter also act on frames that are not RoCE.
  // `connected` may be empty; only rules that say whom they answer then do.
  FaultScript(std::vector<FaultRule> rules, std::uint64_t seed, bool all_traffic,
              ConnectedQueuePair connected = {});

  struct Verdict {
    const FaultRule* rule = nullptr;  // null: leave the frame alone
    std::size_t index = 0;            // of the rule
    std::size_t field_bit = 0;        // corrupt: the bit's place in the field
    std::size_t frame_bit = 0;        // corrupt: its place in the frame
    std::uint32_t answer_qpn = 0;     // answer: to whom it goes
    wire::Aeth aeth{};                // answer: what it says
  };
  // Offers the next frame of a direction to the rules; `packet` is empty when it is not RoCE.
  Verdict judge(wire::Instant now, link::Direction direction,
                const std::optional<wire::PacketView>& packet);

  std::size_t rule_count() const { return rules_.size(); }

 private:
  struct Stream {
    SplitMix64 random;
    std::uint64_t passed = 0;  // frames that passed the rule's filter
  };
  struct Rule {
    FaultRule rule;
    std::bitset<256> opcodes;
    bool has_filter;
    std::array<Stream, 2> streams;  // inbound, outbound
    wire::Instant silent_until = wire::Instant::min();
  };

  bool passes(const Rule& rule, link::Direction direction,
              const std::optional<wire::PacketView>& packet) const;
  std::optional<std::uint32_t> sender_of(const FaultRule& rule, link::Direction direction,
                                         const wire::PacketView& request) const;
  // The silence that this frame falls into, if any.
  Verdict silence(wire::Instant now, link::Direction direction) const;
  Verdict act(Rule& entry, std::size_t index, wire::Instant now, link::Direction direction,
              const std::optional<wire::PacketView>& packet);

  std::vector<Rule> rules_;
  bool all_traffic_;
  bool has_answers_ = false;
  ConnectedQueuePair connected_;
  MessageCount messages_;
};

}  // namespace softrnic::fabric
