// SPDX-License-Identifier: BSD-3-Clause
#include "device.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "connected_queue_pair.hpp"
#include "failure.hpp"
#include "interruption.hpp"
#include "payload_pattern.hpp"

namespace softrnic::tools {

namespace {

std::string specification_of(const DeviceOptions& options) {
  if (options.host.empty()) return options.link;
  if (!options.link.starts_with("shm:")) {
    fail_usage("--host {}: only a link shm:NAME has hosts", options.host);
  }
  return options.link + ",host=" + options.host;
}

// Two NICs started with one seed must still differ, so link and addresses take part.
wire::MacAddress make_mac(const DeviceOptions& options) {
  std::uint64_t key = options.seed;
  for (const char c : options.link) key = mix_key(key, static_cast<unsigned char>(c));
  for (const nic::InterfaceAddress& address : options.addresses) {
    for (const std::uint8_t byte : address.address.bytes) key = mix_key(key, byte);
  }
  wire::MacAddress mac;
  for (std::size_t i = 0; i < mac.bytes.size(); ++i) {
    mac.bytes[i] = static_cast<std::uint8_t>(key >> (8 * i));
  }
  // Locally administered, not a group (IEEE 802, 8.2.2).
  mac.bytes[0] = static_cast<std::uint8_t>((mac.bytes[0] & 0xfc) | 0x02);
  return mac;
}

int preference(const nic::GidEntry& entry) {
  if (entry.version != wire::RoceVersion::v2) return 0;
  if (entry.gid.is_ipv4_mapped()) return 3;
  return entry.gid.is_link_local() ? 1 : 2;
}

}  // namespace

std::unique_ptr<link::Link> open_link(const DeviceOptions& options) {
  catch_interruptions();
  if (options.link.empty()) {
    fail_usage(
        "--link is missing: give shm:NAME, udp:ADDRESS, tap:NAME, packet:IFACE or xdp:IFACE");
  }
  auto link = link::open_link(specification_of(options), options.link_mtu);
  if (!link) fail("{}", link.error().message);
  return std::move(link).value();
}

namespace {

// Where the kernel writes the headers, it writes its own.
void require_possible(const DeviceOptions& options, const link::Capabilities& link) {
  if (!link.kernel_headers) return;
  if (options.vlan) fail_usage("--vlan: {} carries no VLAN tags; leave it out", link.name);
  for (const nic::InterfaceAddress& address : options.addresses) {
    const auto& own = link.identity->addresses;
    const bool known = std::any_of(own.begin(), own.end(), [&address](const auto& entry) {
      return entry.ip == address.address;
    });
    if (!known) {
      fail_usage("--ip {}: the address of {} is the one in its name; leave --ip out",
                 address.to_string(), link.name);
    }
  }
}

}  // namespace

Device::Device(const DeviceOptions& options) : Device(options, open_link(options)) {}

Device::Device(const DeviceOptions& options, std::unique_ptr<link::Link> link)
    : options_(options), link_name_(link->capabilities().name) {
  require_possible(options, link->capabilities());
  nic::NicConfig config;
  const std::optional<link::Identity>& identity = link->capabilities().identity;
  if (options.mac) {
    config.mac = *options.mac;
  } else {
    config.mac = identity ? identity->mac : make_mac(options);
  }
  config.addresses = options.addresses;
  if (identity && config.addresses.empty()) {
    for (const auto& [ip, prefix_length] : identity->addresses) {
      config.addresses.push_back({ip, prefix_length});
    }
  }
  config.vlan = options.vlan;
  config.limits = options.limits;
  config.seed = mix_key(options.seed, config.mac.bytes[5] << 8 | config.mac.bytes[4]);
  nic_ = std::make_unique<nic::Nic>(config, wrap(std::move(link)));
}

Device::~Device() = default;

std::unique_ptr<link::Link> Device::wrap(std::unique_ptr<link::Link> link) {
  if (!options_.capture_path.empty()) {
    auto file = link::CaptureFile::create(options_.capture_path);
    if (!file) fail("{}", file.error().message);
    capture_ = std::move(file).value();
  }
  if (options_.faults.empty()) {
    return capture_ ? link::capture(std::move(link), capture_, link_name_) : std::move(link);
  }
  fabric::FaultOptions fault_options;
  fault_options.seed = options_.seed;
  fault_options.connected = connected_queue_pair(nic_);
  if (!capture_) {
    auto faults = fabric::inject_faults(std::move(link), options_.faults, fault_options);
    fault_counts_ = &faults->counts();
    return faults;
  }
  auto faults =
      fabric::inject_faults(std::move(link), options_.faults, fault_options, capture_, link_name_);
  fault_counts_ = faults.counts;
  return std::move(faults.link);
}

std::string Device::describe() const {
  return fmt::format("{}, MAC {}, seed {}", link_name_, nic_->mac().to_string(), options_.seed);
}

std::string Device::fault_report() const {
  if (fault_counts_ == nullptr) return {};
  std::string report;
  const auto& applied = fault_counts_->applied;
  for (std::size_t i = 0; i < options_.faults.size() && i < applied.size(); ++i) {
    report += fmt::format("  fault '{}': {} times\n", options_.faults[i].text, applied[i]);
  }
  return report;
}

void Device::require_path_mtu(std::uint32_t path_mtu) const {
  if (path_mtu > nic_->limits().path_mtu) {
    fail("--mtu {}: the limit max_mtu={} allows less; give a smaller -m, or --limit max_mtu={}",
         path_mtu, nic_->limits().path_mtu, path_mtu);
  }
  if (path_mtu > nic_->active_mtu()) {
    fail("--mtu {}: {} carries a path MTU of {} at most; give a smaller -m, or --link-mtu {}",
         path_mtu, link_name_, nic_->active_mtu(), path_mtu + wire::kHeadroom);
  }
}

void Device::close_capture() {
  if (capture_ == nullptr) return;
  if (!capture_->close()) {
    throw Failure(kNotWritten,
                  fmt::format("{} is incomplete: it could not be written (is the disk full?)",
                              options_.capture_path));
  }
  capture_.reset();
}

std::uint32_t choose_gid(const nic::GidTable& gids, std::optional<std::uint32_t> wanted) {
  const auto entries = gids.entries();
  if (wanted) {
    if (gids.find(*wanted) == nullptr) {
      fail_usage("--gid-idx {}: the NIC has the GIDs 0 to {}; see softrnic info", *wanted,
                 entries.size() - 1);
    }
    return *wanted;
  }
  std::size_t best = 0;
  for (std::size_t i = 1; i < entries.size(); ++i) {
    if (preference(entries[i]) > preference(entries[best])) best = i;
  }
  return static_cast<std::uint32_t>(best);
}

}  // namespace softrnic::tools
