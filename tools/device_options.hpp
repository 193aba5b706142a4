// SPDX-License-Identifier: BSD-3-Clause
// The options every subcommand with a NIC shares, parsed once: link, addresses, MAC, VLAN, limits,
// faults, seed, capture.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "fabric/fault_rule.hpp"
#include "nic/device_limits.hpp"
#include "nic/gid_table.hpp"
#include "wire/ethernet.hpp"
#include "wire/opcode.hpp"

namespace softrnic::tools {

class CommandLine;

struct DeviceOptions {
  // "shm:NAME", "udp:ADDRESS", "tap:NAME", "packet:IFACE", "xdp:IFACE"; empty: none given
  std::string link;
  std::string host;  // of a shm link
  std::uint32_t link_mtu = 0;
  std::vector<nic::InterfaceAddress> addresses;
  std::optional<wire::MacAddress> mac;
  std::optional<wire::VlanTag> vlan;
  nic::DeviceLimits limits;
  std::vector<fabric::FaultRule> faults;
  std::uint64_t seed = 0;  // never zero after parsing: drawn when not given
  bool seed_given = false;
  std::string capture_path;  // empty: no capture

  // Adds the options to `command_line`, under their own heading.
  void add_to(CommandLine& command_line);
  // Only what the NIC is: link, addresses, MAC, VLAN, limits, seed.
  void add_identity_to(CommandLine& command_line);
  // After parse(): draws what was not given.
  void complete();

 private:
  void add_seed_to(CommandLine& command_line);
  // What becomes of its frames: faults, capture.
  void add_traffic_to(CommandLine& command_line);
};

// Each throws a Failure that names the option and shows a right value.
nic::InterfaceAddress parse_interface_address(const std::string& text);
wire::MacAddress parse_mac_address(const std::string& text);
wire::VlanTag parse_vlan(const std::string& text);  // "100" or "100:3"
// "max_qp=1000".
void parse_limit(const std::string& text, nic::DeviceLimits& limits);
fabric::FaultRule parse_fault(const std::string& text);
std::string parse_capture_path(const std::string& text);
std::uint32_t parse_path_mtu(const std::string& text);
wire::Service parse_service(const std::string& text);  // "rc", "uc", "ud"
// A fault script: TOML or JSON as its name says, or one rule a line. `option`: who named it.
std::vector<fabric::FaultRule> read_fault_script(const std::string& path,
                                                 std::string_view option = "--script");
// The option --script, whose rules are appended to `faults`. `given`, if not null, becomes true
// when there is one, even without a rule.
void add_script_to(CommandLine& command_line, std::vector<fabric::FaultRule>& faults,
                   bool* given = nullptr);

// An unpredictable seed, for when the user gave none. Never zero.
std::uint64_t draw_seed();

}  // namespace softrnic::tools
