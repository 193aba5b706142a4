// SPDX-License-Identifier: BSD-3-Clause
// An empty file of a name of its own, gone at the end of the scope.
#pragma once

#include <stdlib.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string>

#include "failure.hpp"

namespace softrnic::tools {

class TemporaryFile {
 public:
  explicit TemporaryFile(const std::string& ending) {
    const char* folder = std::getenv("TMPDIR");
    path_ = folder != nullptr && *folder != '\0' ? folder : "/tmp";
    path_ += "/softrnic-XXXXXX" + ending;
    const int file = ::mkstemps(path_.data(), static_cast<int>(ending.size()));
    if (file < 0) {
      fail("no temporary file can be made in {}: {}; set TMPDIR to a folder you may write to",
           path_.substr(0, path_.rfind('/')), std::strerror(errno));
    }
    ::close(file);
  }
  ~TemporaryFile() { ::unlink(path_.c_str()); }
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;

  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

}  // namespace softrnic::tools
