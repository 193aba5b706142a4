// SPDX-License-Identifier: BSD-3-Clause
// The link of a NIC that is being fuzzed: what arrives is put there, and what leaves is checked to
// be well-formed.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <vector>

#include "fuzz/require.hpp"
#include "link/link.hpp"
#include "wire/packet_view.hpp"

namespace softrnic::fuzz {

// A link whose received frames end where their memory ends, so that a read beyond is seen.
class FuzzLink final : public link::Link {
 public:
  static constexpr std::uint32_t kMtu = 1500;
  using Bytes = std::vector<std::byte>;

  // `on_sent` is told each frame that leaves; may be empty.
  explicit FuzzLink(const wire::MacAddress& own_mac, std::function<void(Bytes)> on_sent = {})
      : own_mac_(own_mac), on_sent_(std::move(on_sent)) {
    capabilities_.name = "fuzz";
    capabilities_.mtu = kMtu;
    for (auto& slot : transmit_) {
      slot.bytes.resize(wire::kHeadroom + wire::EthernetHeader::kMaxSize + kMtu);
      slot.frame.set_segment(0, slot.bytes.data(), static_cast<std::uint32_t>(slot.bytes.size()));
      free_.push_back(&slot.frame);
    }
  }

  void arrive(const Bytes& bytes, bool split) {
    auto received = std::make_unique<Received>();
    // Links give all headers in the first segment.
    std::size_t begin = 0;
    const std::size_t pieces = split ? 3 : 1;
    for (std::size_t i = 0; i < pieces && begin < bytes.size(); ++i) {
      const std::size_t rest = bytes.size() - begin;
      const std::size_t n =
          i + 1 == pieces ? rest : std::min(rest, i == 0 ? std::size_t{128} : rest / 2);
      received->pieces[i].assign(bytes.begin() + static_cast<std::ptrdiff_t>(begin),
                                 bytes.begin() + static_cast<std::ptrdiff_t>(begin + n));
      received->pieces[i].shrink_to_fit();
      begin += n;
      const auto size = static_cast<std::uint32_t>(n);
      received->frame.set_received(i, received->pieces[i].data(), size, 0, size);
    }
    waiting_.push_back(std::move(received));
  }

  std::size_t sent() const { return sent_; }

  const link::Capabilities& capabilities() const override { return capabilities_; }
  std::size_t tx_alloc(std::span<link::Frame*> out) override {
    std::size_t n = 0;
    while (n < out.size() && !free_.empty()) {
      out[n] = free_.back();
      free_.pop_back();
      out[n++]->reset();
    }
    return n;
  }
  void tx_push(wire::Instant, std::span<link::Frame* const> frames) override {
    for (link::Frame* frame : frames) take(*frame);
    sent_ += frames.size();
    tx_cancel(frames);
  }
  void tx_cancel(std::span<link::Frame* const> frames) override {
    free_.insert(free_.end(), frames.begin(), frames.end());
    require(free_.size() <= transmit_.size(), "no frame is given back twice");
  }
  std::size_t rx_burst(wire::Instant, std::span<link::Frame*> out) override {
    std::size_t n = 0;
    while (n < out.size() && !waiting_.empty()) {
      lent_.push_back(std::move(waiting_.front()));
      waiting_.pop_front();
      out[n++] = &lent_.back()->frame;
    }
    return n;
  }
  void rx_release(std::span<link::Frame* const> frames) override {
    require(frames.size() == lent_.size(), "received frames are given back");
    lent_.clear();
  }
  int descriptor() const override { return -1; }
  const Statistics& statistics() const override { return statistics_; }

 private:
  struct Received {
    link::Frame frame;
    std::array<std::vector<std::byte>, 3> pieces;
  };
  struct Slot {
    link::Frame frame;
    std::vector<std::byte> bytes;
  };

  void take(const link::Frame& frame) {
    check(frame);
    if (!on_sent_) return;
    Bytes bytes(frame.size());
    frame.bytes().copy_to(0, bytes);
    on_sent_(std::move(bytes));
  }

  void check(const link::Frame& frame) const {
    const wire::ByteView bytes = frame.bytes().front();
    const auto ethernet = wire::EthernetHeader::parse(bytes);
    require(ethernet.has_value(), "a sent frame has an Ethernet header");
    require(ethernet->source == own_mac_, "a sent frame is from the NIC");
    require(frame.size() <= ethernet->size() + kMtu, "a sent frame fits the MTU");
    if (ethernet->ethertype == wire::ethertype::kArp) return;
    const auto packet = wire::PacketView::parse(frame.bytes());
    if (!packet) {
      require(packet.error() == wire::ParseError::not_roce, "a sent RoCE frame parses");
      return;
    }
    require(packet->icrc_ok(), "a sent RoCE frame has a right ICRC");
    require(packet->size() == frame.size(), "a sent RoCE frame has no trailer");
  }

  wire::MacAddress own_mac_;
  std::function<void(Bytes)> on_sent_;
  link::Capabilities capabilities_;
  Statistics statistics_;
  std::array<Slot, 64> transmit_;
  std::vector<link::Frame*> free_;
  std::deque<std::unique_ptr<Received>> waiting_;
  std::vector<std::unique_ptr<Received>> lent_;
  std::size_t sent_ = 0;
};

}  // namespace softrnic::fuzz
