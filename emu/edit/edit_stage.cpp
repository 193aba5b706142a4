// SPDX-License-Identifier: BSD-3-Clause
#include "edit/edit_stage.hpp"

#include <algorithm>

#include "edit/cm_translation.hpp"
#include "edit/frame_translation.hpp"
#include "edit/link_header.hpp"
#include "edit/network_header.hpp"
#include "edit/payload_treatment.hpp"
#include "fabric/header_rewrite.hpp"
#include "wire/bth.hpp"
#include "wire/ipv4.hpp"

namespace softrnic::edit {
namespace {

using fabric::FaultRule;

std::uint64_t identification(const FrameParts& frame) {
  if (frame.layer != Layer::ipv4) return 0;
  return wire::get(frame.network.data(), wire::Ipv4Header::kIdentification);
}

bool names_checksum(const FaultRule& rule) {
  return std::ranges::any_of(rule.assignments, [](const fabric::FieldValue& value) {
    return value.name.ends_with("checksum");
  });
}

}  // namespace

StageAtWork::StageAtWork(EditStage stage, IcrcPolicy icrc, std::uint64_t seed)
    : stage_(std::move(stage)), icrc_(icrc), psns_(stage_.psns) {
  if (stage_.only) only_.emplace(*stage_.only, seed);
  if (stage_.rule) rule_.emplace(std::vector<FaultRule>{*stage_.rule}, seed, false);
}

StageAtWork::Outcome StageAtWork::apply(FrameParts& frame, const FrameContext& context,
                                        EditCounts& counts) {
  if (only_ && !only_->passes(context.at, flat_.lay(frame))) return Outcome::done;
  return rule_ ? apply_rule(frame, context, counts) : edit(frame, context, counts);
}

StageAtWork::Outcome StageAtWork::edit(FrameParts& frame, const FrameContext& context,
                                       EditCounts& counts) {
  FrameSums sums;
  sums.remember(frame);
  const std::uint64_t identified = identification(frame);
  shift_psns(frame, context, counts);
  edit_tags(frame, counts);
  if (!stage_.values.empty()) {
    switch (translate_frame(frame, CountedTranslation(stage_.values, counts))) {
      case Translated::mixed:
        return Outcome::mixed;
      case Translated::left:
        ++counts.no_other_version;
        break;
      case Translated::done:
        break;
    }
  }
  if (frame.is_roce() && stage_.version &&
      (stage_.version == wire::RoceVersion::v1) != frame.is_v1()) {
    frame.is_v1() ? become_v2(frame) : become_v1(frame);
    ++counts.versions;
  }
  if (identified != 0 && identification(frame) == 0 && !stage_.values.keep_identification) {
    ++counts.identifications;
  }
  if (treat_payload(frame, stage_.payload)) ++counts.payloads;
  sums.restore(frame, icrc_);
  if (stage_.payload == Payload::cut && cut_payload(frame)) ++counts.payloads;
  return Outcome::done;
}

void StageAtWork::shift_psns(FrameParts& frame, const FrameContext& context, EditCounts& counts) {
  if (psns_.empty()) return;
  const auto put = [&](std::byte* header, const wire::Field& field,
                       const std::optional<FlowName>& flow, bool begins) {
    const auto before = static_cast<std::uint32_t>(wire::get(header, field));
    const auto after = psns_.apply(flow, before, begins);
    if (!after) {
      ++counts.flow_unknown;
    } else if (*after != before) {
      wire::put(header, field, *after);
      ++counts.psns;
    }
  };
  if (context.announced) {
    const CmStartingPsn start = starting_psn(cm_datagram(frame));
    if (start.data != nullptr) put(start.data, start.field, context.announced, true);
  }
  if (context.has_psn) put(frame.bth(), wire::Bth::kPsn, context.flow, false);
}

void StageAtWork::edit_tags(FrameParts& frame, EditCounts& counts) const {
  if (!takes_tags(frame)) return;
  const auto before = outer_tag(frame);
  auto after = before;
  for (const VlanRule& rule : stage_.vlans) {
    if (rule.from == VlanRule::From::untagged && before) continue;
    if (rule.from == VlanRule::From::tagged && (!before || before->id != *rule.from_id)) continue;
    if (!rule.to) {
      after.reset();
    } else {
      if (!after) after.emplace();
      after->id = *rule.to;
    }
    break;
  }
  if (after) {
    after->priority = static_cast<std::uint8_t>(stage_.priorities.apply(after->priority, {}));
  }
  if (after == before) return;
  ++counts.vlans;
  if (!before) {
    add_tag(frame, *after);
  } else if (!after) {
    strip_outer_tag(frame);
  } else {
    set_outer_tag(frame, *after);
  }
}

StageAtWork::Outcome StageAtWork::apply_rule(FrameParts& frame, const FrameContext& context,
                                             EditCounts& counts) {
  const auto& packet = flat_.lay(frame);
  const auto verdict = rule_->judge(context.at, link::Direction::inbound, packet);
  if (verdict.rule == nullptr) return Outcome::done;
  ++counts.ruled;
  const FaultRule& rule = *verdict.rule;
  if (rule.action == FaultRule::Action::drop) return Outcome::dropped;
  if (rule.action == FaultRule::Action::duplicate) return Outcome::duplicated;
  FrameSums sums;
  sums.remember(frame);
  bool repaired = rule.sums == FaultRule::Sums::repaired;
  if (rule.action == FaultRule::Action::rewrite) {
    rewrite(frame, *packet);
  } else if (rule.action == FaultRule::Action::corrupt) {
    fabric::flip_bit(flat_.frame(), verdict.frame_bit);
    flat_.give_back(frame);
  } else {
    set_traffic_class(frame, traffic_class(frame) | 3);
    repaired = true;
  }
  if (!repaired) return Outcome::done;
  sums.restore(frame, icrc_);
  // A checksum that the rule itself writes is not to be mended.
  if (names_checksum(rule)) {
    if (const auto& mended = flat_.lay(frame)) rewrite(frame, *mended);
  }
  return Outcome::done;
}

void StageAtWork::rewrite(FrameParts& frame, const wire::PacketView& packet) {
  fabric::write_fields(flat_.frame(), packet, stage_.rule->assignments);
  flat_.give_back(frame);
}

}  // namespace softrnic::edit
