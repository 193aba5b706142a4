// SPDX-License-Identifier: BSD-3-Clause
#include "fabric/fault_script.hpp"

#include <algorithm>

#include "fabric/header_rewrite.hpp"

namespace softrnic::fabric {

namespace {

using Action = FaultRule::Action;
using Way = FaultRule::Way;
using Which = FaultRule::Which;

std::size_t side_of(link::Direction direction) {
  return direction == link::Direction::outbound ? 1 : 0;
}

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

bool in_psns(const FaultRule& rule, wire::Psn psn) {
  if (!rule.psn) return true;
  const wire::Psn first(*rule.psn);
  const wire::Psn last(rule.last_psn.value_or(*rule.psn));
  return ((psn.value() - first.value()) & wire::Psn::kMask) <=
         ((last.value() - first.value()) & wire::Psn::kMask);
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
    case Which::from_nth:
      return ordinal >= rule.n;
  }
  return false;
}

}  // namespace

FaultScript::FaultScript(std::vector<FaultRule> rules, std::uint64_t seed, bool all_traffic,
                         ConnectedQueuePair connected)
    : all_traffic_(all_traffic), connected_(std::move(connected)) {
  SplitMix64 seeds(seed);
  for (FaultRule& rule : rules) {
    const std::bitset<256> opcodes = rule.opcodes();
    const bool has_filter = rule.has_filter();
    has_answers_ = has_answers_ || rule.action == Action::answer;
    const Stream inbound{SplitMix64(seeds.next())};
    const Stream outbound{SplitMix64(seeds.next())};
    rules_.push_back({std::move(rule), opcodes, has_filter, {inbound, outbound}});
  }
}

bool FaultScript::passes(const Rule& entry, link::Direction direction,
                         const std::optional<wire::PacketView>& packet) const {
  const FaultRule& rule = entry.rule;
  if (!packet) return all_traffic_ && !entry.has_filter && rule.action != Action::silence;
  const wire::Bth& bth = packet->bth();
  if (!entry.opcodes[static_cast<std::uint8_t>(bth.opcode)]) return false;
  if (!replies(rule.reply, packet->headers().aeth.syndrome)) return false;
  if (rule.destination_qpn && *rule.destination_qpn != bth.destination_qpn) return false;
  if (!in_psns(rule, bth.psn)) return false;
  const auto meets = [&packet](const FieldValue& value) { return has_value(*packet, value); };
  if (!std::ranges::all_of(rule.conditions, meets)) return false;
  const auto holds = [&packet](const FieldValue& value) { return can_hold(*packet, value); };
  if (!std::ranges::all_of(rule.assignments, holds)) return false;
  if (rule.action == Action::answer) return sender_of(rule, direction, *packet).has_value();
  return rule.action != Action::corrupt || corruptible(rule, *packet).count > 0;
}

std::optional<std::uint32_t> FaultScript::sender_of(const FaultRule& rule,
                                                    link::Direction direction,
                                                    const wire::PacketView& request) const {
  if (rule.answer_qpn) return rule.answer_qpn;
  if (!connected_) return std::nullopt;
  return connected_(direction, request.destination(), request.bth().destination_qpn);
}

FaultScript::Verdict FaultScript::silence(wire::Instant now, link::Direction direction) const {
  for (std::size_t i = 0; i < rules_.size(); ++i) {
    const Rule& entry = rules_[i];
    if (now < entry.silent_until && goes(entry.rule.silenced, direction))
      return {&entry.rule, i, 0, 0, 0, {}};
  }
  return {};
}

FaultScript::Verdict FaultScript::act(Rule& entry, std::size_t index, wire::Instant now,
                                      link::Direction direction,
                                      const std::optional<wire::PacketView>& packet) {
  const FaultRule& rule = entry.rule;
  Verdict verdict{&rule, index, 0, 0, 0, {}};
  if (rule.action == Action::corrupt) {
    const BitRange range = corruptible(rule, *packet);
    verdict.field_bit = entry.streams[side_of(direction)].random.below(range.count);
    verdict.frame_bit = range.first + verdict.field_bit;
  } else if (rule.action == Action::answer) {
    verdict.answer_qpn = *sender_of(rule, direction, *packet);
    verdict.aeth = {rule.syndrome, messages_.told(verdict.answer_qpn)};
    if (rule.syndrome.is_ack() && packet->opcode().ends_message()) {
      verdict.aeth.msn = (verdict.aeth.msn + 1) & wire::Psn::kMask;
    }
    messages_.tell(verdict.answer_qpn, verdict.aeth.msn);
  } else if (rule.action == Action::silence) {
    entry.silent_until = rule.delay == wire::Duration{} ? wire::kNever : now + rule.delay;
    // The frame that begins it is lost with the rest, unless it goes the other way.
    if (!goes(rule.silenced, direction)) return {};
  }
  return verdict;
}

FaultScript::Verdict FaultScript::judge(wire::Instant now, link::Direction direction,
                                        const std::optional<wire::PacketView>& packet) {
  if (packet) {
    if (const Verdict silenced = silence(now, direction); silenced.rule != nullptr) return silenced;
    if (has_answers_) messages_.observe(*packet);
  }
  for (std::size_t i = 0; i < rules_.size(); ++i) {
    Rule& entry = rules_[i];
    if (!goes(entry.rule.way, direction) || !passes(entry, direction, packet)) continue;
    Stream& stream = entry.streams[side_of(direction)];
    if (!chosen(entry.rule, ++stream.passed)) continue;
    if (entry.rule.probability < 1 && stream.random.uniform() >= entry.rule.probability) continue;
    return act(entry, i, now, direction, packet);
  }
  return {};
}

}  // namespace softrnic::fabric
