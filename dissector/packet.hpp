// SPDX-License-Identifier: GPL-2.0-or-later
// One RoCE packet as a tvbuff holds it, read once with every length checked.
//
// Plain values without destructors, so that it may be alive across Wireshark's exceptions. Offsets
// count from the BTH, also those of `bytes`; tvb_offset() makes them the tvbuff's.
#pragma once

#include <cstdint>
#include <string_view>

#include "dissector/wireshark.hpp"
#include "wire/packet_view.hpp"
#include "wire/transport_headers.hpp"

namespace softrnic::dissector {

// What keeps a packet from being read to its end, the gravest first.
enum class Defect : std::uint8_t {
  none,
  grh_length,        // the GRH announces more bytes than there are
  too_short,         // ends before its BTH or its ICRC
  reserved_opcode,   // how the packet goes on is unknown
  bad_version,       // TVer other than 0 (IBTA vol. 1, 9.2.5: such a packet is dropped)
  headers_too_long,  // ends inside the headers its opcode calls for
  bad_pad,           // more pad than there are bytes, or a payload that is no multiple of four
};

struct Packet {
  tvbuff_t* tvb = nullptr;
  unsigned bth_offset = 0;  // in the tvbuff: 40 behind a GRH, 0 behind UDP
  wire::RoceVersion version = wire::RoceVersion::v2;
  wire::NetworkLayer network_layer = wire::NetworkLayer::ipv4;

  const std::byte* bytes = nullptr;  // from the BTH on
  unsigned captured = 0;             // how many of them there are
  unsigned size = 0;                 // how many there were on the wire, with the ICRC

  Defect defect = Defect::none;
  bool has_bth = false;      // it was captured
  bool has_headers = false;  // and all extension headers too, if the opcode is known

  const wire::OpcodeInfo* opcode = nullptr;  // null: reserved, or the BTH is missing
  std::uint8_t raw_opcode = 0;
  wire::TransportHeaders headers;  // of which has_bth and has_headers say what was read

  unsigned header_size = 0;   // BTH and extension headers
  unsigned payload_size = 0;  // on the wire, without pad
  unsigned pad = 0;
  unsigned icrc_offset = 0;  // 0 when there is no room for one

  bool quoted = false;  // by an ICMP error, which need not quote all of it

  bool cut_short() const { return captured < size; }
  bool well_formed() const { return defect == Defect::none && has_headers; }
  unsigned payload_captured() const {
    const unsigned there = captured > header_size ? captured - header_size : 0;
    return there < payload_size ? there : payload_size;
  }
  int tvb_offset(unsigned offset) const { return static_cast<int>(bth_offset + offset); }
  wire::ByteView view(unsigned offset, unsigned length) const { return {bytes + offset, length}; }
};

// Opcodes 0x40 to 0x5f: the standard's RD, or Mellanox DC, as the preferences say. They are not
// analysed.
inline bool is_rd(std::uint8_t opcode) {
  return opcode >> 5 == static_cast<unsigned>(wire::Service::reliable_datagram);
}

// The RC opcode that does the same, whose extension headers stand behind the RDETH and, in a
// request, the DETH. Null: reserved.
inline const wire::OpcodeInfo* rc_of_rd(std::uint8_t opcode) {
  return wire::find_opcode(opcode & 0x1f);
}

// Reads the packet whose BTH stands at `bth_offset`. Never throws.
void read_packet(Packet& packet, tvbuff_t* tvb, unsigned bth_offset, wire::RoceVersion version,
                 wire::NetworkLayer network_layer, bool quoted = false);

}  // namespace softrnic::dissector
