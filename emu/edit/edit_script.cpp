// SPDX-License-Identifier: BSD-3-Clause
#include "edit/edit_script.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "edit/edit_words.hpp"
#include "edit/frame_filter.hpp"
#include "fabric/fault_table.hpp"
#include "fabric/script_json.hpp"
#include "fabric/script_toml.hpp"

namespace softrnic::edit {
namespace {

using fabric::ScriptError;
using fabric::ScriptMember;
using fabric::ScriptValue;
using Kind = ScriptValue::Kind;
using Complaint = std::optional<std::string>;

Complaint at(fabric::ScriptPlace place, std::string message) {
  return ScriptError{place, std::move(message)}.to_string();
}

bool is_scalar(const ScriptValue& value) {
  return value.is(Kind::string) || value.is(Kind::integer) || value.is(Kind::real);
}

Complaint take(const EditWord& word, const ScriptValue& value, EditPlan& plan, std::size_t stage) {
  if (value.is(Kind::array)) {
    for (const ScriptValue& element : value.elements) {
      if (auto complaint = take(word, element, plan, stage)) return complaint;
    }
    return std::nullopt;
  }
  if (word.value_name.empty()) {
    if (!value.is(Kind::boolean)) return at(value.place, "needs true or false");
    if (value.text != "true") return std::nullopt;
  } else if (!is_scalar(value)) {
    return at(value.place, fmt::format("{}: needs a text or a number", word.name));
  }
  const auto complaint = word.take(plan, stage, value.text);
  if (!complaint) return std::nullopt;
  return at(value.place, fmt::format("{}: {}", word.name, *complaint));
}

Complaint take_member(const ScriptMember& member, EditPlan& plan, std::size_t stage) {
  const EditWord* word = find_edit_word(member.key);
  if (word == nullptr) {
    return at(member.place,
              fmt::format("\"{}\" is no word of an edit; see softrnic edit --help", member.key));
  }
  if (stage != 0 && word->scope == WordScope::plan) {
    return at(member.place,
              fmt::format("\"{}\" is for the whole edit: write it before [[edit]]", word->name));
  }
  return take(*word, member.value, plan, stage);
}

bool is_rule(const ScriptValue& table) {
  return table.is(Kind::string) || std::ranges::any_of(table.members, [](const ScriptMember& m) {
           return m.key == "do" || m.key == "rule";
         });
}

Complaint take_rule(const ScriptValue& table, EditPlan& plan) {
  auto rule = fabric::read_fault_table(table);
  if (!rule) return rule.error().to_string();
  if (const auto refusal = refuse_rule(*rule)) return at(table.place, *refusal);
  plan.stages.emplace_back().rule = std::move(*rule);
  return std::nullopt;
}

Complaint take_stage(const ScriptValue& table, EditPlan& plan) {
  if (is_rule(table)) return take_rule(table, plan);
  if (!table.is(Kind::table)) return at(table.place, "a stage is a table, or a rule as a text");
  plan.stages.emplace_back();
  const std::size_t stage = plan.stages.size() - 1;
  for (const ScriptMember& member : table.members) {
    if (auto complaint = take_member(member, plan, stage)) return complaint;
  }
  return std::nullopt;
}

}  // namespace

Complaint read_edit_script(std::string_view text, fabric::ScriptForm form, EditPlan& plan) {
  if (form == fabric::ScriptForm::lines) {
    return "a script of an edit has a name that ends in .toml or .json";
  }
  const auto root =
      form == fabric::ScriptForm::toml ? fabric::read_toml(text) : fabric::read_json(text);
  if (!root) return root.error().to_string();
  if (!root->is(Kind::table)) return "a script of an edit is a table";
  for (const ScriptMember& member : root->members) {
    if (member.key != "edit") {
      if (auto complaint = take_member(member, plan, 0)) return complaint;
      continue;
    }
    if (!member.value.is(Kind::array)) {
      return at(member.value.place, "\"edit\" is an array: write [[edit]] before each stage");
    }
    for (const ScriptValue& stage : member.value.elements) {
      if (auto complaint = take_stage(stage, plan)) return complaint;
    }
  }
  return std::nullopt;
}

}  // namespace softrnic::edit
