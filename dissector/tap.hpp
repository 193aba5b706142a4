// SPDX-License-Identifier: GPL-2.0-or-later
// What the tap "roce" tells its listeners of each packet: tables, conversations, exports.
#pragma once

#include "analysis/packet_record.hpp"
#include "dissector/icrc.hpp"
#include "dissector/packet.hpp"

namespace softrnic::dissector {

struct TapPacket {
  Packet packet;
  IcrcCheck icrc;
  // Of a packet that was analysed (well-formed, the first of its frame, none quoted by an ICMP
  // error); else null. analyzer() knows its stream, message and findings.
  const analysis::PacketRecord* record = nullptr;
};

int roce_tap();

}  // namespace softrnic::dissector
