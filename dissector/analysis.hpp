// SPDX-License-Identifier: GPL-2.0-or-later
// The analyzer of the capture that is open, and what it is told.
#pragma once

#include "analysis/analyzer.hpp"
#include "dissector/icrc.hpp"
#include "dissector/packet.hpp"

namespace softrnic::dissector {

// Of the capture that is open; null when there is none or the analysis is switched off.
const analysis::Analyzer* analyzer();

// The two bits of the traffic class (RFC 3168), of IPv4, IPv6 or the GRH; 0 when it was not found.
std::uint8_t ecn_of(const Packet& packet, const IcrcCheck& icrc);

// When a capture is opened and closed.
void begin_analysis();
void end_analysis();

// Tells the analyzer of the packet when Wireshark sees it for the first time, and finds what was
// said then ever after. Null for a packet that is not analysed: it is not well-formed, not the
// first of its frame, or quoted inside an ICMP error. Call it before an upper layer changes the
// addresses of `pinfo`.
const analysis::PacketRecord* analyse(const Packet& packet, const IcrcCheck& icrc,
                                      packet_info* pinfo);

}  // namespace softrnic::dissector
