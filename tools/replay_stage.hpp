// SPDX-License-Identifier: BSD-3-Clause
// Where a side of a recorded connection is played: its NIC, and who turns the crank. On a real link
// in real time, or on a wire in memory with the other side of the connection at its far end, under
// a clock of its own.
#pragma once

#include <functional>
#include <memory>

#include "device.hpp"
#include "link/memory_link.hpp"
#include "replay/side_replay.hpp"

namespace softrnic::tools {

class ReplayStage {
 public:
  virtual ~ReplayStage() = default;
  virtual nic::Nic& nic() = 0;
  virtual wire::Instant now() = 0;
  // "tap:rnic0, MAC ..., seed 17".
  virtual std::string describe() const = 0;
  // Turns until done(), which is asked after each turn, or until `limit` has gone by without the
  // NIC having received anything. False when it was not done. A Failure when the link is gone.
  virtual bool run(const std::function<bool()>& done,
                   const std::function<wire::Instant()>& next_deadline, wire::Duration limit) = 0;
  virtual void close_capture() = 0;
};

// On the link of `device`.
std::unique_ptr<ReplayStage> make_live_stage(const DeviceOptions& device);

// The address and RoCE version that a side of the connection had.
struct StageAddresses {
  wire::Gid ours;
  wire::Gid theirs;
};

class MemoryStage : public ReplayStage {
 public:
  MemoryStage(const DeviceOptions& device, const StageAddresses& addresses, wire::Instant start);
  ~MemoryStage() override;

  nic::Nic& nic() override { return device_->nic(); }
  nic::Nic& far_nic() { return *far_; }
  // Turned after the far NIC.
  void set_far_side(replay::SideReplay* side) { far_side_ = side; }
  wire::Instant now() override { return now_; }
  std::string describe() const override;
  bool run(const std::function<bool()>& done, const std::function<wire::Instant()>& next_deadline,
           wire::Duration limit) override;
  void close_capture() override { device_->close_capture(); }

 private:
  wire::Instant now_;
  link::MemoryWire wire_;
  std::unique_ptr<Device> device_;
  std::unique_ptr<nic::Nic> far_;
  replay::SideReplay* far_side_ = nullptr;
  std::uint64_t seed_;
};

}  // namespace softrnic::tools
