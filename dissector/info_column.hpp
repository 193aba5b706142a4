// SPDX-License-Identifier: GPL-2.0-or-later
// The Protocol and Info columns.
#pragma once

#include "analysis/packet_record.hpp"
#include "dissector/packet.hpp"

namespace softrnic::dissector {

// Before anything else writes to them, so that they are right even if the packet ends early.
void begin_columns(const Packet& packet, packet_info* pinfo);

// After the built-in and the upper layers wrote to them: an upper layer's name and words stay,
// those of the built-in give way. Findings are put before either. `record` may be null.
void finish_columns(const Packet& packet, const analysis::PacketRecord* record, packet_info* pinfo);

}  // namespace softrnic::dissector
