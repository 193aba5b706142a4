// SPDX-License-Identifier: BSD-3-Clause
// Bytes of a segment's file whose locks mean something; the same in every format.
#pragma once

#include <sys/types.h>

namespace softrnic::link::shm {

inline constexpr off_t kSegmentLock = 0;
inline constexpr off_t kPortLocks = 16;  // one for each port

}  // namespace softrnic::link::shm
