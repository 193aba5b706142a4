// SPDX-License-Identifier: BSD-3-Clause
#include "edit_files.hpp"

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <sstream>

#include "failure.hpp"

namespace softrnic::tools {

std::string read_small_file(const std::string& option, const std::string& path) {
  constexpr std::size_t kMost = 1 << 20;
  std::ifstream file(path, std::ios::binary);
  if (!file) fail_usage("{} {}: {}", option, path, std::strerror(errno));
  std::string text(kMost + 1, '\0');
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  if (file.bad() || (file.fail() && !file.eof())) {
    fail_usage("{} {}: cannot be read; name a file", option, path);
  }
  text.resize(static_cast<std::size_t>(file.gcount()));
  if (text.size() > kMost) fail_usage("{} {}: more than 1 MiB", option, path);
  return text;
}

std::string read_key(const std::string& word) {
  constexpr std::string_view kEnvironment = "env:";
  constexpr std::string_view kFile = "file:";
  std::string key = word;
  if (word.starts_with(kEnvironment)) {
    const char* value = std::getenv(word.c_str() + kEnvironment.size());
    if (value == nullptr) {
      fail_usage("--anonymise {}: there is no such environment variable", word);
    }
    key = value;
  } else if (word.starts_with(kFile)) {
    key = read_small_file("--anonymise", word.substr(kFile.size()));
    while (key.ends_with('\n') || key.ends_with('\r')) key.pop_back();
  }
  if (key.empty()) fail_usage("--anonymise {}: the key is empty, and hides nothing", word);
  return key;
}

}  // namespace softrnic::tools
