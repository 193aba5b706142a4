// SPDX-License-Identifier: BSD-3-Clause
// What `softrnic edit` prints of an edit, as text and as JSON (docs/edit.md).
#pragma once

#include <string>

#include "edit/edit_counts.hpp"

namespace softrnic::tools {

// `to`: the file written; empty when none was.
std::string edit_text(const edit::EditCounts& counts, const std::string& from,
                      const std::string& to);
std::string edit_json(const edit::EditCounts& counts, const std::string& from,
                      const std::string& to);

}  // namespace softrnic::tools
