// SPDX-License-Identifier: BSD-3-Clause
// Two dialogues in one table, packet beside packet.
//
// A packet's counterpart has the same sender, the same place in a message that goes with its own,
// and is the same copy of it. The rows are in the order of the captured packets; what only the live
// dialogue has stands behind the live packet before it.
#pragma once

#include <string>
#include <vector>

#include "replay/difference.hpp"

namespace softrnic::replay {

struct SideBySideRow {
  std::uint32_t captured = kNone;  // index of a packet
  std::uint32_t live = kNone;
  // ' ': alike; '|': unlike; '<': the captured one alone; '>': the live one alone.
  char mark = ' ';
};

std::vector<SideBySideRow> lay_side_by_side(const Dialogue& captured, std::uint32_t captured_stream,
                                            const Dialogue& live, std::uint32_t live_stream);

// A line for each row: time since the connection's first packet, direction, what it is. `width`:
// columns of the terminal. `context`: rows that are alike to be shown around those that are not;
// the rest is left out, and how much.
std::string side_by_side_text(const Dialogue& captured, std::uint32_t captured_stream,
                              const Dialogue& live, std::uint32_t live_stream, std::size_t width,
                              std::size_t context);

}  // namespace softrnic::replay
