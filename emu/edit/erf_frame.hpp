// SPDX-License-Identifier: BSD-3-Clause
// The Ethernet frame inside a record of Endace's format.
#pragma once

#include "capture/capture_file.hpp"

namespace softrnic::edit {

// Makes the record the frame in it; false, and nothing done, when it holds none of Ethernet.
bool unwrap_erf(capture::Record& record);

}  // namespace softrnic::edit
