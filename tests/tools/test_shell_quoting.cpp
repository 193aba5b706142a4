// SPDX-License-Identifier: BSD-3-Clause
#include <catch2/catch.hpp>
#include <cstdio>
#include <memory>
#include <string>

#include "shell_quoting.hpp"

namespace softrnic::tools {
namespace {

std::string said_by_shell(const std::string& command) {
  const std::unique_ptr<FILE, int (*)(FILE*)> pipe(popen(command.c_str(), "r"), pclose);
  REQUIRE(pipe);
  std::string text;
  for (int c = std::fgetc(pipe.get()); c != EOF; c = std::fgetc(pipe.get())) {
    text += static_cast<char>(c);
  }
  return text;
}

TEST_CASE("quoted_for_shell: what needs no quotes has none") {
  CHECK(quoted_for_shell("shm:lab,host=b") == "shm:lab,host=b");
  CHECK(quoted_for_shell("/a/b-c_d.e") == "/a/b-c_d.e");
  CHECK(quoted_for_shell("") == "''");
  CHECK(quoted_for_shell("it's") == "'it'\\''s'");
  CHECK(quoted_for_shell("~root") == "'~root'");
}

TEST_CASE("quoted_for_shell: a shell reads back what was written") {
  std::string every;
  for (int c = 1; c < 256; ++c) every += static_cast<char>(c);
  for (const std::string& text : {every, std::string("$(echo x) `y` \"$HOME\" \\ ' '' * ? [a] ~ #"),
                                  std::string("a\nb\n"), std::string("''")}) {
    // The x at the end keeps the line breaks before it.
    CHECK(said_by_shell("v=" + quoted_for_shell(text) + "; printf '%sx' \"$v\"") == text + "x");
  }
}

TEST_CASE("quoted_for_dockerfile: no variable, no escape, no end is left in it") {
  CHECK(quoted_for_dockerfile("shm:lab") == "\"shm:lab\"");
  CHECK(quoted_for_dockerfile("a b") == "\"a b\"");
  CHECK(quoted_for_dockerfile("$HOME") == "\"\\$HOME\"");
  CHECK(quoted_for_dockerfile("\"\\") == "\"\\\"\\\\\"");
}

}  // namespace
}  // namespace softrnic::tools
