// SPDX-License-Identifier: BSD-3-Clause
// softrnic info: what a device would be like, and what this machine lets us open.
#include <fmt/format.h>

#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "command_line.hpp"
#include "device.hpp"
#include "failure.hpp"
#include "link/memory_link.hpp"
#include "link_probe.hpp"
#include "subcommands.hpp"
#include "wire/crc32.hpp"

namespace softrnic::tools {

namespace {

using Json = nlohmann::ordered_json;

struct Options {
  DeviceOptions device;
  bool json = false;
};

bool parse_options(int argc, char** argv, Options& options) {
  CommandLine line("info", "Usage: softrnic info [--link LINK] [--ip ADDR/LEN] [OPTIONS]",
                   "Shows the device as ibv_devinfo would, with its GIDs, and which links this\n"
                   "machine and user can open, or why not.",
                   "  softrnic info\n"
                   "  softrnic info --link tap:rnic0 --ip 10.77.0.9/24 --ip fd00:77::9/64\n");
  line.flag("json", options.json, "print one JSON object instead of text");
  options.device.add_identity_to(line);
  if (!line.parse(argc, argv)) return false;
  options.device.complete();
  return true;
}

// As ibv_devinfo shows a GUID: the MAC address with ff:fe in the middle (EUI-64).
std::string guid_of(const wire::MacAddress& mac) {
  const wire::Gid gid = wire::Gid::link_local(mac);
  std::string text;
  for (std::size_t i = 8; i < 16; i += 2) {
    text += fmt::format("{}{:02x}{:02x}", i == 8 ? "" : ":", gid.bytes[i], gid.bytes[i + 1]);
  }
  return text;
}

const char* version_name(wire::RoceVersion version) {
  return version == wire::RoceVersion::v1 ? "RoCE v1" : "RoCE v2";
}

// "2600:..." with every group, as ibv_devinfo -v shows GIDs.
std::string long_form(const wire::Gid& gid) {
  std::string text;
  for (std::size_t i = 0; i < gid.bytes.size(); i += 2) {
    text += fmt::format("{}{:02x}{:02x}", i == 0 ? "" : ":", gid.bytes[i], gid.bytes[i + 1]);
  }
  return text;
}

// With the number that ibv_mtu gives it: "1024 (3)".
std::string mtu_text(std::uint64_t bytes) {
  int code = 1;
  while (128u << code < bytes) ++code;
  return fmt::format("{} ({})", bytes, code);
}

void print_device(Device& device) {
  nic::Nic& nic = device.nic();
  const auto row = [](std::string_view name, const std::string& value) {
    fmt::print("\t{:<23} {}\n", fmt::format("{}:", name), value);
  };
  fmt::print("hca_id:\tsoftrnic ({})\n", device.link_name());
  row("transport", "InfiniBand (0)");
  row("fw_ver", SOFTRNIC_VERSION);
  row("node_guid", guid_of(nic.mac()));
  row("sys_image_guid", guid_of(nic.mac()));
  row("phys_port_cnt", "1");
  for (const nic::DeviceLimitName& limit : nic::device_limit_names()) {
    if (limit.name == "max_mtu" || limit.name == "max_msg_sz") continue;  // the port's, below
    row(limit.name, std::to_string(nic.limits().*limit.value));
  }
  fmt::print("\t\tport:\t1\n");
  const auto port_row = [](std::string_view name, const std::string& value) {
    fmt::print("\t\t\t{:<24}{}\n", fmt::format("{}:", name), value);
  };
  port_row("state", "PORT_ACTIVE (4)");
  port_row("max_mtu", mtu_text(nic.limits().path_mtu));
  port_row("active_mtu", mtu_text(nic.active_mtu()));
  port_row("max_msg_sz", fmt::format("{:#x}", nic.limits().message_bytes));
  port_row("link_mtu", std::to_string(nic.link().capabilities().mtu));
  port_row("link_layer", "Ethernet");
  port_row("mac", nic.mac().to_string());
  std::size_t index = 0;
  for (const nic::GidEntry& entry : nic.gids().entries()) {
    port_row(fmt::format("GID[{}]", index++),
             fmt::format("{}, {}{}", long_form(entry.gid), version_name(entry.version),
                         entry.gid.is_ipv4_mapped() ? "  (" + entry.gid.to_string() + ")" : ""));
  }
}

Json device_json(Device& device) {
  nic::Nic& nic = device.nic();
  Json limits = Json::object();
  for (const nic::DeviceLimitName& limit : nic::device_limit_names()) {
    limits[std::string(limit.name)] = nic.limits().*limit.value;
  }
  Json gids = Json::array();
  for (const nic::GidEntry& entry : nic.gids().entries()) {
    gids.push_back({{"index", gids.size()},
                    {"gid", long_form(entry.gid)},
                    {"address", entry.gid.to_string()},
                    {"roce", entry.version == wire::RoceVersion::v1 ? "v1" : "v2"}});
  }
  return {{"link", device.link_name()},
          {"mac", nic.mac().to_string()},
          {"node_guid", guid_of(nic.mac())},
          {"link_mtu", nic.link().capabilities().mtu},
          {"active_mtu", nic.active_mtu()},
          {"max_qp", nic.limits().queue_pairs},
          {"limits", limits},
          {"gids", gids}};
}

}  // namespace

int run_info(int argc, char** argv) {
  Options options;
  if (!parse_options(argc, argv, options)) return kSuccess;
  // Without a link the device is shown on a wire inside this process.
  link::MemoryWire wire(options.device.link_mtu != 0 ? options.device.link_mtu : 1500);
  const auto device = options.device.link.empty()
                          ? std::make_unique<Device>(options.device, wire.attach("memory"))
                          : std::make_unique<Device>(options.device);
  const std::vector<LinkProbe> probes = probe_links();
  const std::string crc{wire::to_string(wire::crc32_backend())};
  if (options.json) {
    Json root{{"version", SOFTRNIC_VERSION}, {"device", device_json(*device)}, {"icrc", crc}};
    for (const LinkProbe& probe : probes) {
      root["links"][probe.kind] = {{"usable", probe.usable}, {"reason", probe.reason}};
    }
    fmt::print("{}\n", root.dump(2));
    return kSuccess;
  }
  print_device(*device);
  fmt::print("\nICRC by {}\n\nLinks on this machine:\n", crc);
  for (const LinkProbe& probe : probes) {
    fmt::print("  {:<8}{}\n", probe.kind, probe.usable ? "usable" : "no: " + probe.reason);
  }
  return kSuccess;
}

}  // namespace softrnic::tools
