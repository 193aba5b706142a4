// SPDX-License-Identifier: BSD-3-Clause
#include "fabric/fault_table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>

#include "fabric/fault_draft.hpp"
#include "fabric/fault_terms.hpp"

namespace softrnic::fabric {

namespace {

using Action = FaultRule::Action;
using Kind = ScriptValue::Kind;
using Sums = FaultRule::Sums;
using Which = FaultRule::Which;
using RuleOrError = wire::Expected<FaultRule, ScriptError>;

constexpr std::uint16_t bit(Action action) {
  return static_cast<std::uint16_t>(1u << static_cast<unsigned>(action));
}
constexpr std::uint16_t kEveryAction = 0xffff;

// "delay, duplicate or silence".
std::string action_list(std::uint16_t actions) {
  std::vector<std::string_view> names;
  for (unsigned i = 0; i < 16; ++i) {
    const auto action = static_cast<Action>(i);
    if ((actions & bit(action)) != 0 && !to_string(action).empty()) {
      names.push_back(to_string(action));
    }
  }
  std::string list;
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (i > 0) list += i + 1 == names.size() ? " or " : ", ";
    list += names[i];
  }
  return list;
}

class TableReader {
 public:
  explicit TableReader(const ScriptValue& table) : table_(table) {}

  RuleOrError read() {
    if (find("rule") != nullptr) return read_line_rule();
    const ScriptMember* action = find("do");
    if (action == nullptr) {
      draft_.set_action("");
      return fail_at(table_.place);
    }
    if (const auto error = take(*action)) return wire::Unexpected{*error};
    for (const ScriptMember& member : table_.members) {
      if (&member == action) continue;
      if (const auto error = take(member)) return wire::Unexpected{*error};
    }
    auto rule = draft_.finish(name_);
    if (!rule) return wire::Unexpected{ScriptError{table_.place, rule.error()}};
    return *rule;
  }

 private:
  struct Key {
    std::string_view name;
    std::uint16_t actions;
    void (TableReader::*read)(const ScriptValue& value);
  };
  static const std::array<Key, 21> kKeys;

  const ScriptMember* find(std::string_view key) const {
    const auto found = std::ranges::find(table_.members, key, &ScriptMember::key);
    return found == table_.members.end() ? nullptr : &*found;
  }

  wire::Unexpected<ScriptError> fail_at(ScriptPlace place) const {
    return {ScriptError{place, draft_.complaint()}};
  }

  // One key with its value.
  std::optional<ScriptError> take(const ScriptMember& member) {
    const auto* key = std::ranges::find(kKeys, member.key, &Key::name);
    if (key == kKeys.end()) {
      std::vector<std::string_view> names;
      for (const Key& known : kKeys) names.push_back(known.name);
      return ScriptError{member.place, fmt::format("\"{}\" is no key of a fault: use {}",
                                                   member.key, fmt::join(names, ", "))};
    }
    if ((key->actions & bit(draft_.action())) == 0) {
      return ScriptError{member.place,
                         fmt::format("\"{}\" goes with {}, not with {}", member.key,
                                     action_list(key->actions), to_string(draft_.action()))};
    }
    (this->*key->read)(member.value);
    if (draft_.ok()) return std::nullopt;
    return ScriptError{member.value.place, fmt::format("{}: {}", member.key, draft_.complaint())};
  }

  RuleOrError read_line_rule() {
    const ScriptMember& line = *find("rule");
    for (const ScriptMember& member : table_.members) {
      if (&member == &line) continue;
      if (member.key != "name") {
        return wire::Unexpected{ScriptError{
            member.place,
            fmt::format("\"{}\" beside \"rule\": the line says it all; only name may stand there",
                        member.key)}};
      }
      if (const auto error = take(member)) return wire::Unexpected{*error};
    }
    if (!expect(line.value, Kind::string, "a line such as \"drop 5%\"")) {
      return fail_at(line.value.place);
    }
    auto rule = FaultRule::parse(line.value.text);
    if (!rule) return wire::Unexpected{ScriptError{line.value.place, rule.error()}};
    if (!name_.empty()) rule->text = name_;
    return *rule;
  }

  bool expect(const ScriptValue& value, Kind kind, std::string_view what) {
    if (value.is(kind)) return true;
    draft_.complain("needs {}", what);
    return false;
  }

  // A number, which may be written as a string where hexadecimal digits are wanted in JSON.
  bool expect_number(const ScriptValue& value) {
    if (value.is(Kind::string) || value.is(Kind::integer)) return true;
    draft_.complain("needs a number");
    return false;
  }

  void read_name(const ScriptValue& value) {
    if (!expect(value, Kind::string, "a text")) return;
    const auto is_control = [](char c) { return static_cast<unsigned char>(c) < ' '; };
    if (value.text.empty() || std::ranges::any_of(value.text, is_control)) {
      return draft_.complain("needs a text of one line");
    }
    name_ = value.text;
  }

  void read_do(const ScriptValue& value) {
    if (expect(value, Kind::string, "an action such as \"drop\"")) draft_.set_action(value.text);
  }
  void read_way(const ScriptValue& value) {
    if (expect(value, Kind::string, "\"tx\", \"rx\" or \"both\"")) draft_.set_way(value.text);
  }

  void read_packet(const ScriptValue& value) {
    if (!expect(value, Kind::string, "words of a packet's name, such as \"WRITE MIDDLE\"")) return;
    for (const std::string_view word : words_of(value.text)) draft_.add_packet_word(word);
  }
  void read_qp(const ScriptValue& value) {
    if (expect_number(value)) draft_.set_destination_qpn(value.text);
  }
  void read_psn(const ScriptValue& value) {
    if (expect_number(value)) draft_.set_psn(value.text);
  }
  void read_where(const ScriptValue& value) {
    read_fields(value, [this](std::string_view field, std::string_view text) {
      draft_.add_condition(field, text);
    });
  }

  void read_nth(const ScriptValue& value) { read_which("nth", Which::nth, value); }
  void read_every(const ScriptValue& value) { read_which("every", Which::every_nth, value); }
  void read_first(const ScriptValue& value) { read_which("first", Which::first_n, value); }
  void read_from(const ScriptValue& value) { read_which("from", Which::from_nth, value); }
  void read_which(std::string_view key, Which which, const ScriptValue& value) {
    if (!expect(value, Kind::integer, "a whole number")) return;
    const auto n = read_number(value.text);
    if (!n) return draft_.complain("frames are counted from 1, not {}", value.text);
    draft_.set_which(key, which, *n);
  }

  // 0.05, or "5%".
  void read_probability(const ScriptValue& value) {
    if (value.is(Kind::string)) return draft_.set_probability(value.text);
    double share = -1;
    const char* end = value.text.data() + value.text.size();
    const bool is_number = value.is(Kind::real) || value.is(Kind::integer);
    if (!is_number || std::from_chars(value.text.data(), end, share).ptr != end ||
        !(share >= 0 && share <= 1)) {
      return draft_.complain("needs a number from 0 to 1, or \"5%\"");
    }
    draft_.set_probability(fmt::format("{:.12f}%", share * 100));
  }

  void read_by(const ScriptValue& value) {
    if (expect_number(value)) draft_.set_displacement(value.text);
  }
  void read_time(const ScriptValue& value) {
    if (expect(value, Kind::string, "a time such as \"2ms\"")) draft_.set_delay(value.text);
  }
  void read_field(const ScriptValue& value) {
    if (expect(value, Kind::string, "a field's name such as \"psn\"")) draft_.set_field(value.text);
  }
  void read_assignments(const ScriptValue& value) {
    read_fields(value, [this](std::string_view field, std::string_view text) {
      draft_.add_assignment(field, text);
    });
  }
  void read_icrc(const ScriptValue& value) {
    const bool keeps = value.is(Kind::string) && is_word(value.text, "keep");
    const bool repairs = value.is(Kind::string) && is_word(value.text, "repair");
    if (!keeps && !repairs) return draft_.complain("needs \"keep\" or \"repair\"");
    draft_.set_sums(keeps ? Sums::kept : Sums::repaired);
  }

  void read_syndrome(const ScriptValue& value) {
    if (!expect_number(value)) return;
    const std::vector<std::string_view> words = words_of(value.text);
    std::span<const std::string_view> rest = words;
    draft_.take_answer(rest);
    if (!rest.empty()) draft_.complain("\"{}\" is too much for a syndrome", rest.front());
  }
  void read_to_qp(const ScriptValue& value) {
    if (expect_number(value)) draft_.set_answer_qpn(value.text);
  }
  void read_deliver(const ScriptValue& value) {
    if (!expect(value, Kind::boolean, "true or false")) return;
    draft_.set_delivers_request(value.text == "true");
  }
  void read_silenced(const ScriptValue& value) {
    if (expect(value, Kind::string, "\"tx\", \"rx\" or \"both\"")) draft_.set_silenced(value.text);
  }

  // A table of fields with their values.
  template <class Add>
  void read_fields(const ScriptValue& value, Add add) {
    if (!expect(value, Kind::table, "a table such as { psn = 5 }")) return;
    for (const ScriptMember& member : value.members) {
      if (!member.value.is(Kind::string) && !member.value.is(Kind::integer)) {
        return draft_.complain("{} needs a number or a text", member.key);
      }
      if (member.value.is(Kind::integer) && member.value.text.starts_with('-')) {
        return draft_.complain("a step down is a text: {} = \"{}\"", member.key, member.value.text);
      }
      add(member.key, member.value.text);
    }
  }

  const ScriptValue& table_;
  FaultDraft draft_;
  std::string name_;
};

const std::array<TableReader::Key, 21> TableReader::kKeys{{
    {"do", kEveryAction, &TableReader::read_do},
    {"name", kEveryAction, &TableReader::read_name},
    {"way", kEveryAction, &TableReader::read_way},
    {"packet", kEveryAction, &TableReader::read_packet},
    {"qp", kEveryAction, &TableReader::read_qp},
    {"psn", kEveryAction, &TableReader::read_psn},
    {"where", kEveryAction, &TableReader::read_where},
    {"nth", kEveryAction, &TableReader::read_nth},
    {"every", kEveryAction, &TableReader::read_every},
    {"first", kEveryAction, &TableReader::read_first},
    {"from", kEveryAction, &TableReader::read_from},
    {"probability", kEveryAction, &TableReader::read_probability},
    {"by", bit(Action::reorder), &TableReader::read_by},
    {"time", bit(Action::delay) | bit(Action::duplicate) | bit(Action::silence),
     &TableReader::read_time},
    {"field", bit(Action::corrupt), &TableReader::read_field},
    {"fields", bit(Action::rewrite), &TableReader::read_assignments},
    {"icrc", bit(Action::corrupt) | bit(Action::rewrite), &TableReader::read_icrc},
    {"syndrome", bit(Action::answer), &TableReader::read_syndrome},
    {"to_qp", bit(Action::answer), &TableReader::read_to_qp},
    {"deliver", bit(Action::answer), &TableReader::read_deliver},
    {"silenced", bit(Action::silence), &TableReader::read_silenced},
}};

}  // namespace

RuleOrError read_fault_table(const ScriptValue& value) {
  if (value.is(Kind::table)) return TableReader(value).read();
  if (!value.is(Kind::string)) {
    return wire::Unexpected{
        ScriptError{value.place, "a fault is a table, or a line of text such as \"drop 5%\""}};
  }
  auto rule = FaultRule::parse(value.text);
  if (!rule) return wire::Unexpected{ScriptError{value.place, rule.error()}};
  return *rule;
}

}  // namespace softrnic::fabric
