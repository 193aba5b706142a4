// SPDX-License-Identifier: BSD-3-Clause
// What the analysis is told of one captured RoCE packet: values only, no bytes of the network
// below.
//
// Only well-formed packets become frames: a known opcode and all the headers it calls for. The
// caller has read the lengths, so a packet that the capture cut short still tells its true sizes;
// where it was cut inside the headers, BTH, DETH and AETH at least are needed.
#pragma once

#include <cstdint>

#include "wire/gid.hpp"
#include "wire/instant.hpp"
#include "wire/packet_view.hpp"
#include "wire/transport_headers.hpp"

namespace softrnic::analysis {

enum class IcrcVerdict : std::uint8_t { good, bad, unverified };

struct Frame {
  std::uint32_t number = 0;  // in the capture, from 1; grows from call to call
  wire::Instant time;        // since the Unix epoch

  wire::RoceVersion version = wire::RoceVersion::v2;
  wire::Gid source;
  wire::Gid destination;
  std::uint16_t udp_source_port = 0;  // v2 only
  std::uint8_t ecn = 0;               // 0 to 3; 3 is "congestion experienced"

  const wire::OpcodeInfo* opcode = nullptr;  // never null
  wire::TransportHeaders headers;
  // The capture lacks the end of the headers: what their RETH or AtomicETH would say is not known.
  bool headers_cut = false;
  std::uint32_t payload_size = 0;  // bytes on the wire between headers and pad
  wire::ByteView payload;          // as many of them as were captured
  // The ICRC as carried: tells a repetition from another packet. 0 where the capture lacks it.
  std::uint32_t checksum = 0;
  IcrcVerdict icrc = IcrcVerdict::unverified;  // a receiver drops what is bad
};

}  // namespace softrnic::analysis
