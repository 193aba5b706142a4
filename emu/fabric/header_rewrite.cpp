// SPDX-License-Identifier: BSD-3-Clause
#include "fabric/header_rewrite.hpp"

#include <algorithm>
#include <array>

#include "wire/icrc.hpp"

namespace softrnic::fabric {

namespace {

using Kind = FieldValue::Kind;

// The field as the reader and writer of headers take it: over the whole frame, whose headers lie
// in its first piece.
wire::Field as_field(const BitRange& range) {
  return {"", static_cast<std::uint16_t>(range.first), static_cast<std::uint8_t>(range.count)};
}

std::uint64_t low_bits(std::uint64_t value, std::size_t width) {
  return width >= 64 ? value : value & ((std::uint64_t{1} << width) - 1);
}

bool fits(const BitRange& range, const FieldValue& value) {
  switch (value.kind) {
    case Kind::ipv4:
      return range.count == 32;
    case Kind::ipv6:
      return range.count == 128;
    case Kind::number:
      return range.count <= 64 && low_bits(value.number, range.count) == value.number;
    case Kind::plus:
    case Kind::minus:
      return range.count <= 64;
  }
  return false;
}

std::optional<BitRange> place_of(const wire::PacketView& packet, const FieldValue& value) {
  const auto range = find_header_field(packet, value.name);
  return range && fits(*range, value) ? range : std::nullopt;
}

void write_field(std::byte* frame, const BitRange& range, const FieldValue& value) {
  if (value.kind == Kind::ipv6) {
    std::ranges::transform(value.address, frame + range.first / 8,
                           [](std::uint8_t byte) { return std::byte{byte}; });
    return;
  }
  const wire::Field field = as_field(range);
  std::uint64_t number = value.number;
  if (value.kind == Kind::plus) number = wire::get(frame, field) + value.number;
  if (value.kind == Kind::minus) number = wire::get(frame, field) - value.number;
  wire::put(frame, field, low_bits(number, range.count));
}

bool writes(const wire::PacketView& packet, std::span<const FieldValue> values,
            std::string_view name) {
  const auto place = find_header_field(packet, name);
  return place && std::ranges::any_of(values, [&](const FieldValue& value) {
           const auto range = place_of(packet, value);
           return range && range->first == place->first;
         });
}

}  // namespace

bool can_hold(const wire::PacketView& packet, const FieldValue& value) {
  return place_of(packet, value).has_value();
}

bool has_value(const wire::PacketView& packet, const FieldValue& value) {
  const auto range = place_of(packet, value);
  if (!range) return false;
  const std::byte* frame = packet.frame().front().data();
  if (value.kind == Kind::ipv6) {
    return std::equal(value.address.begin(), value.address.end(), frame + range->first / 8,
                      [](std::uint8_t a, std::byte b) { return std::byte{a} == b; });
  }
  return wire::get(frame, as_field(*range)) == value.number;
}

void flip_bit(link::Frame& frame, std::size_t bit) {
  frame.mutable_bytes().slice(bit / 8, 1).front()[0] ^= std::byte{0x80} >> (bit % 8);
}

void write_fields(link::Frame& frame, const wire::PacketView& packet,
                  std::span<const FieldValue> values) {
  std::byte* const bytes = frame.mutable_bytes().front().data();
  for (const FieldValue& value : values) {
    if (const auto range = place_of(packet, value)) write_field(bytes, *range, value);
  }
}

void repair_sums(link::Frame& frame, const wire::PacketView& packet,
                 std::span<const FieldValue> kept) {
  std::byte* const bytes = frame.mutable_bytes().front().data();
  if (packet.version() == wire::RoceVersion::v2 && !writes(packet, kept, "udp.checksum")) {
    wire::put(bytes + packet.bth_offset() - wire::UdpHeader::kSize, wire::UdpHeader::kChecksum, 0);
  }
  if (packet.network_layer() == wire::NetworkLayer::ipv4 &&
      !writes(packet, kept, "ipv4.checksum")) {
    std::byte* const header = bytes + packet.network_offset();
    wire::put(header, wire::Ipv4Header::kChecksum, 0);
    wire::put(header, wire::Ipv4Header::kChecksum,
              wire::internet_checksum(wire::ByteView(header, wire::Ipv4Header::kSize)));
  }
  std::array<std::byte, 4> icrc{};
  wire::store_icrc(icrc.data(), packet.computed_icrc());
  wire::copy(wire::ByteView(icrc), frame.mutable_bytes().slice(packet.icrc_offset(), icrc.size()));
}

}  // namespace softrnic::fabric
