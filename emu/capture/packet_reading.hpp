// SPDX-License-Identifier: BSD-3-Clause
// What one record of a capture holds: traffic that is not RoCE, a RoCE packet whose headers are
// wrong, or one that the analysis can be told of.
//
// Every length is compared with what was on the wire, and apart from that with what was captured,
// so that a frame that a snap length cut is no fault. Any bytes are accepted.
#pragma once

#include <string>

#include "analysis/frame.hpp"
#include "capture/capture_file.hpp"

namespace softrnic::capture {

enum class Traffic : std::uint8_t {
  roce_v1,
  roce_v2,
  infiniband,  // native
  arp,
  icmp,
  tcp,
  udp,
  other_ip,
  other,
  unknown,  // the record ends before it can be told
  count,
};

std::string_view to_string(Traffic traffic);

// What a receiver drops a packet for, before it looks at a queue pair.
enum class HeaderFault : std::uint8_t {
  none,
  ip_version,         // a: version
  ip_checksum,        // a: carried, b: right
  ip_options,         // a: words of the IPv4 header
  fragmented,         // RoCE v2 is never fragmented (IBTA annex A17.4.3)
  next_header,        // of a GRH; a
  beyond_frame,       // a: bytes the network header announces, b: bytes the frame has for it
  length_mismatch,    // a: UDP length, b: what IP leaves for it
  too_short,          // a: bytes for BTH and ICRC
  transport_version,  // a (IBTA vol. 1, 9.6.1.1)
  reserved_opcode,    // a
  headers_too_long,   // a: bytes from the BTH to the ICRC, b: bytes its opcode calls for
  bad_pad,            // a: pad count, b: bytes of payload and pad
  vcrc,               // native; a: carried, b: right
};

std::string_view name(HeaderFault fault);

struct PacketReading {
  Traffic traffic = Traffic::unknown;
  HeaderFault fault = HeaderFault::none;
  std::uint64_t a = 0;
  std::uint64_t b = 0;

  // For a RoCE packet as far as it goes; whole, so that the analysis can be told of it, when
  // analysable() says so.
  analysis::Frame frame;
  bool headers_cut = false;  // not all of its headers were captured
  bool tunnelled = false;    // it was inside another packet
  bool frame_cut = false;    // the capture kept only the frame's beginning
  static constexpr std::uint16_t kNoVlan = 0xffff;
  std::uint16_t vlan = kNoVlan;
  // Where its network header and BTH stand in the record; 0: not reached.
  std::size_t network = 0;
  std::size_t bth = 0;

  // What the ICRC was summed over, when it was.
  wire::NetworkLayer layer{};
  bool local = false;  // native without a GRH: from the local route header on
  wire::ByteView summed;
  std::size_t bth_in_summed = 0;

  // Or native InfiniBand, which is the same from the BTH on.
  bool is_roce() const {
    return traffic == Traffic::roce_v1 || traffic == Traffic::roce_v2 ||
           traffic == Traffic::infiniband;
  }
  bool analysable() const { return is_roce() && fault == HeaderFault::none && !headers_cut; }
};

// `cut_by_switch`: a switch that mirrors may have cut the frame, which then is as long as it says.
PacketReading read_packet(LinkType link_type, const Record& record, bool cut_by_switch = false);
void read_packet(LinkType link_type, const Record& record, bool cut_by_switch,
                 PacketReading& reading);

// The fault of the headers in one sentence, without a full stop; empty for none.
std::string sentence(const PacketReading& reading);

}  // namespace softrnic::capture
