// SPDX-License-Identifier: BSD-3-Clause
// The table of connections in the page.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

namespace softrnic::explain {

// One connection's row, as page_table() writes it.
std::string table_row(const nlohmann::ordered_json& connection);
std::string page_table(const nlohmann::ordered_json& explanation);

// "10.0.0.1 QP 0x000011", not escaped.
std::string end_text(const nlohmann::ordered_json& connection, std::size_t side);

}  // namespace softrnic::explain
