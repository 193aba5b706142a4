// SPDX-License-Identifier: BSD-3-Clause
#include "capture/whole_file.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>

#include "scratch_file.hpp"

using namespace softrnic;
using namespace capture;
using capture::test::ScratchFile;

namespace {

std::string text(const ScratchFile& scratch) {
  const auto bytes = scratch.bytes();
  return std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size());
}

void put(const ScratchFile& scratch, const std::string& words) {
  const auto view = std::as_bytes(std::span(words));
  scratch.write({view.begin(), view.end()});
}

WholeFile create(const std::string& path) {
  auto file = WholeFile::create(path);
  REQUIRE(file);
  return std::move(*file);
}

std::string refusal(const std::string& path) {
  const auto file = WholeFile::create(path);
  REQUIRE_FALSE(file);
  CHECK(file.error().find('\n') == std::string::npos);
  return file.error();
}

}  // namespace

TEST_CASE("a file takes the older one's place when it is committed") {
  const ScratchFile scratch;
  put(scratch, "old");
  WholeFile file = create(scratch.path());
  CHECK(file.write("new"));
  CHECK(file.flush());
  CHECK(text(scratch) == "old");
  CHECK(file.commit());
  CHECK(text(scratch) == "new");
  CHECK(scratch.files_beside() == 1);
}

TEST_CASE("a file that is not committed vanishes") {
  const ScratchFile scratch;
  put(scratch, "old");
  {
    WholeFile file = create(scratch.path());
    CHECK(file.write(std::string(1 << 20, 'x')));
    CHECK(scratch.files_beside() == 2);
    WholeFile moved = std::move(file);
  }
  CHECK(text(scratch) == "old");
  CHECK(scratch.files_beside() == 1);
}

TEST_CASE("a new file keeps who may read the older one") {
  const ScratchFile scratch;
  REQUIRE(chmod(scratch.path().c_str(), 0640) == 0);
  WholeFile file = create(scratch.path());
  CHECK(file.commit());
  struct stat status {};
  REQUIRE(stat(scratch.path().c_str(), &status) == 0);
  CHECK((status.st_mode & 0777) == 0640);
}

TEST_CASE("a symbolic link stays one, and what it leads to is replaced") {
  const ScratchFile scratch;
  const std::string link = scratch.directory() + "/link";
  REQUIRE(symlink(scratch.path().c_str(), link.c_str()) == 0);
  WholeFile file = create(link);
  CHECK(file.write("new"));
  CHECK(file.commit());
  CHECK(std::filesystem::is_symlink(link));
  CHECK(text(scratch) == "new");
}

TEST_CASE("what is no regular file is written directly and stays what it is") {
  WholeFile file = create("/dev/null");
  CHECK(file.write("into nothing"));
  CHECK(file.commit());
  CHECK(std::filesystem::is_character_file("/dev/null"));
}

TEST_CASE("a name of the greatest length leaves room for the file beside it") {
  const ScratchFile scratch(std::string(255, 'n'));
  WholeFile file = create(scratch.path());
  CHECK(file.write("new"));
  CHECK(file.commit());
  CHECK(text(scratch) == "new");
}

TEST_CASE("a full disk is one clear line, and the older file stays") {
  WholeFile file = create("/dev/full");
  CHECK(file.write("little"));  // is gathered
  CHECK_FALSE(file.write(std::string(1 << 20, 'x')));
  CHECK_FALSE(file.write("more"));
  const auto committed = file.commit();
  REQUIRE_FALSE(committed);
  CHECK(committed.error() ==
        "cannot write /dev/full: No space left on device: make room, or name a file on another "
        "disk");
}

TEST_CASE("what cannot be written is refused in one line") {
  const ScratchFile scratch;
  CHECK(refusal(scratch.directory()) ==
        "cannot write " + scratch.directory() + ": Is a directory: name a file in it");
  const std::string nowhere = scratch.directory() + "/no/such";
  CHECK(refusal(nowhere) == "cannot write " + nowhere +
                                ": No such file or directory: name a file in a directory you may "
                                "write to");
  CHECK(refusal("") == "the file to write has no name");
}

TEST_CASE("nothing is written behind a commit") {
  const ScratchFile scratch;
  WholeFile file = create(scratch.path());
  CHECK(file.write("whole"));
  CHECK(file.commit());
  file.write("late");
  CHECK_FALSE(file.flush());
  CHECK_FALSE(file.commit());
  CHECK(text(scratch) == "whole");
}
