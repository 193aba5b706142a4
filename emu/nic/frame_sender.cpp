// SPDX-License-Identifier: BSD-3-Clause
#include "nic/frame_sender.hpp"

namespace softrnic::nic {
namespace {

// Borrowed at once when the stock is empty: enough for a burst's cost to be shared, few enough to
// leave a small pool to others.
constexpr std::size_t kRestock = 32;

}  // namespace

FrameSender::~FrameSender() {
  while (link::Frame* frame = next_looped()) link_.tx_cancel({&frame, 1});
  link_.tx_cancel({burst_.data(), gathered_});
  link_.tx_cancel({stock_.data(), stocked_});
}

link::Frame* FrameSender::allocate() {
  if (stocked_ == 0) stocked_ = link_.tx_alloc({stock_.data(), kRestock});
  return stocked_ == 0 ? nullptr : stock_[--stocked_];
}

void FrameSender::cancel(link::Frame* frame) {
  if (stocked_ < stock_.size()) {
    frame->reset();
    stock_[stocked_++] = frame;
  } else {
    link_.tx_cancel({&frame, 1});
  }
}

void FrameSender::send(wire::Instant now, link::Frame* frame) {
  burst_[gathered_++] = frame;
  if (gathered_ == burst_.size()) flush(now);
}

void FrameSender::flush(wire::Instant now) {
  if (gathered_ == 0) return;
  link_.tx_push(now, {burst_.data(), gathered_});
  gathered_ = 0;
}

void FrameSender::loop(link::Frame* frame) {
  looped_[(looped_head_ + looped_count_) % kLooped] = frame;
  ++looped_count_;
}

link::Frame* FrameSender::next_looped() {
  if (looped_count_ == 0) return nullptr;
  link::Frame* frame = looped_[looped_head_];
  looped_head_ = (looped_head_ + 1) % kLooped;
  --looped_count_;
  return frame;
}

}  // namespace softrnic::nic
