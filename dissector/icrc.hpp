// SPDX-License-Identifier: GPL-2.0-or-later
// Whether a packet's ICRC is right, worked out from the frame around the tvbuff.
#pragma once

#include <cstdint>

#include "dissector/packet.hpp"
#include "wire/byte_chain.hpp"

namespace softrnic::dissector {

struct IcrcCheck {
  enum class Verdict : std::uint8_t { good, bad, unverified };
  enum class Obstacle : std::uint8_t {
    none,
    cut_short,          // the frame does not hold the whole packet
    no_network_header,  // not found before the packet, as behind IPv6 extension headers
    ip_options,         // of which the standard does not say how they are summed
  };

  Verdict verdict = Verdict::unverified;
  Obstacle obstacle = Obstacle::none;
  std::uint32_t carried = 0;                  // unless cut short
  std::uint32_t calculated = 0;               // unless unverified
  const std::byte* network_header = nullptr;  // GRH, IPv4 or IPv6; null: not found
  // From the network header to the last byte before the ICRC; empty when unverified.
  wire::ByteView summed;
  unsigned bth_in_summed = 0;
};

// Call it before a dissector of an upper layer changes the addresses of `pinfo`. Never throws.
IcrcCheck check_icrc(const Packet& packet, const packet_info& pinfo);

}  // namespace softrnic::dissector
