// SPDX-License-Identifier: BSD-3-Clause
// The two links between a NIC of the stage and the wire, with the faults between them.
#pragma once

#include <memory>

#include "link/capture_link.hpp"
#include "link/link.hpp"

namespace softrnic::pcaps {

// Passes everything on to another link.
class PassThrough : public link::Link {
 public:
  explicit PassThrough(std::unique_ptr<link::Link> inner) : inner_(std::move(inner)) {}

  const link::Capabilities& capabilities() const override { return inner_->capabilities(); }
  std::size_t tx_alloc(std::span<link::Frame*> out) override { return inner_->tx_alloc(out); }
  void tx_push(wire::Instant now, std::span<link::Frame* const> frames) override {
    inner_->tx_push(now, frames);
  }
  void tx_cancel(std::span<link::Frame* const> frames) override { inner_->tx_cancel(frames); }
  std::size_t rx_burst(wire::Instant now, std::span<link::Frame*> out) override {
    return inner_->rx_burst(now, out);
  }
  void rx_release(std::span<link::Frame* const> frames) override { inner_->rx_release(frames); }
  wire::Instant next_deadline() const override { return inner_->next_deadline(); }
  void flush(wire::Instant now) override { inner_->flush(now); }
  void set_local_addresses(const wire::MacAddress& mac, std::span<const wire::Gid> ips) override {
    inner_->set_local_addresses(mac, ips);
  }
  int descriptor() const override { return inner_->descriptor(); }
  const Statistics& statistics() const override { return inner_->statistics(); }

 private:
  std::unique_ptr<link::Link> inner_;
};

// Sends the frames of a burst one after the other, each with the time it takes on the wire, as a
// reader of a capture expects.
class OneByOne final : public PassThrough {
 public:
  using PassThrough::PassThrough;
  // A frame of 400 bytes at 10 Gbit/s.
  static constexpr wire::Duration kFrameTime = std::chrono::nanoseconds(320);

  void tx_push(wire::Instant now, std::span<link::Frame* const> frames) override {
    for (link::Frame* const& frame : frames) {
      PassThrough::tx_push(now, {&frame, 1});
      now += kFrameTime;
    }
  }
};

// Writes what is sent to the capture once the curtain is up; before, nothing reaches the wire.
class Recorder final : public PassThrough {
 public:
  Recorder(std::unique_ptr<link::Link> inner, std::shared_ptr<link::CaptureFile> file,
           std::uint32_t interface, const bool& curtain_up)
      : PassThrough(std::move(inner)),
        file_(std::move(file)),
        interface_(interface),
        curtain_up_(curtain_up) {}

  void tx_push(wire::Instant now, std::span<link::Frame* const> frames) override {
    if (!curtain_up_) return tx_cancel(frames);
    for (const link::Frame* frame : frames) {
      file_->write(now, interface_, link::Direction::outbound, frame->bytes(), frame->note);
    }
    PassThrough::tx_push(now, frames);
  }

 private:
  std::shared_ptr<link::CaptureFile> file_;
  std::uint32_t interface_;
  const bool& curtain_up_;
};

}  // namespace softrnic::pcaps
