// SPDX-License-Identifier: BSD-3-Clause
#include "step.hpp"

#include <algorithm>

#include "command_line.hpp"
#include "failure.hpp"

namespace softrnic::interop {

Step::Step(std::string_view text) : text_(text) {
  while (true) {
    const std::size_t comma = text.find(',');
    parts_.emplace_back(text.substr(0, comma));
    if (comma == std::string_view::npos) return;
    text.remove_prefix(comma + 1);
  }
}

std::uint64_t Step::count() const {
  if (parts_.size() != 2) tools::fail_usage("step {}: wants one number", text_);
  return parse(parts_[1]);
}

bool Step::has(std::string_view option) const {
  return std::find(parts_.begin() + 1, parts_.end(), option) != parts_.end();
}

std::string Step::value(std::string_view name, std::string_view otherwise) const {
  const std::string prefix = std::string(name) + "=";
  for (const std::string& part : parts_) {
    if (part.starts_with(prefix)) return part.substr(prefix.size());
  }
  return std::string(otherwise);
}

std::uint64_t Step::number(std::string_view name, std::uint64_t otherwise) const {
  const std::string digits = value(name);
  return digits.empty() ? otherwise : parse(digits);
}

std::uint64_t Step::parse(std::string_view digits) const {
  const auto number = tools::parse_number(digits);
  if (!number) tools::fail_usage("step {}: '{}' is no number", text_, digits);
  return *number;
}

}  // namespace softrnic::interop
