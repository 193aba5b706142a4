// SPDX-License-Identifier: BSD-3-Clause
// The RoCE packets of a capture, a line each.
#pragma once

#include <string>
#include <vector>

namespace softrnic::pcaps {

// "04 001000 -- RC SEND Only", "11 001000 1f RC Acknowledge": opcode, PSN and AETH syndrome in
// hexadecimal digits, and the opcode's name. Empty when the file cannot be read.
std::vector<std::string> packet_list(const std::string& capture_path);

}  // namespace softrnic::pcaps
