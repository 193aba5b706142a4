// SPDX-License-Identifier: BSD-3-Clause
// The PSNs of one flow before and after its messages were cut anew: message by message, where each
// stood on the old line and where it stands on the new one.
//
// A READ takes as many PSNs as its response has packets (IBTA vol. 1, 9.7.2). Sans-I/O; the oldest
// messages are forgotten.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>

#include "wire/psn.hpp"

namespace softrnic::edit {

// A message on both lines.
struct LineSpan {
  wire::Psn old_first;
  wire::Psn new_first;
  std::uint32_t old_count = 0;  // packets; 0: not known yet
  std::uint32_t new_count = 0;
  std::uint64_t bytes = 0;           // of a request so far, of a READ all
  std::uint32_t old_mtu = 0;         // 0: not known, or one packet
  std::uint32_t dropped_before = 0;  // messages before it that are left out, modulo 2^32
  bool is_read = false;
  bool complete = false;  // its last packet was seen
  bool kept = true;
};

class NumberLine {
 public:
  // `path_mtu`: the new one; 0: packets stay as they were cut.
  NumberLine() = default;
  explicit NumberLine(std::uint32_t path_mtu) : path_mtu_(path_mtu) {}

  bool begun() const { return begun_; }
  // Where the next message is expected on the old line; meaningless while READs are open.
  wire::Psn next_old() const { return next_old_; }

  // A message begins at `psn`, the expected one. `kept`: whether it is on the new line at all.
  LineSpan& begin(wire::Psn psn, bool kept);
  // The span was told more: it has so many packets and bytes, here or for good.
  void settle(LineSpan& span);
  // A READ whose count is not known is followed by a request at `psn`: that tells it.
  void close_open_read(wire::Psn psn);
  // UC and UD lose packets without a word: the new line has the same hole.
  void skip_to(wire::Psn psn);

  // The message that has the PSN, or that it would be in if it had more packets; null: before all
  // that is remembered.
  LineSpan* find(wire::Psn psn);
  LineSpan* newest() { return spans_.empty() ? nullptr : &spans_.back(); }

  // What a positive acknowledgement of `psn` acknowledges on the new line.
  wire::Psn acknowledged(wire::Psn psn);
  // The PSN on the new line that holds the first byte of the packet `psn`, for a NAK.
  wire::Psn expected(wire::Psn psn);

 private:
  static constexpr std::size_t kRemembered = 1024;

  std::uint32_t new_mtu(const LineSpan& span) const;

  std::uint32_t path_mtu_ = 0;
  std::deque<LineSpan> spans_;
  wire::Psn next_old_;
  wire::Psn next_new_;
  std::uint32_t dropped_ = 0;
  bool begun_ = false;
};

// Packets of a message of so many bytes.
std::uint32_t packets_of(std::uint64_t bytes, std::uint32_t path_mtu);

}  // namespace softrnic::edit
