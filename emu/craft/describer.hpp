// SPDX-License-Identifier: BSD-3-Clause
// The way back: the lines of a description that give the frames of a capture again, byte for byte
// and at the same times. What counting fills in is left out; a frame that no line can describe is
// raw bytes.
#pragma once

#include <string>
#include <vector>

#include "capture/capture_file.hpp"
#include "craft/crafter.hpp"
#include "wire/packet_view.hpp"

namespace softrnic::craft {

class Describer {
 public:
  Describer();

  // The lines for the next record; the last one is the frame's own.
  std::vector<Line> describe(capture::LinkType link_type, const capture::Record& record);

 private:
  using Words = std::vector<Word>;

  void say(Words words);
  void begin(capture::LinkType link_type, const capture::Record& record);
  bool describe_packet(const capture::Record& record, const Word* time);
  void meet(const wire::PacketView& packet);
  void set_network(const wire::PacketView& packet);
  Words name_words(const wire::PacketView& packet, bool as_cm) const;
  void add_link_words(Words& words, const wire::PacketView& packet) const;
  bool improve(Words& words, const wire::PacketView& packet, wire::ByteView frame) const;
  bool gives(const Words& words, wire::ByteView frame) const;

  Crafter crafter_;
  std::vector<Line> lines_;
  bool begun_ = false;
  wire::Instant last_;
};

}  // namespace softrnic::craft
