// SPDX-License-Identifier: BSD-3-Clause
// The words an edit is asked for with: the same on the command line ("--qpn 0x11=0x99") and as keys
// of a script (qpn = "0x11=0x99").
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "edit/edit_plan.hpp"

namespace softrnic::edit {

enum class WordScope : std::uint8_t {
  plan,   // says something of the whole edit
  stage,  // of one stage
};

struct EditWord {
  std::string_view name;
  std::string_view value_name;  // empty: it takes none
  std::string_view help;
  std::string_view heading;
  WordScope scope = WordScope::stage;
  // Into the plan, or its stage `stage`; or a sentence saying what is wrong with the value.
  std::optional<std::string> (*take)(EditPlan& plan, std::size_t stage, std::string_view value);
};

std::span<const EditWord> edit_words();
// Underscores may stand for hyphens. Null for no such word.
const EditWord* find_edit_word(std::string_view name);

// What is wrong with the words together, in one sentence; empty when nothing is.
std::string contradiction(const EditPlan& plan);

}  // namespace softrnic::edit
