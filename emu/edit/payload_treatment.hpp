// SPDX-License-Identifier: BSD-3-Clause
// What becomes of the message bytes of a RoCE packet.
#pragma once

#include "edit/edit_plan.hpp"
#include "edit/frame_parts.hpp"

namespace softrnic::edit {

// Zeroes or removes them; whether that changed anything. Of a CM message zeros take the private
// data alone, so that a capture still tells which queue pairs were connected.
bool treat_payload(FrameParts& frame, Payload payload);

// Ends the frame behind its headers, as a snap length would have; whether there was more. Its size
// on the wire stays. To be done when the sums are right.
bool cut_payload(FrameParts& frame);

}  // namespace softrnic::edit
