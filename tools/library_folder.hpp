// SPDX-License-Identifier: BSD-3-Clause
// The libraries that make a verbs program use the emulated NIC, and how a loader is told of them.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace softrnic::tools {

inline constexpr std::string_view kPreloadLibrary = "libsoftrnic_preload.so";
inline constexpr std::string_view kVerbsLibrary = "libibverbs.so.1";

// lib/softrnic beside this program's folder, in a build and where it is installed. Throws a Failure
// when the libraries are not there, or lie where LD_PRELOAD cannot name them.
std::string library_folder();

// A variable of the dynamic loader (ld.so(8)): a list to which something is put in front.
struct LoaderVariable {
  std::string name;
  std::string front;

  // What it becomes where it was `before`, which is kept behind unless it begins so already.
  std::string joined(std::string_view before) const;
};

// `first`: libraries to be preloaded before ours; `verbs_too`: ours of verbs is preloaded as well.
std::vector<LoaderVariable> loader_variables(const std::string& folder,
                                             const std::vector<std::string>& first, bool verbs_too);

}  // namespace softrnic::tools
