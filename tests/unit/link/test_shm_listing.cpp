// SPDX-License-Identifier: BSD-3-Clause
#include <unistd.h>

#include <catch2/catch.hpp>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "link/link.hpp"
#include "link/shm_listing.hpp"

namespace softrnic::link {
namespace {

namespace fs = std::filesystem;

class Folder {
 public:
  Folder() {
    std::string name = (fs::temp_directory_path() / "softrnic-list-XXXXXX").string();
    REQUIRE(::mkdtemp(name.data()) != nullptr);
    path = fs::path(name) / "segments";
    ::setenv("SOFTRNIC_SHM_DIR", path.c_str(), 1);
  }
  ~Folder() {
    ::unsetenv("SOFTRNIC_SHM_DIR");
    std::error_code ignored;
    fs::remove_all(path.parent_path(), ignored);
  }
  fs::path path;
};

std::unique_ptr<Link> attach(const std::string& specification) {
  auto link = open_link(specification);
  INFO((link ? std::string{} : link.error().message));
  REQUIRE(link);
  return std::move(link).value();
}

TEST_CASE("list_segments: none, and nothing is made by asking") {
  const Folder folder;
  CHECK(list_segments().empty());
  CHECK_FALSE(fs::exists(folder.path));
}

TEST_CASE("list_segments: the segments somebody is on, and their hosts") {
  const Folder folder;
  auto a = attach("shm:lab,host=a");
  const auto b = attach("shm:lab,host=b");
  const auto b_again = attach("shm:lab,host=b");
  auto other = attach("shm:Other");
  auto segments = list_segments();
  REQUIRE(segments.size() == 2);
  CHECK(segments[0].name == "Other");
  CHECK(segments[0].hosts == std::vector<std::string>{"host1"});
  CHECK(segments[1].name == "lab");
  CHECK(segments[1].hosts == std::vector<std::string>{"a", "b"});
  CHECK(segments[1].ports == 3);
  a.reset();
  other.reset();
  segments = list_segments();
  REQUIRE(segments.size() == 1);
  CHECK(segments[0].hosts == std::vector<std::string>{"b"});
}

TEST_CASE("list_segments: what is no segment is left out") {
  const Folder folder;
  const auto a = attach("shm:lab,host=a");
  std::ofstream(folder.path / "text") << std::string(1 << 20, 'x');
  std::ofstream(folder.path / "empty");
  fs::create_symlink("/dev/zero", folder.path / "link");
  fs::create_directory(folder.path / "folder");
  const auto segments = list_segments();
  REQUIRE(segments.size() == 1);
  CHECK(segments[0].name == "lab");
  fs::permissions(folder.path, fs::perms::all);
  CHECK(list_segments().empty());
  fs::permissions(folder.path, fs::perms::owner_all);
}

}  // namespace
}  // namespace softrnic::link
