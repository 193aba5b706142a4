// SPDX-License-Identifier: BSD-3-Clause
#include "replay/wire_replay.hpp"

#include <algorithm>

namespace softrnic::replay {

namespace {

// How long to wait where the link has no free frame.
constexpr wire::Duration kNoRoom = std::chrono::microseconds(20);

}  // namespace

std::optional<std::string> WireReplay::run(const Stop& stop) {
  sent_before_ = link_.statistics().tx_frames;
  bytes_before_ = link_.statistics().tx_bytes;
  dropped_before_ = link_.statistics().tx_dropped;
  result_.loops = 1;
  begin_ = clock_.now();
  bool more = load();
  while (more && !result_.stopped) {
    more = wait_for_next(stop) && send_what_is_due(stop);
  }
  flush();
  account();
  if (options_.listen) linger(stop);
  account();
  if (!failure_ && !source_.damage().empty()) failure_ = source_.damage();
  return failure_;
}

// The next frame that can be sent, with its deadline; false when there is none.
bool WireReplay::load() {
  for (;;) {
    next_ = source_.next();
    if (next_ == nullptr) {
      if (!load_next_loop()) return false;
      continue;
    }
    due_ = pacing_.next(next_->at, next_->bytes.size());
    if (is_sendable(*next_)) {
      ++loop_sends_;
      return true;
    }
    ++result_.unsendable;
    result_.longest = std::max(result_.longest, next_->bytes.size());
  }
}

bool WireReplay::load_next_loop() {
  // A loop in which there was nothing to send would go on for ever.
  if (result_.loops == options_.loops || loop_sends_ == 0) return false;
  if (!source_.damage().empty()) return false;
  failure_ = source_.rewind();
  if (failure_) return false;
  ++result_.loops;
  loop_sends_ = 0;
  pacing_.begin_loop();
  return true;
}

bool WireReplay::is_sendable(const SourceFrame& frame) const {
  const auto header = wire::EthernetHeader::parse(frame.bytes);
  return header && frame.bytes.size() <= header->size() + link_.capabilities().mtu;
}

// False at the end of the capture, or when it is to stop.
bool WireReplay::wait_for_next(const Stop& stop) {
  const wire::Instant deadline = begin_ + due_;
  for (;;) {
    if (options_.listen) receive();
    if (clock_.now() >= deadline) return true;
    account();
    if (stop(result_)) {
      result_.stopped = true;
      return false;
    }
    clock_.wait_until(std::min(deadline, link_.next_deadline()),
                      options_.listen ? link_.descriptor() : -1);
    link_.flush(clock_.now());
  }
}

// At most a few bursts before it is looked whether to stop.
bool WireReplay::send_what_is_due(const Stop& stop) {
  constexpr int kBursts = 16;
  for (int i = 0; i < kBursts; ++i) {
    const wire::Instant now = clock_.now();
    const std::size_t count = fill_burst(now);
    push_burst(count);
    if (next_ == nullptr) return false;
    if (count == 0) break;
    if (options_.listen) receive();
  }
  account();
  result_.stopped = stop(result_);
  return true;
}

std::size_t WireReplay::fill_burst(wire::Instant now) {
  std::size_t count = 0;
  while (count < kBurst && next_ != nullptr && begin_ + due_ <= now) {
    if (link_.tx_alloc({&burst_[count], 1}) == 0) {
      if (count == 0) wait_for_room();
      break;
    }
    link::Frame& frame = *burst_[count];
    frame.note.clear();
    if (wire::copy(next_->bytes, frame.append(next_->bytes.size())) != next_->bytes.size()) {
      link_.tx_cancel({&burst_[count], 1});
      ++result_.unsendable;
    } else {
      burst_due_[count++] = due_;
    }
    load();
  }
  return count;
}

void WireReplay::wait_for_room() {
  const wire::Instant now = clock_.now();
  link_.flush(now);
  clock_.wait_until(now + kNoRoom, -1);
}

void WireReplay::push_burst(std::size_t count) {
  if (count == 0) return;
  const wire::Instant now = clock_.now();
  const wire::Duration sent = now - begin_;
  for (std::size_t i = 0; i < count; ++i) {
    if (pacing_.paced()) result_.timing.on_sent(burst_due_[i], sent);
  }
  link_.tx_push(now, std::span(burst_).first(count));
  result_.duration = clock_.now() - begin_;
}

// What the link still holds goes out.
void WireReplay::flush() {
  constexpr int kMost = 10'000;
  for (int i = 0; i < kMost && link_.next_deadline() != wire::kNever; ++i) {
    wait_for_room();
    result_.duration = clock_.now() - begin_;
  }
}

void WireReplay::receive() {
  std::array<link::Frame*, kBurst> frames{};
  const wire::Instant now = clock_.now();
  const std::size_t count = link_.rx_burst(now, frames);
  for (std::size_t i = 0; i < count; ++i) {
    ++result_.received;
    result_.received_bytes += frames[i]->size();
  }
  link_.rx_release(std::span(frames).first(count));
}

void WireReplay::linger(const Stop& stop) {
  const wire::Instant end = clock_.now() + options_.linger;
  for (;;) {
    receive();
    const wire::Instant now = clock_.now();
    if (now >= end || result_.stopped) return;
    result_.stopped = stop(result_);
    clock_.wait_until(std::min(end, link_.next_deadline()), link_.descriptor());
    link_.flush(clock_.now());
  }
}

void WireReplay::account() {
  const link::Link::Statistics& now = link_.statistics();
  result_.sent = now.tx_frames - sent_before_;
  result_.sent_bytes = now.tx_bytes - bytes_before_;
  result_.dropped = now.tx_dropped - dropped_before_;
}

}  // namespace softrnic::replay
