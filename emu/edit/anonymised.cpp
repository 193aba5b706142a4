// SPDX-License-Identifier: BSD-3-Clause
#include "edit/anonymised.hpp"

#include <algorithm>
#include <functional>
#include <string_view>

#include "edit/mapped_values.hpp"
#include "edit/other_traffic.hpp"
#include "edit/payload_treatment.hpp"
#include "wire/transport_headers.hpp"

namespace softrnic::edit {
namespace {

using wire::Gid;

// What the permutations are for, so that equal numbers of two kinds do not become equal ones.
enum Domain : std::uint8_t { kMac = 1, kIpv4, kIpv6, kGroup, kRegion, kPort, kQuantities = 16 };

constexpr std::size_t kMostHidden = 1 << 16;

// Bits of an IPv4 address that tell its class; multicast keeps all others by staying as it is.
unsigned class_bits(std::uint8_t first) {
  if (first < 0x80) return 1;
  if (first < 0xc0) return 2;
  return first < 0xe0 ? 3 : 4;
}

bool is_solicited_node(const Gid& gid) {
  constexpr std::array<std::uint8_t, 13> kPrefix{0xff, 0x02, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0xff};
  return std::equal(kPrefix.begin(), kPrefix.end(), gid.bytes.begin());
}

// Of a solicited node, in an address or in the MAC address made from it: 24 bits.
template <class Array>
void permute_low24(const KeyedPermutation& permutation, Array& bytes) {
  const std::size_t at = bytes.size() - 3;
  std::uint64_t low = std::uint64_t{bytes[at]} << 16 | bytes[at + 1] << 8 | bytes[at + 2];
  low = permutation.permute(kGroup, low, 24);
  for (std::size_t i = 0; i < 3; ++i)
    bytes[at + i] = static_cast<std::uint8_t>(low >> (16 - 8 * i));
}

// Repeats a permutation until its result is one of those that may be: still a permutation of them.
template <class Permute, class MayBe>
std::uint64_t walk(std::uint64_t value, Permute permute, MayBe may_be) {
  do {
    value = permute(value);
  } while (!may_be(value));
  return value;
}

}  // namespace

std::size_t Anonymised::HashOfGid::operator()(const Gid& gid) const {
  return std::hash<std::string_view>{}(
      {reinterpret_cast<const char*>(gid.bytes.data()), gid.bytes.size()});
}

wire::MacAddress Anonymised::mac(const wire::MacAddress& address, Side /*side*/) const {
  wire::MacAddress result = address;
  if (address.is_multicast()) {
    const bool group = address.bytes[0] == 0x33 && address.bytes[1] == 0x33;
    if (group && address.bytes[2] == 0xff) permute_low24(permutation_, result.bytes);
    return result;
  }
  if (address == wire::MacAddress{}) return result;
  std::uint64_t value = 0;
  for (const std::uint8_t byte : address.bytes) value = value << 8 | byte;
  constexpr std::uint64_t kMulticast = std::uint64_t{1} << 40;
  value = walk(
      value, [this](std::uint64_t v) { return permutation_.permute(kMac, v, 48); },
      [](std::uint64_t v) { return v != 0 && (v & kMulticast) == 0; });
  for (std::size_t i = 0; i < 6; ++i) {
    result.bytes[i] = static_cast<std::uint8_t>(value >> (40 - 8 * i));
  }
  return result;
}

Gid Anonymised::hide(const Gid& address) const {
  const auto permute = [this](std::uint8_t domain, const Gid& gid, unsigned kept) {
    return Gid{permutation_.permute_prefixes(domain, gid.bytes, kept)};
  };
  if (address.is_ipv4_mapped()) {
    const std::uint8_t first = address.bytes[12];
    const bool nobody = address.ipv4() == 0 || address.ipv4() == 0xffffffff;
    if (nobody || address.is_multicast()) return address;
    Gid result = address;
    do {
      result = permute(kIpv4, result, 96 + class_bits(first));
    } while (result.ipv4() == 0);
    return result;
  }
  if (is_solicited_node(address)) {
    Gid result = address;
    permute_low24(permutation_, result.bytes);
    return result;
  }
  const bool loopback = address == Gid{{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1}};
  if (address.is_zero() || loopback || address.is_multicast()) return address;
  return permute(kIpv6, address, address.is_link_local() ? 64 : 8);
}

Gid Anonymised::address(const Gid& address, Side /*side*/) const {
  const auto found = hidden_.find(address);
  if (found != hidden_.end()) return found->second;
  if (hidden_.size() >= kMostHidden) hidden_.clear();
  return hidden_[address] = hide(address);
}

std::uint64_t Anonymised::number(Quantity quantity, std::uint64_t value,
                                 const Gid& /*owner*/) const {
  unsigned bits = 0;
  switch (quantity) {
    case Quantity::partition_key:
    case Quantity::dscp:
    case Quantity::ecn:
    case Quantity::time_to_live:
    case Quantity::count:
      return value;  // of the network, and not of who uses it
    case Quantity::qpn:
    case Quantity::shared_receive_queue:
      bits = 24;
      break;
    case Quantity::flow_label:
      if (value == 0) return value;
      bits = 20;
      break;
    case Quantity::udp_port: {
      // Ports above 0xc000 are RoCE's own (IBTA annex A17).
      const bool own = value >= 0xc000;
      return walk(
          value, [this](std::uint64_t v) { return permutation_.permute(kPort, v, 16); },
          [own](std::uint64_t v) { return (v >= 0xc000) == own; });
    }
    case Quantity::remote_key:
    case Quantity::queue_key:
    case Quantity::immediate:
      bits = 32;
      break;
    case Quantity::ca_guid:
      bits = 64;
      break;
  }
  if (is_well_known(quantity, value)) return value;
  const auto domain = static_cast<std::uint8_t>(kQuantities + static_cast<std::uint8_t>(quantity));
  return walk(
      value, [&](std::uint64_t v) { return permutation_.permute(domain, v, bits); },
      [quantity](std::uint64_t v) {
        return !is_well_known(quantity, v) && (quantity != Quantity::flow_label || v != 0);
      });
}

std::uint64_t Anonymised::virtual_address(std::uint64_t address, std::uint32_t remote_key,
                                          const Gid& /*owner*/) const {
  constexpr std::uint64_t kInPage = 0xfff;
  return address + (permutation_.draw(kRegion, remote_key) & ~kInPage);
}

void erase_contents(FrameParts& frame) {
  if (!frame.is_roce()) return erase_other_payload(frame);
  std::ranges::fill(frame.trailer, std::byte{});
  if (frame.headers_size() == 0) {
    // Headers that nobody can read: all between BTH and ICRC.
    const std::size_t end = frame.is_whole() ? frame.body.size() - 4 : frame.body.size();
    if (end > wire::Bth::kSize) {
      std::ranges::fill(
          wire::ByteSpan(frame.body).subspan(wire::Bth::kSize, end - wire::Bth::kSize),
          std::byte{});
    }
    return;
  }
  treat_payload(frame, Payload::zeroed);
  if (std::byte* atomic = frame.extension(wire::kAtomicEth)) {
    wire::put(atomic, wire::AtomicEth::kSwapAdd, 0);
    wire::put(atomic, wire::AtomicEth::kCompare, 0);
  }
  if (std::byte* answer = frame.extension(wire::kAtomicAckEth)) {
    wire::put(answer, wire::AtomicAckEth::kOriginal, 0);
  }
}

}  // namespace softrnic::edit
