// SPDX-License-Identifier: GPL-2.0-or-later
// The protocol "roce": its registration and the chain in which a packet is looked at.
#pragma once

#include "dissector/wireshark.hpp"

namespace softrnic::dissector {

int protocol();

void register_protocol();
void register_handoff();

}  // namespace softrnic::dissector
