// SPDX-License-Identifier: BSD-3-Clause
#include "verbs/made_up_mac.hpp"

#include <unistd.h>

#include <array>
#include <cstdint>

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

wire::MacAddress made_up_mac(std::string_view link, const wire::MacAddress& interface) {
  std::array<char, 256> machine{};
  ::gethostname(machine.data(), machine.size() - 1);
  Hash hash;
  hash.add(machine.data());
  hash.add(link);
  for (const std::uint8_t byte : interface.bytes) hash.add(byte);
  wire::MacAddress mac;
  for (std::size_t i = 0; i < mac.bytes.size(); ++i) {
    mac.bytes[i] = static_cast<std::uint8_t>(hash.value() >> (8 * i));
  }
  // Locally administered, not a group (IEEE 802, 8.2.2).
  mac.bytes[0] = static_cast<std::uint8_t>((mac.bytes[0] & 0xfc) | 0x02);
  return mac;
}

}  // namespace softrnic::verbs
