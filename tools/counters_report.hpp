// SPDX-License-Identifier: BSD-3-Clause
// A NIC's counters for people and for programs.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "transport/counters.hpp"

namespace softrnic::tools {

// "  name   value" lines of the counters that are not zero.
std::string counters_text(const transport::Counters& counters, int indent = 2);
// Every counter.
nlohmann::ordered_json counters_json(const transport::Counters& counters);

// What `now` has more than `before`.
transport::Counters difference(const transport::Counters& now, const transport::Counters& before);

}  // namespace softrnic::tools
