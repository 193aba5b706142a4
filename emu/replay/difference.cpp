// SPDX-License-Identifier: BSD-3-Clause
#include "replay/difference.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>
#include <utility>

#include "replay/event_difference.hpp"
#include "replay/message_difference.hpp"

namespace softrnic::replay {

namespace {

using analysis::MessageState;

constexpr std::uint32_t kAtTheEnd = std::numeric_limits<std::uint32_t>::max();
constexpr std::string_view kAnswerRule = "IBTA vol. 1, 9.7.5.1: every request is answered";

bool is_reliable(const DialogueConnection& connection) {
  return connection.stream.service == wire::Service::reliable_connection ||
         connection.stream.service == wire::Service::extended_reliable_connection;
}

std::string ends_of(const DialogueConnection& connection) {
  const auto end = [](const analysis::StreamSide& side) {
    return side.qpn == analysis::kUnknownQpn
               ? side.address.to_string()
               : fmt::format("{} QP 0x{:06x}", side.address.to_string(), side.qpn);
  };
  return fmt::format("{} -> {}", end(connection.stream.sides[0]), end(connection.stream.sides[1]));
}

class ConnectionComparison {
 public:
  ConnectionComparison(const ConnectionPair& pair, const DifferenceOptions& options)
      : pair_(pair), options_(options) {}

  std::vector<DialogueDifference> compare(std::size_t& messages) {
    for (const std::uint8_t side : {std::uint8_t{0}, std::uint8_t{1}}) {
      if (options_.only_asked_by && *options_.only_asked_by != side) continue;
      aligned_[side] = align_messages(pair_.captured_messages(side), pair_.live_messages(side));
      compare_messages(side, messages);
      if (!is_reliable(pair_.live)) continue;
      compare_msns(pair_, side, aligned_[side], found_);
      find_unanswered(side);
    }
    compare_events(pair_, aligned_, found_);
    std::stable_sort(found_.begin(), found_.end(),
                     [](const auto& a, const auto& b) { return a.order < b.order; });
    return std::move(found_);
  }

 private:
  void compare_messages(std::uint8_t side, std::size_t& messages) {
    MemoryMapping memory;
    MessageComparison comparison(pair_, side, options_, memory);
    for (const AlignedPair& both : aligned_[side]) {
      if (both.captured == kNone || both.live == kNone) continue;
      ++messages;
      comparison.compare(both, found_);
    }
    tell_missing(side);
  }

  // Runs of messages that only one of them has.
  void tell_missing(std::uint8_t side) {
    const auto& rows = aligned_[side];
    std::uint32_t live_before = 0;  // frame
    for (std::size_t row = 0; row < rows.size();) {
      const bool missing = rows[row].live == kNone;
      if (!missing && rows[row].captured != kNone) {
        live_before = pair_.live_messages(side)[rows[row].live].facts.last_frame;
        ++row;
        continue;
      }
      std::size_t end = row + 1;
      while (end < rows.size() && (missing ? rows[end].live : rows[end].captured) == kNone) ++end;
      tell_run(side, row, end, missing, live_before);
      row = end;
    }
  }

  void tell_run(std::uint8_t side, std::size_t begin, std::size_t end, bool missing,
                std::uint32_t live_before) {
    const AlignedPair& first = aligned_[side][begin];
    const std::size_t count = end - begin;
    DialogueDifference difference;
    difference.requester = side;
    const DialogueMessage& message = missing ? pair_.captured_messages(side)[first.captured]
                                             : pair_.live_messages(side)[first.live];
    const std::string what = fmt::format(
        "{} {} of {} bytes{}", missing ? "the captured" : "a", name_of(message.facts.operation),
        message.facts.length, count == 1 ? "" : fmt::format(" and {} more messages", count - 1));
    if (missing) {
      const bool last = end == aligned_[side].size();
      difference.kind = "message_missing";
      difference.message = first.captured + 1;
      difference.captured_frame = message.facts.first_frame;
      difference.order = last ? kAtTheEnd : live_before;
      difference.at =
          pair_.live_time(last ? pair_.live.stream.last_time : message_time(live_before));
      difference.sentence = fmt::format("{} did not send {}, message {}", live_asker(pair_, side),
                                        what, first.captured + 1);
    } else {
      difference.kind = "message_extra";
      difference.message = first.live + 1;
      difference.live_frame = difference.order = message.facts.first_frame;
      difference.at = pair_.live_time(message.facts.first_time);
      difference.sentence = fmt::format("{} sent {}, message {}, which the captured one did not",
                                        live_asker(pair_, side), what, first.live + 1);
    }
    found_.push_back(std::move(difference));
  }

  wire::Instant message_time(std::uint32_t frame) const {
    for (const DialoguePacket& packet : pair_.live.packets) {
      if (packet.frame >= frame) return packet.at;
    }
    return pair_.live.stream.last_time;
  }

  // The first message that was answered when captured, and not live. Those behind it wait for it.
  void find_unanswered(std::uint8_t side) {
    std::size_t behind = 0;
    const AlignedPair* first = nullptr;
    for (const AlignedPair& both : aligned_[side]) {
      if (both.live == kNone) continue;
      const DialogueMessage& live = pair_.live_messages(side)[both.live];
      // A refusal ends the connection: what follows is not answered.
      if (live.facts.state == MessageState::refused) return;
      if (live.facts.state != MessageState::open || both.captured == kNone) continue;
      if (!is_settled(pair_.captured_messages(side)[both.captured])) continue;
      if (first == nullptr) {
        first = &both;
      } else {
        ++behind;
      }
    }
    if (first == nullptr) return;
    const DialogueMessage& live = pair_.live_messages(side)[first->live];
    if (live.facts.repetitions != 0) return;  // told as silence
    DialogueDifference difference;
    difference.kind = "no_answer";
    difference.rule = kAnswerRule;
    difference.requester = side;
    difference.message = first->live + 1;
    difference.live_frame = live.facts.last_frame;
    difference.captured_frame =
        pair_.captured_messages(side)[first->captured].facts.completed_frame;
    difference.order = kAtTheEnd;
    difference.at = pair_.live_time(pair_.live.stream.last_time);
    difference.sentence =
        fmt::format("{} did not answer the {}{}; the captured one did", live_answerer(pair_, side),
                    name_of(pair_, side, first->live),
                    behind == 0 ? std::string() : fmt::format(" nor {} behind it", behind));
    found_.push_back(std::move(difference));
  }

  const ConnectionPair& pair_;
  const DifferenceOptions& options_;
  std::array<std::vector<AlignedPair>, 2> aligned_;
  std::vector<DialogueDifference> found_;
};

// A connection that only one of the two dialogues has.
ConnectionDifference lone_connection(const DialogueConnection& connection, bool captured) {
  ConnectionDifference result;
  result.service = to_string(connection.stream.service);
  DialogueDifference difference;
  if (captured) {
    result.captured = connection.stream.index;
    result.captured_ends = ends_of(connection);
    difference.kind = "connection_missing";
    difference.captured_frame = connection.stream.first_frame;
    difference.order = kAtTheEnd;
    difference.sentence = "the live dialogue has no such connection";
  } else {
    result.live = connection.stream.index;
    result.live_ends = ends_of(connection);
    difference.kind = "connection_extra";
    difference.live_frame = difference.order = connection.stream.first_frame;
    difference.sentence = "the captured dialogue has no such connection";
  }
  result.differences.push_back(std::move(difference));
  return result;
}

wire::Expected<std::optional<std::uint32_t>, std::string> chosen_stream(
    const CapturedConnection& connection, std::optional<std::uint8_t>& only,
    const OnRecord& on_record) {
  if (!connection.choice.stream && !connection.choice.ends) return std::optional<std::uint32_t>{};
  const auto found = find_connection(connection.path, connection.choice, on_record);
  if (!found) return wire::Unexpected{found.error()};
  if (only && found.value().requester == 1) only = static_cast<std::uint8_t>(1 - *only);
  return std::optional(found.value().stream.index);
}

}  // namespace

std::size_t DifferenceReport::differences() const {
  std::size_t count = 0;
  for (const ConnectionDifference& connection : connections) {
    count += connection.differences.size();
  }
  return count;
}

ConnectionDifference compare_connections(const Dialogue& captured, std::uint32_t captured_stream,
                                         const Dialogue& live, std::uint32_t live_stream,
                                         const DifferenceOptions& options) {
  const DialogueConnection& ours = captured.connections()[captured_stream];
  const DialogueConnection& theirs = live.connections()[live_stream];
  const ConnectionPair pair{captured, ours, live, theirs, is_turned_round(ours, theirs)};
  ConnectionDifference result;
  result.captured = captured_stream;
  result.live = live_stream;
  result.captured_ends = ends_of(ours);
  result.live_ends = ends_of(theirs);
  result.service = to_string(ours.stream.service);
  result.turned = pair.turned;
  for (DialogueDifference& found : ConnectionComparison(pair, options).compare(result.messages)) {
    (found.note ? result.notes : result.differences).push_back(std::move(found));
  }
  return result;
}

DifferenceReport compare_dialogues(const Dialogue& captured, const Dialogue& live,
                                   const DifferenceOptions& options) {
  DifferenceReport report;
  report.captured_frames = captured.frames();
  report.live_frames = live.frames();
  for (const AlignedPair& both : align_connections(captured, live)) {
    if (both.live == kNone) {
      report.connections.push_back(lone_connection(captured.connections()[both.captured], true));
    } else if (both.captured == kNone) {
      report.connections.push_back(lone_connection(live.connections()[both.live], false));
    } else {
      report.connections.push_back(
          compare_connections(captured, both.captured, live, both.live, options));
    }
  }
  return report;
}

wire::Expected<DifferenceReport, std::string> compare_captures(const CapturedConnection& captured,
                                                               const CapturedConnection& live,
                                                               const DifferenceOptions& options,
                                                               const OnRecord& on_record) {
  DifferenceOptions settled = options;
  std::optional<std::uint8_t> none;
  const auto ours = chosen_stream(captured, settled.only_asked_by, on_record);
  if (!ours) return wire::Unexpected{ours.error()};
  const auto theirs = chosen_stream(live, none, on_record);
  if (!theirs) return wire::Unexpected{theirs.error()};
  const auto captured_dialogue = Dialogue::read(captured.path, on_record);
  if (!captured_dialogue) return wire::Unexpected{captured_dialogue.error()};
  const auto live_dialogue = Dialogue::read(live.path, on_record);
  if (!live_dialogue) return wire::Unexpected{live_dialogue.error()};
  if (!ours.value() && !theirs.value()) {
    return compare_dialogues(captured_dialogue.value(), live_dialogue.value(), settled);
  }
  // Only one was chosen: it goes with the other's that is most like it.
  std::optional<std::uint32_t> a = ours.value();
  std::optional<std::uint32_t> b = theirs.value();
  for (const AlignedPair& both :
       align_connections(captured_dialogue.value(), live_dialogue.value())) {
    if (a && !b && both.captured == *a && both.live != kNone) b = both.live;
    if (b && !a && both.live == *b && both.captured != kNone) a = both.captured;
  }
  DifferenceReport report;
  report.captured_frames = captured_dialogue.value().frames();
  report.live_frames = live_dialogue.value().frames();
  if (a && b) {
    report.connections.push_back(
        compare_connections(captured_dialogue.value(), *a, live_dialogue.value(), *b, settled));
  } else {
    report.connections.push_back(
        a ? lone_connection(captured_dialogue.value().connections()[*a], true)
          : lone_connection(live_dialogue.value().connections()[*b], false));
  }
  return report;
}

}  // namespace softrnic::replay
