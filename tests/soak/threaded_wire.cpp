// SPDX-License-Identifier: BSD-3-Clause
#include "soak/threaded_wire.hpp"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstring>
#include <deque>
#include <mutex>
#include <vector>

#include "link/frame_pool.hpp"
#include "wire/ethernet.hpp"

namespace softrnic::soak {

namespace {

using Bytes = std::vector<std::byte>;

// One direction.
class Lane {
 public:
  explicit Lane(std::size_t ring) : ring_(ring) {}

  bool push(Bytes frame) {
    const std::lock_guard lock(mutex_);
    if (frames_.size() == ring_) return false;
    frames_.push_back(std::move(frame));
    arrived_.notify_one();
    return true;
  }
  bool pop(Bytes& frame) {
    const std::lock_guard lock(mutex_);
    if (frames_.empty()) return false;
    frame = std::move(frames_.front());
    frames_.pop_front();
    return true;
  }
  void wait(wire::Duration patience) {
    std::unique_lock lock(mutex_);
    arrived_.wait_for(lock, patience, [this] { return !frames_.empty(); });
  }

 private:
  std::size_t ring_;
  std::mutex mutex_;
  std::condition_variable arrived_;
  std::deque<Bytes> frames_;
};

class Port final : public ThreadedPort {
 public:
  Port(std::string name, std::uint32_t mtu, std::shared_ptr<Lane> in, std::shared_ptr<Lane> out)
      : in_(std::move(in)),
        out_(std::move(out)),
        pool_(wire::kHeadroom + wire::EthernetHeader::kMaxSize + mtu) {
    capabilities_.name = std::move(name);
    capabilities_.mtu = mtu;
    pool_.grow(1024);
  }

  const link::Capabilities& capabilities() const override { return capabilities_; }
  std::size_t tx_alloc(std::span<link::Frame*> out) override { return pool_.allocate(out); }
  void tx_push(wire::Instant, std::span<link::Frame* const> frames) override {
    for (link::Frame* frame : frames) send(*frame);
    pool_.release(frames);
  }
  void tx_cancel(std::span<link::Frame* const> frames) override { pool_.release(frames); }
  std::size_t rx_burst(wire::Instant now, std::span<link::Frame*> out) override {
    std::size_t n = 0;
    while (n < out.size()) {
      link::Frame* frame = pool_.allocate();
      if (frame == nullptr) break;
      if (!in_->pop(bytes_)) {
        pool_.release(frame);
        break;
      }
      wire::copy(wire::ByteView(bytes_), frame->append(bytes_.size()));
      frame->received_at = now;
      statistics_.rx_bytes += bytes_.size();
      ++statistics_.rx_frames;
      out[n++] = frame;
    }
    return n;
  }
  void rx_release(std::span<link::Frame* const> frames) override { pool_.release(frames); }
  int descriptor() const override { return -1; }
  const Statistics& statistics() const override { return statistics_; }
  void wait(wire::Duration patience) override { in_->wait(patience); }

 private:
  void send(const link::Frame& frame) {
    Bytes bytes(frame.size());
    frame.bytes().copy_to(0, bytes);
    statistics_.tx_bytes += bytes.size();
    ++(out_->push(std::move(bytes)) ? statistics_.tx_frames : statistics_.tx_dropped);
  }

  std::shared_ptr<Lane> in_;
  std::shared_ptr<Lane> out_;
  link::FramePool pool_;
  link::Capabilities capabilities_;
  Statistics statistics_;
  Bytes bytes_;
};

}  // namespace

std::pair<std::unique_ptr<ThreadedPort>, std::unique_ptr<ThreadedPort>> make_threaded_wire(
    std::uint32_t mtu, std::size_t ring) {
  const auto there = std::make_shared<Lane>(ring);
  const auto back = std::make_shared<Lane>(ring);
  return {std::make_unique<Port>("port0", mtu, back, there),
          std::make_unique<Port>("port1", mtu, there, back)};
}

}  // namespace softrnic::soak
