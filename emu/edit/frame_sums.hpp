// SPDX-License-Identifier: BSD-3-Clause
// The sums over a frame: ICRC, IPv4 header checksum, UDP, TCP and ICMPv6 checksum.
//
// What was right before an edit is right after it. What was wrong stays wrong in the same way: the
// ICRC by the same bits, a checksum by the same difference (RFC 1624), so that the edit can be
// undone. Therefore a checksum is also kept right in a frame whose end was cut off.
#pragma once

#include "edit/frame_parts.hpp"

namespace softrnic::edit {

enum class IcrcPolicy : std::uint8_t {
  follow,  // right stays right, and wrong wrong
  keep,    // the bytes stay as they are
  repair,  // always right
};

class FrameSums {
 public:
  // To be called before anything is changed.
  void remember(const FrameParts& frame);
  // To be called when all is changed.
  void restore(FrameParts& frame, IcrcPolicy policy) const;
  bool icrc_was_wrong() const { return icrc_error_ != 0; }

 private:
  std::uint32_t icrc_error_ = 0;  // carried XOR right
  // What the carried checksum and the sum of what it covers add up to.
  std::uint16_t ip_total_ = 0;
  std::uint16_t transport_total_ = 0;
  bool ip_absent_ = false;  // left to the sender's hardware, captured before it was filled in
  bool transport_absent_ = true;
};

// The ICRC that a whole RoCE frame should carry.
std::uint32_t right_icrc(const FrameParts& frame);

}  // namespace softrnic::edit
