// SPDX-License-Identifier: BSD-3-Clause
// The message sequence number that each queue pair was last told, read off the acknowledgements
// that pass: what an acknowledgement made by somebody else must go on from.
//
// Bounded: strangers can name any number of queue pairs.
#pragma once

#include <cstdint>
#include <unordered_map>

#include "wire/packet_view.hpp"

namespace softrnic::fabric {

class MessageCount {
 public:
  void observe(const wire::PacketView& packet) {
    if (!packet.opcode().has(wire::kAeth)) return;
    tell(packet.bth().destination_qpn, packet.headers().aeth.msn);
  }
  void tell(std::uint32_t qpn, std::uint32_t msn) {
    if (told_.size() >= kMostQueuePairs && !told_.contains(qpn)) told_.clear();
    told_[qpn] = msn;
  }
  // 0 before any.
  std::uint32_t told(std::uint32_t qpn) const {
    const auto found = told_.find(qpn);
    return found == told_.end() ? 0 : found->second;
  }

 private:
  static constexpr std::size_t kMostQueuePairs = 65'536;

  std::unordered_map<std::uint32_t, std::uint32_t> told_;
};

}  // namespace softrnic::fabric
