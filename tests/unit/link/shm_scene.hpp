// SPDX-License-Identifier: BSD-3-Clause
// A directory for segments that is this test's own, and gone at the end of the scope.
#pragma once

#include <catch2/catch.hpp>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>

#include "link/shm_link.hpp"

namespace softrnic::link::test {

class ShmScene {
 public:
  ShmScene() {
    // Where segments are by default, so that the same memory serves.
    const bool shared = std::filesystem::is_directory("/dev/shm");
    path_ = std::string(shared ? "/dev/shm" : "/tmp") + "/softrnic-test-XXXXXX";
    REQUIRE(::mkdtemp(path_.data()) != nullptr);
    ::setenv("SOFTRNIC_SHM_DIR", path_.c_str(), 1);
  }
  ~ShmScene() {
    ::unsetenv("SOFTRNIC_SHM_DIR");
    std::filesystem::remove_all(path_);
  }
  ShmScene(const ShmScene&) = delete;
  ShmScene& operator=(const ShmScene&) = delete;

  const std::string& path() const { return path_; }
  // Whether nothing of any segment is left.
  bool empty() const { return !std::filesystem::exists(path_) || std::filesystem::is_empty(path_); }

  static std::unique_ptr<Link> open(const std::string& host = {},
                                    const std::string& segment = "lab", std::uint32_t mtu = 0) {
    auto link = open_shm({.segment = segment, .host = host, .mtu = mtu});
    INFO((link ? std::string() : link.error().message));
    REQUIRE(link.has_value());
    return std::move(link).value();
  }

  // Why it cannot be opened.
  static std::string refusal(const ShmOptions& options) {
    const auto link = open_shm(options);
    REQUIRE_FALSE(link.has_value());
    return link.error().message;
  }

 private:
  std::string path_;
};

}  // namespace softrnic::link::test
