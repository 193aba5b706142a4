// SPDX-License-Identifier: BSD-3-Clause
// What the environment of a process says its NIC shall be: the variables SOFTRNIC_*, which
// `softrnic run` and `softrnic env` set and the verbs library reads.
//
// All are optional, and one that is empty is as good as none:
//   SOFTRNIC_LINK       shm:NAME, udp:ADDRESS, tap:NAME, packet:INTERFACE or xdp:INTERFACE
//   SOFTRNIC_DEVICE     the device's name, as ibv_devices shows it
//   SOFTRNIC_HOST       shm: which host of the segment it is
//   SOFTRNIC_ADDRESSES  ADDRESS[/LEN],...: more addresses, which means more GIDs
//   SOFTRNIC_MAC        its MAC address
//   SOFTRNIC_MTU        the most its path MTU can be
//   SOFTRNIC_FAULTS     a file of fault rules
//   SOFTRNIC_SEED       source of every random choice
//   SOFTRNIC_CAPTURE    a pcapng file for every frame; %p in it is the process id
//   SOFTRNIC_LIMITS     NAME=N,...: what it can do at most
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "nic/device_limits.hpp"
#include "nic/gid_table.hpp"
#include "wire/ethernet.hpp"
#include "wire/expected.hpp"

namespace softrnic::verbs {

struct Environment {
  std::string link = "shm:default";
  std::string device = "softrnic0";
  // Programs that say nothing are one NIC together, as programs on one machine are.
  std::string host = "a";
  std::vector<nic::InterfaceAddress> addresses;
  std::optional<wire::MacAddress> mac;
  std::optional<std::uint32_t> mtu;
  std::string faults;  // empty: none
  std::optional<std::uint64_t> seed;
  std::string capture;  // empty: none
  nic::DeviceLimits limits;

  // As std::getenv: null when there is no such variable.
  using Lookup = std::function<const char*(const char* name)>;
  // The error is one line that names the variable, what is wrong and what would be right.
  static wire::Expected<Environment, std::string> read(const Lookup& lookup);

  // The same as variables, names and values: those alone that say something else than silence.
  std::vector<std::pair<std::string, std::string>> variables() const;

  // As link::open_link() takes it: "shm:default,host=a".
  std::string link_specification() const;
  // Where this process captures to.
  std::string capture_path(std::int64_t process) const;

  friend bool operator==(const Environment&, const Environment&) = default;
};

// One of the variables: how its text becomes part of an Environment, and back.
struct EnvironmentVariable {
  std::string_view name;
  // Empty when `text` was taken; else what is wrong with it, and what would be right, for a line
  // that begins with the variable's (or the option's) name and `text`.
  std::string (*take)(std::string_view text, Environment& environment);
  // Empty when there is nothing to say.
  std::string (*give)(const Environment& environment);
};

// All of them, in the order above.
std::span<const EnvironmentVariable> environment_variables();

}  // namespace softrnic::verbs
