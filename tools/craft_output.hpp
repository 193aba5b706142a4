// SPDX-License-Identifier: BSD-3-Clause
// Where crafted frames go: a capture file, a link, or the screen.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "capture/capture_writer.hpp"
#include "craft/crafter.hpp"
#include "link/link.hpp"

namespace softrnic::tools {

// Counts what passes.
struct CraftTally {
  std::uint64_t frames = 0;
  std::uint64_t bytes = 0;
  std::optional<wire::Instant> first;
  wire::Instant last;

  void on_frame(const craft::CraftedFrame& frame);
  std::int64_t duration_ns() const { return first ? (last - *first).count() : 0; }
};

// The file is made with the first frame, whose link type is then known.
class CraftedCapture {
 public:
  explicit CraftedCapture(std::string path) : path_(std::move(path)) {}

  bool on_frame(const craft::CraftedFrame& frame, capture::LinkType type);
  // Throws Failure; without a frame the capture is an empty one.
  void commit(capture::LinkType type);

 private:
  void create(capture::LinkType type);

  std::string path_;
  std::optional<capture::CaptureWriter> writer_;
};

// Sends each frame when its time has come, counted from the first one.
class CraftedTraffic {
 public:
  CraftedTraffic(const std::string& link, bool at_once);

  // False when it was interrupted.
  bool on_frame(const craft::CraftedFrame& frame);
  std::uint64_t dropped() const { return link_->statistics().tx_dropped; }

 private:
  bool await(wire::Instant due);
  void drain();

  std::unique_ptr<link::Link> link_;
  bool at_once_;
  std::optional<wire::Instant> first_;
  wire::Instant begun_;
};

// Sixteen bytes a line, as tcpdump -X has them.
std::string hex_dump(wire::ByteView bytes);

}  // namespace softrnic::tools
