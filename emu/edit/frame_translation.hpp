// SPDX-License-Identifier: BSD-3-Clause
// Every value of a frame through a translation: of RoCE all of them, of other traffic (ARP, ICMP
// and neighbour discovery, TCP, UDP) the MAC and IP addresses.
#pragma once

#include <string>

#include "edit/frame_parts.hpp"
#include "edit/translation.hpp"

namespace softrnic::edit {

enum class Translated : std::uint8_t {
  done,
  // The addresses would change between IPv4 and IPv6, for which traffic other than RoCE v2 has no
  // form: left as they were.
  left,
  // Of the two addresses of a RoCE v2 packet one would be IPv4 and one IPv6: nothing was done.
  mixed,
};

Translated translate_frame(FrameParts& frame, const Translation& translation);

}  // namespace softrnic::edit
