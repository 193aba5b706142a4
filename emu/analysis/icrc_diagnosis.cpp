// SPDX-License-Identifier: BSD-3-Clause
#include "analysis/icrc_diagnosis.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <optional>
#include <span>
#include <vector>

#include "analysis/packet_place.hpp"
#include "wire/crc32.hpp"
#include "wire/icrc.hpp"

namespace softrnic::analysis {
namespace {

using wire::Field;
using wire::NetworkLayer;

// The remainders of one byte, for steps of the CRC by hand.
constexpr std::array<std::uint32_t, 256> kTable = [] {
  std::array<std::uint32_t, 256> table{};
  for (std::uint32_t i = 0; i < 256; ++i) {
    std::uint32_t crc = i;
    for (int bit = 0; bit < 8; ++bit) crc = crc >> 1 ^ ((crc & 1) != 0 ? 0xedb88320u : 0u);
    table[i] = crc;
  }
  return table;
}();

// Which byte leaves a remainder with this top byte; each does so once.
constexpr std::array<std::uint8_t, 256> kByTopByte = [] {
  std::array<std::uint8_t, 256> index{};
  for (std::uint32_t i = 0; i < 256; ++i) index[kTable[i] >> 24] = static_cast<std::uint8_t>(i);
  return index;
}();

constexpr std::uint32_t step_back(std::uint32_t difference) {
  const std::uint32_t byte = kByTopByte[difference >> 24];
  return (difference ^ kTable[byte]) << 8 | byte;
}

// What is summed, and what came of it.
struct Sum {
  NetworkLayer layer;
  wire::ByteView bytes;
  std::size_t bth_offset;
  std::uint32_t carried;
  std::uint32_t right;

  std::uint32_t difference() const { return carried ^ right; }
  bool is_v2() const { return layer != NetworkLayer::grh; }
  wire::ByteView headers() const { return bytes.first(bth_offset + wire::Bth::kSize); }
  wire::ByteView rest() const { return bytes.subspan(bth_offset + wire::Bth::kSize); }
};

IcrcDiagnosis found(IcrcCause cause, std::string sentence) {
  return {cause, std::move(sentence)};
}

// A field that is summed as ones (IBTA vol. 1, 7.8.1; annexes A16 and A17).
struct MaskedField {
  const char* name;
  std::size_t offset;  // of its header, from the network header
  Field field;
};

std::vector<MaskedField> masked_fields(NetworkLayer layer, std::size_t bth_offset) {
  std::vector<MaskedField> fields;
  if (layer == NetworkLayer::ipv4) {
    fields = {{"the type of service", 0, wire::Ipv4Header::kTrafficClass},
              {"the time to live", 0, wire::Ipv4Header::kTimeToLive},
              {"the IP header checksum", 0, wire::Ipv4Header::kChecksum}};
  } else {
    fields = {{"the traffic class", 0, wire::Ipv6Header::kTrafficClass},
              {"the flow label", 0, wire::Ipv6Header::kFlowLabel},
              {"the hop limit", 0, wire::Ipv6Header::kHopLimit}};
  }
  if (layer != NetworkLayer::grh) {
    fields.push_back(
        {"the UDP checksum", bth_offset - wire::UdpHeader::kSize, wire::UdpHeader::kChecksum});
  }
  // FECN, BECN and six reserved bits stand side by side and are masked as one byte.
  fields.push_back({"FECN, BECN and the reserved bits of the BTH", bth_offset,
                    Field{"resv8a", wire::Bth::kFecn.bit_offset, 8}});
  return fields;
}

// Summed bytes with `fields` set to ones.
std::vector<std::byte> masked_copy(const Sum& sum, std::span<const MaskedField> fields) {
  std::vector<std::byte> copy(sum.bytes.begin(), sum.bytes.end());
  for (const MaskedField& masked : fields) {
    wire::put(copy.data() + masked.offset, masked.field, ~std::uint64_t{0});
  }
  return copy;
}

constexpr std::array<std::byte, 8> kRouteHeader = {
    std::byte{0xff}, std::byte{0xff}, std::byte{0xff}, std::byte{0xff},
    std::byte{0xff}, std::byte{0xff}, std::byte{0xff}, std::byte{0xff}};

// How the sum changes when `masked` is left as it is.
std::uint32_t unmasking(const Sum& sum, const MaskedField& masked) {
  std::vector<std::byte> difference(sum.bytes.size());
  const std::uint64_t value = wire::get(sum.bytes.data() + masked.offset, masked.field);
  wire::put(difference.data() + masked.offset, masked.field, ~value);
  const std::vector<std::byte> zeros(sum.bytes.size());
  return wire::crc32(0, difference) ^ wire::crc32(0, zeros);
}

std::string list(const std::vector<MaskedField>& fields, std::uint32_t chosen) {
  std::string text;
  std::uint32_t left = chosen;
  for (std::size_t i = 0; left != 0; ++i, left >>= 1) {
    if ((left & 1) == 0) continue;
    if (!text.empty()) text += left == 1 ? " and " : ", ";
    text += fields[i].name;
  }
  return text;
}

// Every set of masked fields that a sender may have forgotten to mask, the smallest first, on top
// of `base`, the sum with all of them masked. A set of its own: none.
std::optional<std::uint32_t> forgotten_masks(const Sum& sum, const std::vector<MaskedField>& fields,
                                             std::uint32_t base) {
  std::vector<std::uint32_t> changes;
  for (const MaskedField& field : fields) changes.push_back(unmasking(sum, field));
  std::optional<std::uint32_t> best;
  for (std::uint32_t set = 0; set < 1u << fields.size(); ++set) {
    std::uint32_t crc = base;
    for (std::size_t i = 0; i < fields.size(); ++i) {
      if ((set >> i & 1) != 0) crc ^= changes[i];
    }
    if (crc == sum.carried && (!best || std::popcount(set) < std::popcount(*best))) best = set;
  }
  return best;
}

IcrcDiagnosis wrong_form(const Sum& sum) {
  if (sum.carried == 0) {
    return found(IcrcCause::left_out, "it was left zero: the sender does not calculate it");
  }
  if (sum.carried == __builtin_bswap32(sum.right)) {
    return found(IcrcCause::byte_order,
                 "its bytes are in the wrong order: the least significant one goes first");
  }
  if (sum.carried == ~sum.right) {
    return found(IcrcCause::not_inverted, "it was not inverted at the end");
  }
  return {};
}

IcrcDiagnosis wrong_masks(const Sum& sum) {
  const auto fields = masked_fields(sum.layer, sum.bth_offset);
  if (const auto set = forgotten_masks(sum, fields, sum.right); set && *set != 0) {
    return found(IcrcCause::not_masked,
                 fmt::format("it was calculated without masking {}", list(fields, *set)));
  }
  const std::vector<std::byte> masked = masked_copy(sum, fields);
  const auto set = forgotten_masks(sum, fields, wire::crc32(0, masked));
  if (!set) return {};
  std::string sentence =
      "it was calculated without the eight bytes of ones in place of a local route header";
  if (*set != 0) sentence += fmt::format(", and without masking {}", list(fields, *set));
  return found(IcrcCause::no_route_header, std::move(sentence));
}

// As if IPv4 were a GRH and UDP were not there.
IcrcDiagnosis masks_of_v1(const Sum& sum) {
  if (sum.layer != NetworkLayer::ipv4) return {};
  const std::vector<MaskedField> fields = masked_fields(NetworkLayer::grh, sum.bth_offset);
  std::vector<std::byte> masked = masked_copy(sum, fields);
  const std::uint32_t seed = wire::crc32(0, kRouteHeader);
  bool fits = wire::crc32(seed, masked) == sum.carried;
  // Some know of UDP's checksum all the same.
  wire::put(masked.data() + sum.bth_offset - wire::UdpHeader::kSize, wire::UdpHeader::kChecksum,
            ~std::uint64_t{0});
  fits = fits || wire::crc32(seed, masked) == sum.carried;
  if (!fits) return {};
  return found(IcrcCause::masked_as_v1,
               "it was calculated with the masks of RoCE v1: an IPv4 header has others");
}

IcrcDiagnosis forgotten_pad(const Sum& sum) {
  const std::size_t pad = wire::get(sum.headers().data() + sum.bth_offset, wire::Bth::kPadCount);
  if (pad == 0 || pad > sum.rest().size()) return {};
  const std::uint32_t crc = wire::icrc(sum.layer, sum.headers(), sum.bth_offset,
                                       sum.rest().first(sum.rest().size() - pad));
  if (crc != sum.carried) return {};
  return found(IcrcCause::without_pad, fmt::format("it was calculated without the pad of {} byte{}",
                                                   pad, pad == 1 ? "" : "s"));
}

// The byte at `offset` was summed with another value, although it is masked.
IcrcDiagnosis changed_masked_byte(const MaskedField& field, std::uint8_t value) {
  return found(IcrcCause::not_masked,
               fmt::format("it was calculated without masking {}, which was 0x{:02x} then",
                           field.name, value));
}

// The byte at `offset` differs in the bits of `change`.
IcrcDiagnosis changed_byte(const Sum& sum, std::size_t offset, std::uint8_t change) {
  for (const MaskedField& field : masked_fields(sum.layer, sum.bth_offset)) {
    const bool whole_byte = field.field.bit_width == 8 && field.field.bit_offset % 8 == 0;
    if (whole_byte && field.offset + field.field.bit_offset / 8u == offset) {
      return changed_masked_byte(field, static_cast<std::uint8_t>(0xff ^ change));
    }
  }
  const std::string place =
      name_of_place(sum.layer, sum.bytes, sum.bth_offset, offset * 8 + std::countl_zero(change));
  if (std::has_single_bit(change)) {
    return found(IcrcCause::bit_flipped, fmt::format("one bit was flipped on the way: {}", place));
  }
  const unsigned now = wire::load_u8(sum.bytes.data() + offset);
  return found(IcrcCause::byte_changed,
               fmt::format("one byte was changed on the way, from 0x{:02x} to 0x{:02x}, at {}",
                           now ^ change, now, place));
}

IcrcDiagnosis one_byte(const Sum& sum) {
  const std::uint32_t difference = sum.difference();
  if (std::has_single_bit(difference)) {
    return found(IcrcCause::bit_flipped,
                 fmt::format("one bit was flipped on the way: bit {} of the ICRC itself",
                             std::countr_zero(difference)));
  }
  std::uint32_t left = difference;
  for (std::size_t offset = sum.bytes.size(); offset-- > 0;) {
    left = step_back(left);
    if (left <= 0xff) return changed_byte(sum, offset, static_cast<std::uint8_t>(left));
  }
  return {};
}

// The change of the four bytes from `offset` on that explains the sum, as it stands in them.
std::uint32_t change_at(const Sum& sum, std::size_t offset) {
  std::uint32_t left = sum.difference();
  for (std::size_t i = sum.bytes.size(); i-- > offset;) left = step_back(left);
  return __builtin_bswap32(left);
}

struct Rewritable {
  const char* name;
  std::size_t offset;
};

std::vector<Rewritable> rewritable_fields(const Sum& sum) {
  std::vector<Rewritable> fields;
  if (sum.layer == NetworkLayer::ipv4) {
    fields.push_back({"IP identification", wire::Ipv4Header::kIdentification.bit_offset / 8u});
  }
  if (!sum.is_v2()) return fields;
  const std::size_t udp = sum.bth_offset - wire::UdpHeader::kSize;
  fields.push_back({"UDP source port", udp});
  fields.push_back({"UDP destination port", udp + 2});
  return fields;
}

IcrcDiagnosis rewritten_field(const Sum& sum) {
  for (const Rewritable& field : rewritable_fields(sum)) {
    const std::uint32_t change = change_at(sum, field.offset);
    if ((change & 0xffff) != 0) continue;
    const unsigned now = wire::load_be16(sum.bytes.data() + field.offset);
    return found(IcrcCause::field_rewritten,
                 fmt::format("the {} was rewritten on the way, as NAT does: it was {}", field.name,
                             now ^ (change >> 16)));
  }
  return {};
}

// Any 32-bit difference can be explained by a 32-bit address, so it must also look like one that
// a network translates: private (RFC 1918, RFC 6598), or of the same /16 as one of the two.
bool plausible(std::uint32_t address, std::uint32_t source, std::uint32_t destination) {
  return address >> 24 == 10 || address >> 20 == 0xac1 || address >> 16 == 0xc0a8 ||
         address >> 22 == 0x191 || address >> 16 == source >> 16 ||
         address >> 16 == destination >> 16;
}

IcrcDiagnosis rewritten_address(const Sum& sum) {
  if (sum.layer != NetworkLayer::ipv4) return {};
  const std::byte* header = sum.bytes.data();
  const auto source = static_cast<std::uint32_t>(wire::get(header, wire::Ipv4Header::kSource));
  const auto destination =
      static_cast<std::uint32_t>(wire::get(header, wire::Ipv4Header::kDestination));
  for (const bool is_source : {true, false}) {
    const Field& field = is_source ? wire::Ipv4Header::kSource : wire::Ipv4Header::kDestination;
    const std::uint32_t before =
        (is_source ? source : destination) ^ change_at(sum, field.bit_offset / 8u);
    if (!plausible(before, source, destination)) continue;
    return found(IcrcCause::address_rewritten,
                 fmt::format("the {} address was probably rewritten on the way, as NAT does: it "
                             "was {}",
                             is_source ? "source" : "destination",
                             wire::Gid::from_ipv4(before).to_string()));
  }
  return {};
}

}  // namespace

IcrcDiagnosis diagnose_icrc(NetworkLayer layer, wire::ByteView summed, std::size_t bth_offset,
                            std::uint32_t carried) {
  const std::size_t network =
      layer == NetworkLayer::ipv4 ? wire::Ipv4Header::kSize : wire::Ipv6Header::kSize;
  const std::size_t udp = layer == NetworkLayer::grh ? 0 : wire::UdpHeader::kSize;
  if (bth_offset != network + udp || summed.size() < bth_offset + wire::Bth::kSize) return {};

  Sum sum{layer, summed, bth_offset, carried, 0};
  sum.right = wire::icrc(layer, sum.headers(), bth_offset, sum.rest());
  if (sum.right == carried) return {};
  // From what is certain to what is merely likely.
  for (const auto look : {wrong_form, wrong_masks, masks_of_v1, forgotten_pad, one_byte,
                          rewritten_field, rewritten_address}) {
    IcrcDiagnosis diagnosis = look(sum);
    if (diagnosis.cause != IcrcCause::unknown) return diagnosis;
  }
  return {};
}

}  // namespace softrnic::analysis
