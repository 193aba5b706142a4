// SPDX-License-Identifier: BSD-3-Clause
#include "analysis/packet_place.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <span>
#include <string_view>

namespace softrnic::analysis {
namespace {

using wire::Field;

struct Region {
  std::string_view name;
  std::size_t size;
  std::span<const Field> fields;
};

struct Extension {
  wire::ExtensionHeader bit;
  Region region;
};

// In the order of the wire.
constexpr Extension kExtensions[] = {
    {wire::kXrceth, {"XRCETH", wire::Xrceth::kSize, wire::Xrceth::kFields}},
    {wire::kDeth, {"DETH", wire::Deth::kSize, wire::Deth::kFields}},
    {wire::kFeth, {"FETH", wire::Feth::kSize, wire::Feth::kFields}},
    {wire::kReth, {"RETH", wire::Reth::kSize, wire::Reth::kFields}},
    {wire::kAtomicEth, {"AtomicETH", wire::AtomicEth::kSize, wire::AtomicEth::kFields}},
    {wire::kAeth, {"AETH", wire::Aeth::kSize, wire::Aeth::kFields}},
    {wire::kAtomicAckEth, {"AtomicAckETH", wire::AtomicAckEth::kSize, wire::AtomicAckEth::kFields}},
    {wire::kImmDt, {"ImmDt", wire::ImmDt::kSize, wire::ImmDt::kFields}},
    {wire::kIeth, {"IETH", wire::Ieth::kSize, wire::Ieth::kFields}},
    {wire::kCnpReserved, {"reserved part of the CNP", wire::CnpReserved::kSize, {}}},
};

std::string in_words(std::string_view name) {
  std::string words(name);
  std::replace(words.begin(), words.end(), '_', ' ');
  return words;
}

std::string in_region(const Region& region, std::size_t bit) {
  for (const Field& field : region.fields) {
    if (bit < field.bit_offset || bit >= std::size_t{field.bit_offset} + field.bit_width) continue;
    if (field.bit_width == 1) return fmt::format("{} in the {}", in_words(field.name), region.name);
    return fmt::format("bit {} of {} in the {}", bit - field.bit_offset, in_words(field.name),
                       region.name);
  }
  return fmt::format("bit {} of byte {} of the {}", bit % 8, bit / 8, region.name);
}

// Walks region by region; `bit` is left at its distance from the first one that does not hold it.
std::optional<std::string> in_any(std::span<const Region> regions, std::size_t& bit) {
  for (const Region& region : regions) {
    if (bit < region.size * 8) return in_region(region, bit);
    bit -= region.size * 8;
  }
  return std::nullopt;
}

std::string beyond_bth(wire::ByteView bytes, std::size_t bth_offset, std::size_t bit) {
  const wire::OpcodeInfo* opcode = wire::find_opcode(wire::load_u8(bytes.data() + bth_offset));
  std::size_t headers = bth_offset + wire::Bth::kSize;
  for (const Extension& extension : kExtensions) {
    if (opcode == nullptr || !opcode->has(extension.bit)) continue;
    if (bit < extension.region.size * 8) return in_region(extension.region, bit);
    bit -= extension.region.size * 8;
    headers += extension.region.size;
  }
  const std::size_t pad = wire::get(bytes.data() + bth_offset, wire::Bth::kPadCount);
  const bool in_pad = headers + bit / 8 + pad >= bytes.size();
  if (in_pad) return fmt::format("bit {} of the pad", bit % 8);
  return fmt::format("bit {} of payload byte {}", bit % 8, bit / 8);
}

}  // namespace

std::string name_of_place(wire::NetworkLayer layer, wire::ByteView bytes, std::size_t bth_offset,
                          std::size_t bit) {
  const Region ipv4{"IPv4 header", wire::Ipv4Header::kSize, wire::Ipv4Header::kFields};
  const Region ipv6{"IPv6 header", wire::Ipv6Header::kSize, wire::Ipv6Header::kFields};
  const Region grh{"GRH", wire::Grh::kSize, wire::Grh::kFields};
  const Region udp{"UDP header", wire::UdpHeader::kSize, wire::UdpHeader::kFields};
  const Region bth{"BTH", wire::Bth::kSize, wire::Bth::kFields};
  const Region v1[] = {grh, bth};
  const Region v2[] = {layer == wire::NetworkLayer::ipv4 ? ipv4 : ipv6, udp, bth};
  const auto regions =
      layer == wire::NetworkLayer::grh ? std::span<const Region>(v1) : std::span<const Region>(v2);
  std::optional<std::string> place = in_any(regions, bit);
  return place ? *place : beyond_bth(bytes, bth_offset, bit);
}

}  // namespace softrnic::analysis
