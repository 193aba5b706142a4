// SPDX-License-Identifier: GPL-2.0-or-later
// What the user may choose: Edit > Preferences > Protocols > RoCE, or `-o roce.NAME:VALUE`.
#pragma once

#include <vector>

#include "analysis/analyzer.hpp"
#include "dissector/wireshark.hpp"

namespace softrnic::dissector {

struct Preferences {
  bool analyse = true;
  bool rd_is_dc = true;  // opcodes 0x40 to 0x5f: Mellanox DC, or the standard's RD
};

const Preferences& preferences();

// The rows of the table of queue pairs that the user knows to be connected.
std::vector<analysis::KnownConnection> known_connections();

void register_preferences(int protocol);

}  // namespace softrnic::dissector
