// SPDX-License-Identifier: BSD-3-Clause
// Which segments this user has, and who is on them: read from outside, without a trace.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace softrnic::link {

struct ListedSegment {
  std::string name;
  std::vector<std::string> hosts;  // by name, sorted
  std::size_t ports = 0;           // that somebody lives at
};

// Those on which somebody is, by name. What cannot be read, or makes no sense, is left out.
std::vector<ListedSegment> list_segments();

}  // namespace softrnic::link
