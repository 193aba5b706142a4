// SPDX-License-Identifier: BSD-3-Clause
// A checked view over a whole RoCE frame, v1 or v2.
//
// parse() checks every length once; after it the accessors are reads at known offsets. It never
// allocates or throws, and keeps spans into the frame, which must outlive the view. All headers
// up to the last extension header must lie in the frame's first piece (links guarantee it).
#pragma once

#include <optional>
#include <string_view>

#include "wire/byte_chain.hpp"
#include "wire/ethernet.hpp"
#include "wire/expected.hpp"
#include "wire/grh.hpp"
#include "wire/ipv4.hpp"
#include "wire/transport_headers.hpp"
#include "wire/udp.hpp"

namespace softrnic::wire {

enum class RoceVersion : std::uint8_t { v1, v2 };
enum class NetworkLayer : std::uint8_t { grh, ipv4, ipv6 };

enum class ParseError : std::uint8_t {
  not_roce,               // another EtherType, protocol or port
  truncated,              // the frame ends before what its headers announce
  bad_ip_header,          // version, header length, or an IPv4 header checksum that is wrong
  fragmented,             // an IPv4 fragment: RoCE is never fragmented
  length_mismatch,        // IP, UDP or GRH length too small for the headers inside
  unknown_opcode,         // reserved in the table
  bad_transport_version,  // TVer other than 0
  bad_padding,            // pad count larger than the payload, or payload not a multiple of four
};

// One sentence, without a full stop.
std::string_view to_string(ParseError error);

struct ParseOptions {
  // Off for captures of hosts that leave checksums to their hardware.
  bool verify_ipv4_checksum = true;
};

class PacketView {
  struct ByParse {};  // only parse() makes views

 public:
  PacketView(ByParse, const ByteChain& frame) : frame_(frame) {}
  static Expected<PacketView, ParseError> parse(const ByteChain& frame, ParseOptions options = {});

  RoceVersion version() const {
    return network_layer_ == NetworkLayer::grh ? RoceVersion::v1 : RoceVersion::v2;
  }
  NetworkLayer network_layer() const { return network_layer_; }

  EthernetHeader ethernet() const;
  Grh grh() const;          // when network_layer() is grh
  Ipv4Header ipv4() const;  // when it is ipv4
  Ipv6Header ipv6() const;  // when it is ipv6
  UdpHeader udp() const;    // for v2
  // Addresses of either network layer, as GIDs.
  Gid source() const;
  Gid destination() const;
  std::uint8_t traffic_class() const;
  std::uint8_t ecn() const { return traffic_class() & 3; }  // 3 is "congestion experienced"

  const OpcodeInfo& opcode() const { return *opcode_; }
  // BTH and extension headers, decoded by parse().
  const TransportHeaders& headers() const { return headers_; }
  const Bth& bth() const { return headers_.bth; }

  // Message bytes, without pad.
  const ByteChain& payload() const { return payload_; }

  std::uint32_t icrc() const { return icrc_; }  // as carried, read little-endian
  std::uint32_t computed_icrc() const;          // as it should be
  bool icrc_ok() const { return icrc() == computed_icrc(); }

  // Offsets from the start of the frame.
  std::size_t network_offset() const { return network_offset_; }
  std::size_t bth_offset() const { return bth_offset_; }
  std::size_t payload_offset() const { return payload_offset_; }
  std::size_t icrc_offset() const { return icrc_offset_; }
  // Frame bytes up to and including the ICRC; an Ethernet trailer may follow.
  std::size_t size() const { return icrc_offset_ + 4; }
  const ByteChain& frame() const { return frame_; }

 private:
  // The steps of parse(). Each checks one layer and calls the next with the frame offset where it
  // begins and the bytes the layer above left it.
  std::optional<ParseError> read_ethernet(ParseOptions options);
  std::optional<ParseError> read_ipv4(ParseOptions options);
  std::optional<ParseError> read_ipv6();
  std::optional<ParseError> read_grh();
  std::optional<ParseError> read_udp(std::size_t offset, std::size_t size);
  std::optional<ParseError> read_transport(std::size_t offset, std::size_t size);

  ByteChain frame_;
  ByteChain payload_;
  TransportHeaders headers_;
  const OpcodeInfo* opcode_ = nullptr;
  NetworkLayer network_layer_{};
  std::uint16_t network_offset_ = 0;
  std::uint16_t bth_offset_ = 0;
  std::uint32_t payload_offset_ = 0;
  std::uint32_t icrc_offset_ = 0;
  std::uint32_t icrc_ = 0;
};

}  // namespace softrnic::wire
