// SPDX-License-Identifier: BSD-3-Clause
// Why an ICRC is wrong: the likeliest cause, where one explains the carried value exactly.
//
// A CRC is linear: the difference of the sums of two equally long inputs depends on the inputs'
// difference alone. So a flipped bit or a rewritten field is found by running the difference
// backwards through the packet, without a guess.
#pragma once

#include <cstdint>
#include <string>

#include "wire/packet_view.hpp"

namespace softrnic::analysis {

enum class IcrcCause : std::uint8_t {
  unknown,
  left_out,           // zero
  byte_order,         // stored most significant byte first
  not_inverted,       // without the final inversion
  no_route_header,    // without the eight bytes of ones for the LRH
  not_masked,         // over fields that may change in flight
  masked_as_v1,       // with the masks of a GRH over an IPv4 header
  without_pad,        // over the payload alone
  bit_flipped,        // one bit of the packet or of the ICRC itself
  byte_changed,       // one byte
  field_rewritten,    // a 16-bit field of the network headers, as NAT does
  address_rewritten,  // an IPv4 address; likely, not certain: 32 bits always have a solution
};

struct IcrcDiagnosis {
  IcrcCause cause = IcrcCause::unknown;
  std::string sentence;  // without a full stop; empty when the cause is unknown
};

// `summed`: from the network header (GRH, IPv4 without options or IPv6) to the last byte before
// the ICRC; `bth_offset`: where in it the BTH stands. Any bytes are accepted.
IcrcDiagnosis diagnose_icrc(wire::NetworkLayer layer, wire::ByteView summed, std::size_t bth_offset,
                            std::uint32_t carried);

}  // namespace softrnic::analysis
