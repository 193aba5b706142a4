// SPDX-License-Identifier: BSD-3-Clause
// Frames held back in one direction: until a time, or until others have passed.
//
// Keeps pointers only; whoever holds the frames owns them.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <utility>

#include "link/frame.hpp"
#include "wire/instant.hpp"

namespace softrnic::fabric {

class HeldFrames {
 public:
  void hold_until(link::Frame* frame, wire::Instant deadline);
  // Until `count` others have passed, at the latest until `deadline`.
  void hold_behind(link::Frame* frame, std::uint32_t count, wire::Instant deadline);

  // Another frame has passed: counts down those that wait for it.
  void pass();
  // A frame that has been passed by all it waited for; null when there is none.
  link::Frame* take_passed();
  // A frame whose time has come, the earliest first; null when there is none.
  link::Frame* take_due(wire::Instant now);

  wire::Instant next_deadline() const;
  std::size_t size() const { return delayed_.size() + overtaken_.size(); }

 private:
  struct Overtaken {
    link::Frame* frame;
    std::uint32_t remaining;
    wire::Instant deadline;
  };

  std::multimap<wire::Instant, link::Frame*> delayed_;  // equal keys keep their order
  std::deque<Overtaken> overtaken_;                     // in order of deadline
};

}  // namespace softrnic::fabric
