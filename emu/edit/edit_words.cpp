// SPDX-License-Identifier: BSD-3-Clause
#include "edit/edit_words.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "edit/frame_filter.hpp"
#include "edit/moment.hpp"
#include "fabric/fault_terms.hpp"

namespace softrnic::edit {
namespace {

using Complaint = std::optional<std::string>;
using Text = std::string_view;
using fabric::FaultRule;

EditStage& stage_of(EditPlan& plan, std::size_t stage) {
  return plan.stages[stage];
}

// Calls `take` with each part between commas.
template <class Take>
Complaint each(Text list, Take take) {
  while (true) {
    const std::size_t comma = list.find(',');
    if (auto complaint = take(list.substr(0, comma))) return complaint;
    if (comma == Text::npos) return std::nullopt;
    list.remove_prefix(comma + 1);
  }
}

Complaint take_number(Text text, std::uint64_t least, std::uint64_t most, std::uint32_t& out) {
  const auto number = fabric::read_number(text);
  if (!number || *number < least || *number > most) {
    return fmt::format("\"{}\" is no number from {} to {}", text, least, most);
  }
  out = static_cast<std::uint32_t>(*number);
  return std::nullopt;
}

Complaint take_frames(EditPlan& plan, std::size_t, Text value) {
  return each(value, [&plan](Text part) -> Complaint {
    FrameRange range;
    const std::size_t dash = part.find('-');
    const Text first = part.substr(0, dash);
    const Text last = dash == Text::npos ? first : part.substr(dash + 1);
    constexpr std::uint32_t kMost = 0xffffffff;
    if (!first.empty() && take_number(first, 1, kMost, range.first)) range.last = 0;
    if (!last.empty() && take_number(last, 1, kMost, range.last)) range.last = 0;
    if (part.empty() || part == "-" || range.last < range.first) {
      return fmt::format("\"{}\" is no frame and no range of frames: use 5, 5-9, 5- or -9", part);
    }
    plan.choice.frames.push_back(range);
    return std::nullopt;
  });
}

Complaint take_streams(EditPlan& plan, std::size_t, Text value) {
  return each(value, [&plan](Text part) -> Complaint {
    return take_number(part, 0, 0xfffffffe, plan.choice.streams.emplace_back());
  });
}

Complaint take_moment(Text value, std::optional<Moment>& out) {
  auto moment = read_moment(value);
  if (!moment) return moment.error();
  out = *moment;
  return std::nullopt;
}

Complaint take_from(EditPlan& plan, std::size_t, Text value) {
  return take_moment(value, plan.choice.from);
}
Complaint take_to(EditPlan& plan, std::size_t, Text value) {
  return take_moment(value, plan.choice.to);
}

template <class Out>
Complaint take_filter(Text value, Out store) {
  auto rule = read_filter(value);
  if (!rule) return rule.error();
  store(std::move(*rule));
  return std::nullopt;
}

Complaint take_keep(EditPlan& plan, std::size_t, Text value) {
  return take_filter(value, [&](FaultRule rule) { plan.choice.keep.push_back(std::move(rule)); });
}
Complaint take_drop(EditPlan& plan, std::size_t, Text value) {
  return take_filter(value, [&](FaultRule rule) { plan.choice.drop.push_back(std::move(rule)); });
}
Complaint take_only(EditPlan& plan, std::size_t stage, Text value) {
  return take_filter(value, [&](FaultRule rule) { stage_of(plan, stage).only = std::move(rule); });
}

Complaint take_thin(EditPlan& plan, std::size_t, Text value) {
  return take_number(value, 1, 1'000'000'000, plan.thin);
}

Complaint take_mac(EditPlan& plan, std::size_t stage, Text value) {
  auto rule = MacRule::read(value);
  if (!rule) return rule.error();
  stage_of(plan, stage).values.macs.add(*rule);
  return std::nullopt;
}

Complaint take_ip(EditPlan& plan, std::size_t stage, Text value) {
  auto rule = IpRule::read(value);
  if (!rule) return rule.error();
  stage_of(plan, stage).values.addresses.add(*rule);
  return std::nullopt;
}

Complaint take_keep_identification(EditPlan& plan, std::size_t stage, Text) {
  stage_of(plan, stage).values.keep_identification = true;
  return std::nullopt;
}

// "100", "5=7", "none=5", "5=none", "none".
Complaint take_vlan(EditPlan& plan, std::size_t stage, Text value) {
  VlanRule rule;
  Text to = value;
  const auto read_id = [](Text text) -> std::optional<std::uint16_t> {
    const auto id = fabric::read_number(text);
    if (!id || *id > 4095) return std::nullopt;
    return static_cast<std::uint16_t>(*id);
  };
  bool good = true;
  if (const std::size_t equals = value.find('='); equals != Text::npos) {
    const Text from = value.substr(0, equals);
    to = value.substr(equals + 1);
    rule.from = from == "none" ? VlanRule::From::untagged : VlanRule::From::tagged;
    if (from != "none") good = (rule.from_id = read_id(from)).has_value();
  }
  if (to != "none") good = good && (rule.to = read_id(to)).has_value();
  if (!good || (rule.from == VlanRule::From::untagged && !rule.to)) {
    return fmt::format("\"{}\" is no VLAN: use 100, 5=7, none=5, 5=none or none", value);
  }
  stage_of(plan, stage).vlans.push_back(rule);
  return std::nullopt;
}

Complaint add_to(NumberMap& map, Text value) {
  auto rule = NumberRule::read(value, map.bits());
  if (!rule) return rule.error();
  map.add(*rule);
  return std::nullopt;
}

template <Quantity quantity>
Complaint take_quantity(EditPlan& plan, std::size_t stage, Text value) {
  return add_to(stage_of(plan, stage).values.numbers(quantity), value);
}

Complaint take_priority(EditPlan& plan, std::size_t stage, Text value) {
  return add_to(stage_of(plan, stage).priorities, value);
}
Complaint take_address(EditPlan& plan, std::size_t stage, Text value) {
  return add_to(stage_of(plan, stage).values.virtual_addresses, value);
}

Complaint take_psn(EditPlan& plan, std::size_t stage, Text value) {
  auto rule = NumberRule::read(value, 24);
  if (!rule) return rule.error();
  stage_of(plan, stage).psns.push_back(*rule);
  return std::nullopt;
}

Complaint take_roce(EditPlan& plan, std::size_t stage, Text value) {
  if (value != "v1" && value != "v2") return fmt::format("\"{}\" is not v1 or v2", value);
  stage_of(plan, stage).version = value == "v1" ? wire::RoceVersion::v1 : wire::RoceVersion::v2;
  return std::nullopt;
}

Complaint take_mtu(EditPlan& plan, std::size_t, Text value) {
  const auto number = fabric::read_number(value);
  for (const std::uint32_t mtu : {256u, 512u, 1024u, 2048u, 4096u}) {
    if (number != mtu) continue;
    plan.path_mtu = mtu;
    return std::nullopt;
  }
  return fmt::format("\"{}\" is no path MTU: use 256, 512, 1024, 2048 or 4096", value);
}

Complaint take_payload(EditPlan& plan, std::size_t stage, Text value) {
  Payload& payload = stage_of(plan, stage).payload;
  if (value == "cut") {
    payload = Payload::cut;
  } else if (value == "zero") {
    payload = Payload::zeroed;
  } else if (value == "remove") {
    payload = Payload::removed;
  } else {
    return fmt::format("\"{}\" is not cut, zero or remove", value);
  }
  return std::nullopt;
}

Complaint take_snap(EditPlan& plan, std::size_t, Text value) {
  return take_number(value, 1, 262144, plan.snap_length);
}

Complaint take_anonymise(EditPlan& plan, std::size_t, Text value) {
  if (value.empty()) return "an empty key hides nothing: give one, env:NAME or file:PATH";
  plan.anonymise = value;
  return std::nullopt;
}

Complaint take_begin(EditPlan& plan, std::size_t, Text value) {
  auto complaint = take_moment(value, plan.begins);
  if (!complaint && !plan.begins->absolute) {
    return fmt::format("\"{}\" is no time of day: use @SECONDS since 1970", value);
  }
  return complaint;
}
Complaint take_shift(EditPlan& plan, std::size_t, Text value) {
  auto duration = read_signed_duration(value);
  if (!duration) return duration.error();
  plan.time_shift = *duration;
  return std::nullopt;
}
Complaint take_scale(EditPlan& plan, std::size_t, Text value) {
  const auto scale = fabric::take_fraction(value);
  if (!scale || !value.empty() || !(*scale > 0) || *scale > 1e9) {
    return "a scale is a number above 0, such as 0.5 or 10";
  }
  plan.time_scale = *scale;
  return std::nullopt;
}

Complaint set_icrc(EditPlan& plan, IcrcPolicy policy) {
  if (plan.icrc != IcrcPolicy::follow && plan.icrc != policy) {
    return "an ICRC is either kept or repaired, not both";
  }
  plan.icrc = policy;
  return std::nullopt;
}
Complaint take_keep_icrc(EditPlan& plan, std::size_t, Text) {
  return set_icrc(plan, IcrcPolicy::keep);
}
Complaint take_repair_icrc(EditPlan& plan, std::size_t, Text) {
  return set_icrc(plan, IcrcPolicy::repair);
}

Complaint take_rule(EditPlan& plan, std::size_t, Text value) {
  auto rule = FaultRule::parse(value);
  if (!rule) return rule.error();
  if (auto complaint = refuse_rule(*rule)) return complaint;
  plan.stages.emplace_back().rule = std::move(*rule);
  return std::nullopt;
}

Complaint take_seed(EditPlan& plan, std::size_t, Text value) {
  const auto seed = fabric::read_number(value);
  if (!seed) return fmt::format("\"{}\" is no number", value);
  plan.seed = *seed;
  return std::nullopt;
}

constexpr Text kWhich = "Which frames stay";
constexpr Text kHeaders = "Addresses and network headers";
constexpr Text kTransport = "Connections";
constexpr Text kContents = "Contents";
constexpr Text kTime = "Time";
constexpr Text kHow = "How";
constexpr auto kPlan = WordScope::plan;
constexpr auto kStage = WordScope::stage;

constexpr std::array kWords{
    EditWord{"frames", "LIST", "these frames: 5, 5-9, 5-, or several with commas", kWhich, kPlan,
             take_frames},
    EditWord{"stream", "LIST", "these streams, as check --json numbers them", kWhich, kPlan,
             take_streams},
    EditWord{"from", "TIME", "from this many seconds after the first frame, or @SECONDS since 1970",
             kWhich, kPlan, take_from},
    EditWord{"to", "TIME", "up to this time", kWhich, kPlan, take_to},
    EditWord{"keep", "FILTER", "RoCE packets that pass it, such as 'WRITE of QP 0x12'", kWhich,
             kPlan, take_keep},
    EditWord{"drop", "FILTER", "all but those that pass it", kWhich, kPlan, take_drop},
    EditWord{"thin", "N", "of each flow every N-th message, with its answers, numbered anew",
             kWhich, kPlan, take_thin},

    EditWord{"mac", "FROM=TO", "MAC addresses, or their first three bytes", kHeaders, kStage,
             take_mac},
    EditWord{"vlan", "[FROM=]TO", "VLAN: 100, 5=7, none=5, 5=none, none (strips)", kHeaders, kStage,
             take_vlan},
    EditWord{"priority", "[FROM=]TO", "priority in VLAN tags, 0 to 7", kHeaders, kStage,
             take_priority},
    EditWord{"ip", "FROM=TO", "IP addresses and GIDs, or prefixes; IPv4 and IPv6 on either side",
             kHeaders, kStage, take_ip},
    EditWord{"keep-identification", "", "IPv4 identification into the flow label of IPv6, and back",
             kHeaders, kStage, take_keep_identification},
    EditWord{"roce", "VERSION", "RoCE version: v1 or v2", kHeaders, kStage, take_roce},
    EditWord{"udp-port", "[FROM=]TO", "UDP source port", kHeaders, kStage,
             take_quantity<Quantity::udp_port>},
    EditWord{"dscp", "[FROM=]TO", "DSCP, 0 to 63", kHeaders, kStage, take_quantity<Quantity::dscp>},
    EditWord{"ecn", "[FROM=]TO", "ECN, 0 to 3; 3 is congestion experienced", kHeaders, kStage,
             take_quantity<Quantity::ecn>},
    EditWord{"ttl", "[FROM=]TO", "time to live, hop limit", kHeaders, kStage,
             take_quantity<Quantity::time_to_live>},
    EditWord{"flow-label", "[FROM=]TO", "flow label of IPv6 and GRH", kHeaders, kStage,
             take_quantity<Quantity::flow_label>},

    EditWord{"qpn", "[FROM=]TO", "queue pair numbers, everywhere", kTransport, kStage,
             take_quantity<Quantity::qpn>},
    EditWord{"srqn", "[FROM=]TO", "numbers of shared receive queues (XRC)", kTransport, kStage,
             take_quantity<Quantity::shared_receive_queue>},
    EditWord{"psn", "[QPN=]TO",
             "PSNs of requests to a queue pair, and of their answers: +N, -N, "
             "or N for the first",
             kTransport, kStage, take_psn},
    EditWord{"rkey", "[FROM=]TO", "R_Keys", kTransport, kStage,
             take_quantity<Quantity::remote_key>},
    EditWord{"address", "[FROM=]TO", "remote addresses: +N, or A..B=TO", kTransport, kStage,
             take_address},
    EditWord{"pkey", "[FROM=]TO", "P_Keys", kTransport, kStage,
             take_quantity<Quantity::partition_key>},
    EditWord{"qkey", "[FROM=]TO", "Q_Keys", kTransport, kStage, take_quantity<Quantity::queue_key>},
    EditWord{"immediate", "[FROM=]TO", "immediate data", kTransport, kStage,
             take_quantity<Quantity::immediate>},
    EditWord{"mtu", "BYTES", "messages cut anew to this path MTU, PSNs renumbered", kTransport,
             kPlan, take_mtu},

    EditWord{"payload", "HOW", "cut (frames end behind their headers), zero or remove", kContents,
             kStage, take_payload},
    EditWord{"snap", "BYTES", "keep so many bytes of a frame", kContents, kPlan, take_snap},
    EditWord{"anonymise", "KEY", "replace all that tells of hosts and data; env:NAME, file:PATH",
             kContents, kPlan, take_anonymise},

    EditWord{"shift", "TIME", "move all frames in time: 1.5, -2, 300us", kTime, kPlan, take_shift},
    EditWord{"scale", "FACTOR", "stretch the time since the first frame", kTime, kPlan, take_scale},
    EditWord{"begin", "@SECONDS", "when the first frame is to be, since 1970", kTime, kPlan,
             take_begin},

    EditWord{"only", "FILTER", "edit only RoCE packets that pass it; others stay as they are", kHow,
             kStage, take_only},
    EditWord{"rule", "RULE", "a rule of the fault language, such as 'rewrite ack_request 1 WRITE'",
             kHow, kPlan, take_rule},
    EditWord{"seed", "N", "for rules that draw", kHow, kPlan, take_seed},
    EditWord{"keep-icrc", "", "leave the ICRC as it is, wrong or not", kHow, kPlan, take_keep_icrc},
    EditWord{"repair-icrc", "", "make every ICRC right, also those that were wrong", kHow, kPlan,
             take_repair_icrc},
};

}  // namespace

std::span<const EditWord> edit_words() {
  return kWords;
}

const EditWord* find_edit_word(Text name) {
  std::string hyphened(name);
  std::ranges::replace(hyphened, '_', '-');
  const auto found = std::ranges::find(kWords, hyphened, &EditWord::name);
  return found == kWords.end() ? nullptr : &*found;
}

std::string contradiction(const EditPlan& plan) {
  const bool anew = plan.path_mtu != 0 || plan.thin > 1;
  const bool removes = std::ranges::any_of(
      plan.stages, [](const EditStage& stage) { return stage.payload == Payload::removed; });
  if (plan.icrc == IcrcPolicy::keep && (plan.path_mtu != 0 || removes)) {
    return "--keep-icrc with --mtu or --payload remove: packets that are cut anew have no ICRC to "
           "keep";
  }
  if (anew && !(plan.choice.frames.empty() && plan.choice.keep.empty() &&
                plan.choice.drop.empty() && !plan.choice.from && !plan.choice.to)) {
    return "--mtu and --thin need whole connections: choose frames first, in a run of its own";
  }
  return {};
}

}  // namespace softrnic::edit
