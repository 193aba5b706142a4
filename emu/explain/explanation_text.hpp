// SPDX-License-Identifier: BSD-3-Clause
// The explanation as text: one screen that tells what happened and what to look at first. It is
// written piece by piece, as there may be a hundred thousand connections in its table.
#pragma once

#include <cstddef>
#include <string>

#include "explain/explanation.hpp"
#include "explain/text_table.hpp"

namespace softrnic::explain {

struct TextOptions {
  std::string file;
  std::string why_incomplete;  // empty: the file was read to its end
  bool colour = false;
  bool unicode = true;  // bars of blocks; else of ASCII
  std::size_t most_connections = static_cast<std::size_t>(-1);
  std::size_t most_losses = 0;  // in a list of their own; 0: none
  std::size_t width = 100;      // columns that sentences are wrapped to
};

// Of a finished explanation.
void write_text(const Explanation& explanation, const TextOptions& options, const TextSink& sink);
std::string to_text(const Explanation& explanation, const TextOptions& options);

}  // namespace softrnic::explain
