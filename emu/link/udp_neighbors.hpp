// SPDX-License-Identifier: BSD-3-Clause
// Who answers a NIC that asks for its neighbours where the kernel finds them: on a udp link there
// is no Ethernet, so every address has a MAC address made from it, the same everywhere.
#pragma once

#include "link/frame.hpp"
#include "wire/bytes.hpp"
#include "wire/ethernet.hpp"
#include "wire/gid.hpp"

namespace softrnic::link {

// 02:00 and the IPv4 address; 02 and five bytes that follow from an IPv6 address.
wire::MacAddress stand_in_mac(const wire::Gid& ip);

// False for what a link has most of: RoCE packets.
bool may_be_neighbor_talk(wire::ByteView frame);

enum class NeighborTalk : std::uint8_t {
  none,      // the frame is something else
  hushed,    // it needs no answer: an announcement, a report to routers
  answered,  // the answer is laid into the other frame
};

// `answer`: an empty frame. `own`: the NIC's address, for which nobody answers.
NeighborTalk answer_neighbor_question(wire::ByteView question, const wire::Gid& own, Frame& answer);

}  // namespace softrnic::link
