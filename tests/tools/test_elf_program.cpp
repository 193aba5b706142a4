// SPDX-License-Identifier: BSD-3-Clause
#include <elf.h>
#include <unistd.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <vector>

#include "elf_program.hpp"

namespace softrnic::tools {
namespace {

namespace fs = std::filesystem;

constexpr const char* kSelf = "/proc/self/exe";

class Scratch {
 public:
  Scratch() {
    std::string name = (fs::temp_directory_path() / "softrnic-elf-XXXXXX").string();
    REQUIRE(::mkdtemp(name.data()) != nullptr);
    folder_ = name;
  }
  ~Scratch() {
    std::error_code ignored;
    fs::remove_all(folder_, ignored);
  }
  std::string file(const std::string& contents) const {
    std::ofstream(folder_ / "file", std::ios::binary) << contents;
    return folder_ / "file";
  }

 private:
  fs::path folder_;
};

std::string own_bytes(std::size_t most) {
  std::ifstream in(kSelf, std::ios::binary);
  std::string bytes(most, '\0');
  in.read(bytes.data(), static_cast<std::streamsize>(most));
  bytes.resize(static_cast<std::size_t>(in.gcount()));
  return bytes;
}

TEST_CASE("ElfProgram: this very program") {
  const auto program = ElfProgram::read(kSelf);
  REQUIRE(program);
  CHECK(program->native);
  CHECK(program->interpreter.find("ld-linux") != std::string::npos);
  CHECK(std::find(program->needed.begin(), program->needed.end(), "libc.so.6") !=
        program->needed.end());
  CHECK(program->rpath.empty());
}

TEST_CASE("ElfProgram: a loader has no interpreter, a script is no ELF file") {
  const auto loader = ElfProgram::read(ElfProgram::read(kSelf)->interpreter);
  REQUIRE(loader);
  CHECK(loader->native);
  CHECK(loader->interpreter.empty());
  const Scratch scratch;
  CHECK_FALSE(ElfProgram::read(scratch.file("#!/bin/sh\n")));
  CHECK_FALSE(ElfProgram::read(scratch.file("")));
  CHECK_FALSE(ElfProgram::read("/nowhere"));
  CHECK_FALSE(ElfProgram::read("/"));
  CHECK_FALSE(ElfProgram::read("/dev/zero"));
}

TEST_CASE("ElfProgram: of another machine or word size") {
  const Scratch scratch;
  std::string bytes = own_bytes(4096);
  bytes[EI_CLASS] = static_cast<char>(bytes[EI_CLASS] == ELFCLASS64 ? ELFCLASS32 : ELFCLASS64);
  CHECK_FALSE(ElfProgram::read(scratch.file(bytes))->native);
  bytes = own_bytes(4096);
  bytes[offsetof(Elf64_Ehdr, e_machine)] ^= 0x55;
  CHECK_FALSE(ElfProgram::read(scratch.file(bytes))->native);
}

TEST_CASE("ElfProgram: a file cut short or scrambled says what it can") {
  const Scratch scratch;
  const std::string whole = own_bytes(1 << 16);
  for (const std::size_t size : {1, 4, 15, 16, 63, 64, 100, 500, 1000, 5000}) {
    (void)ElfProgram::read(scratch.file(whole.substr(0, size)));
  }
  const unsigned seed = std::random_device{}();
  CAPTURE(seed);
  std::mt19937 random(seed);
  for (int i = 0; i < 300; ++i) {
    std::string bytes = whole.substr(0, 4096);
    // Beyond the identification, where what it says of sizes and places begins.
    for (int n = 0; n < 8; ++n) bytes[EI_NIDENT + random() % 1500] = static_cast<char>(random());
    (void)ElfProgram::read(scratch.file(bytes));
  }
  SUCCEED();
}

TEST_CASE("script_interpreter: of the first line") {
  const Scratch scratch;
  CHECK(script_interpreter(scratch.file("#!/bin/sh\necho\n")) == "/bin/sh");
  CHECK(script_interpreter(scratch.file("#! /usr/bin/env python3 -x\n")) == "/usr/bin/env");
  CHECK(script_interpreter(scratch.file("#!/bin/sh")) == "/bin/sh");
  CHECK(script_interpreter(scratch.file("#!\n/bin/sh")).empty());
  CHECK(script_interpreter(scratch.file("#")).empty());
  CHECK(script_interpreter(scratch.file("echo\n")).empty());
  CHECK(script_interpreter(kSelf).empty());
}

}  // namespace
}  // namespace softrnic::tools
