// SPDX-License-Identifier: BSD-3-Clause
// The bytes of a file or a pipe, in order and in place: what is asked for lies in one piece in a
// buffer, which is only as large as the largest piece.
#pragma once

#include <cstdint>
#include <vector>

#include "link/file_descriptor.hpp"
#include "wire/bytes.hpp"

namespace softrnic::capture {

class ByteSource {
 public:
  explicit ByteSource(link::FileDescriptor file) : file_(std::move(file)) {}

  // The next `size` bytes, which stay the next ones; fewer only at the end. Good until the next
  // call.
  wire::ByteView peek(std::size_t size);
  // Passes over bytes; false when there are not as many.
  bool skip(std::uint64_t size);
  // Copies the next bytes out, at most `size`; 0 at the end, -1 on an error.
  std::int64_t read(std::byte* to, std::size_t size);

  std::uint64_t position() const { return position_; }  // of the next byte
  int error() const { return error_; }                  // errno of what ended it; 0: nothing did
  int descriptor() const { return file_.get(); }

 private:
  std::size_t there() const { return end_ - begin_; }
  bool fill();

  link::FileDescriptor file_;
  std::vector<std::byte> buffer_;
  std::size_t begin_ = 0;
  std::size_t end_ = 0;
  std::uint64_t position_ = 0;
  int error_ = 0;
};

}  // namespace softrnic::capture
