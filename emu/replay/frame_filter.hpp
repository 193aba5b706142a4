// SPDX-License-Identifier: BSD-3-Clause
// Which frames of a capture are meant: ranges of frame numbers, and an expression as tcpdump has
// them.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "wire/bytes.hpp"
#include "wire/expected.hpp"

namespace softrnic::replay {

// Frame numbers, from 1, both ends included.
struct FrameRange {
  std::uint32_t first = 0;
  std::uint32_t last = 0;

  friend bool operator==(const FrameRange&, const FrameRange&) = default;
};

// "7", "10-20", "30-", "-5", and several of them with commas between. The error is one sentence.
wire::Expected<std::vector<FrameRange>, std::string> parse_frame_ranges(std::string_view text);

class FrameFilter {
 public:
  // No ranges: every number. An empty expression: every frame.
  static wire::Expected<FrameFilter, std::string> make(std::vector<FrameRange> ranges,
                                                       const std::string& expression);
  ~FrameFilter();
  FrameFilter(FrameFilter&&) noexcept;
  FrameFilter& operator=(FrameFilter&&) noexcept;

  // `frame`: from its Ethernet header on.
  bool passes(std::uint32_t number, wire::ByteView frame) const;
  // No frame from this number on passes.
  bool ends_before(std::uint32_t number) const { return last_ < number; }

 private:
  struct Program;
  FrameFilter(std::vector<FrameRange> ranges, std::unique_ptr<Program> program);

  std::vector<FrameRange> ranges_;
  std::uint32_t last_ = 0xffffffff;
  std::unique_ptr<Program> program_;  // null: everything passes
};

}  // namespace softrnic::replay
