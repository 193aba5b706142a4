// SPDX-License-Identifier: BSD-3-Clause
// The explanation as one JSON object (docs/explain.md has its members). It is written piece by
// piece, a connection at a time, as there may be a hundred thousand.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "explain/explanation.hpp"

namespace softrnic::explain {

struct JsonOptions {
  std::string file;
  bool complete = true;  // the file was read to its end
  // Connections in the list, those that matter most; the others are counted. 0: all.
  std::size_t most_connections = 0;
};

// Of a finished explanation.
void write_json(const Explanation& explanation, const JsonOptions& options,
                const std::function<void(std::string_view)>& write);
std::string to_json(const Explanation& explanation, const JsonOptions& options);

}  // namespace softrnic::explain
