// SPDX-License-Identifier: BSD-3-Clause
// The summary at the top of the page: what the capture holds, its first fault, its worst moments.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

namespace softrnic::explain {

std::string page_summary(const nlohmann::ordered_json& explanation);

}  // namespace softrnic::explain
