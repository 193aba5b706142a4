// SPDX-License-Identifier: BSD-3-Clause
// Decides which rule, if any, acts on a frame, and which bit a corruption flips.
//
// Sans-I/O. Every rule has a count and a stream of random numbers for each direction, drawn from
// the seed: what one direction or one rule does never depends on how the others interleave with it.
#pragma once

#include <array>
#include <bitset>
#include <cstdint>
#include <optional>
#include <vector>

#include "fabric/fault_rule.hpp"
#include "fabric/header_field.hpp"
#include "fabric/splitmix64.hpp"
#include "link/capture_link.hpp"
#include "wire/packet_view.hpp"

namespace softrnic::fabric {

class FaultScript {
 public:
  // `all_traffic`: rules without a filter also act on frames that are not RoCE.
  FaultScript(std::vector<FaultRule> rules, std::uint64_t seed, bool all_traffic);

  struct Verdict {
    const FaultRule* rule = nullptr;  // null: leave the frame alone
    std::size_t index = 0;            // of the rule
    std::size_t field_bit = 0;        // corrupt: the bit's place in the field
    std::size_t frame_bit = 0;        // corrupt: its place in the frame
  };
  // Offers the next frame of a direction to the rules; `packet` is empty when it is not RoCE.
  Verdict judge(link::Direction direction, const std::optional<wire::PacketView>& packet);

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
  };

  bool passes(const Rule& rule, const std::optional<wire::PacketView>& packet) const;

  std::vector<Rule> rules_;
  bool all_traffic_;
};

}  // namespace softrnic::fabric
