// SPDX-License-Identifier: BSD-3-Clause
#include "wire/ethernet.hpp"

namespace softrnic::wire {
namespace {

constexpr std::size_t kSourceOffset = 6;
constexpr std::size_t kEthertypeOffset = 12;

int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

VlanTag tag_of(std::uint16_t control) {
  VlanTag tag;
  tag.priority = static_cast<std::uint8_t>(control >> 13);
  tag.drop_eligible = (control & 0x1000) != 0;
  tag.id = control & 0xfff;
  return tag;
}

std::uint16_t control_of(const VlanTag& tag) {
  return static_cast<std::uint16_t>((tag.priority & 7) << 13 | (tag.drop_eligible ? 0x1000 : 0) |
                                    (tag.id & 0xfff));
}

}  // namespace

std::optional<MacAddress> MacAddress::from_string(std::string_view text) {
  MacAddress mac;
  if (text.size() != 3 * mac.bytes.size() - 1) return std::nullopt;
  for (std::size_t i = 0; i < mac.bytes.size(); ++i) {
    const int high = hex_digit(text[3 * i]);
    const int low = hex_digit(text[3 * i + 1]);
    if (high < 0 || low < 0) return std::nullopt;
    if (i > 0 && text[3 * i - 1] != ':') return std::nullopt;
    mac.bytes[i] = static_cast<std::uint8_t>(high << 4 | low);
  }
  return mac;
}

std::string MacAddress::to_string() const {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string text;
  for (const std::uint8_t byte : bytes) {
    if (!text.empty()) text += ':';
    text += kDigits[byte >> 4];
    text += kDigits[byte & 0xf];
  }
  return text;
}

std::optional<EthernetHeader> EthernetHeader::parse(ByteView bytes) {
  if (bytes.size() < kSize) return std::nullopt;
  const std::byte* p = bytes.data();
  EthernetHeader h;
  h.destination = load_mac(p);
  h.source = load_mac(p + kSourceOffset);
  h.ethertype = load_be16(p + kEthertypeOffset);
  if (h.ethertype != ethertype::kVlan) return h;
  if (bytes.size() < kMaxSize) return std::nullopt;
  h.vlan = tag_of(load_be16(p + kEthertypeOffset + 2));
  h.ethertype = load_be16(p + kEthertypeOffset + VlanTag::kSize);
  return h;
}

std::size_t EthernetHeader::serialize(ByteSpan bytes) const {
  std::byte* p = bytes.data();
  store_mac(p, destination);
  store_mac(p + kSourceOffset, source);
  p += kEthertypeOffset;
  if (vlan) {
    store_be16(p, ethertype::kVlan);
    store_be16(p + 2, control_of(*vlan));
    p += VlanTag::kSize;
  }
  store_be16(p, ethertype);
  return size();
}

}  // namespace softrnic::wire
