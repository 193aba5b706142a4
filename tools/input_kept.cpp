// SPDX-License-Identifier: BSD-3-Clause
#include "input_kept.hpp"

#include <filesystem>
#include <system_error>

#include "failure.hpp"

namespace softrnic::tools {

void keep_input(const std::string& input, const std::string& option, const std::string& output) {
  if (output.empty() || output == "-" || input == "-") return;
  std::error_code none;
  const bool same = std::filesystem::equivalent(input, output, none);
  if (!same || none || !std::filesystem::is_regular_file(output, none)) return;
  fail_usage("{} {}: this is the capture that is read: name another file", option, output);
}

}  // namespace softrnic::tools
