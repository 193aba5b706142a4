// SPDX-License-Identifier: BSD-3-Clause
// The parts of a RoCE frame laid out as the fault language looks at frames: in one piece, behind an
// Ethernet header of its own, with zeros for what a snap length cut off.
#pragma once

#include <optional>

#include "edit/frame_parts.hpp"
#include "link/frame.hpp"
#include "wire/packet_view.hpp"

namespace softrnic::edit {

class FlatFrame {
 public:
  // No value for a frame that is not RoCE, or whose headers are wrong or cut off. The view is good
  // until the next call.
  const std::optional<wire::PacketView>& lay(FrameParts& parts);
  // The same bytes, to be written to; after lay().
  link::Frame& frame() { return frame_; }
  // Takes the bytes back into the parts they came from.
  void give_back(FrameParts& parts) const;

 private:
  Bytes bytes_;
  link::Frame frame_;
  std::optional<wire::PacketView> view_;
};

}  // namespace softrnic::edit
