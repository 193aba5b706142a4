// SPDX-License-Identifier: BSD-3-Clause
// A captured frame taken apart, so that each part can be changed, grow and shrink by itself.
//
// Any bytes are accepted. What a snap length cut off is counted and stays cut off.
#pragma once

#include <optional>
#include <vector>

#include "capture/packet_reading.hpp"
#include "wire/gid.hpp"
#include "wire/opcode.hpp"

namespace softrnic::edit {

using Bytes = std::vector<std::byte>;

enum class Layer : std::uint8_t {
  none,  // nothing of ours behind the link's header
  ipv4,
  ipv6,
  grh,
  arp,
};

class FrameParts {
 public:
  // Takes a record apart; `reading` is what read_packet() said of it. The buffers are used again.
  void take_apart(capture::LinkType link_type, const capture::Record& record,
                  const capture::PacketReading& reading);
  // Writes the parts one behind the other.
  void put_together(Bytes& out) const;

  // Bytes of the frame on the wire.
  std::uint32_t wire_size() const;
  bool is_cut() const { return body_lacks + trailer_lacks != 0; }

  // A RoCE packet whose lengths are right, so that its network header may be changed. Its BTH may
  // still be cut off.
  bool is_roce() const { return roce_; }
  bool is_v1() const { return layer == Layer::grh; }
  wire::NetworkLayer network_layer() const;  // of RoCE

  // The addresses of the network header; zero where there is none.
  wire::Gid source() const;
  wire::Gid destination() const;

  // Null when it was cut off, or is no RoCE packet.
  std::byte* bth();
  const std::byte* bth() const;
  // Null when the BTH is cut off or its opcode or version unknown.
  const wire::OpcodeInfo* opcode() const;
  // An extension header of a RoCE packet; null when it has none of that kind, or it is cut off.
  std::byte* extension(wire::ExtensionHeader header);
  // BTH and extension headers; 0 without an opcode, or where they do not lie before the ICRC.
  std::size_t headers_size() const;
  // Message bytes with the pad behind them, as many as were captured.
  wire::ByteSpan padded_payload();
  // The same without the pad.
  wire::ByteSpan payload();
  // Bytes of payload on the wire.
  std::size_t payload_size() const;
  bool is_whole() const { return roce_ && body_lacks == 0; }

  // Makes the lengths in IP, GRH and UDP headers fit the parts.
  void set_lengths();

  capture::LinkType link_type{};
  Layer layer = Layer::none;
  Bytes link;     // up to the network header, tags included
  Bytes network;  // IP header with its options, or GRH
  Bytes udp;      // of RoCE v2
  Bytes body;     // RoCE: BTH to ICRC; else what the network header announces, or all there is
  Bytes trailer;  // behind what the network header announces
  std::uint32_t body_lacks = 0;  // bytes that the capture cut off
  std::uint32_t trailer_lacks = 0;

 private:
  std::size_t size_network(wire::ByteView behind_link) const;
  bool transport_fits(wire::ByteView transport, std::size_t size) const;

  bool roce_ = false;
};

}  // namespace softrnic::edit
