// SPDX-License-Identifier: BSD-3-Clause
// A script of an edit, in TOML or JSON: its keys are the words of edit_words, with one value or an
// array of them. "edit" is an array of further stages: tables of the same words, or rules of the
// fault language, as lines or as tables (docs/faults.md).
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "edit/edit_plan.hpp"
#include "fabric/fault_file.hpp"

namespace softrnic::edit {

// Adds to the plan; or says in one sentence what is wrong and, where it is known, at which place.
std::optional<std::string> read_edit_script(std::string_view text, fabric::ScriptForm form,
                                            EditPlan& plan);

}  // namespace softrnic::edit
