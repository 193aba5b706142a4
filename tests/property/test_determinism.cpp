// SPDX-License-Identifier: BSD-3-Clause
// The same seed gives the same frames at the same times.
#include <unistd.h>

#include <catch2/catch.hpp>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include "property/cases.hpp"
#include "property/reliable_run.hpp"

namespace softrnic::property {

namespace {

// A file of the test's own that goes away with it.
class ScratchFile {
 public:
  explicit ScratchFile(const std::string& name)
      : path_(std::filesystem::temp_directory_path() /
              ("softrnic-" + std::to_string(::getpid()) + "-" + name)) {}
  ~ScratchFile() { std::remove(path_.c_str()); }
  ScratchFile(const ScratchFile&) = delete;
  ScratchFile& operator=(const ScratchFile&) = delete;

  std::string path() const { return path_.string(); }
  std::string contents() const {
    std::ifstream file(path_, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }

 private:
  std::filesystem::path path_;
};

}  // namespace

TEST_CASE("The same seed gives the same capture, byte for byte") {
  for_each_seed(20, [](std::uint64_t seed) {
    INFO("--seed " << seed);
    const Plan plan = make_plan(seed, Kind::reliable);
    const ScratchFile first("first.pcapng");
    const ScratchFile second("second.pcapng");
    REQUIRE(run_reliable(plan, first.path()).failure.empty());
    REQUIRE(run_reliable(plan, second.path()).failure.empty());
    const std::string bytes = first.contents();
    CHECK(bytes.size() > 200);
    CHECK(bytes == second.contents());
  });
}

TEST_CASE("A plan is a function of its seed") {
  for_each_seed(20, [](std::uint64_t seed) {
    CHECK(to_string(make_plan(seed, Kind::reliable)) == to_string(make_plan(seed, Kind::reliable)));
    CHECK(to_string(make_plan(seed, Kind::reliable)) !=
          to_string(make_plan(seed + 1, Kind::reliable)));
  });
}

}  // namespace softrnic::property
