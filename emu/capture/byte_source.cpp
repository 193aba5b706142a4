// SPDX-License-Identifier: BSD-3-Clause
#include "capture/byte_source.hpp"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace softrnic::capture {
namespace {

constexpr std::size_t kBufferSize = 128 * 1024;

}  // namespace

// At least one byte more; false at the end.
bool ByteSource::fill() {
  if (error_ != 0) return false;
  const ssize_t n = ::read(file_.get(), buffer_.data() + end_, buffer_.size() - end_);
  if (n < 0) error_ = errno;  // a signal as well: who noted it wants to stop
  if (n <= 0) return false;
  end_ += static_cast<std::size_t>(n);
  return true;
}

wire::ByteView ByteSource::peek(std::size_t size) {
  if (there() < size && begin_ + size > buffer_.size()) {
    if (begin_ != 0) std::memmove(buffer_.data(), buffer_.data() + begin_, there());
    end_ -= begin_;
    begin_ = 0;
    if (size > buffer_.size()) buffer_.resize(std::max(size, kBufferSize));
  }
  while (there() < size && fill()) {
  }
  return wire::ByteView(buffer_).subspan(begin_, std::min(size, there()));
}

bool ByteSource::skip(std::uint64_t size) {
  while (size != 0) {
    if (there() == 0 && peek(1).empty()) return false;
    const auto n = static_cast<std::size_t>(std::min<std::uint64_t>(size, there()));
    begin_ += n;
    position_ += n;
    size -= n;
  }
  return true;
}

std::int64_t ByteSource::read(std::byte* to, std::size_t size) {
  if (there() == 0 && peek(1).empty()) return error_ != 0 ? -1 : 0;
  const std::size_t n = std::min(size, there());
  std::memcpy(to, buffer_.data() + begin_, n);
  skip(n);
  return static_cast<std::int64_t>(n);
}

}  // namespace softrnic::capture
