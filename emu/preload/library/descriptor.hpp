// SPDX-License-Identifier: BSD-3-Clause
// Descriptors of the device's files: each is a sealed file in memory (memfd_create(2)) that bears
// its path as its name. So it is known again after dup(2), fork(2) and exec(2) without a table, and
// nothing is left anywhere when a process is killed.
#pragma once

#include <sys/stat.h>

#include "preload/library/device.hpp"

namespace softrnic::preload {

// As open(2): -1 and errno when it cannot be opened so.
int open_place(const Device& device, const Place& place, int flags);

// The path that the descriptor bears; false when it is none of ours.
bool path_of_descriptor(int descriptor, PathText& path);

// Whether what fstat(2) said can be said of a descriptor of ours; almost no other is like it.
bool may_be_our_descriptor(const struct stat& status);

}  // namespace softrnic::preload
