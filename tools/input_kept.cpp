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

void keep_apart(std::span<const std::pair<std::string, std::string>> outputs) {
  const auto are_one = [](const std::string& a, const std::string& b) {
    const auto place = [](const std::string& output) {
      std::error_code none;
      return std::filesystem::weakly_canonical(std::filesystem::absolute(output, none), none);
    };
    std::error_code none;
    return place(a) == place(b) || std::filesystem::equivalent(a, b, none);
  };
  const auto holds_one = [](const std::string& output) {
    std::error_code none;
    const auto status = std::filesystem::status(output, none);
    return !std::filesystem::exists(status) || std::filesystem::is_regular_file(status);
  };
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    const auto& [option, output] = outputs[i];
    if (output.empty() || output == "-" || !holds_one(output)) continue;
    for (const auto& [other, where] : outputs.subspan(i + 1)) {
      if (where.empty() || where == "-" || !are_one(where, output)) continue;
      fail_usage("{} and {} {}: two outputs in one file: name another for one of them", option,
                 other, where);
    }
  }
}

}  // namespace softrnic::tools
