// SPDX-License-Identifier: BSD-3-Clause
// A description in JSON or TOML: the same lines, as tables.
//
//   {"from": {"address": "10.0.0.1", "qp": 17}, "to": {"address": "10.0.0.2"},
//    "set": {"mtu": 256},
//    "packets": [{"packet": "rc write 700", "va": "0x7f00", "rkey": 4660}, "rc ack"]}
#pragma once

#include <vector>

#include "craft/words.hpp"
#include "fabric/script_value.hpp"

namespace softrnic::craft {

wire::Expected<std::vector<Line>, Complaint> read_script(const fabric::ScriptValue& root);

// The key whose value is the line's name, with its sizes and flags.
inline constexpr std::string_view kPacketKey = "packet";

}  // namespace softrnic::craft
