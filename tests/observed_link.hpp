// SPDX-License-Identifier: BSD-3-Clause
// A wrapper that keeps account of a link's frames, shows them to a test, and can cut the cable.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "link/capture_link.hpp"
#include "link/link.hpp"

namespace softrnic::test {

// What the test sees of an observed link, outliving it.
struct LinkAccount {
  std::int64_t lent = 0;  // frames now on loan; 0 once everything above the link is gone
  bool cut = false;       // frames vanish both ways
  std::function<void(wire::Instant, link::Direction, const wire::ByteChain&)> on_frame;
};

class ObservedLink final : public link::Link {
 public:
  ObservedLink(std::unique_ptr<link::Link> inner, std::shared_ptr<LinkAccount> account)
      : inner_(std::move(inner)), account_(std::move(account)) {}

  const link::Capabilities& capabilities() const override { return inner_->capabilities(); }

  std::size_t tx_alloc(std::span<link::Frame*> out) override {
    const std::size_t n = inner_->tx_alloc(out);
    account_->lent += static_cast<std::int64_t>(n);
    return n;
  }
  void tx_push(wire::Instant now, std::span<link::Frame* const> frames) override {
    account_->lent -= static_cast<std::int64_t>(frames.size());
    if (account_->cut) return inner_->tx_cancel(frames);
    show(now, link::Direction::outbound, frames);
    inner_->tx_push(now, frames);
  }
  void tx_cancel(std::span<link::Frame* const> frames) override {
    account_->lent -= static_cast<std::int64_t>(frames.size());
    inner_->tx_cancel(frames);
  }
  std::size_t rx_burst(wire::Instant now, std::span<link::Frame*> out) override {
    const std::size_t n = inner_->rx_burst(now, out);
    if (account_->cut) {
      inner_->rx_release(out.first(n));
      return 0;
    }
    account_->lent += static_cast<std::int64_t>(n);
    show(now, link::Direction::inbound, out.first(n));
    return n;
  }
  void rx_release(std::span<link::Frame* const> frames) override {
    account_->lent -= static_cast<std::int64_t>(frames.size());
    inner_->rx_release(frames);
  }

  wire::Instant next_deadline() const override { return inner_->next_deadline(); }
  void flush(wire::Instant now) override { inner_->flush(now); }
  void set_local_addresses(const wire::MacAddress& mac, std::span<const wire::Gid> ips) override {
    inner_->set_local_addresses(mac, ips);
  }
  int descriptor() const override { return inner_->descriptor(); }
  const Statistics& statistics() const override { return inner_->statistics(); }

 private:
  void show(wire::Instant now, link::Direction direction,
            std::span<link::Frame* const> frames) const {
    if (!account_->on_frame) return;
    for (const link::Frame* frame : frames) account_->on_frame(now, direction, frame->bytes());
  }

  std::unique_ptr<link::Link> inner_;
  std::shared_ptr<LinkAccount> account_;
};

}  // namespace softrnic::test
