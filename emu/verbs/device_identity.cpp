// SPDX-License-Identifier: BSD-3-Clause
#include "verbs/device_identity.hpp"

#include <unistd.h>

#include <array>
#include <string_view>

namespace softrnic::verbs {
namespace {

// FNV-1a: names nearby give addresses far apart.
class Hash {
 public:
  void add(std::string_view text) {
    for (const char c : text) add(static_cast<unsigned char>(c));
    add(0);  // "ab" "c" is not "a" "bc"
  }
  void add(unsigned char byte) { value_ = (value_ ^ byte) * 0x100000001b3; }
  std::uint64_t value() const { return value_; }

 private:
  std::uint64_t value_ = 0xcbf29ce484222325;
};

}  // namespace

wire::MacAddress mac_of(const Environment& environment, const link::Capabilities& link) {
  if (environment.mac) return *environment.mac;
  if (link.identity) return link.identity->mac;
  std::array<char, 256> machine{};
  ::gethostname(machine.data(), machine.size() - 1);
  Hash hash;
  hash.add(machine.data());
  hash.add(link.name);
  for (const std::uint8_t byte : link.mac.bytes) hash.add(byte);
  wire::MacAddress mac;
  for (std::size_t i = 0; i < mac.bytes.size(); ++i) {
    mac.bytes[i] = static_cast<std::uint8_t>(hash.value() >> (8 * i));
  }
  // Locally administered, not a group (IEEE 802, 8.2.2).
  mac.bytes[0] = static_cast<std::uint8_t>((mac.bytes[0] & 0xfc) | 0x02);
  return mac;
}

std::uint64_t guid_of(const wire::MacAddress& mac) {
  const wire::Gid gid = wire::Gid::link_local(mac);
  std::uint64_t guid = 0;
  for (std::size_t i = 8; i < gid.bytes.size(); ++i) guid = guid << 8 | gid.bytes[i];
  return guid;
}

}  // namespace softrnic::verbs
