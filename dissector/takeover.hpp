// SPDX-License-Identifier: GPL-2.0-or-later
// Standing where the built-in dissector stood: on UDP port 4791 and EtherType 0x8915.
#pragma once

#include "dissector/wireshark.hpp"

namespace softrnic::dissector {

// Once, at handoff.
void register_takeover(dissector_handle_t v1, dissector_handle_t v2);

// Whenever a capture is opened: the built-in's preferences put it back in its place. Only entries
// that are the built-in's are taken, so that `Decode As` is respected; with the protocol "roce"
// disabled they are given back.
void take_over();

}  // namespace softrnic::dissector
