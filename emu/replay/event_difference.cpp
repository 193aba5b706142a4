// SPDX-License-Identifier: BSD-3-Clause
#include "replay/event_difference.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

namespace softrnic::replay {

namespace {

using analysis::MessageState;

std::string times(std::size_t count) {
  if (count == 0) return "not";
  if (count == 1) return "once";
  return fmt::format("{} times", count);
}

std::string refusal_name(std::uint64_t raw) {
  const wire::Syndrome syndrome(static_cast<std::uint8_t>(raw));
  constexpr std::uint8_t kCodes = 5;
  if (!syndrome.is_nak() || syndrome.value() >= kCodes) {
    return fmt::format("the reserved syndrome 0x{:02x}", raw);
  }
  std::string name(to_string(static_cast<wire::NakCode>(syndrome.value())));
  for (char& c : name) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c + ('a' - 'A'));
  }
  return "NAK " + name;
}

// What became of the captured message, as the other half of a sentence.
std::string captured_outcome(const DialogueMessage* message) {
  if (message == nullptr) return "the captured one was not asked";
  switch (message->facts.state) {
    case MessageState::refused:
      return fmt::format("the captured one refused it with {}",
                         refusal_name(message->facts.answer.raw()));
    case MessageState::complete:
      return message->facts.operation == wire::Operation::send ||
                     message->facts.operation == wire::Operation::write
                 ? "the captured one acknowledged it"
                 : "the captured one answered it";
    default:
      return "the captured one did not answer it";
  }
}

// Events are compared by the message that they concern, in rows of the alignment, and by what they
// are.
struct Place {
  std::uint8_t requester = 0;
  std::size_t row = 0;
  EventKind kind{};
  std::uint64_t detail = 0;

  friend bool operator<(const Place& a, const Place& b) {
    return std::tie(a.requester, a.row, a.kind, a.detail) <
           std::tie(b.requester, b.row, b.kind, b.detail);
  }
};

struct Both {
  std::vector<const DialogueEvent*> captured;
  std::vector<const DialogueEvent*> live;
};

class EventComparison {
 public:
  EventComparison(const ConnectionPair& pair,
                  const std::array<std::vector<AlignedPair>, 2>& aligned,
                  std::vector<DialogueDifference>& out)
      : pair_(pair),
        aligned_(aligned),
        out_(out),
        captured_(find_events(pair.captured_dialogue, pair.captured)),
        live_(find_events(pair.live_dialogue, pair.live)) {}

  void compare() {
    index_rows();
    for (const DialogueEvent& event : captured_) place(event, event.requester, true);
    for (const DialogueEvent& event : live_) place(event, pair_.live_side(event.requester), false);
    for (const auto& [place, both] : places_) compare(place, both);
  }

 private:
  static constexpr std::size_t kNoRow = ~std::size_t{0};

  void index_rows() {
    for (const std::uint8_t side : {std::uint8_t{0}, std::uint8_t{1}}) {
      rows_[0][side].assign(pair_.captured_messages(side).size(), kNoRow);
      rows_[1][side].assign(pair_.live_messages(side).size(), kNoRow);
      for (std::size_t row = 0; row < aligned_[side].size(); ++row) {
        const AlignedPair& both = aligned_[side][row];
        if (both.captured != kNone) rows_[0][side][both.captured] = row;
        if (both.live != kNone) rows_[1][side][both.live] = row;
      }
    }
  }

  // What comes before the first whole message is about something that the capture does not show.
  void place(const DialogueEvent& event, std::uint8_t side, bool captured) {
    const auto& rows = rows_[captured ? 0 : 1][side];
    if (event.message == kNone || event.message >= rows.size()) return;
    const std::size_t row = rows[event.message];
    if (row == kNoRow) return;
    Both& both = places_[{side, row, event.kind, event.detail}];
    (captured ? both.captured : both.live).push_back(&event);
  }

  void compare(const Place& place, const Both& both) {
    if (both.live.size() > both.captured.size()) {
      add(place, both, false);
    } else if (both.captured.size() > both.live.size()) {
      // A refusal that the live one lacks is told by the message's outcome.
      if (place.kind == EventKind::refusal) return tell_accepted(place, both);
      add(place, both, true);
    }
  }

  const DialogueMessage* captured_message(const Place& place) const {
    const std::uint32_t index = aligned_[place.requester][place.row].captured;
    return index == kNone ? nullptr : &pair_.captured_messages(place.requester)[index];
  }
  const DialogueMessage* live_message(const Place& place) const {
    const std::uint32_t index = aligned_[place.requester][place.row].live;
    return index == kNone ? nullptr : &pair_.live_messages(place.requester)[index];
  }

  void tell_accepted(const Place& place, const Both& both) {
    const DialogueMessage* live = live_message(place);
    if (live == nullptr || live->facts.state != MessageState::complete) return;
    DialogueDifference& difference = begin(place, "accepted", rule(EventKind::refusal));
    difference.captured_frame = both.captured.front()->frame;
    difference.live_frame = difference.order = live->facts.completed_frame;
    difference.at = pair_.live_time(live->facts.completed_time);
    difference.sentence = fmt::format(
        "{} accepted the {}; the captured one refused "
        "it with {}",
        live_answerer(pair_, place.requester), subject(place), refusal_name(place.detail));
  }

  void add(const Place& place, const Both& both, bool only_captured) {
    DialogueDifference& difference = begin(place, name(place.kind), rule(place.kind));
    difference.note = only_captured && is_chance(place.kind);
    if (place.kind == EventKind::cnp || place.kind == EventKind::ecn_mark) difference.note = true;
    if (!both.captured.empty()) difference.captured_frame = both.captured.front()->frame;
    if (!both.live.empty()) {
      const DialogueEvent& event = *both.live[std::min(both.captured.size(), both.live.size() - 1)];
      difference.live_frame = difference.order = event.frame;
      difference.at = pair_.live_time(event.at);
    } else if (const DialogueMessage* live = live_message(place)) {
      difference.order = live->facts.first_frame;
      difference.at = pair_.live_time(live->facts.first_time);
    }
    difference.sentence = only_captured ? captured_sentence(place, both) : sentence(place, both);
  }

  DialogueDifference& begin(const Place& place, std::string_view kind, std::string_view rule) {
    DialogueDifference difference;
    difference.kind = kind;
    difference.rule = rule;
    difference.requester = place.requester;
    const std::uint32_t index = aligned_[place.requester][place.row].live;
    difference.message =
        (index == kNone ? aligned_[place.requester][place.row].captured : index) + 1;
    out_.push_back(std::move(difference));
    return out_.back();
  }

  std::string subject(const Place& place) const {
    const AlignedPair& both = aligned_[place.requester][place.row];
    return name_of(pair_, place.requester, both.live == kNone ? both.captured : both.live);
  }

  std::string end(const Place& place, const DialogueEvent& event) const {
    return event.actor == event.requester ? live_asker(pair_, place.requester)
                                          : live_answerer(pair_, place.requester);
  }

  // "; the captured one did so once".
  static std::string counterpart(const Both& both) {
    return both.captured.empty()
               ? "; the captured one did not"
               : fmt::format("; the captured one {}", times(both.captured.size()));
  }

  std::string sentence(const Place& place, const Both& both) const {
    const DialogueEvent& event = *both.live[std::min(both.captured.size(), both.live.size() - 1)];
    const std::string what = subject(place);
    const std::string count = both.live.size() == 1 ? "" : " " + times(both.live.size());
    const std::string other = counterpart(both);
    switch (place.kind) {
      case EventKind::refusal:
        return fmt::format("{} refused the {} with {}; {}", live_answerer(pair_, place.requester),
                           what, refusal_name(place.detail),
                           captured_outcome(captured_message(place)));
      case EventKind::rnr_nak:
        return fmt::format("{} was not ready for the {} (RNR NAK, {}){}",
                           live_answerer(pair_, place.requester), what, times(both.live.size()),
                           both.captured.empty() ? "; the captured one was" : other);
      case EventKind::sequence_nak:
        return fmt::format(
            "{} missed a packet at the {} (NAK PSN sequence error, "
            "{}){}",
            live_answerer(pair_, place.requester), what, times(both.live.size()), other);
      case EventKind::stray_answer:
        return fmt::format(
            "{} sent{} {}{} at the {}, which answers nothing "
            "outstanding{}",
            live_answerer(pair_, place.requester), count, describe(event), psn_of(event), what,
            other);
      case EventKind::repeated_answer:
        return fmt::format("{} answered the {} again{} with nothing asked again{}",
                           live_answerer(pair_, place.requester), what, count, other);
      case EventKind::response_gap:
        return fmt::format("{} left out responses to the {}: {}{}",
                           live_answerer(pair_, place.requester), what, lower(event.sentence),
                           other);
      case EventKind::timeout:
        return timeout_sentence(place, both);
      case EventKind::repeated_request:
        return fmt::format("{}'s packet of the {} came twice{}", live_asker(pair_, place.requester),
                           what, other);
      case EventKind::bad_icrc:
        return fmt::format("{} sent{} {} at the {} with a wrong ICRC{}", end(place, event), count,
                           describe(event), what, other);
      case EventKind::malformed:
        return fmt::format("{} sent{} a packet at the {} that a receiver drops: {}{}",
                           end(place, event), count, what, lower(event.sentence), other);
      case EventKind::ecn_mark:
        return fmt::format("packets of the {} met congestion live{}", what, other);
      case EventKind::cnp:
        return fmt::format("congestion was notified at the {} live{}", what, other);
      default:
        return fmt::format("{} at the {}: {}{}", end(place, event), what, lower(event.sentence),
                           other);
    }
  }

  std::string timeout_sentence(const Place& place, const Both& both) const {
    const DialogueMessage* live = live_message(place);
    const bool answered = live != nullptr && is_settled(*live);
    const std::string again = fmt::format("it was sent again {} unasked", times(both.live.size()));
    const std::string end = answered ? "and answered at last" : "and never answered";
    const std::string other =
        both.captured.empty()
            ? captured_outcome(captured_message(place))
            : fmt::format("the captured one was sent again {}", times(both.captured.size()));
    return fmt::format("{} was silent to the {}: {} {}; {}", live_answerer(pair_, place.requester),
                       subject(place), again, end, other);
  }

  std::string captured_sentence(const Place& place, const Both& both) const {
    const std::size_t live = both.live.size();
    const std::string count = times(both.captured.size());
    const std::string other = live == 0 ? "live not" : fmt::format("live {}", times(live));
    const std::string_view what = [&place]() -> std::string_view {
      switch (place.kind) {
        case EventKind::rnr_nak:
          return "a responder that was not ready (RNR NAK)";
        case EventKind::sequence_nak:
          return "a missing packet (NAK PSN sequence error)";
        case EventKind::timeout:
          return "a retransmission that nothing asked for";
        case EventKind::bad_icrc:
          return "a wrong ICRC";
        case EventKind::response_gap:
          return "a missing response";
        case EventKind::stray_answer:
          return "an answer to nothing outstanding";
        case EventKind::repeated_answer:
          return "an answer given again";
        case EventKind::request_gap:
          return "a gap in the requests";
        case EventKind::repeated_request:
          return "a request packet that came twice";
        case EventKind::reordered_request:
          return "a request packet out of its order";
        case EventKind::ecn_mark:
          return "congestion";
        case EventKind::cnp:
          return "a congestion notification";
        case EventKind::malformed:
          return "a packet whose headers are wrong";
        default:
          return std::string_view();
      }
    }();
    const std::string named =
        what.empty() ? "\"" + std::string(name(place.kind)) + "\"" : std::string(what);
    return fmt::format("the captured {} met {} {}; {}", subject(place), named, count, other);
  }

  std::string describe(const DialogueEvent& event) const {
    if (event.packet == kNone) return "a packet";
    const DialoguePacket& packet = pair_.live.packets[event.packet];
    const bool plain = packet.info().operation == wire::Operation::acknowledge;
    return plain ? "an acknowledgement" : std::string(packet.info().name);
  }
  std::string psn_of(const DialogueEvent& event) const {
    if (event.packet == kNone) return {};
    return fmt::format(" of PSN {:+}", pair_.live.packets[event.packet].relative_psn);
  }
  static std::string lower(std::string sentence) {
    if (!sentence.empty() && sentence.size() > 1 && sentence[1] >= 'a' && sentence[1] <= 'z') {
      sentence[0] = static_cast<char>(sentence[0] | 0x20);
    }
    return sentence;
  }

  const ConnectionPair& pair_;
  const std::array<std::vector<AlignedPair>, 2>& aligned_;
  std::vector<DialogueDifference>& out_;
  std::vector<DialogueEvent> captured_;
  std::vector<DialogueEvent> live_;
  std::array<std::array<std::vector<std::size_t>, 2>, 2> rows_;
  std::map<Place, Both> places_;
};

// --- MSN ---

constexpr std::string_view kMsnRule =
    "IBTA vol. 1, 9.7.7.1: the MSN counts the messages that are complete";

std::int32_t signed_24(std::uint32_t value) {
  return static_cast<std::int32_t>(value << 8) >> 8;
}

// The answer that completed a message, and how far its MSN is from the message's number.
struct Count {
  const DialoguePacket* packet = nullptr;
  std::int32_t ahead = 0;
};

std::optional<Count> count_of(const DialogueConnection& connection,
                              const std::vector<DialogueMessage>& messages, std::uint32_t number) {
  const DialogueMessage& message = messages[number];
  if (message.facts.state != MessageState::complete || message.facts.repetitions != 0) return {};
  for (const std::uint32_t index : message.answers) {
    const DialoguePacket& packet = connection.packets[index];
    // First responses may come before the READ counts.
    const bool counts = packet.frame == message.facts.completed_frame && !packet.spoilt &&
                        packet.info().has(wire::kAeth) && packet.syndrome.is_ack();
    if (counts) return Count{&packet, signed_24(packet.msn - (number + 1))};
  }
  return {};
}

// How far most answers are.
std::int32_t usual(const std::vector<std::optional<Count>>& counts) {
  std::map<std::int32_t, std::size_t> votes;
  for (const auto& count : counts) {
    if (count) ++votes[count->ahead];
  }
  std::int32_t best = 0;
  std::size_t most = votes.contains(0) ? votes[0] : 0;
  for (const auto& [ahead, number] : votes) {
    if (number <= most) continue;
    best = ahead;
    most = number;
  }
  return best;
}

}  // namespace

void compare_events(const ConnectionPair& pair,
                    const std::array<std::vector<AlignedPair>, 2>& aligned,
                    std::vector<DialogueDifference>& out) {
  EventComparison(pair, aligned, out).compare();
}

void compare_msns(const ConnectionPair& pair, std::uint8_t requester,
                  const std::vector<AlignedPair>& aligned, std::vector<DialogueDifference>& out) {
  std::vector<std::optional<Count>> captured;
  std::vector<std::optional<Count>> live;
  for (const AlignedPair& both : aligned) {
    const bool paired = both.captured != kNone && both.live != kNone;
    captured.push_back(
        paired ? count_of(pair.captured, pair.captured_messages(requester), both.captured)
               : std::nullopt);
    live.push_back(paired ? count_of(pair.live, pair.live_messages(requester), both.live)
                          : std::nullopt);
  }
  const std::int32_t usual_captured = usual(captured);
  // A capture that begins late has any MSN; one that counts from nothing shows where to begin.
  const std::int32_t usual_live = usual_captured == 0 ? 0 : usual(live);
  for (std::size_t row = 0; row < aligned.size(); ++row) {
    if (!live[row] || live[row]->ahead == usual_live) continue;
    if (captured[row] && captured[row]->ahead == live[row]->ahead) continue;
    const DialoguePacket& packet = *live[row]->packet;
    const std::int32_t off = live[row]->ahead - usual_live;
    DialogueDifference difference;
    difference.kind = "msn";
    difference.rule = kMsnRule;
    difference.requester = requester;
    difference.message = aligned[row].live + 1;
    difference.live_frame = difference.order = packet.frame;
    if (captured[row]) difference.captured_frame = captured[row]->packet->frame;
    difference.at = pair.live_time(packet.at);
    difference.sentence =
        fmt::format("{} answered the {} with MSN {}, {} {} than it has completed messages{}",
                    live_answerer(pair, requester), name_of(pair, requester, aligned[row].live),
                    packet.msn, off < 0 ? -off : off, off < 0 ? "less" : "more",
                    captured[row] ? "; the captured one counts right" : "");
    out.push_back(std::move(difference));
  }
}

}  // namespace softrnic::replay
