// SPDX-License-Identifier: GPL-2.0-or-later
// Findings as Wireshark's expert information, one filter for each kind: roce.analysis.psn_gap.
#pragma once

#include "analysis/packet_record.hpp"
#include "dissector/wireshark.hpp"

namespace softrnic::dissector {

// Adds what was found about a packet to its tree (null: there is none) and to the expert table.
void add_findings(proto_tree* tree, tvbuff_t* tvb, packet_info* pinfo,
                  const analysis::PacketRecord& record);

void register_findings(expert_module* experts);

}  // namespace softrnic::dissector
