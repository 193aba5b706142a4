// SPDX-License-Identifier: BSD-3-Clause
#include "fabric/fault_rule.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "fabric/fault_line.hpp"
#include "fabric/fault_terms.hpp"

namespace softrnic::fabric {

namespace {

using Action = FaultRule::Action;
using Which = FaultRule::Which;

// Requests that an acknowledgement of the rule's own can answer.
bool can_be_answered(const wire::OpcodeInfo& opcode) {
  const bool reliable = opcode.service == wire::Service::reliable_connection ||
                        opcode.service == wire::Service::extended_reliable_connection;
  return reliable && !opcode.is_response();
}

// The action with what it needs.
std::string action_text(const FaultRule& rule) {
  std::string text(to_string(rule.action));
  const auto add = [&text](std::string_view word) { text.append(" ").append(word); };
  switch (rule.action) {
    case Action::drop:
    case Action::mark_ecn:
      break;
    case Action::reorder:
      add(std::to_string(rule.displacement));
      break;
    case Action::delay:
      add(duration_text(rule.delay));
      break;
    case Action::duplicate:
      if (rule.delay != wire::Duration{}) add(duration_text(rule.delay));
      break;
    case Action::silence:
      if (rule.silenced != FaultRule::Way::both) add(to_string(rule.silenced));
      if (rule.delay != wire::Duration{}) add(duration_text(rule.delay));
      break;
    case Action::corrupt:
      add(rule.field);
      if (rule.sums == FaultRule::Sums::repaired) add("repair-icrc");
      break;
    case Action::rewrite:
      for (const FieldValue& to : rule.assignments) {
        if (&to != &rule.assignments.front()) add("and");
        add(to.name);
        add(to.value_text());
      }
      if (rule.sums == FaultRule::Sums::kept) add("keep-icrc");
      break;
    case Action::answer:
      add(syndrome_text(rule.syndrome));
      if (rule.answer_qpn) add(fmt::format("to QP {:#x}", *rule.answer_qpn));
      if (rule.delivers_request) add("and deliver");
      break;
  }
  return text;
}

std::string which_text(const FaultRule& rule) {
  switch (rule.which) {
    case Which::all:
      return "";
    case Which::nth:
      return " " + ordinal_text(rule.n);
    case Which::every_nth:
      return " every " + ordinal_text(rule.n);
    case Which::first_n:
      return fmt::format(" first {}", rule.n);
    case Which::from_nth:
      return " from " + ordinal_text(rule.n);
  }
  return "";
}

std::string_view reply_text(FaultRule::Reply reply) {
  switch (reply) {
    case FaultRule::Reply::any:
      return "";
    case FaultRule::Reply::ack:
      return " ACK";
    case FaultRule::Reply::nak:
      return " NAK";
    case FaultRule::Reply::rnr:
      return " RNR";
  }
  return "";
}

std::string filter_text(const FaultRule& rule) {
  std::string text;
  for (const std::string& word : rule.opcode_words) text += " " + word;
  text += reply_text(rule.reply);
  if (rule.destination_qpn) text += fmt::format(" of QP {:#x}", *rule.destination_qpn);
  if (rule.psn) text += fmt::format(" psn {:#x}", *rule.psn);
  if (rule.last_psn) text += fmt::format("..{:#x}", *rule.last_psn);
  for (const FieldValue& condition : rule.conditions) {
    text += fmt::format(" {}={}", condition.name, condition.value_text());
  }
  return text;
}

}  // namespace

std::bitset<256> FaultRule::opcodes() const {
  std::bitset<256> set;
  for (std::size_t value = 0; value < set.size(); ++value) {
    const wire::OpcodeInfo* row = wire::find_opcode(static_cast<std::uint8_t>(value));
    if (row == nullptr) continue;
    if (reply != Reply::any && row->operation != wire::Operation::acknowledge) continue;
    if (action == Action::answer && !can_be_answered(*row)) continue;
    set[value] = std::ranges::all_of(
        opcode_words, [row](const std::string& word) { return is_word_of_name(word, row->name); });
  }
  return set;
}

bool FaultRule::has_filter() const {
  return !opcode_words.empty() || reply != Reply::any || destination_qpn || psn ||
         !conditions.empty() || action == Action::corrupt || action == Action::mark_ecn ||
         action == Action::rewrite || action == Action::answer;
}

std::string FaultRule::to_line() const {
  std::string line = way == Way::both ? "" : fmt::format("{} ", to_string(way));
  line += action_text(*this) + which_text(*this);
  if (probability < 1) line += fmt::format(" {:.10g}%", probability * 100);
  return line + filter_text(*this);
}

wire::Expected<FaultRule, std::string> FaultRule::parse(std::string_view text) {
  return read_fault_line(text);
}

std::string_view to_string(FaultRule::Action action) {
  switch (action) {
    case Action::drop:
      return "drop";
    case Action::duplicate:
      return "duplicate";
    case Action::reorder:
      return "reorder";
    case Action::delay:
      return "delay";
    case Action::corrupt:
      return "corrupt";
    case Action::mark_ecn:
      return "mark-ecn";
    case Action::rewrite:
      return "rewrite";
    case Action::answer:
      return "answer";
    case Action::silence:
      return "silence";
  }
  return "";
}

std::string_view to_string(FaultRule::Way way) {
  switch (way) {
    case FaultRule::Way::both:
      return "both";
    case FaultRule::Way::tx:
      return "tx";
    case FaultRule::Way::rx:
      return "rx";
  }
  return "";
}

}  // namespace softrnic::fabric
