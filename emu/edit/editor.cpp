// SPDX-License-Identifier: BSD-3-Clause
#include "edit/editor.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "capture/time_stamp.hpp"
#include "edit/cm_translation.hpp"
#include "edit/erf_frame.hpp"
#include "edit/frame_translation.hpp"
#include "edit/link_header.hpp"
#include "wire/bth.hpp"

namespace softrnic::edit {
namespace {

using capture::LinkType;
using wire::Unexpected;

bool asks_for_tags(const EditStage& stage) {
  return !stage.vlans.empty() || !stage.priorities.empty();
}

bool is_management(std::uint32_t qpn) {
  return qpn <= wire::kGeneralServiceQpn;
}

}  // namespace

Editor::Editor(EditPlan plan, LinkType link_type, Sink sink)
    : plan_(std::move(plan)),
      link_type_(link_type),
      sink_(std::move(sink)),
      seen_(plan_.choice.streams.size()) {
  std::uint64_t seed = plan_.seed;
  for (const EditStage& stage : plan_.stages) stages_.emplace_back(stage, plan_.icrc, seed++);
  for (const fabric::FaultRule& rule : plan_.choice.keep) keep_.emplace_back(rule, seed++);
  for (const fabric::FaultRule& rule : plan_.choice.drop) drop_.emplace_back(rule, seed++);
  if (plan_.needs_analysis()) {
    analyzer_ = std::make_unique<analysis::Analyzer>(
        analysis::AnalyzerOptions{.connections = {}, .forgets = true});
  }
  if (plan_.anonymise) anonymised_ = std::make_unique<Anonymised>(*plan_.anonymise);
  counts_.segmented = plan_.path_mtu != 0 || plan_.thin > 1;
  if (counts_.segmented) segmentation_.emplace(plan_.path_mtu, plan_.thin, counts_);
}

Editor::~Editor() = default;

std::string Editor::refuse(const EditPlan& plan, LinkType link_type) {
  const LinkType out = link_type_out(link_type);
  if (out == LinkType::infiniband || out == LinkType::other) {
    return "frames of Ethernet, Linux cooked and raw IP can be edited, and the capture has others";
  }
  for (const EditStage& stage : plan.stages) {
    if (asks_for_tags(stage) && !has_ethertype(out)) {
      return "the capture holds raw IP packets, which have no VLAN tags";
    }
    if (!stage.values.macs.empty() && !has_ethertype(out)) {
      return "the capture holds raw IP packets, which have no MAC addresses";
    }
    if (stage.version == wire::RoceVersion::v1 && !has_ethertype(out)) {
      return "the capture holds raw IP packets, and RoCE v1 is not IP";
    }
  }
  return {};
}

LinkType Editor::link_type_out(LinkType link_type) {
  return link_type == LinkType::erf ? LinkType::ethernet : link_type;
}

Editor::Result Editor::on_record(const capture::Record& given) {
  ++counts_.frames;
  if (!first_) first_ = given.at;
  comment_ = given.comment;
  capture::Record record = given;
  if (link_type_ == LinkType::erf && !unwrap_erf(record)) {
    ++counts_.not_ethernet;
    return {};
  }
  const LinkType link_type = link_type_out(link_type_);
  const capture::PacketReading reading = capture::read_packet(link_type, record);
  const analysis::PacketRecord* followed = nullptr;
  if (analyzer_ != nullptr && reading.analysable()) {
    followed = &analyzer_->on_packet(reading.frame);
  }
  if (!chosen(record, followed == nullptr ? analysis::kNone : followed->stream)) {
    ++counts_.left_out;
    return {};
  }
  parts_.take_apart(link_type, record, reading);
  if (!passes_filters(record.at)) {
    ++counts_.left_out;
    return {};
  }
  count(record, reading);
  const FrameContext context = context_of(record, reading, followed);
  if (segmentation_ && followed != nullptr)
    return cut_anew(context, reading, followed, record.bytes);
  return edit_parts(context, record.bytes);
}

Editor::Result Editor::cut_anew(const FrameContext& context, const capture::PacketReading& reading,
                                const analysis::PacketRecord* followed, wire::ByteView original) {
  const std::uint32_t mtu =
      followed->stream == analysis::kNone ? 0 : analyzer_->stream(followed->stream).path_mtu;
  pieces_.clear();
  auto done =
      segmentation_->on_frame(parts_, context, reading.frame, followed->stream, mtu, pieces_);
  if (!done) return done;
  if (pieces_.empty()) ++counts_.left_out;
  for (FrameParts& piece : pieces_) {
    std::swap(parts_, piece);
    if (auto edited = edit_parts(context, original); !edited) return edited;
  }
  return {};
}

void Editor::anonymise() {
  FrameSums sums;
  sums.remember(parts_);
  translate_frame(parts_, CountedTranslation(*anonymised_, counts_));
  erase_contents(parts_);
  sums.restore(parts_, plan_.icrc);
}

Editor::Result Editor::finish() {
  if (analyzer_ != nullptr) analyzer_->finish();
  const FrameChoice& choice = plan_.choice;
  for (std::size_t i = 0; i < seen_.size(); ++i) {
    if (seen_[i]) continue;
    return Unexpected{fmt::format(
        "--stream {}: the capture has no such stream: softrnic explain shows their numbers",
        choice.streams[i])};
  }
  for (const FrameRange& range : choice.frames) {
    if (range.first <= counts_.frames) continue;
    return Unexpected{
        fmt::format("--frames {}: the capture ends with frame {}", range.first, counts_.frames)};
  }
  return {};
}

void Editor::count(const capture::Record& record, const capture::PacketReading& reading) {
  if (record.cut()) ++counts_.cut;
  if (!parts_.is_roce()) {
    ++counts_.other;
    return;
  }
  ++counts_.roce;
  if (parts_.bth() == nullptr) ++counts_.headers_cut;
  if (reading.frame.icrc == analysis::IcrcVerdict::bad) ++counts_.wrong_icrc;
}

bool Editor::chosen(const capture::Record& record, std::uint32_t stream) {
  const FrameChoice& choice = plan_.choice;
  for (std::size_t i = 0; i < seen_.size(); ++i) {
    if (choice.streams[i] == stream) seen_[i] = true;
  }
  const auto holds = [&](const FrameRange& range) {
    return record.number >= range.first && record.number <= range.last;
  };
  if (!choice.frames.empty() && std::ranges::none_of(choice.frames, holds)) return false;
  const auto since = [&](const Moment& moment) {
    return moment.absolute ? record.at.time_since_epoch() : record.at - *first_;
  };
  if (choice.from && since(*choice.from) < choice.from->since) return false;
  if (choice.to && since(*choice.to) > choice.to->since) return false;
  return choice.streams.empty() ||
         std::ranges::find(choice.streams, stream) != choice.streams.end();
}

bool Editor::passes_filters(wire::Instant at) {
  if (keep_.empty() && drop_.empty()) return true;
  const auto& packet = flat_.lay(parts_);
  bool kept = keep_.empty();
  // Each of them counts what passes it, whatever the others say.
  for (FrameFilter& filter : keep_) kept = filter.passes(at, packet) || kept;
  for (FrameFilter& filter : drop_) kept = !filter.passes(at, packet) && kept;
  return kept;
}

FrameContext Editor::context_of(const capture::Record& record,
                                const capture::PacketReading& reading,
                                const analysis::PacketRecord* followed) {
  FrameContext context;
  context.number = record.number;
  context.at = record.at;
  const std::byte* bth = parts_.bth();
  if (bth == nullptr) return context;
  const bool cnp = wire::load_u8(bth) == static_cast<std::uint8_t>(wire::Opcode::cnp);
  const auto qpn = static_cast<std::uint32_t>(wire::get(bth, wire::Bth::kDestinationQpn));
  context.has_psn = !cnp && !is_management(qpn);
  if (context.has_psn && reading.analysable()) context.flow = flow_of(reading.frame, followed);
  if (const wire::ByteSpan cm = cm_datagram(parts_); !cm.empty()) {
    const CmStartingPsn start = starting_psn(cm);
    if (start.data != nullptr)
      context.announced = FlowName{reading.frame.source, start.local_qpn, {}, 0};
  }
  return context;
}

std::optional<FlowName> Editor::flow_of(const analysis::Frame& frame,
                                        const analysis::PacketRecord* followed) const {
  if (frame.opcode->has(wire::kDeth)) {
    return FlowName{frame.destination, frame.headers.bth.destination_qpn, frame.source,
                    frame.headers.deth.source_qpn};
  }
  if (!frame.opcode->is_response()) {
    return FlowName{frame.destination, frame.headers.bth.destination_qpn, {}, 0};
  }
  // A response says whom it goes to, and not who sent it.
  if (followed == nullptr || followed->stream == analysis::kNone) return std::nullopt;
  const analysis::StreamSide& sender = analyzer_->stream(followed->stream).sides[followed->sender];
  if (sender.qpn == analysis::kUnknownQpn) return std::nullopt;
  return FlowName{sender.address, sender.qpn, {}, 0};
}

Editor::Result Editor::edit_parts(const FrameContext& context, wire::ByteView original) {
  unsigned copies = 1;
  for (StageAtWork& stage : stages_) {
    switch (stage.apply(parts_, context, counts_)) {
      case StageAtWork::Outcome::done:
        break;
      case StageAtWork::Outcome::dropped:
        ++counts_.left_out;
        return {};
      case StageAtWork::Outcome::duplicated:
        ++copies;
        break;
      case StageAtWork::Outcome::mixed:
        return Unexpected{fmt::format(
            "frame {}: of {} and {} one would be IPv4 and the other IPv6: map both", context.number,
            parts_.source().to_string(), parts_.destination().to_string())};
    }
  }
  if (anonymised_ != nullptr) anonymise();
  for (unsigned i = 0; i < copies; ++i) emit(context, original);
  return {};
}

void Editor::emit(const FrameContext& context, wire::ByteView original) {
  parts_.put_together(bytes_);
  std::uint32_t wire_size = parts_.wire_size();
  if (plan_.snap_length != 0 && bytes_.size() > plan_.snap_length) bytes_.resize(plan_.snap_length);
  if (!std::ranges::equal(bytes_, original)) ++counts_.changed;
  ++counts_.written;
  // Nobody knows what a comment tells.
  sink_(moved(context.at), bytes_, wire_size, anonymised_ != nullptr ? "" : comment_);
}

wire::Instant Editor::moved(wire::Instant at) const {
  if (plan_.time_scale == 1 && !plan_.begins && plan_.time_shift == wire::Duration{}) return at;
  // Sixty-four bits of mantissa hold every nanosecond; what a file cannot say is bounded.
  const auto exact = [](wire::Duration time) { return static_cast<long double>(time.count()); };
  const long double begins = exact(plan_.begins ? plan_.begins->since : first_->time_since_epoch());
  const long double moved =
      begins + exact(plan_.time_shift) +
      std::round(exact(at - *first_) * static_cast<long double>(plan_.time_scale));
  constexpr long double kMost = 1e9L * capture::kLatestSecond;
  return wire::Instant(wire::Duration(std::llround(std::clamp(moved, 0.0L, kMost))));
}

}  // namespace softrnic::edit
