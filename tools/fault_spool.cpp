// SPDX-License-Identifier: BSD-3-Clause
#include "fault_spool.hpp"

#include <array>

namespace softrnic::tools {

bool FaultSpool::add(const std::string& text) {
  text_ += text;
  return text_.size() <= in_memory_ || spill();
}

bool FaultSpool::spill() {
  if (!file_) file_.reset(std::tmpfile());
  const bool written =
      file_ && std::fwrite(text_.data(), 1, text_.size(), file_.get()) == text_.size();
  text_.clear();
  return written;
}

bool FaultSpool::copy_to(std::FILE* out) {
  if (file_) {
    std::rewind(file_.get());
    std::array<char, 1 << 16> piece;
    while (const std::size_t n = std::fread(piece.data(), 1, piece.size(), file_.get())) {
      if (std::fwrite(piece.data(), 1, n, out) != n) return false;
    }
    if (std::ferror(file_.get()) != 0) return false;
  }
  return std::fwrite(text_.data(), 1, text_.size(), out) == text_.size();
}

}  // namespace softrnic::tools
