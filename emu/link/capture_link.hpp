// SPDX-License-Identifier: BSD-3-Clause
// A wrapper that writes every frame crossing it to a pcapng file.
//
// Nanosecond stamps (the `now` passed to the link), one interface with the link's name, direction
// flags, and as packet comment the frame's note, if any. Several links may share one writer.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "link/link.hpp"

namespace softrnic::link {

enum class Direction : std::uint8_t { inbound = 1, outbound = 2 };

// One pcapng file being written. Not thread-safe.
class CaptureFile {
 public:
  // "-" is standard output.
  static wire::Expected<std::shared_ptr<CaptureFile>, OpenError> create(const std::string& path);
  ~CaptureFile();
  CaptureFile(const CaptureFile&) = delete;
  CaptureFile& operator=(const CaptureFile&) = delete;

  // A new interface description; returns its number in the file.
  std::uint32_t add_interface(std::string_view name, std::uint32_t snap_length = 0);
  void write(wire::Instant at, std::uint32_t interface, Direction direction,
             const wire::ByteChain& frame, std::string_view comment = {});
  // Hands on what has gathered, for one who reads the file meanwhile; false when any write failed.
  bool flush();
  // Flushes; false when any write failed (full disk).
  bool close();

  struct Impl;

 private:
  explicit CaptureFile(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

std::unique_ptr<Link> capture(std::unique_ptr<Link> inner, std::shared_ptr<CaptureFile> file,
                              std::string_view interface_name);
// The same for an interface that is in the file already, and one direction only if it is given.
std::unique_ptr<Link> capture(std::unique_ptr<Link> inner, std::shared_ptr<CaptureFile> file,
                              std::uint32_t interface, std::optional<Direction> only = {});

}  // namespace softrnic::link
