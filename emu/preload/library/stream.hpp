// SPDX-License-Identifier: BSD-3-Clause
// Directory streams (DIR) of the device's directories: a fixed number of them, told from those of
// the C library by where they are.
#pragma once

#include <dirent.h>

#include <atomic>

#include "preload/library/device.hpp"

namespace softrnic::preload {

class Stream {
 public:
  // Null and EMFILE when all are in use.
  static Stream* open(Directory directory, int descriptor);
  // Null when it is a stream of the C library.
  static Stream* from(DIR* stream);
  DIR* handle() { return reinterpret_cast<DIR*>(this); }

  // The next entry, good until the next call; null at the end.
  struct dirent* read();
  void close();
  // One that bears the directory's path; opened when it is first asked for.
  int descriptor();
  long position() const { return static_cast<long>(position_); }
  void seek(long position) { position_ = position < 0 ? 0 : static_cast<std::size_t>(position); }

 private:
  std::atomic<bool> used_{false};
  Directory directory_{};
  int descriptor_ = -1;
  std::size_t position_ = 0;
  struct dirent entry_ {};
};

// The n-th entry, "." and ".." first; false beyond the last.
bool fill_entry(const Device& device, Directory directory, std::size_t n, struct dirent& entry);

}  // namespace softrnic::preload
