// SPDX-License-Identifier: BSD-3-Clause
// A NIC on its link, with capture and faults around it, as DeviceOptions describe it.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "device_options.hpp"
#include "fabric/fault_link.hpp"
#include "link/capture_link.hpp"
#include "nic/nic.hpp"

namespace softrnic::tools {

// The link alone, or a Failure.
std::unique_ptr<link::Link> open_link(const DeviceOptions& options);

class Device {
 public:
  // Opens everything or throws a Failure and leaves nothing behind.
  explicit Device(const DeviceOptions& options);
  // The same over a link that is there already.
  Device(const DeviceOptions& options, std::unique_ptr<link::Link> link);
  ~Device();

  nic::Nic& nic() { return *nic_; }
  const std::string& link_name() const { return link_name_; }
  // "tap:rnic0, MAC 02:..., seed 17", for the first line a tool prints.
  std::string describe() const;
  // How often each fault rule acted, "rule: N", one line each; empty without rules.
  std::string fault_report() const;

  // A Failure when the NIC's limits or its link carry less; it says which.
  void require_path_mtu(std::uint32_t path_mtu) const;

  // Ends the capture; a Failure when the file could not be written.
  void close_capture();

 private:
  std::unique_ptr<link::Link> wrap(std::unique_ptr<link::Link> link);

  DeviceOptions options_;
  std::string link_name_;
  std::shared_ptr<link::CaptureFile> capture_;
  const fabric::FaultCounts* fault_counts_ = nullptr;  // inside nic_, when there are rules
  std::unique_ptr<nic::Nic> nic_;
};

// The GID to use: the one asked for, else the first RoCE v2 one of an IPv4 address, else of an
// IPv6 address, a link-local one last.
std::uint32_t choose_gid(const nic::GidTable& gids, std::optional<std::uint32_t> wanted);

}  // namespace softrnic::tools
