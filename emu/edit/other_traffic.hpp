// SPDX-License-Identifier: BSD-3-Clause
// Addresses in frames that are not RoCE: IP headers, ARP, and neighbour discovery with its target,
// its link-layer options and the multicast address made from the target (RFC 4861, RFC 4291).
#pragma once

#include "edit/frame_translation.hpp"

namespace softrnic::edit {

Translated translate_other(FrameParts& frame, const Translation& translation);

// Overwrites all that is neither a header known here nor an address in it.
void erase_other_payload(FrameParts& frame);

}  // namespace softrnic::edit
