// SPDX-License-Identifier: BSD-3-Clause
// A wrapper whose frames lie in up to three small segments, as AF_XDP's multi-buffer frames do.
#pragma once

#include <array>
#include <memory>
#include <vector>

#include "link/link.hpp"

namespace softrnic::nic::test {

class SegmentedLink final : public link::Link {
 public:
  // Segment sizes: the first must hold the headroom and all headers.
  SegmentedLink(std::unique_ptr<link::Link> inner, std::array<std::uint32_t, 3> sizes)
      : inner_(std::move(inner)), sizes_(sizes) {
    for (auto& slot : slots_) {
      for (std::size_t i = 0; i < sizes_.size(); ++i) slot.buffers[i].resize(sizes_[i]);
      free_.push_back(&slot);
    }
  }

  const link::Capabilities& capabilities() const override { return inner_->capabilities(); }

  std::size_t tx_alloc(std::span<link::Frame*> out) override {
    std::size_t n = 0;
    for (; n < out.size() && !free_.empty(); ++n) out[n] = take(wire::kHeadroom);
    return n;
  }

  void tx_push(wire::Instant now, std::span<link::Frame* const> frames) override {
    for (link::Frame* frame : frames) {
      link::Frame* copy = nullptr;
      if (inner_->tx_alloc({&copy, 1}) == 1) {
        wire::copy(frame->bytes(), copy->append(frame->size()));
        inner_->tx_push(now, {&copy, 1});
      }
      give_back(frame);
    }
  }

  void tx_cancel(std::span<link::Frame* const> frames) override {
    for (link::Frame* frame : frames) give_back(frame);
  }

  std::size_t rx_burst(wire::Instant now, std::span<link::Frame*> out) override {
    std::size_t n = 0;
    link::Frame* whole = nullptr;
    while (n < out.size() && !free_.empty() && inner_->rx_burst(now, {&whole, 1}) == 1) {
      link::Frame* frame = take(0);
      wire::copy(whole->bytes(), frame->append(whole->size()));
      inner_->rx_release({&whole, 1});
      out[n++] = frame;
    }
    return n;
  }

  void rx_release(std::span<link::Frame* const> frames) override { tx_cancel(frames); }
  int descriptor() const override { return inner_->descriptor(); }
  bool prepare_wait() override { return inner_->prepare_wait(); }
  const Statistics& statistics() const override { return inner_->statistics(); }

  std::size_t on_loan() const { return slots_.size() - free_.size(); }

 private:
  struct Slot {
    link::Frame frame;
    std::array<std::vector<std::byte>, 3> buffers;
  };

  link::Frame* take(std::uint32_t headroom) {
    Slot* slot = free_.back();
    free_.pop_back();
    for (std::size_t i = 0; i < sizes_.size(); ++i) {
      slot->frame.set_segment(i, slot->buffers[i].data(), sizes_[i]);
    }
    slot->frame.reset(headroom);
    slot->frame.handle = static_cast<std::uint64_t>(slot - slots_.data());
    return &slot->frame;
  }

  void give_back(link::Frame* frame) { free_.push_back(&slots_[frame->handle]); }

  std::unique_ptr<link::Link> inner_;
  std::array<std::uint32_t, 3> sizes_;
  std::vector<Slot> slots_{std::size_t{256}};
  std::vector<Slot*> free_;
};

}  // namespace softrnic::nic::test
