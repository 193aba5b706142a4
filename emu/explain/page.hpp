// SPDX-License-Identifier: BSD-3-Clause
// The page of `softrnic explain --html`: one HTML file that holds everything it needs and loads
// nothing.
//
// Summary and table are written out here, so that they can be read without JavaScript; the plots
// are drawn by the script in page/ from the explanation, which the page carries as JSON. Whatever
// comes from a capture goes in escaped, and a content security policy lets no script run but ours.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

namespace softrnic::explain {

// `explanation`: as `explain --json` prints it; the page shows the connections that are in it.
std::string page(const nlohmann::ordered_json& explanation);

}  // namespace softrnic::explain
