// SPDX-License-Identifier: BSD-3-Clause
#include "library_folder.hpp"

#include <filesystem>

#include "failure.hpp"

namespace softrnic::tools {

namespace {

namespace fs = std::filesystem;

}  // namespace

std::string library_folder() {
  std::error_code error;
  const fs::path command = fs::read_symlink("/proc/self/exe", error);
  if (error) fail("cannot tell where this command lies: is /proc mounted?");
  const fs::path beside = command.parent_path();
  std::string tried;
  for (const char* way : {SOFTRNIC_LIBRARIES_FROM_BUILD, SOFTRNIC_LIBRARIES_FROM_INSTALLED}) {
    const std::string folder = (beside / way).lexically_normal().string();
    if (!fs::exists(fs::path(folder) / kPreloadLibrary, error)) {
      tried = folder;
      continue;
    }
    if (folder.find_first_of(" \t\n:;$") != std::string::npos) {
      fail("{} cannot be named in LD_PRELOAD, for its spaces or colons: move softrnic elsewhere",
           folder);
    }
    return folder;
  }
  fail("its libraries are not in {}: build or install softrnic as a whole", tried);
}

std::string LoaderVariable::joined(std::string_view before) const {
  if (before.empty()) return front;
  if (before == front || before.starts_with(front + ':')) return std::string(before);
  return fmt::format("{}:{}", front, before);
}

std::vector<LoaderVariable> loader_variables(const std::string& folder,
                                             const std::vector<std::string>& first,
                                             bool verbs_too) {
  std::string preloaded;
  for (const std::string& library : first) preloaded += library + ':';
  preloaded += fmt::format("{}/{}", folder, kPreloadLibrary);
  if (verbs_too) preloaded += fmt::format(":{}/{}", folder, kVerbsLibrary);
  return {{"LD_LIBRARY_PATH", folder}, {"LD_PRELOAD", preloaded}};
}

}  // namespace softrnic::tools
