// SPDX-License-Identifier: BSD-3-Clause
// Frames on their way out: a stock borrowed from the link, the burst being gathered for it, and
// the bounded queue of frames the NIC sends to itself.
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "link/link.hpp"

namespace softrnic::nic {

class FrameSender {
 public:
  static constexpr std::size_t kBurst = 64;
  // Frames to ourselves that may wait; whoever sends them asks can_loop() first.
  static constexpr std::size_t kLooped = 128;

  FrameSender(link::Link& link, std::uint16_t first_identification)
      : link_(link),
        identification_(first_identification),
        identification_step_(link.capabilities().kernel_headers ? 0 : 1) {
    if (identification_step_ == 0) identification_ = 0;
  }
  ~FrameSender();
  FrameSender(const FrameSender&) = delete;
  FrameSender& operator=(const FrameSender&) = delete;

  // An empty frame with wire::kHeadroom in front, or null when the link has none to lend now.
  // Ends with cancel(), send() or loop().
  link::Frame* allocate();
  void cancel(link::Frame* frame);

  void send(wire::Instant now, link::Frame* frame);
  // Gives the gathered burst to the link.
  void flush(wire::Instant now);

  bool can_loop() const { return looped_count_ < kLooped; }
  // To ourselves: next_looped() will give it. Needs can_loop().
  void loop(link::Frame* frame);
  // The next frame sent to ourselves, or null; end its loan with cancel().
  link::Frame* next_looped();
  std::size_t looped() const { return looped_count_; }

  // IPv4 identification: counts up, so that fragments of one packet could be told from another's;
  // zero on a link whose packets have that.
  std::uint16_t next_identification() {
    const std::uint16_t identification = identification_;
    identification_ = static_cast<std::uint16_t>(identification_ + identification_step_);
    return identification;
  }

 private:
  link::Link& link_;
  std::uint16_t identification_;
  std::uint16_t identification_step_;

  std::array<link::Frame*, kBurst> stock_{};
  std::size_t stocked_ = 0;
  std::array<link::Frame*, kBurst> burst_{};
  std::size_t gathered_ = 0;
  std::array<link::Frame*, kLooped> looped_{};
  std::size_t looped_head_ = 0;
  std::size_t looped_count_ = 0;
};

}  // namespace softrnic::nic
