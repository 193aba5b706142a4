// SPDX-License-Identifier: BSD-3-Clause
#include <catch2/catch.hpp>
#include <filesystem>
#include <random>

#include "capture/capture_file.hpp"
#include "craft/crafter.hpp"
#include "craft/describer.hpp"
#include "sample_captures.hpp"

using namespace softrnic;

namespace {

struct Frame {
  wire::Instant at;
  craft::Bytes bytes;
  std::size_t wire_size = 0;
  bool operator==(const Frame&) const = default;
};

// What the description of these frames comes to, read again from its text.
std::vector<Frame> there_and_back(const std::vector<Frame>& frames, std::string& text,
                                  capture::LinkType type = capture::LinkType::ethernet) {
  craft::Describer describer;
  for (const Frame& frame : frames) {
    const capture::Record record{0, frame.at, static_cast<std::uint32_t>(frame.wire_size),
                                 frame.bytes};
    for (const craft::Line& line : describer.describe(type, record)) {
      text += line.to_string() + "\n";
    }
  }
  std::vector<Frame> back;
  craft::Crafter crafter([&](const craft::CraftedFrame& frame) {
    back.push_back({frame.at, {frame.bytes.begin(), frame.bytes.end()}, frame.wire_size});
    return true;
  });
  std::string_view rest = text;
  while (!rest.empty()) {
    const auto lines = craft::read_lines(rest.substr(0, rest.find('\n')), "line");
    REQUIRE(lines);
    for (const craft::Line& line : *lines) {
      const auto wrong = crafter.on_line(line);
      if (wrong) FAIL(wrong->to_string());
    }
    rest.remove_prefix(rest.find('\n') + 1);
  }
  CHECK(crafter.link_type() == type);
  return back;
}

std::vector<Frame> frames_of(const std::filesystem::path& path) {
  auto file = capture::CaptureFile::open(path.string());
  REQUIRE(file);
  std::vector<Frame> frames;
  while (const capture::Record* record = file->next()) {
    frames.push_back({record->at, {record->bytes.begin(), record->bytes.end()}, record->wire_size});
  }
  CHECK(file->damage().empty());
  return frames;
}

}  // namespace

TEST_CASE("the description of each sample capture gives its frames again", "[craft]") {
  int captures = 0;
  for (const auto& entry : std::filesystem::directory_iterator(kSampleCaptures)) {
    if (entry.path().extension() != ".pcapng") continue;
    ++captures;
    CAPTURE(entry.path().filename());
    const auto frames = frames_of(entry.path());
    std::string text;
    CHECK(there_and_back(frames, text) == frames);
    // Of the samples only what is not RoCE needs bytes.
    if (entry.path().filename().string().starts_with("neighbors")) continue;
    CHECK(text.find("raw ") == std::string::npos);
  }
  CHECK(captures > 40);
}

TEST_CASE("a frame that anything was done to is described all the same", "[craft]") {
  const auto frames = frames_of(std::filesystem::path(kSampleCaptures) / "rc-all-v1.pcapng");
  const unsigned seed = 4791;
  CAPTURE(seed);
  std::mt19937 random(seed);
  for (int round = 0; round < 200; ++round) {
    std::vector<Frame> changed = frames;
    for (Frame& frame : changed) {
      const std::size_t at = random() % frame.bytes.size();
      frame.bytes[at] ^= static_cast<std::byte>(1u << random() % 8);
      if (random() % 4 == 0) frame.bytes.resize(random() % (frame.bytes.size() + 1));
      if (random() % 8 != 0) frame.wire_size = frame.bytes.size();
      frame.at += wire::Duration(static_cast<std::int64_t>(random() % 2000) - 1000);
    }
    std::string text;
    REQUIRE(there_and_back(changed, text) == changed);
  }
}

TEST_CASE("frames of other links are bytes under their link's name", "[craft]") {
  const std::vector<Frame> frames{{wire::Instant(wire::Duration(5)), craft::Bytes(30), 30},
                                  {wire::Instant(wire::Duration(9)), craft::Bytes(8), 60}};
  for (const auto type : {capture::LinkType::linux_cooked, capture::LinkType::raw_ip,
                          capture::LinkType::linux_cooked_2, capture::LinkType::erf}) {
    std::string text;
    CHECK(there_and_back(frames, text, type) == frames);
  }
}

TEST_CASE("what counting fills in is not said", "[craft]") {
  craft::Describer describer;
  std::string text;
  craft::Crafter crafter([&](const craft::CraftedFrame& frame) {
    const capture::Record record{0, frame.at, static_cast<std::uint32_t>(frame.wire_size),
                                 frame.bytes};
    for (const craft::Line& line : describer.describe(capture::LinkType::ethernet, record)) {
      text += line.to_string() + "\n";
    }
    return true;
  });
  const auto lines = craft::read_lines(
      "rc send_only 64; rc ack; rc write_only 8 va=0x1000 rkey=1; rc nak remote_access_error; cnp",
      "");
  for (const craft::Line& line : *lines) REQUIRE_FALSE(crafter.on_line(line));
  CHECK(text ==
        "start 0.000000000\nrc send_only 64\nrc ack\nrc write_only 8 va=0x1000 rkey=0x1\n"
        "rc nak remote_access_error\ncnp\n");
}
