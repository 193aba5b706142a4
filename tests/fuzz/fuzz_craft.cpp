// SPDX-License-Identifier: BSD-3-Clause
// Descriptions of packets, and descriptions of captures.
//
// The first byte says what the rest is: lines of text, JSON, TOML, or captured records. What can be
// crafted or was captured is described, and the description has to give the same frames again.
#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "craft/crafter.hpp"
#include "craft/describer.hpp"
#include "craft/description_script.hpp"
#include "fabric/script_json.hpp"
#include "fabric/script_toml.hpp"
#include "fuzz/input_records.hpp"
#include "fuzz/require.hpp"

namespace {

using namespace softrnic;
using fuzz::require;

constexpr std::size_t kMostFrames = 300;
constexpr std::size_t kMostBytes = 1 << 20;

struct Crafted {
  wire::Instant at;
  craft::Bytes bytes;
  std::size_t wire_size = 0;
  friend bool operator==(const Crafted&, const Crafted&) = default;
};

class Workshop {
 public:
  Workshop()
      : crafter_([this](const craft::CraftedFrame& frame) {
          require(frame.bytes.size() <= frame.wire_size, "no more is kept than there is");
          frames_.push_back({frame.at, {frame.bytes.begin(), frame.bytes.end()}, frame.wire_size});
          bytes_ += frame.bytes.size();
          return frames_.size() < kMostFrames && bytes_ < kMostBytes;
        }) {}

  // Whether there was nothing to complain of.
  bool take(const std::vector<craft::Line>& lines) {
    for (const craft::Line& line : lines) {
      if (!good(crafter_.on_line(line))) return false;
    }
    return true;
  }
  bool take_text(std::string_view text) {
    const auto lines = craft::read_lines(text, "line");
    return lines ? take(*lines) : good(lines.error());
  }
  bool finish() { return good(crafter_.finish()); }
  capture::LinkType link_type() const { return crafter_.link_type(); }
  const std::vector<Crafted>& frames() const { return frames_; }

 private:
  static bool good(const std::optional<craft::Complaint>& complaint) {
    if (!complaint) return true;
    require(!complaint->message.empty(), "a complaint says something");
    return false;
  }

  craft::Crafter crafter_;
  std::vector<Crafted> frames_;
  std::size_t bytes_ = 0;
};

void take_description(Workshop& workshop, std::uint8_t form, std::string_view text) {
  if (form == 0) {
    bool good = true;
    while (good && !text.empty()) {
      const std::size_t end = std::min(text.find('\n'), text.size());
      good = workshop.take_text(text.substr(0, end));
      text.remove_prefix(std::min(end + 1, text.size()));
    }
  } else {
    const auto root = form == 1 ? fabric::read_json(text) : fabric::read_toml(text);
    if (!root) return require(fuzz::is_one_line(root.error().to_string()), "one line");
    const auto lines = craft::read_script(*root);
    if (!lines) return require(!lines.error().message.empty(), "a complaint says something");
    workshop.take(*lines);
  }
  workshop.finish();
}

void describe(capture::LinkType link_type, const std::vector<Crafted>& frames) {
  craft::Describer describer;
  Workshop workshop;
  std::uint32_t number = 0;
  for (const Crafted& frame : frames) {
    const capture::Record record{++number, frame.at, static_cast<std::uint32_t>(frame.wire_size),
                                 frame.bytes};
    for (const craft::Line& line : describer.describe(link_type, record)) {
      require(workshop.take_text(line.to_string()), "a description can be read");
    }
    require(workshop.frames().size() == number, "a line describes a frame");
    require(workshop.frames().back() == frame, "a description gives the frame again");
  }
  require(workshop.finish(), "a description is whole");
  require(frames.empty() || workshop.link_type() == link_type, "of the same link");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::uint8_t form = data[0] % 4;
  if (form == 3) {
    std::vector<Crafted> frames;
    for (const auto& record : fuzz::records_of(std::as_bytes(std::span(data, size)).subspan(1))) {
      frames.push_back({record.at, {record.bytes.begin(), record.bytes.end()}, record.wire_size});
    }
    describe(static_cast<capture::LinkType>(data[0] / 4 % 6), frames);
    return 0;
  }
  Workshop workshop;
  take_description(workshop, form, {reinterpret_cast<const char*>(data) + 1, size - 1});
  describe(workshop.link_type(), workshop.frames());
  return 0;
}
