// SPDX-License-Identifier: BSD-3-Clause
// Reads a capture file, pcap or pcapng, of Ethernet frames.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "wire/expected.hpp"
#include "wire/instant.hpp"

namespace softrnic::offline_replay {

struct CapturedFrame {
  std::uint32_t number = 0;  // from 1, as Wireshark counts
  wire::Instant at;          // since the Unix epoch
  std::uint32_t wire_size = 0;
  std::vector<std::byte> bytes;

  // The capture kept only the frame's beginning (a snap length).
  bool cut() const { return bytes.size() < wire_size; }
};

// The frames in the file's order, or one sentence that says why the file cannot be read and what
// to do.
wire::Expected<std::vector<CapturedFrame>, std::string> read_capture(const std::string& path);

}  // namespace softrnic::offline_replay
