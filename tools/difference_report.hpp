// SPDX-License-Identifier: BSD-3-Clause
// What differs between two dialogues, as text for people and as JSON for programs.
#pragma once

#include <string>

#include "replay/difference.hpp"

namespace softrnic::tools {

struct DifferenceNames {
  std::string captured;  // as the user named the files
  std::string live;
};

// `most`: of the differences of a connection; 0: all.
std::string difference_text(const replay::DifferenceReport& report, const DifferenceNames& names,
                            std::size_t most = 0);

std::string difference_json(const replay::DifferenceReport& report, const DifferenceNames& names);

}  // namespace softrnic::tools
