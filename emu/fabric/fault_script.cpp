// SPDX-License-Identifier: BSD-3-Clause
#include "fabric/fault_script.hpp"

namespace softrnic::fabric {

namespace {

using Way = FaultRule::Way;
using Which = FaultRule::Which;

bool goes(Way way, link::Direction direction) {
  switch (way) {
    case Way::both:
      return true;
    case Way::tx:
      return direction == link::Direction::outbound;
    case Way::rx:
      return direction == link::Direction::inbound;
  }
  return false;
}

bool replies(FaultRule::Reply reply, const wire::Syndrome& syndrome) {
  switch (reply) {
    case FaultRule::Reply::any:
      return true;
    case FaultRule::Reply::ack:
      return syndrome.is_ack();
    case FaultRule::Reply::nak:
      return syndrome.is_nak();
    case FaultRule::Reply::rnr:
      return syndrome.is_rnr_nak();
  }
  return false;
}

// The bits a corruption may choose from; none when the frame has no such field.
BitRange corruptible(const FaultRule& rule, const wire::PacketView& packet) {
  if (rule.field == "icrc") return {packet.icrc_offset() * 8, 32};
  if (rule.field == "payload") return {packet.payload_offset() * 8, packet.payload().size() * 8};
  return find_header_field(packet, rule.field).value_or(BitRange{});
}

bool chosen(const FaultRule& rule, std::uint64_t ordinal) {
  switch (rule.which) {
    case Which::all:
      return true;
    case Which::nth:
      return ordinal == rule.n;
    case Which::every_nth:
      return ordinal % rule.n == 0;
    case Which::first_n:
      return ordinal <= rule.n;
  }
  return false;
}

}  // namespace

FaultScript::FaultScript(std::vector<FaultRule> rules, std::uint64_t seed, bool all_traffic)
    : all_traffic_(all_traffic) {
  SplitMix64 seeds(seed);
  for (FaultRule& rule : rules) {
    const std::bitset<256> opcodes = rule.opcodes();
    const bool has_filter = rule.has_filter();
    const Stream inbound{SplitMix64(seeds.next())};
    const Stream outbound{SplitMix64(seeds.next())};
    rules_.push_back({std::move(rule), opcodes, has_filter, {inbound, outbound}});
  }
}

bool FaultScript::passes(const Rule& entry, const std::optional<wire::PacketView>& packet) const {
  if (!packet) return all_traffic_ && !entry.has_filter;
  const FaultRule& rule = entry.rule;
  const wire::Bth& bth = packet->bth();
  if (!entry.opcodes[static_cast<std::uint8_t>(bth.opcode)]) return false;
  if (!replies(rule.reply, packet->headers().aeth.syndrome)) return false;
  if (rule.destination_qpn && *rule.destination_qpn != bth.destination_qpn) return false;
  if (rule.psn && *rule.psn != bth.psn.value()) return false;
  return rule.action != FaultRule::Action::corrupt || corruptible(rule, *packet).count > 0;
}

FaultScript::Verdict FaultScript::judge(link::Direction direction,
                                        const std::optional<wire::PacketView>& packet) {
  const std::size_t side = direction == link::Direction::outbound ? 1 : 0;
  for (std::size_t i = 0; i < rules_.size(); ++i) {
    Rule& entry = rules_[i];
    if (!goes(entry.rule.way, direction) || !passes(entry, packet)) continue;
    Stream& stream = entry.streams[side];
    if (!chosen(entry.rule, ++stream.passed)) continue;
    if (entry.rule.probability < 1 && stream.random.uniform() >= entry.rule.probability) continue;

    Verdict verdict{&entry.rule, i, 0, 0};
    if (entry.rule.action == FaultRule::Action::corrupt) {
      const BitRange range = corruptible(entry.rule, *packet);
      verdict.field_bit = stream.random.below(range.count);
      verdict.frame_bit = range.first + verdict.field_bit;
    }
    return verdict;
  }
  return {};
}

}  // namespace softrnic::fabric
