// SPDX-License-Identifier: BSD-3-Clause
#include "replay_stage.hpp"

#include <algorithm>

#include "failure.hpp"
#include "interruption.hpp"
#include "nic/event_loop.hpp"
#include "patience.hpp"
#include "payload_pattern.hpp"
#include "vanished_link.hpp"

namespace softrnic::tools {

namespace {

// What one turn of both NICs takes: about a burst on a 100 Gbit/s wire.
constexpr wire::Duration kTurn = std::chrono::microseconds(1);
constexpr std::uint32_t kWireMtu = 9216;
constexpr std::size_t kWireRing = 4096;
// So often a Ctrl-C is looked for under the clock of its own.
constexpr std::uint32_t kTurnsBetweenLooks = 1024;

class LiveStage final : public ReplayStage {
 public:
  explicit LiveStage(const DeviceOptions& device) : device_(device) {}

  nic::Nic& nic() override { return device_.nic(); }
  wire::Instant now() override { return nic::real_now(); }
  std::string describe() const override { return device_.describe(); }
  void close_capture() override { device_.close_capture(); }

  bool run(const std::function<bool()>& done, const std::function<wire::Instant()>& next_deadline,
           wire::Duration limit) override {
    nic::EventLoop loop(nic());
    const Interruption interruption(loop);
    const auto received = [this] { return nic().counters().rcvd_pkts; };
    Patience patience(limit, received(), now());
    while (true) {
      const wire::Instant due = next_deadline();
      // Who waits for a moment of its own is not kept waiting.
      const wire::Instant until = due == wire::kNever ? patience.deadline() : due;
      const bool finished = loop.run_until(
          [&] {
            patience.note(received(), nic::real_now);
            return done() || next_deadline() < until;
          },
          until);
      if (done()) return true;
      require_link(nic());
      if (interrupted()) return false;
      if (!finished && next_deadline() == wire::kNever && now() >= patience.deadline())
        return false;
    }
  }

 private:
  Device device_;
};

nic::InterfaceAddress interface_of(const wire::Gid& address) {
  nic::InterfaceAddress interface;
  interface.address = address;
  interface.prefix_length = address.is_ipv4_mapped() ? 24 : 64;
  return interface;
}

}  // namespace

std::unique_ptr<ReplayStage> make_live_stage(const DeviceOptions& device) {
  return std::make_unique<LiveStage>(device);
}

MemoryStage::MemoryStage(const DeviceOptions& device, const StageAddresses& addresses,
                         wire::Instant start)
    : now_(start), wire_(kWireMtu, kWireRing), seed_(device.seed) {
  DeviceOptions ours = device;
  if (ours.addresses.empty()) ours.addresses = {interface_of(addresses.ours)};
  device_ = std::make_unique<Device>(ours, wire_.attach("memory"));
  nic::NicConfig theirs;
  theirs.addresses = {interface_of(addresses.theirs)};
  theirs.mac = device_->nic().mac();
  theirs.mac.bytes[5] ^= 1;
  theirs.vlan = device.vlan;
  theirs.seed = mix_key(device.seed, 2);
  theirs.first_qpn = 0x1001;
  far_ = std::make_unique<nic::Nic>(theirs, wire_.attach("peer"));
  for (const nic::GidEntry& entry : far_->gids().entries()) {
    device_->nic().add_neighbor(entry.gid, far_->mac());
  }
  for (const nic::GidEntry& entry : device_->nic().gids().entries()) {
    far_->add_neighbor(entry.gid, device_->nic().mac());
  }
}

MemoryStage::~MemoryStage() = default;

std::string MemoryStage::describe() const {
  return fmt::format("a wire in memory, seed {}", seed_);
}

bool MemoryStage::run(const std::function<bool()>& done,
                      const std::function<wire::Instant()>& next_deadline, wire::Duration limit) {
  catch_interruptions();
  const auto received = [this] { return nic().counters().rcvd_pkts; };
  Patience patience(limit, received(), now_);
  for (std::uint32_t turns = 0; !done(); ++turns) {
    if (turns % kTurnsBetweenLooks == 0 && interrupted()) return false;
    bool busy = nic().turn(now_);
    busy = far_->turn(now_) || busy;
    if (far_side_ != nullptr) busy = far_side_->turn(now_) || busy;
    patience.note(received(), [this] { return now_; });
    if (busy) {
      now_ += kTurn;
      continue;
    }
    if (done()) return true;
    wire::Instant next = std::min(nic().next_deadline(), far_->next_deadline());
    const wire::Instant due = next_deadline();
    next = std::min(next, due == wire::kNever ? patience.deadline() : due);
    if (far_side_ != nullptr) next = std::min(next, far_side_->next_deadline());
    if (next == wire::kNever) return false;
    now_ = std::max(now_ + wire::Duration(1), next);
    if (due == wire::kNever && now_ >= patience.deadline()) return false;
  }
  return true;
}

}  // namespace softrnic::tools
