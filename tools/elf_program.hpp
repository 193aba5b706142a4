// SPDX-License-Identifier: BSD-3-Clause
// What a program's ELF file says of how it is loaded: by whom, with which libraries, from where.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace softrnic::tools {

struct ElfProgram {
  // Of this machine and word size: libraries built with softrnic can be loaded into it.
  bool native = false;
  // PT_INTERP: the dynamic loader; empty: it has none, and loads no library at all.
  std::string interpreter;
  std::vector<std::string> needed;  // DT_NEEDED
  // DT_RPATH, which comes before LD_LIBRARY_PATH; empty when there is a DT_RUNPATH, which does not.
  std::string rpath;

  // Nothing when the file cannot be read or is no ELF file. Of one that makes no sense nothing more
  // is said than what does.
  static std::optional<ElfProgram> read(const std::string& path);
};

// The interpreter of a script's first line, "#!/bin/sh -e"; empty when it has none.
std::string script_interpreter(const std::string& path);

}  // namespace softrnic::tools
