// SPDX-License-Identifier: GPL-2.0-or-later
// A message in one line: "RDMA WRITE 64 KiB to 0x7f0000001000, key 0x1234, 16 packets, completed in
// 41 us".
#pragma once

#include <string>

#include "analysis/message.hpp"

namespace softrnic::dissector {

std::string message_line(const analysis::Message& message);

}  // namespace softrnic::dissector
