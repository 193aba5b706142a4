// SPDX-License-Identifier: BSD-3-Clause
// A file that is gone at the end of the scope, in a directory of its own.
#pragma once

#include <catch2/catch.hpp>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

namespace softrnic::capture::test {

class ScratchFile {
 public:
  explicit ScratchFile(const std::string& name = "capture") {
    REQUIRE(mkdtemp(directory_.data()) != nullptr);
    path_ = directory_ + "/" + name;
    write({});
  }
  ~ScratchFile() {
    std::error_code ignored;
    std::filesystem::remove_all(directory_, ignored);
  }
  ScratchFile(const ScratchFile&) = delete;
  ScratchFile& operator=(const ScratchFile&) = delete;

  const std::string& path() const { return path_; }
  const std::string& directory() const { return directory_; }

  void write(const std::vector<std::byte>& bytes) const {
    std::ofstream out(path_, std::ios::binary);
    out.write(reinterpret_cast<const char*>(bytes.data()),
              static_cast<std::streamsize>(bytes.size()));
    REQUIRE(out.good());
  }
  std::vector<std::byte> bytes() const {
    std::ifstream in(path_, std::ios::binary);
    const std::vector<char> chars{std::istreambuf_iterator<char>(in), {}};
    std::vector<std::byte> out;
    for (const char c : chars) out.push_back(static_cast<std::byte>(c));
    return out;
  }
  std::size_t files_beside() const {
    std::size_t files = 0;
    for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator(directory_)) {
      ++files;
    }
    return files;
  }

 private:
  std::string directory_ = "/tmp/softrnic-capture-XXXXXX";
  std::string path_;
};

}  // namespace softrnic::capture::test
