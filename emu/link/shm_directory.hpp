// SPDX-License-Identifier: BSD-3-Clause
// The directory of a user's shared-memory segments: private to the user, whoever made it first.
//
// $SOFTRNIC_SHM_DIR where that is set; else /dev/shm/softrnic-UID; else, on a system without
// /dev/shm, $XDG_RUNTIME_DIR/softrnic. Not XDG_RUNTIME_DIR first: a program that was started by
// cron, sudo or ssh would then not find the one that a desktop session started.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "link/file_descriptor.hpp"
#include "link/link.hpp"

namespace softrnic::link::shm {

struct Directory {
  FileDescriptor descriptor;
  std::string path;

  // Makes it if it is not there. The error is one sentence: cause and mend.
  static wire::Expected<Directory, OpenError> open();

  // Names in it; empty when it cannot be read.
  std::vector<std::string> entries() const;
};

// Whether a segment may be called that: 1 to 64 letters, digits, '.', '_' and '-', no '.' first.
bool valid_segment_name(std::string_view name);

// Why `descriptor`, which was opened without following links, is not to be used as a file of this
// user's own; empty when it is.
std::string why_not_own(int descriptor, const std::string& path);

}  // namespace softrnic::link::shm
