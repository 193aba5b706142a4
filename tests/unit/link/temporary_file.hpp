// SPDX-License-Identifier: BSD-3-Clause
// A file that is gone at the end of the scope.
#pragma once

#include <unistd.h>

#include <catch2/catch.hpp>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

namespace softrnic::link::test {

class TemporaryFile {
 public:
  TemporaryFile() {
    const char* directory = std::getenv("TMPDIR");
    path_ = std::string(directory != nullptr ? directory : "/tmp") + "/softrnic-XXXXXX";
    const int fd = ::mkstemp(path_.data());
    REQUIRE(fd >= 0);
    ::close(fd);
  }
  ~TemporaryFile() { ::unlink(path_.c_str()); }
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;

  const std::string& path() const { return path_; }

  std::vector<std::byte> bytes() const {
    std::ifstream in(path_, std::ios::binary);
    const std::vector<char> chars{std::istreambuf_iterator<char>(in), {}};
    std::vector<std::byte> out;
    for (const char c : chars) out.push_back(static_cast<std::byte>(c));
    return out;
  }

 private:
  std::string path_;
};

}  // namespace softrnic::link::test
