// SPDX-License-Identifier: BSD-3-Clause
// Captures in memory, and edits of them, for tests.
#pragma once

#include <catch2/catch.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "edit/edit_words.hpp"
#include "edit/editor.hpp"
#include "unit/capture/sample_frame.hpp"

namespace softrnic::edit::test {

using capture::LinkType;
using capture::test::Sample;

struct Kept {
  wire::Instant at;
  Bytes bytes;
  std::uint32_t wire_size = 0;

  friend bool operator==(const Kept&, const Kept&) = default;
};
using Frames = std::vector<Kept>;

inline Kept kept(Bytes bytes, std::int64_t microseconds = 0) {
  const auto size = static_cast<std::uint32_t>(bytes.size());
  return {wire::Instant(std::chrono::seconds(1000) + std::chrono::microseconds(microseconds)),
          std::move(bytes), size};
}

inline Frames capture_of(const std::vector<Sample>& samples) {
  Frames frames;
  for (const Sample& sample : samples) {
    frames.push_back(kept(capture::test::frame(sample), static_cast<std::int64_t>(frames.size())));
  }
  return frames;
}

using Words = std::vector<std::pair<std::string_view, std::string_view>>;

inline EditPlan plan_of(const Words& words) {
  EditPlan plan;
  for (const auto& [name, value] : words) {
    const EditWord* word = find_edit_word(name);
    INFO(name << " " << value);
    REQUIRE(word != nullptr);
    REQUIRE(word->take(plan, 0, value).value_or("") == "");
  }
  REQUIRE(contradiction(plan) == "");
  return plan;
}

struct Edited {
  Frames frames;
  EditCounts counts;
  std::string error;
};

inline Edited edit_with(const EditPlan& plan, const Frames& frames,
                        LinkType link_type = LinkType::ethernet) {
  Edited result;
  Editor editor(plan, link_type,
                [&result](wire::Instant at, wire::ByteView bytes, std::uint32_t wire_size,
                          std::string_view /*comment*/) {
                  result.frames.push_back({at, Bytes(bytes.begin(), bytes.end()), wire_size});
                });
  std::uint32_t number = 0;
  for (const Kept& frame : frames) {
    const auto done = editor.on_record({++number, frame.at, frame.wire_size, frame.bytes});
    if (done) continue;
    result.error = done.error();
    break;
  }
  if (result.error.empty()) REQUIRE(editor.finish());
  result.counts = editor.counts();
  return result;
}

inline Edited edit(const Words& words, const Frames& frames,
                   LinkType link_type = LinkType::ethernet) {
  return edit_with(plan_of(words), frames, link_type);
}

inline capture::PacketReading reading_of(const Kept& frame,
                                         LinkType link_type = LinkType::ethernet) {
  return capture::read_packet(link_type, {1, frame.at, frame.wire_size, frame.bytes});
}

}  // namespace softrnic::edit::test
