// SPDX-License-Identifier: BSD-3-Clause
// A file that appears under its name when it is whole, and not before.
//
// It is written beside its place and moved there at commit(), so that a run that is interrupted or
// meets a full disk leaves an older file as it was. What is no regular file (a FIFO, /dev/null)
// and standard output are written directly.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "link/file_descriptor.hpp"
#include "wire/bytes.hpp"
#include "wire/expected_void.hpp"

namespace softrnic::capture {

class WholeFile {
 public:
  // "-" is standard output. The error is one sentence: why it cannot be written and what to do.
  static wire::Expected<WholeFile, std::string> create(const std::string& path);
  ~WholeFile();
  WholeFile(WholeFile&& other) noexcept;
  WholeFile& operator=(WholeFile&& other) noexcept;

  // False when it cannot be written (any more): then commit() says why.
  bool write(wire::ByteView bytes);
  bool write(std::string_view text) { return write(std::as_bytes(std::span(text))); }
  // Hands on what has gathered, for one who reads the other end of a pipe meanwhile.
  bool flush();

  // Where larger pieces are put together before write_gathered() looks whether it is time to write.
  std::vector<std::byte>& gathered() { return buffer_; }
  bool write_gathered();

  // The file is whole: now it is under its name. Once, and nothing is written afterwards.
  wire::Expected<void, std::string> commit();

  // Whether it ends on a terminal.
  bool on_terminal() const;

 private:
  WholeFile(std::string name, int descriptor);
  void take_mode(unsigned mode);
  bool fail(int error);
  void give_up() noexcept;

  std::string name_;        // as the user knows it
  std::string path_;        // where it goes; empty: written directly
  std::string fresh_path_;  // where it is until then; empty when there is nothing to remove
  link::FileDescriptor owned_;
  int descriptor_ = -1;
  int error_ = 0;
  std::vector<std::byte> buffer_;
};

}  // namespace softrnic::capture
