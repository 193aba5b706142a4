// SPDX-License-Identifier: BSD-3-Clause
#include "verbs/environment.hpp"

#include <algorithm>
#include <array>
#include <charconv>

#include "link/shm_directory.hpp"
#include "link/shm_host.hpp"
#include "link/shm_link.hpp"

namespace softrnic::verbs {
namespace {

constexpr std::string_view kShm = "shm:";
// IBV_SYSFS_NAME_MAX, with its terminating zero.
constexpr std::size_t kDeviceName = 64;

std::optional<std::uint64_t> number_in(std::string_view text) {
  std::uint64_t number = 0;
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, number);
  if (error != std::errc{} || stop != end) return std::nullopt;
  return number;
}

// Calls take(part) for each of a comma separated list, until one complains.
template <class Take>
std::string take_each(std::string_view text, Take take) {
  while (true) {
    const std::size_t comma = text.find(',');
    if (std::string wrong = take(text.substr(0, comma)); !wrong.empty()) return wrong;
    if (comma == std::string_view::npos) return {};
    text.remove_prefix(comma + 1);
  }
}

std::string take_link(std::string_view text, Environment& environment) {
  const std::size_t colon = text.find(':');
  const std::string_view kind = text.substr(0, colon);
  constexpr std::array<std::string_view, 5> kKinds = {"shm", "udp", "tap", "packet", "xdp"};
  if (std::find(kKinds.begin(), kKinds.end(), kind) == kKinds.end()) {
    return "there is no such link; use shm:NAME, udp:ADDRESS, tap:NAME, packet:INTERFACE or "
           "xdp:INTERFACE";
  }
  const std::string_view name =
      colon == std::string_view::npos ? std::string_view{} : text.substr(colon + 1);
  if (name.empty()) return "what is it called? Give " + std::string(kind) + ":NAME";
  if (kind == "shm") {
    const auto options = link::ShmOptions::parse(name);
    if (!options || !link::shm::valid_segment_name(options->segment)) {
      return "a segment is called by 1 to 64 letters, digits, '.', '_' and '-', and after the name "
             "there can be ,host=NAME";
    }
  }
  environment.link = text;
  return {};
}

std::string take_device(std::string_view text, Environment& environment) {
  // /dev/infiniband has both, and more that the kernel names.
  const bool taken = text.starts_with("uverbs") || text == "rdma_cm";
  if (!link::shm::valid_segment_name(text) || text.size() >= kDeviceName || taken) {
    return "a device is called by 1 to 63 letters, digits, '.', '_' and '-', such as softrnic0";
  }
  environment.device = text;
  return {};
}

std::string take_host(std::string_view text, Environment& environment) {
  if (!link::shm::valid_host_name(text)) {
    return "a host is called by 1 to 31 letters, digits, '.', '_' and '-', such as b";
  }
  environment.host = text;
  return {};
}

std::string take_addresses(std::string_view text, Environment& environment) {
  return take_each(text, [&environment](std::string_view part) -> std::string {
    const auto address = nic::InterfaceAddress::from_string(part);
    if (!address) return "not the address of a host; give such as 10.0.0.1/24 or fd00::1/64";
    environment.addresses.push_back(*address);
    return {};
  });
}

std::string take_mac(std::string_view text, Environment& environment) {
  const auto mac = wire::MacAddress::from_string(text);
  if (!mac || mac->is_multicast() || *mac == wire::MacAddress{}) {
    return "not the MAC address of a card; give one such as 02:00:00:00:00:01";
  }
  environment.mac = *mac;
  return {};
}

std::string take_mtu(std::string_view text, Environment& environment) {
  const auto mtu = number_in(text);
  // The five of IBTA vol. 1, 5.2.3.
  for (const std::uint32_t possible : {256, 512, 1024, 2048, 4096}) {
    if (mtu != possible) continue;
    environment.mtu = possible;
    return {};
  }
  return "must be 256, 512, 1024, 2048 or 4096";
}

std::string take_seed(std::string_view text, Environment& environment) {
  const auto seed = number_in(text);
  if (!seed || *seed == 0) return "give a number from 1 to 2^64 - 1";
  environment.seed = *seed;
  return {};
}

std::string take_limit(std::string_view text, nic::DeviceLimits& limits) {
  const std::size_t equals = text.find('=');
  const nic::DeviceLimitName* limit = nic::find_device_limit(text.substr(0, equals));
  if (limit == nullptr || equals == std::string_view::npos) {
    return "give one that `softrnic info` shows, and a number, such as max_qp=1000";
  }
  const auto number = number_in(text.substr(equals + 1));
  if (!number || *number > limit->most) {
    return std::string(limit->name) + " can be 0 to " + std::to_string(limit->most);
  }
  nic::DeviceLimits wanted = limits;
  wanted.*limit->value = *number;
  if (wanted.kept_possible() != wanted) {
    return std::string(limit->name) + " must be 256, 512, 1024, 2048 or 4096";
  }
  limits = wanted;
  return {};
}

std::string take_limits(std::string_view text, Environment& environment) {
  return take_each(
      text, [&environment](std::string_view part) { return take_limit(part, environment.limits); });
}

std::string give_addresses(const Environment& environment) {
  std::string text;
  for (const nic::InterfaceAddress& address : environment.addresses) {
    text += (text.empty() ? "" : ",") + address.to_string();
  }
  return text;
}

std::string give_limits(const Environment& environment) {
  const nic::DeviceLimits usual;
  std::string text;
  for (const nic::DeviceLimitName& limit : nic::device_limit_names()) {
    const std::uint64_t value = environment.limits.*limit.value;
    if (value == usual.*limit.value) continue;
    text += (text.empty() ? "" : ",") + std::string(limit.name) + '=' + std::to_string(value);
  }
  return text;
}

template <class Number>
std::string digits_of(const std::optional<Number>& number) {
  return number ? std::to_string(*number) : std::string{};
}

// Both are names of files: whatever opens them says what is wrong with them.
std::string take_faults(std::string_view text, Environment& environment) {
  environment.faults = text;
  return {};
}
std::string take_capture(std::string_view text, Environment& environment) {
  environment.capture = text;
  return {};
}

constexpr std::array kVariables{
    EnvironmentVariable{"SOFTRNIC_LINK", take_link, [](const Environment& e) { return e.link; }},
    EnvironmentVariable{"SOFTRNIC_DEVICE", take_device,
                        [](const Environment& e) { return e.device; }},
    EnvironmentVariable{"SOFTRNIC_HOST", take_host, [](const Environment& e) { return e.host; }},
    EnvironmentVariable{"SOFTRNIC_ADDRESSES", take_addresses, give_addresses},
    EnvironmentVariable{
        "SOFTRNIC_MAC", take_mac,
        [](const Environment& e) { return e.mac ? e.mac->to_string() : std::string{}; }},
    EnvironmentVariable{"SOFTRNIC_MTU", take_mtu,
                        [](const Environment& e) { return digits_of(e.mtu); }},
    EnvironmentVariable{"SOFTRNIC_FAULTS", take_faults,
                        [](const Environment& e) { return e.faults; }},
    EnvironmentVariable{"SOFTRNIC_SEED", take_seed,
                        [](const Environment& e) { return digits_of(e.seed); }},
    EnvironmentVariable{"SOFTRNIC_CAPTURE", take_capture,
                        [](const Environment& e) { return e.capture; }},
    EnvironmentVariable{"SOFTRNIC_LIMITS", take_limits, give_limits},
};

}  // namespace

std::span<const EnvironmentVariable> environment_variables() {
  return kVariables;
}

wire::Expected<Environment, std::string> Environment::read(const Lookup& lookup) {
  Environment environment;
  for (const EnvironmentVariable& variable : kVariables) {
    const char* text = lookup(variable.name.data());
    if (text == nullptr || *text == '\0') continue;
    const std::string wrong = variable.take(text, environment);
    if (!wrong.empty()) {
      return wire::Unexpected{std::string(variable.name) + '=' + text + ": " + wrong};
    }
  }
  return environment;
}

std::vector<std::pair<std::string, std::string>> Environment::variables() const {
  const Environment silent;
  std::vector<std::pair<std::string, std::string>> variables;
  for (const EnvironmentVariable& variable : kVariables) {
    std::string value = variable.give(*this);
    if (value != variable.give(silent)) variables.emplace_back(variable.name, std::move(value));
  }
  return variables;
}

std::string Environment::link_specification() const {
  const bool can_name_host = link.starts_with(kShm) && link.find(',') == std::string::npos;
  return can_name_host ? link + ",host=" + host : link;
}

std::string Environment::capture_path(std::int64_t process) const {
  constexpr std::string_view kProcess = "%p";
  std::string path = capture;
  const std::string digits = std::to_string(process);
  for (std::size_t at = path.find(kProcess); at != std::string::npos;
       at = path.find(kProcess, at + digits.size())) {
    path.replace(at, kProcess.size(), digits);
  }
  return path;
}

}  // namespace softrnic::verbs
