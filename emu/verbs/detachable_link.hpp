// SPDX-License-Identifier: BSD-3-Clause
// A link that can be taken away from under its NIC: at the end of a process the link is given back,
// while queue pairs that the program will yet destroy live on, and say nothing.
#pragma once

#include <memory>

#include "link/link.hpp"

namespace softrnic::verbs {

class DetachableLink final : public link::Link {
 public:
  explicit DetachableLink(std::unique_ptr<link::Link> inner)
      : inner_(std::move(inner)), capabilities_(inner_->capabilities()) {}

  // Frames that are on loan are never to be looked at again.
  void detach() {
    last_ = inner_->statistics();
    inner_.reset();
  }

  const link::Capabilities& capabilities() const override { return capabilities_; }
  std::size_t tx_alloc(std::span<link::Frame*> out) override {
    return inner_ ? inner_->tx_alloc(out) : 0;
  }
  void tx_push(wire::Instant now, std::span<link::Frame* const> frames) override {
    if (inner_) inner_->tx_push(now, frames);
  }
  void set_patient(bool patient) override {
    if (inner_) inner_->set_patient(patient);
  }
  void tx_cancel(std::span<link::Frame* const> frames) override {
    if (inner_) inner_->tx_cancel(frames);
  }
  std::size_t rx_burst(wire::Instant now, std::span<link::Frame*> out) override {
    return inner_ ? inner_->rx_burst(now, out) : 0;
  }
  void rx_release(std::span<link::Frame* const> frames) override {
    if (inner_) inner_->rx_release(frames);
  }
  wire::Instant next_deadline() const override {
    return inner_ ? inner_->next_deadline() : wire::kNever;
  }
  void flush(wire::Instant now) override {
    if (inner_) inner_->flush(now);
  }
  void set_local_addresses(const wire::MacAddress& mac, std::span<const wire::Gid> ips) override {
    if (inner_) inner_->set_local_addresses(mac, ips);
  }
  bool gone() const override { return !inner_ || inner_->gone(); }
  int descriptor() const override { return inner_ ? inner_->descriptor() : -1; }
  bool prepare_wait() override { return !inner_ || inner_->prepare_wait(); }
  const Statistics& statistics() const override { return inner_ ? inner_->statistics() : last_; }

 private:
  std::unique_ptr<link::Link> inner_;
  link::Capabilities capabilities_;
  Statistics last_;
};

}  // namespace softrnic::verbs
