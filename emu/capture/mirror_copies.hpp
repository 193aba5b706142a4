// SPDX-License-Identifier: BSD-3-Clause
// Copies in a switch's mirror: one frame seen where it came in and where it went out.
//
// A copy is known by what a switch leaves alone: the headers from the network layer on, without
// the fields that the ICRC leaves out for the same reason (DSCP and ECN, TTL, checksums, flow
// label, FECN and BECN). A sender that goes back sends the same once more, often to the last bit;
// then something asked it to, or its timer ran out, which takes longer than a switch does, or the
// frame comes where it came before (the same MAC addresses, VLAN and TTL).
#pragma once

#include <algorithm>
#include <bit>
#include <chrono>
#include <cstdint>
#include <vector>

#include "capture/packet_reading.hpp"

namespace softrnic::capture {

class MirrorCopies {
 public:
  // From one sight of a frame to the next: the longest that a switch's buffers hold it.
  static constexpr wire::Duration kWindow = std::chrono::milliseconds(5);

  // Of the newest `remembered` packets, roughly, copies are known.
  explicit MirrorCopies(std::uint32_t remembered = 1 << 15)
      : sets_(std::bit_ceil(std::max<std::size_t>(remembered / kWays, 1))) {}

  // Whether the packet of this record is one that was seen already. Its BTH was read, and its
  // opcode is known.
  bool is_copy(const Record& record, const PacketReading& reading);

 private:
  struct Sight {
    std::uint64_t key = 0;  // of the packet; 0: free
    wire::Instant time;
    std::uint32_t place = 0;  // of the first sight: MAC addresses, VLAN, TTL
    std::uint32_t copies = 0;
    std::uint64_t asked = 0;  // as much as had been asked again by then
  };
  static constexpr std::size_t kWays = 4;
  static constexpr std::size_t kAsked = 1 << 10;

  Sight& sight_of(std::uint64_t key);
  std::uint64_t& asked_again(const wire::Gid& of, const wire::Gid& by);

  std::size_t sets_;  // a power of two
  std::vector<Sight> sights_;
  std::vector<std::uint64_t> asked_;  // how often one host asked another again, hashed
  bool places_differ_ = false;        // a copy was seen with other MAC addresses, VLAN or TTL
};

}  // namespace softrnic::capture
