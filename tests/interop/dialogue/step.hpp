// SPDX-License-Identifier: BSD-3-Clause
// One step of a dialogue: a word, its options behind commas, as "write,len=100,to=4096,key=all".
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace softrnic::interop {

class Step {
 public:
  explicit Step(std::string_view text);

  const std::string& text() const { return text_; }
  const std::string& word() const { return parts_.front(); }
  // The option that is nothing but a number: done,3.
  std::uint64_t count() const;

  bool has(std::string_view option) const;
  // What stands behind NAME=; `otherwise` when the option is not there.
  std::string value(std::string_view name, std::string_view otherwise = {}) const;
  std::uint64_t number(std::string_view name, std::uint64_t otherwise = 0) const;

 private:
  std::uint64_t parse(std::string_view digits) const;

  std::string text_;
  std::vector<std::string> parts_;
};

}  // namespace softrnic::interop
