// SPDX-License-Identifier: BSD-3-Clause
// One packet, and one loss, as a row of CSV (docs/explain.md has the columns).
#pragma once

#include <string>
#include <string_view>

#include "explain/explanation.hpp"

namespace softrnic::explain {

// Each appends one line.
std::string_view packet_csv_header();
void add_packet_csv(std::string& out, const SeenPacket& packet);
std::string_view loss_csv_header();
void add_loss_csv(std::string& out, const Loss& loss);

}  // namespace softrnic::explain
