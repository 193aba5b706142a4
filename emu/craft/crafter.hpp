// SPDX-License-Identifier: BSD-3-Clause
// Turns a description, line by line, into packets (docs/craft.md has the language).
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "capture/link_layer.hpp"
#include "craft/exchange.hpp"
#include "craft/words.hpp"

namespace softrnic::craft {

struct CraftedFrame {
  wire::Instant at;
  wire::ByteView bytes;       // as many as a capture keeps
  std::size_t wire_size = 0;  // all of them
  std::string_view comment;
  std::string_view where;  // the line it came from
};

// The lines of a "repeat" whose "end" has not come.
struct RepeatedLines {
  std::uint64_t times = 1;
  std::string where;
  std::vector<Line> lines;
  std::size_t depth = 0;  // of repetitions inside
};

class Crafter {
 public:
  // Told of every frame; false ends the work.
  using Sink = std::function<bool(const CraftedFrame&)>;

  explicit Crafter(Sink sink) : sink_(std::move(sink)) {}

  std::optional<Complaint> on_line(const Line& line);
  // Nothing follows: a repetition that was not ended is a mistake.
  std::optional<Complaint> finish() const;

  // What is filled in from here on, and the words of "set".
  const Exchange& exchange() const { return exchange_; }
  const std::vector<Word>& defaults() const { return defaults_; }
  bool stopped() const { return stopped_; }
  capture::LinkType link_type() const { return link_type_; }

 private:
  std::optional<Complaint> run(const Line& line);
  std::optional<Complaint> begin_block(const Line& line);
  std::optional<Complaint> in_block(const Line& line);
  std::optional<Complaint> read_ends(const Line& line);
  std::optional<Complaint> read_start(const Line& line);
  std::optional<Complaint> read_link(const Line& line);
  std::optional<Complaint> read_defaults(const Line& line);
  std::optional<Complaint> read_packet(const Line& line);
  std::optional<Complaint> repeat(PacketRequest request);
  bool say(const Message& message, bool first_repetition);

  Sink sink_;
  Exchange exchange_;
  std::vector<Word> defaults_;
  std::optional<RepeatedLines> block_;
  bool stopped_ = false;
  std::uint64_t said_ = 0;  // frames
  capture::LinkType link_type_ = capture::LinkType::ethernet;
};

// "ethernet", "linux_cooked": as the statement "link" has them.
std::string_view link_name(capture::LinkType type);

}  // namespace softrnic::craft
