// SPDX-License-Identifier: BSD-3-Clause
// How connections were set up and taken down by CM, from the findings of the analysis: which queue
// pairs a REQ and its REP named, whether that ended in a REJ, and the DREQ at the end.
//
// A bounded number of exchanges is remembered, the first ones.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "analysis/finding.hpp"
#include "analysis/frame.hpp"
#include "analysis/stream.hpp"

namespace softrnic::explain {

struct CmSetup {
  wire::Gid address[2];  // [0] asked
  std::uint32_t qpn[2]{};
  std::uint32_t request_frame = 0;
  std::uint32_t reply_frame = 0;  // 0: none
  std::uint32_t ready_frame = 0;  // RTU
  std::uint32_t reject_frame = 0;
  std::uint32_t disconnect_frame = 0;  // DREQ
  wire::Instant requested_at;
  wire::Instant disconnected_at;
};

class ConnectionSetup {
 public:
  static constexpr std::size_t kMost = std::size_t{1} << 17;

  void on_finding(const analysis::Frame& frame, const analysis::Finding& finding);

  // The one that set this stream up, the newest before its last packet; null where none did.
  const CmSetup* find(const analysis::Stream& stream) const;
  const std::vector<CmSetup>& setups() const { return setups_; }

 private:
  CmSetup* of_request(std::uint32_t frame);

  std::vector<CmSetup> setups_;
  std::unordered_map<std::uint32_t, std::uint32_t> by_frame_;      // of REQ or REP: its number
  std::unordered_multimap<std::uint64_t, std::uint32_t> by_qpns_;  // both QPNs: its number
};

}  // namespace softrnic::explain
