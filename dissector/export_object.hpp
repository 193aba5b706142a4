// SPDX-License-Identifier: GPL-2.0-or-later
// Whole messages as objects: `tshark --export-objects roce,FOLDER` and File > Export Objects >
// RoCE.
#pragma once

#include "analysis/message.hpp"
#include "analysis/packet_record.hpp"
#include "dissector/message_reassembly.hpp"

namespace softrnic::dissector {

void register_export(int protocol);

// Whether anybody listens.
bool export_wants_messages();
void export_message(const analysis::Message& message, const WholeMessage& whole,
                    packet_info* pinfo);

}  // namespace softrnic::dissector
