// SPDX-License-Identifier: BSD-3-Clause
// The frames of a capture as a replay sends them: whole Ethernet frames, those that were asked
// for, once or again and again.
//
// A small file is read into memory at the beginning, so that nothing but sending takes time; a
// large one, or a pipe, is read as it goes.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "capture/capture_file.hpp"
#include "replay/frame_filter.hpp"
#include "wire/ethernet.hpp"

namespace softrnic::replay {

struct SourceFrame {
  std::uint32_t number = 0;  // in the capture
  wire::Instant at;
  wire::ByteView bytes;
};

struct FrameSourceOptions {
  std::vector<FrameRange> ranges;
  std::string filter;
  // The Ethernet header of frames that were captured without one.
  struct Addresses {
    wire::MacAddress destination;
    wire::MacAddress source;
  };
  std::optional<Addresses> addresses;
  // Frames that a snap length cut get zeros for what is missing, instead of being left out.
  bool pad = false;
  std::uint64_t preload = std::uint64_t{256} << 20;  // bytes of the largest file that is
};

// Of one pass through the capture.
struct FrameSourceCounts {
  std::uint64_t read = 0;
  std::uint64_t not_asked_for = 0;
  std::uint64_t cut = 0;         // left out, or padded
  std::uint64_t no_network = 0;  // captured without an Ethernet header, and not to be given one
};

class FrameSource {
 public:
  // "-" is standard input. The error is one sentence: why it cannot be replayed and what to do.
  static wire::Expected<FrameSource, std::string> open(const std::string& path,
                                                       FrameSourceOptions options);

  // Null at the end, and where the file is damaged. Good until the next call.
  const SourceFrame* next();

  // From the first frame on again; one sentence if that cannot be (a pipe), or nothing.
  std::optional<std::string> rewind();

  // Why it ended before its end, in one sentence; empty when it did not.
  const std::string& damage() const { return damage_; }
  const FrameSourceCounts& counts() const { return counts_; }
  bool preloaded() const { return preloaded_; }
  // How much of the capture is behind, 0 to 1; negative when that is not known.
  double progress() const;

 private:
  struct Kept {
    std::uint32_t number = 0;
    wire::Instant at;
    std::size_t begin = 0;
    std::size_t size = 0;
  };

  FrameSource(std::string path, FrameSourceOptions options, capture::CaptureFile file,
              FrameFilter filter);
  bool read_next();
  bool take(const capture::Record& record);
  bool give_ethernet_header(const capture::Record& record);
  void preload();

  std::string path_;
  FrameSourceOptions options_;
  std::optional<capture::CaptureFile> file_;
  FrameFilter filter_;
  std::string damage_;
  FrameSourceCounts counts_;
  SourceFrame frame_;
  std::vector<std::byte> built_;  // a frame that does not stand in the file like this

  bool preloaded_ = false;
  std::vector<std::byte> bytes_;
  std::vector<Kept> kept_;
  std::size_t position_ = 0;
};

}  // namespace softrnic::replay
