// SPDX-License-Identifier: BSD-3-Clause
// The faults of a check as text, in the order they came: in memory as long as they are few, then in
// a file without a name. A capture may hold as many faults as frames, and what counts them all is
// printed first.
#pragma once

#include <cstdio>
#include <memory>
#include <string>

namespace softrnic::tools {

class FaultSpool {
 public:
  explicit FaultSpool(std::size_t in_memory = 4 << 20) : in_memory_(in_memory) {}

  // False when the file cannot be written; errno says why.
  bool add(const std::string& text);
  // Everything that was added, to `out`; false when it cannot be written.
  bool copy_to(std::FILE* out);

 private:
  struct Close {
    void operator()(std::FILE* file) const { std::fclose(file); }
  };
  bool spill();

  std::size_t in_memory_;
  std::string text_;  // what the file does not have yet
  std::unique_ptr<std::FILE, Close> file_;
};

}  // namespace softrnic::tools
