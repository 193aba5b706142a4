// SPDX-License-Identifier: BSD-3-Clause
#include "replay/dialogue_event.hpp"

#include <algorithm>
#include <array>
#include <optional>

namespace softrnic::replay {

namespace {

using analysis::Finding;
using analysis::FindingKind;

struct EventInfo {
  std::string_view name;
  std::string_view rule;
  bool chance = true;
};

constexpr std::array<EventInfo, static_cast<std::size_t>(EventKind::count)> kInfos{{
    {"refusal", "IBTA vol. 1, 9.9.3: errors that a responder finds in a request", false},
    {"rnr_nak", "IBTA vol. 1, 9.7.5.2.8: a request that finds no receive gets an RNR NAK"},
    {"sequence_nak", "IBTA vol. 1, 9.7.5.2.8: a request beyond the expected PSN gets one NAK"},
    {"stray_answer", "IBTA vol. 1, 9.7.6.1: an answer has a PSN of the request that it answers"},
    {"repeated_answer", "IBTA vol. 1, 9.7.5.1: only what is asked again is answered again"},
    {"response_gap", "IBTA vol. 1, 9.7.5.1.3: the responses to a READ have consecutive PSNs"},
    {"response_size", "IBTA vol. 1, 9.7.5.1.3: the responses to a READ carry what was asked for",
     false},
    {"changed_atomic", "IBTA vol. 1, 9.7.5.1.5: an atomic that is repeated gets its first answer",
     false},
    {"timeout", "IBTA vol. 1, 9.7.5.1: every request is answered, or sent again (9.7.6.1.3)"},
    {"repeated_request", ""},
    {"reused_psn", "IBTA vol. 1, 9.7.1: each request packet has the PSN after the last one's",
     false},
    {"request_gap", "IBTA vol. 1, 9.7.1: each request packet has the PSN after the last one's"},
    {"reordered_request", ""},
    {"request_shape", "IBTA vol. 1, 9.7.4.1: order, sizes and pads of a message's packets", false},
    {"early_retry", "IBTA vol. 1, 9.7.5.2.8: an RNR NAK makes the requester wait", false},
    {"request_after_error", "IBTA vol. 1, 9.9.2: a NAK ends the connection", false},
    {"bad_icrc", "IBTA vol. 1, 9.6.1: a packet with a wrong ICRC is dropped"},
    {"malformed", "IBTA vol. 1, 9.6.1: a packet whose headers are wrong is dropped"},
    {"ecn_mark", ""},
    {"cnp", ""},
}};

const EventInfo& info_of(EventKind kind) {
  return kInfos[static_cast<std::size_t>(kind)];
}

std::optional<EventKind> kind_of(const Finding& finding, bool answer, bool asked_again) {
  switch (finding.kind) {
    case FindingKind::nak_invalid_request:
    case FindingKind::nak_remote_access:
    case FindingKind::nak_remote_operational:
    case FindingKind::nak_invalid_rd:
    case FindingKind::nak_reserved:
      return EventKind::refusal;
    case FindingKind::rnr_nak:
      return EventKind::rnr_nak;
    case FindingKind::nak_psn_sequence:
      return EventKind::sequence_nak;
    case FindingKind::ack_of_unsent:
    case FindingKind::ghost:
      return EventKind::stray_answer;
    case FindingKind::duplicate_ack:
    case FindingKind::response_repeated:
      if (asked_again) return {};
      return EventKind::repeated_answer;
    case FindingKind::duplicate:
      return answer ? EventKind::repeated_answer : EventKind::repeated_request;
    case FindingKind::read_response_missing:
      return EventKind::response_gap;
    case FindingKind::read_response_wrong_size:
      return EventKind::response_size;
    case FindingKind::atomic_changed:
      return EventKind::changed_atomic;
    case FindingKind::retransmission_timeout:
      return EventKind::timeout;
    // The cause is seen and is an event of its own, or was not captured.
    case FindingKind::retransmission_nak:
    case FindingKind::retransmission_rnr:
    case FindingKind::retransmission_implied:
    case FindingKind::retransmission_selective:
      if (finding.related == 0) return EventKind::timeout;
      return {};
    case FindingKind::reused_psn:
      return EventKind::reused_psn;
    case FindingKind::psn_gap:
      return EventKind::request_gap;
    case FindingKind::out_of_order:
      return EventKind::reordered_request;
    case FindingKind::wrong_opcode_order:
    case FindingKind::payload_not_mtu:
    case FindingKind::wrong_pad:
    case FindingKind::message_too_long:
    case FindingKind::message_too_short:
      return EventKind::request_shape;
    case FindingKind::rnr_wait_short:
      return EventKind::early_retry;
    case FindingKind::request_after_error:
      return EventKind::request_after_error;
    case FindingKind::bad_icrc:
      return EventKind::bad_icrc;
    case FindingKind::ecn_marked:
      return EventKind::ecn_mark;
    case FindingKind::cnp:
    case FindingKind::cnp_without_mark:
      return EventKind::cnp;
    default:
      return {};
  }
}

// Walks through a connection and remembers what it takes to judge the next packet.
class EventFinder {
 public:
  EventFinder(const Dialogue& dialogue, const DialogueConnection& connection)
      : dialogue_(dialogue), connection_(connection) {}

  std::vector<DialogueEvent> find() {
    for (std::uint32_t i = 0; i < connection_.packets.size(); ++i) look_at(i);
    for (const MalformedPacket& packet : connection_.malformed) add_malformed(packet);
    std::stable_sort(events_.begin(), events_.end(),
                     [](const auto& a, const auto& b) { return a.frame < b.frame; });
    return std::move(events_);
  }

 private:
  void look_at(std::uint32_t index) {
    const DialoguePacket& packet = connection_.packets[index];
    const bool answer = packet.is_answer();
    const std::uint8_t requester = answer ? 1 - packet.sender : packet.sender;
    if (!answer && packet.message != kNone) newest_[requester] = packet.message;
    const std::uint32_t message = packet.message != kNone ? packet.message : newest_[requester];
    bool stray = answer && packet.message == kNone && message != kNone && !packet.spoilt &&
                 packet.syndrome.is_ack();
    bool timeout = false;
    for (const Finding& finding : dialogue_.findings(packet)) {
      const auto kind = kind_of(finding, answer, asked_again(requester, message));
      if (!kind) continue;
      if (*kind == EventKind::timeout) {
        timeout = true;
        if (!begins_run(packet)) continue;
      }
      if (*kind == EventKind::stray_answer || *kind == EventKind::repeated_answer) stray = false;
      DialogueEvent& event = add(*kind, index, requester, message);
      if (*kind == EventKind::refusal) event.detail = packet.syndrome.raw();
      event.sentence = analysis::sentence(finding);
    }
    if (stray) add(EventKind::stray_answer, index, requester, message);
    if (!answer) last_timeout_[requester] = timeout ? &packet : nullptr;
  }

  // A sender that goes back sends all again: its first packet is the event.
  bool begins_run(const DialoguePacket& packet) const {
    const DialoguePacket* last = last_timeout_[packet.sender];
    return last == nullptr || packet.relative_psn <= last->relative_psn;
  }

  bool asked_again(std::uint8_t requester, std::uint32_t message) const {
    return message != kNone && connection_.messages[requester][message].facts.repetitions != 0;
  }

  DialogueEvent& add(EventKind kind, std::uint32_t index, std::uint8_t requester,
                     std::uint32_t message) {
    const DialoguePacket& packet = connection_.packets[index];
    DialogueEvent event;
    event.kind = kind;
    event.requester = requester;
    event.actor = packet.sender;
    event.message = message;
    event.packet = index;
    event.frame = packet.frame;
    event.at = packet.at;
    events_.push_back(std::move(event));
    return events_.back();
  }

  // Where its headers do not tell what it is, it belongs to the newest message of all.
  void add_malformed(const MalformedPacket& packet) {
    DialogueEvent event;
    event.kind = EventKind::malformed;
    event.actor = connection_.stream.sides[0].address == packet.source ? 0 : 1;
    for (const DialoguePacket& other : connection_.packets) {
      if (other.frame > packet.frame) break;
      if (other.is_answer() || other.message == kNone) continue;
      event.requester = other.sender;
      event.message = other.message;
    }
    event.frame = packet.frame;
    event.at = packet.at;
    event.sentence = packet.sentence;
    events_.push_back(std::move(event));
  }

  const Dialogue& dialogue_;
  const DialogueConnection& connection_;
  std::array<std::uint32_t, 2> newest_{kNone, kNone};
  std::array<const DialoguePacket*, 2> last_timeout_{};
  std::vector<DialogueEvent> events_;
};

}  // namespace

std::string_view name(EventKind kind) {
  return info_of(kind).name;
}

std::string_view rule(EventKind kind) {
  return info_of(kind).rule;
}

bool is_chance(EventKind kind) {
  return info_of(kind).chance;
}

std::vector<DialogueEvent> find_events(const Dialogue& dialogue,
                                       const DialogueConnection& connection) {
  return EventFinder(dialogue, connection).find();
}

}  // namespace softrnic::replay
