// SPDX-License-Identifier: GPL-2.0-or-later
// Whether expert information would be seen by anybody: it costs more than all else that is done for
// a packet in a list.
#pragma once

#include "dissector/wireshark.hpp"

namespace softrnic::dissector {

// In the tree, in the expert list (`-z expert`), or in a column of the severity.
bool expert_wanted(const packet_info* pinfo, const proto_tree* tree);

}  // namespace softrnic::dissector
