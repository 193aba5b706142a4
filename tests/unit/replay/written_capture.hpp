// SPDX-License-Identifier: BSD-3-Clause
// A capture file of a test's own frames.
#pragma once

#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "capture/capture_writer.hpp"
#include "unit/capture/sample_frame.hpp"
#include "unit/capture/scratch_file.hpp"

namespace softrnic::replay::test {

// A frame between the stations that the sample stands for.
inline capture::test::Bytes station_frame(const capture::test::Sample& sample) {
  capture::test::Bytes bytes = capture::test::frame(sample);
  bytes[0] = bytes[6] = std::byte{2};  // locally administered
  bytes[5] = std::byte{sample.from_alice ? std::uint8_t{2} : std::uint8_t{1}};
  bytes[11] = std::byte{sample.from_alice ? std::uint8_t{1} : std::uint8_t{2}};
  return bytes;
}

// A SEND of one packet.
inline capture::test::Bytes send_frame(std::uint32_t psn, std::uint32_t payload = 5) {
  capture::test::Sample sample;
  sample.psn = psn;
  sample.payload = payload;
  return station_frame(sample);
}

struct TimedFrame {
  wire::Duration at{};
  capture::test::Bytes bytes;
  std::uint32_t wire_size = 0;  // 0: all of it was captured
};

class WrittenCapture {
 public:
  explicit WrittenCapture(const std::vector<TimedFrame>& frames,
                          capture::LinkType link_type = capture::LinkType::ethernet)
      : file_("frames.pcapng") {
    auto writer = capture::CaptureWriter::create(path(), capture::Format::pcapng, link_type);
    REQUIRE(writer.has_value());
    for (const TimedFrame& frame : frames) {
      REQUIRE(writer->write(wire::Instant(std::chrono::seconds(1000) + frame.at), frame.bytes,
                            frame.wire_size));
    }
    REQUIRE(writer->commit().has_value());
  }

  const std::string& path() const { return file_.path(); }

 private:
  capture::test::ScratchFile file_;
};

}  // namespace softrnic::replay::test
