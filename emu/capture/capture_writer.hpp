// SPDX-License-Identifier: BSD-3-Clause
// A capture file being written, record by record: pcap or pcapng, with nanosecond stamps.
//
// It is under its name when it is whole and not before (whole_file).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "capture/capture_file.hpp"
#include "capture/whole_file.hpp"

namespace softrnic::capture {

enum class Format : std::uint8_t { pcap, pcapng };

// By the name's ending: ".pcap", or else pcapng.
Format format_of(std::string_view path);

class CaptureWriter {
 public:
  // "-" is standard output. `snap_length`: bytes of a frame that are kept; 0: all.
  // The error is one sentence: why it cannot be written and what to do.
  static wire::Expected<CaptureWriter, std::string> create(const std::string& path, Format format,
                                                           LinkType link_type,
                                                           std::uint32_t snap_length = 0);

  // False when it cannot be written (any more): then commit() says why.
  // Only pcapng keeps comments, those that records came with too. A `wire_size` below what there is
  // means: all of it is there.
  bool write(const Record& record) {
    return write(record.at, record.bytes, record.wire_size, record.comment);
  }
  bool write(wire::Instant at, wire::ByteView bytes, std::uint32_t wire_size,
             std::string_view comment = {});
  // Hands on what has gathered, for one who reads the other end of a pipe meanwhile.
  bool flush() { return file_.flush(); }

  // The capture is whole: now it is under its name. One that is not committed vanishes.
  wire::Expected<void, std::string> commit() { return file_.commit(); }

 private:
  CaptureWriter(WholeFile file, Format format, std::uint32_t snap_length)
      : file_(std::move(file)), format_(format), snap_length_(snap_length) {}
  void begin(LinkType link_type);

  WholeFile file_;
  Format format_;
  std::uint32_t snap_length_;
};

}  // namespace softrnic::capture
