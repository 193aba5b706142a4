// SPDX-License-Identifier: BSD-3-Clause
// Connection terms: what is known of a connection from outside of its packets.
#pragma once

#include <cstdint>

#include "analysis/packet_record.hpp"
#include "analysis/stream.hpp"

namespace softrnic::analysis {

// What CM or the user says of a connection. [i] is what side i said of itself.
struct ConnectionTerms {
  wire::Gid address[2];
  std::uint32_t qpn[2]{};
  PairedBy told_by = PairedBy::user;
  std::uint32_t path_mtu = 0;                          // bytes; 0: not known
  std::uint8_t retry_count[2]{0xff, 0xff};             // as a sender
  std::uint8_t rnr_retry_count[2]{0xff, 0xff};         // as a sender
  std::uint32_t responder_resources[2]{kNone, kNone};  // READs and atomics it takes at once
  std::uint32_t first_psn[2]{kNone, kNone};            // of its requests
  std::uint8_t ack_timeout[2]{0xff, 0xff};             // as a sender: 4.096 us * 2^n; 0: no end

  friend bool operator==(const ConnectionTerms&, const ConnectionTerms&) = default;
};

}  // namespace softrnic::analysis
