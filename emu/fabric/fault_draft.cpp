// SPDX-License-Identifier: BSD-3-Clause
#include "fabric/fault_draft.hpp"

#include <algorithm>

#include "fabric/fault_terms.hpp"
#include "fabric/header_field.hpp"

namespace softrnic::fabric {

namespace {

using Action = FaultRule::Action;
using Reply = FaultRule::Reply;
using Sums = FaultRule::Sums;
using Way = FaultRule::Way;
using Which = FaultRule::Which;

constexpr std::uint32_t kMax24Bits = 0xffffff;
constexpr std::uint32_t kMaxDisplacement = 10'000;
constexpr std::size_t kMostFieldValues = 16;
constexpr std::string_view kActionList =
    "drop, duplicate, reorder, delay, corrupt, rewrite, mark-ecn, answer or silence";

std::optional<Way> read_way(std::string_view word) {
  for (const Way way : {Way::both, Way::tx, Way::rx}) {
    if (is_word(word, to_string(way))) return way;
  }
  return std::nullopt;
}

std::string_view reply_word(Reply reply) {
  switch (reply) {
    case Reply::any:
      return "";
    case Reply::ack:
      return " ACK";
    case Reply::nak:
      return " NAK";
    case Reply::rnr:
      return " RNR";
  }
  return "";
}

}  // namespace

void FaultDraft::set_way(std::string_view word) {
  const auto way = read_way(word);
  if (!way) return complain("\"{}\" is no direction: use tx, rx or both", word);
  rule_.way = *way;
}

void FaultDraft::set_action(std::string_view word) {
  constexpr std::array kActions{Action::drop,    Action::duplicate, Action::reorder,
                                Action::delay,   Action::corrupt,   Action::mark_ecn,
                                Action::rewrite, Action::answer,    Action::silence};
  if (word.empty()) return complain("a fault rule needs an action: {}", kActionList);
  const auto* found = std::ranges::find_if(
      kActions, [word](Action action) { return is_word(word, to_string(action)); });
  if (found == kActions.end()) {
    return complain("\"{}\" is no action: use {}", word, kActionList);
  }
  rule_.action = *found;
  if (rule_.action == Action::rewrite) rule_.sums = Sums::repaired;
}

void FaultDraft::set_displacement(std::string_view word) {
  const auto value = read_number(word);
  if (!value || *value < 1 || *value > kMaxDisplacement) {
    return complain("cannot hold a frame until {} others have passed: use 1 to {}", word,
                    kMaxDisplacement);
  }
  rule_.displacement = static_cast<std::uint32_t>(*value);
}

void FaultDraft::set_delay(std::string_view word) {
  const auto value = read_duration(word);
  if (word.empty()) return complain("delay needs a time: 500us, 2ms or 1s");
  if (!value) {
    return complain("\"{}\" is no time to delay by: use 1ns to 3600s, such as 500us, 2ms or 1s",
                    word);
  }
  rule_.delay = *value;
}

void FaultDraft::set_field(std::string_view word) {
  std::string name = to_lower(word);
  if (name == "icrc" || name == "payload" || is_header_field(name)) {
    rule_.field = std::move(name);
  } else if (word.empty()) {
    complain("corrupt needs what to corrupt: icrc, payload or a header field such as psn");
  } else {
    complain(
        "\"{}\" cannot be corrupted: use icrc, payload or a header field such as psn, "
        "remote_key or ipv4.checksum",
        word);
  }
}

void FaultDraft::add_assignment(std::string_view field, std::string_view value) {
  FieldValue assignment;
  if (const auto wrong = FieldValue::read(field, value, assignment)) return complain("{}", *wrong);
  if (rule_.assignments.size() == kMostFieldValues) {
    return complain("a rule rewrites at most {} fields", kMostFieldValues);
  }
  rule_.assignments.push_back(std::move(assignment));
}

void FaultDraft::set_sums(Sums sums) {
  if (rule_.action != Action::corrupt && rule_.action != Action::rewrite) {
    return complain("only corrupt and rewrite keep or repair the ICRC, not {}",
                    to_string(rule_.action));
  }
  rule_.sums = sums;
}

void FaultDraft::take_answer(std::span<const std::string_view>& words) {
  const auto syndrome = take_syndrome(words);
  if (!syndrome) return complain("{}", syndrome.error());
  rule_.syndrome = *syndrome;
  answer_given_ = true;
}

void FaultDraft::set_answer_qpn(std::string_view word) {
  if (rule_.action != Action::answer) {
    return complain("only answer goes to a queue pair, not {}", to_string(rule_.action));
  }
  set_24_bits("to qp", word, rule_.answer_qpn);
}

void FaultDraft::set_delivers_request(bool delivers) {
  if (rule_.action != Action::answer) {
    return complain("only answer may deliver the request too, not {}", to_string(rule_.action));
  }
  rule_.delivers_request = delivers;
}

void FaultDraft::set_silenced(std::string_view word) {
  const auto way = read_way(word);
  if (!way) return complain("\"{}\" is no direction to silence: use tx, rx or both", word);
  rule_.silenced = *way;
}

void FaultDraft::set_which(std::string_view word, Which which, std::uint64_t n) {
  if (which_given_) {
    return complain(
        "\"{}\" is a second choice of frames: a rule takes one of Nth, every Nth, "
        "first N, from Nth and all",
        word);
  }
  if (which != Which::all && n == 0) return complain("frames are counted from 1, not 0");
  which_given_ = true;
  rule_.which = which;
  rule_.n = n;
}

void FaultDraft::set_probability(std::string_view word) {
  std::string_view rest = word;
  const auto percent = take_fraction(rest);
  if (!percent || rest != "%" || *percent > 100) {
    return complain("\"{}\" is no probability: use 0% to 100%", word);
  }
  if (probability_given_) return complain("\"{}\" is a second probability", word);
  probability_given_ = true;
  rule_.probability = *percent / 100;
}

void FaultDraft::add_packet_word(std::string_view word) {
  if (is_word(word, "ack")) return set_reply(Reply::ack);
  if (is_word(word, "nak")) return set_reply(Reply::nak);
  if (is_word(word, "rnr")) return set_reply(Reply::rnr);
  std::string name = to_upper(word);
  if (!is_word_of_any_name(name)) {
    return complain(
        "\"{}\" is no word of a fault rule or of a packet's name, such as WRITE "
        "MIDDLE, READ RESPONSE or ACK",
        word);
  }
  rule_.opcode_words.push_back(std::move(name));
}

void FaultDraft::set_destination_qpn(std::string_view word) {
  set_24_bits("qp", word, rule_.destination_qpn);
}

void FaultDraft::set_psn(std::string_view word) {
  const std::size_t dots = word.find("..");
  set_24_bits("psn", word.substr(0, dots), rule_.psn);
  if (dots != std::string_view::npos) set_24_bits("psn", word.substr(dots + 2), rule_.last_psn);
}

void FaultDraft::add_condition(std::string_view field, std::string_view value) {
  FieldValue condition;
  if (const auto wrong = FieldValue::read(field, value, condition)) return complain("{}", *wrong);
  if (condition.kind == FieldValue::Kind::plus || condition.kind == FieldValue::Kind::minus) {
    return complain("{}={}: a field is compared with a number or an address", field, value);
  }
  if (rule_.conditions.size() == kMostFieldValues) {
    return complain("a rule compares at most {} fields", kMostFieldValues);
  }
  rule_.conditions.push_back(std::move(condition));
}

wire::Expected<FaultRule, std::string> FaultDraft::finish(std::string_view text) {
  if (ok()) check_action();
  if (ok()) check_packet();
  if (!ok()) return wire::Unexpected{complaint_};
  rule_.text = text.empty() ? rule_.to_line() : std::string(text);
  return rule_;
}

void FaultDraft::set_24_bits(std::string_view what, std::string_view word,
                             std::optional<std::uint32_t>& target) {
  const auto value = read_number(word);
  if (!value || *value > kMax24Bits) {
    return complain("{} needs a number from 0 to 0xffffff, not \"{}\"", what, word);
  }
  target = static_cast<std::uint32_t>(*value);
}

void FaultDraft::set_reply(Reply reply) {
  // "RNR NAK" is one thing, in either order.
  const bool rnr_nak = (reply == Reply::nak && rule_.reply == Reply::rnr) ||
                       (reply == Reply::rnr && rule_.reply == Reply::nak);
  if (rule_.reply != Reply::any && rule_.reply != reply && !rnr_nak) {
    return complain("a packet cannot be both ACK and NAK: use one of them");
  }
  rule_.reply = rnr_nak ? Reply::rnr : reply;
}

// Whether the action has all it needs.
void FaultDraft::check_action() {
  if (rule_.action == Action::delay && rule_.delay == wire::Duration{}) return set_delay("");
  if (rule_.action == Action::corrupt && rule_.field.empty()) return set_field("");
  if (rule_.action == Action::corrupt && rule_.field == "icrc" && rule_.sums == Sums::repaired) {
    return complain("an ICRC cannot be both corrupted and repaired");
  }
  if (rule_.action == Action::rewrite && rule_.assignments.empty()) {
    return complain("rewrite needs a field and its value: rewrite psn +1");
  }
  if (rule_.action == Action::answer && !answer_given_) {
    std::span<const std::string_view> none;
    take_answer(none);
  }
}

void FaultDraft::check_packet() {
  // "ATOMIC ACK" is an opcode of its own, not an ACK.
  if (rule_.reply == Reply::ack && std::ranges::count(rule_.opcode_words, "ATOMIC") > 0) {
    rule_.opcode_words.push_back("ACKNOWLEDGE");
    rule_.reply = Reply::any;
  }
  if (!rule_.opcodes().none()) return;
  if (rule_.action == Action::answer) {
    return complain(
        "nothing called \"{}{}\" can be answered: only requests of a reliable service are, "
        "such as SEND, WRITE or READ REQUEST",
        fmt::join(rule_.opcode_words, " "), reply_word(rule_.reply));
  }
  complain("no packet is called \"{}{}\": use words of one name, such as WRITE MIDDLE",
           fmt::join(rule_.opcode_words, " "), reply_word(rule_.reply));
}

}  // namespace softrnic::fabric
