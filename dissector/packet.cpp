// SPDX-License-Identifier: GPL-2.0-or-later
#include "dissector/packet.hpp"

#include <algorithm>

namespace softrnic::dissector {
namespace {

constexpr unsigned kIcrcSize = 4;

void read_headers(Packet& packet) {
  packet.opcode = wire::find_opcode(packet.raw_opcode);
  packet.header_size =
      wire::Bth::kSize + (packet.opcode == nullptr ? 0u : packet.opcode->extension_size);
  packet.has_headers = packet.captured >= packet.header_size;
  if (packet.has_headers) {
    packet.headers = wire::TransportHeaders::parse(packet.view(0, packet.captured));
  } else {
    packet.headers.bth = wire::Bth::parse(
        std::span<const std::byte, wire::Bth::kSize>(packet.bytes, wire::Bth::kSize));
  }
}

// Where payload and pad lie, which must fill what headers and ICRC leave.
Defect read_payload(Packet& packet) {
  if (packet.opcode == nullptr) return Defect::reserved_opcode;
  if (packet.size < packet.header_size + kIcrcSize) return Defect::headers_too_long;
  const unsigned room = packet.size - packet.header_size - kIcrcSize;
  const unsigned pad = packet.headers.bth.pad_count;
  packet.pad = pad <= room ? pad : 0;
  packet.payload_size = room - packet.pad;
  if (packet.headers.bth.version != 0) return Defect::bad_version;
  if (pad > room || room % 4 != 0) return Defect::bad_pad;
  return Defect::none;
}

// What the UDP header right before the tvbuff says of its length; 0 if it is not there. A quoted
// packet ends where the quotation does, and Wireshark takes that for its length.
unsigned announced_by_udp(tvbuff_t* tvb) {
  tvbuff_t* frame = tvb_get_ds_tvb(tvb);
  const int offset = tvb_raw_offset(tvb);
  constexpr int kUdp = wire::UdpHeader::kSize;
  if (frame == nullptr || offset < kUdp) return 0;
  if (static_cast<unsigned>(offset) > tvb_captured_length(frame)) return 0;
  const auto* udp = reinterpret_cast<const std::byte*>(tvb_get_ptr(frame, offset - kUdp, kUdp));
  const auto length = static_cast<unsigned>(wire::get(udp, wire::UdpHeader::kLength));
  return length > kUdp ? length - kUdp : 0;
}

}  // namespace

void read_packet(Packet& packet, tvbuff_t* tvb, unsigned bth_offset, wire::RoceVersion version,
                 wire::NetworkLayer network_layer, bool quoted) {
  const unsigned captured = tvb_captured_length(tvb);
  unsigned reported = tvb_reported_length(tvb);
  if (quoted) reported = std::max(reported, announced_by_udp(tvb));
  packet.quoted = quoted;
  packet.tvb = tvb;
  packet.bth_offset = bth_offset;
  packet.version = version;
  packet.network_layer = network_layer;
  packet.captured = captured > bth_offset ? captured - bth_offset : 0;
  packet.size = reported > bth_offset ? reported - bth_offset : 0;
  if (packet.captured > packet.size) packet.captured = packet.size;
  if (packet.captured != 0) {
    packet.bytes = reinterpret_cast<const std::byte*>(
        tvb_get_ptr(tvb, packet.tvb_offset(0), static_cast<int>(packet.captured)));
  }
  if (packet.size < wire::Bth::kSize + kIcrcSize) packet.defect = Defect::too_short;
  if (packet.size >= kIcrcSize) packet.icrc_offset = packet.size - kIcrcSize;
  if (packet.captured < wire::Bth::kSize) return;
  packet.has_bth = true;
  packet.raw_opcode = wire::load_u8(packet.bytes);
  read_headers(packet);
  if (packet.defect == Defect::none) packet.defect = read_payload(packet);
}

}  // namespace softrnic::dissector
