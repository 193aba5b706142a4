// SPDX-License-Identifier: BSD-3-Clause
// The sockets of a udp link: port 4791 of one address, for this program alone.
#pragma once

#include <cstdint>

#include "link/file_descriptor.hpp"
#include "link/udp_address.hpp"

namespace softrnic::link {

// Into how many packets the kernel cuts one piece at most (UDP_MAX_SEGMENTS of Linux before 6.9).
inline constexpr std::uint32_t kMostUdpSegments = 64;

struct UdpSockets {
  // All is sent through the first. IPv4: it receives what other programs like this one send, with
  // an identification below kMostUdpSegments; the second receives everything else. No socket tells
  // the identification, and the ICRC covers it.
  FileDescriptor first;
  FileDescriptor second;      // IPv4 only
  FileDescriptor either;      // readable when one of them is; IPv4 only
  bool segmentation = false;  // the kernel cuts what is sent as one into packets (UDP_SEGMENT)
  bool aggregation = false;   // the kernel hands over several packets as one (UDP_GRO)

  int descriptor() const { return either.valid() ? either.get() : first.get(); }
};

wire::Expected<UdpSockets, OpenError> open_udp_sockets(const UdpAddress& address, bool offload);

}  // namespace softrnic::link
