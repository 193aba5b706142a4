// SPDX-License-Identifier: BSD-3-Clause
// An input as a file, for what reads files by their names or descriptors.
#pragma once

#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <string>

#include "fuzz/require.hpp"
#include "link/file_descriptor.hpp"

namespace softrnic::fuzz {

class FileInMemory {
 public:
  FileInMemory()
      : file_(::memfd_create("input", MFD_CLOEXEC)),
        path_("/proc/self/fd/" + std::to_string(file_.get())) {}

  // Its name; the file is at its beginning.
  const std::string& hold(const std::uint8_t* data, std::size_t size) {
    require(::ftruncate(file_.get(), 0) == 0, "an input's file is emptied");
    require(::pwrite(file_.get(), data, size, 0) == static_cast<ssize_t>(size),
            "an input's file is written");
    require(::lseek(file_.get(), 0, SEEK_SET) == 0, "an input's file is at its beginning");
    return path_;
  }
  // Another descriptor of it.
  link::FileDescriptor descriptor() const { return link::FileDescriptor(::dup(file_.get())); }

 private:
  link::FileDescriptor file_;
  std::string path_;
};

}  // namespace softrnic::fuzz
