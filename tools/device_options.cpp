// SPDX-License-Identifier: BSD-3-Clause
#include "device_options.hpp"

#include <cerrno>
#include <cstring>
#include <fstream>
#include <random>

#include "command_line.hpp"
#include "fabric/fault_file.hpp"
#include "failure.hpp"

namespace softrnic::tools {

namespace {

constexpr std::uint32_t kLeastLinkMtu = 576;
constexpr std::uint32_t kMostLinkMtu = 9216;
// A fault script has some hundred rules at most; what is larger is another file.
constexpr std::size_t kMostScriptBytes = 1 << 20;
constexpr std::uint16_t kMostVlanId = 4094;  // 4095 is reserved (IEEE 802.1Q, 9.6)

// The five of IBTA vol. 1, 5.2.3.
bool is_path_mtu(std::uint64_t bytes) {
  return bytes == 256 || bytes == 512 || bytes == 1024 || bytes == 2048 || bytes == 4096;
}

}  // namespace

nic::InterfaceAddress parse_interface_address(const std::string& text) {
  const auto address = nic::InterfaceAddress::from_string(text);
  if (!address) {
    fail_usage("--ip {}: not an address; give one such as 10.0.0.1/24 or fd00::1/64", text);
  }
  if (address->address.is_multicast() || address->address.is_zero()) {
    fail_usage("--ip {}: not the address of one host; give one such as 10.0.0.1/24", text);
  }
  return *address;
}

wire::MacAddress parse_mac_address(const std::string& text) {
  const auto mac = wire::MacAddress::from_string(text);
  if (!mac) fail_usage("--mac {}: not a MAC address; give one such as 02:00:00:00:00:01", text);
  if (mac->is_multicast() || *mac == wire::MacAddress{}) {
    fail_usage("--mac {}: not the address of one card; give one such as 02:00:00:00:00:01", text);
  }
  return *mac;
}

wire::VlanTag parse_vlan(const std::string& text) {
  const std::size_t colon = text.find(':');
  const auto id = parse_number(text.substr(0, colon));
  const auto priority = colon == std::string::npos ? std::optional<std::uint64_t>(0)
                                                   : parse_number(text.substr(colon + 1));
  if (!id || *id > kMostVlanId || !priority || *priority > 7) {
    fail_usage("--vlan {}: give an id from 0 to {}, or id:priority such as 100:3", text,
               kMostVlanId);
  }
  wire::VlanTag tag;
  tag.id = static_cast<std::uint16_t>(*id);
  tag.priority = static_cast<std::uint8_t>(*priority);
  return tag;
}

void parse_limit(const std::string& text, nic::DeviceLimits& limits) {
  const std::size_t equals = text.find('=');
  const nic::DeviceLimitName* limit = nic::find_device_limit(text.substr(0, equals));
  if (limit == nullptr || equals == std::string::npos) {
    fail_usage("--limit {}: give one that `softrnic info` shows, and a number, such as max_qp=1000",
               text);
  }
  const auto number = parse_number(text.substr(equals + 1));
  if (!number || *number > limit->most) {
    fail_usage("--limit {}: {} can be 0 to {}", text, limit->name, limit->most);
  }
  if (limit->value == &nic::DeviceLimits::path_mtu && !is_path_mtu(*number)) {
    fail_usage("--limit {}: {} must be 256, 512, 1024, 2048 or 4096", text, limit->name);
  }
  limits.*limit->value = *number;
}

fabric::FaultRule parse_fault(const std::string& text) {
  auto rule = fabric::FaultRule::parse(text);
  if (!rule) fail_usage("--fault '{}': {}", text, rule.error());
  return *rule;
}

std::string parse_capture_path(const std::string& text) {
  if (text.empty()) fail_usage("--write '': name a file, such as demo.pcapng");
  return text;
}

std::uint32_t parse_path_mtu(const std::string& text) {
  const auto mtu = parse_number(text);
  if (mtu && is_path_mtu(*mtu)) return static_cast<std::uint32_t>(*mtu);
  fail_usage("--mtu {}: must be 256, 512, 1024, 2048 or 4096", text);
}

wire::Service parse_service(const std::string& text) {
  if (text == "rc") return wire::Service::reliable_connection;
  if (text == "uc") return wire::Service::unreliable_connection;
  if (text == "ud") return wire::Service::unreliable_datagram;
  fail_usage("--service {}: must be rc, uc or ud", text);
}

std::vector<fabric::FaultRule> read_fault_script(const std::string& path, std::string_view option) {
  std::ifstream file(path);
  if (!file) fail_usage("{} {}: {}", option, path, std::strerror(errno));
  // At most one byte more than is allowed, however long the file or its lines are.
  std::string text(kMostScriptBytes + 1, '\0');
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  if (file.bad()) fail_usage("{} {}: cannot be read; name a file", option, path);
  text.resize(static_cast<std::size_t>(file.gcount()));
  if (text.size() > kMostScriptBytes) {
    fail_usage("{} {}: more than {} bytes; is it a fault script?", option, path, kMostScriptBytes);
  }
  auto rules = fabric::read_fault_file(text, fabric::script_form_of(path));
  if (!rules) fail_usage("{} {}, {}", option, path, rules.error());
  return *rules;
}

void add_script_to(CommandLine& command_line, std::vector<fabric::FaultRule>& faults, bool* given) {
  command_line.repeated("script", "FILE",
                        "fault rules from a file: FILE.toml or FILE.json, or else one rule a line",
                        [&faults, given](const std::string& text) {
                          if (given != nullptr) *given = true;
                          for (fabric::FaultRule& rule : read_fault_script(text)) {
                            faults.push_back(std::move(rule));
                          }
                        });
}

std::uint64_t draw_seed() {
  std::random_device device;
  // Short enough to be typed again.
  return (static_cast<std::uint64_t>(device()) & 0x7fffffff) + 1;
}

void DeviceOptions::add_to(CommandLine& command_line) {
  add_identity_to(command_line);
  add_traffic_to(command_line);
}

void DeviceOptions::add_identity_to(CommandLine& command_line) {
  command_line.heading("The emulated NIC");
  command_line.text("link", "LINK", link,
                    "where its frames go: shm:NAME (a segment shared with other programs of this "
                    "user), udp:ADDRESS (UDP port 4791 of an address of this machine), tap:NAME (a "
                    "tap interface, made if it is not there), packet:IFACE or "
                    "xdp:IFACE (an interface of this machine)");
  command_line.text("host", "NAME", host,
                    "shm: which host of the segment it is; programs of one host are one NIC "
                    "(default: a host of its own)");
  command_line.number("link-mtu", "BYTES", link_mtu, kLeastLinkMtu, kMostLinkMtu,
                      "MTU to give the link (default: what it has; 4200 carries a path MTU of "
                      "4096)");
  command_line.repeated(
      "ip", "ADDR/LEN", "an address of the NIC, IPv4 or IPv6; may be given several times",
      [this](const std::string& text) { addresses.push_back(parse_interface_address(text)); });
  command_line.option("mac", "MAC",
                      "its MAC address (default: made from the seed and the addresses)",
                      [this](const std::string& text) { mac = parse_mac_address(text); });
  command_line.option("vlan", "ID[:PRIO]", "tag its frames with this VLAN",
                      [this](const std::string& text) { vlan = parse_vlan(text); });
  command_line.repeated(
      "limit", "NAME=N",
      "what it can do at most, by a name that `softrnic info` shows: max_qp=1000, "
      "max_qp_rd_atom=1, ...; may be given several times",
      [this](const std::string& text) { parse_limit(text, limits); });
  add_seed_to(command_line);
}

void DeviceOptions::add_traffic_to(CommandLine& command_line) {
  command_line.repeated(
      "fault", "RULE",
      "injure its traffic: 'drop 5%', 'tx drop 3rd WRITE MIDDLE', 'corrupt icrc "
      "every 100th', ...; may be given several times, the first that applies acts",
      [this](const std::string& text) { faults.push_back(parse_fault(text)); });
  add_script_to(command_line, faults);
  command_line.option("write,w", "FILE",
                      "write every frame, and every fault as a comment, to this pcapng file",
                      [this](const std::string& text) { capture_path = parse_capture_path(text); });
}

void DeviceOptions::add_seed_to(CommandLine& command_line) {
  command_line.option("seed", "N", "source of every random choice (default: drawn, and printed)",
                      [this](const std::string& text) {
                        const auto number = parse_number(text);
                        if (!number || *number == 0) {
                          fail_usage("--seed {}: give a number from 1 to 2^64 - 1", text);
                        }
                        seed = *number;
                        seed_given = true;
                      });
}

void DeviceOptions::complete() {
  if (seed == 0) seed = draw_seed();
}

}  // namespace softrnic::tools
