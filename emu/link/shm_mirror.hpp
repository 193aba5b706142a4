// SPDX-License-Identifier: BSD-3-Clause
// A mirror port: gets a copy of every frame of a segment, with when, from whom and to whom.
#pragma once

#include <bitset>
#include <cstddef>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "link/link.hpp"
#include "link/shm_layout.hpp"

namespace softrnic::link {

// What a sender writes in the headroom of a mirror's copy.
struct MirrorNote {
  wire::Instant at{};
  std::size_t from = 0;         // the port
  std::bitset<shm::kPorts> to;  // the ports; none when it went nowhere

  MirrorNote() = default;
  MirrorNote(wire::Instant when, std::size_t sender, std::span<const std::uint8_t> ports);
  void write(std::byte* headroom) const;
  static MirrorNote read(const std::byte* headroom);
};

class ShmMirror {
 public:
  // Makes the segment if it is not there, so that nothing is missed.
  static wire::Expected<std::unique_ptr<ShmMirror>, OpenError> open(const std::string& segment);
  ~ShmMirror();
  ShmMirror(const ShmMirror&) = delete;
  ShmMirror& operator=(const ShmMirror&) = delete;

  // Hands over up to `most` frames; how many.
  using Sink = std::function<void(const MirrorNote& note, wire::ByteView frame)>;
  std::size_t take(wire::Instant now, std::size_t most, const Sink& sink);

  // As those of a Link.
  int descriptor() const;
  wire::Instant next_deadline() const;
  bool gone() const;

  // Frames it had no room for.
  std::uint64_t dropped() const;

  struct Station {
    std::size_t port = 0;
    std::string host;
    std::uint32_t process = 0;
  };
  // Who is on the segment now.
  std::vector<Station> stations() const;

 private:
  struct Impl;
  explicit ShmMirror(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace softrnic::link
