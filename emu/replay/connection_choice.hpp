// SPDX-License-Identifier: BSD-3-Clause
// Which connection of a capture is meant: a stream's number, its two queue pairs, or the first
// reliable one in which something is asked.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "analysis/stream.hpp"
#include "capture/capture_file.hpp"
#include "wire/expected.hpp"
#include "wire/gid.hpp"

namespace softrnic::replay {

// One end as a user names it: "10.0.0.1:0x11", "[fd00::1]:17", "10.0.0.1" or ":0x11".
struct EndName {
  std::optional<wire::Gid> address;
  std::optional<std::uint32_t> qpn;

  static std::optional<EndName> from_string(std::string_view text);
  bool names(const analysis::StreamSide& side) const;
};

struct ConnectionChoice {
  std::optional<std::uint32_t> stream;         // as `softrnic explain` and `check` number them
  std::optional<std::array<EndName, 2>> ends;  // [0]: the requester's

  // "10.0.0.1:0x11-10.0.0.2:0x12".
  static std::optional<ConnectionChoice> from_string(std::string_view ends);
};

// The connection chosen, as one reading of the whole capture shows it.
struct ChosenConnection {
  analysis::Stream stream;
  std::uint8_t requester = 0;  // the side of the stream that is [0] of the choice, or asked first

  const analysis::StreamSide& side(std::uint8_t which) const {  // 0: the requester's
    return stream.sides[which == 0 ? requester : 1 - requester];
  }
};

// Called with each record of a capture that is read; false: give up.
using OnRecord = std::function<bool(const capture::CaptureFile&, const capture::Record&)>;
inline constexpr const char* kInterrupted = "interrupted while the capture was read";

// Reads the capture. The error is one sentence: why there is no such connection, and which there
// are.
wire::Expected<ChosenConnection, std::string> find_connection(const std::string& path,
                                                              const ConnectionChoice& choice,
                                                              const OnRecord& on_record = {});

}  // namespace softrnic::replay
