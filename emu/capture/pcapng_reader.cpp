// SPDX-License-Identifier: BSD-3-Clause
#include "capture/pcapng_reader.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <utility>

#include "capture/time_stamp.hpp"

namespace softrnic::capture {
namespace {

// Block types.
constexpr std::uint32_t kSection = 0x0a0d0d0a;
constexpr std::uint32_t kInterface = 1;
constexpr std::uint32_t kOldPacket = 2;
constexpr std::uint32_t kSimplePacket = 3;
constexpr std::uint32_t kEnhancedPacket = 6;

constexpr std::uint32_t kByteOrderMagic = 0x1a2b3c4d;

// Options.
constexpr std::uint16_t kComment = 1;
constexpr std::uint16_t kResolution = 9;
constexpr std::uint16_t kTimeOffset = 14;

constexpr std::size_t kFrame = 12;  // type, length, and the length once more
// More than any frame with its options; what says it is longer is damaged. Others may be of any
// length.
constexpr std::uint32_t kLargestPacketBlock = 16u << 20;
constexpr std::size_t kMostInterfaces = 1 << 16;

constexpr std::size_t padded(std::size_t size) {
  return (size + 3) / 4 * 4;
}

}  // namespace

bool PcapngReader::is_pcapng(wire::ByteView beginning) {
  return beginning.size() >= 4 && wire::load_be32(beginning.data()) == kSection;
}

std::vector<std::uint16_t> PcapngReader::link_types() const {
  std::vector<std::uint16_t> types;
  for (const Interface& interface : interfaces_) types.push_back(interface.link_type);
  return types;
}

std::uint16_t PcapngReader::u16(wire::ByteView bytes, std::size_t at) const {
  const std::uint16_t value = wire::load_be16(bytes.data() + at);
  return big_endian_ ? value : static_cast<std::uint16_t>(value << 8 | value >> 8);
}

std::uint32_t PcapngReader::u32(wire::ByteView bytes, std::size_t at) const {
  const std::uint32_t value = wire::load_be32(bytes.data() + at);
  return big_endian_ ? value : __builtin_bswap32(value);
}

PcapngReader::Seen PcapngReader::fail(std::string why) {
  damage_ = std::move(why);
  return Seen::end;
}

const PcapngReader::Packet* PcapngReader::next() {
  if (!has_packet_ && !find_first()) return nullptr;
  has_packet_ = false;
  return &packet_;
}

bool PcapngReader::find_first() {
  while (!has_packet_ && damage_.empty()) {
    const Seen seen = read_block();
    if (seen == Seen::end) break;
    has_packet_ = seen == Seen::packet;
  }
  return has_packet_;
}

PcapngReader::Seen PcapngReader::read_block() {
  if (to_pass_ != 0) source_.skip(std::exchange(to_pass_, 0));
  const wire::ByteView head = source_.peek(8);
  if (head.empty()) return source_.error() != 0 ? fail(std::strerror(source_.error())) : Seen::end;
  if (head.size() < 8) return fail("truncated block header");
  const std::uint32_t type = u32(head, 0);
  if (type == kSection) return begin_section();
  const std::uint32_t length = u32(head, 4);
  if (length < kFrame || length % 4 != 0) return fail(fmt::format("block length {}", length));
  const bool known =
      type == kInterface || type == kOldPacket || type == kSimplePacket || type == kEnhancedPacket;
  if (!known) return source_.skip(length) ? Seen::other : fail("truncated block");
  if (length > kLargestPacketBlock) return fail(fmt::format("block length {}", length));
  const wire::ByteView block = source_.peek(length);
  if (block.size() < length) return fail("truncated block");
  if (u32(block, length - 4) != length) return fail("two lengths of a block differ");
  to_pass_ = length;  // not before what is in it was used
  const wire::ByteView body = block.subspan(8, length - kFrame);
  switch (type) {
    case kInterface:
      return describe_interface(body);
    case kEnhancedPacket:
      return enhanced_packet(body);
    case kSimplePacket:
      return simple_packet(body);
    default:
      return old_packet(body);
  }
}

PcapngReader::Seen PcapngReader::begin_section() {
  constexpr std::size_t kHead = 24;
  const wire::ByteView head = source_.peek(kHead);
  if (head.size() < kHead) return fail("truncated section header");
  for (const bool big : {false, true}) {
    big_endian_ = big;
    if (u32(head, 8) == kByteOrderMagic) break;
  }
  if (u32(head, 8) != kByteOrderMagic) return fail("no byte order in a section header");
  const std::uint16_t major = u16(head, 12);
  if (major != 1) return fail(fmt::format("pcapng version {}", major));
  const std::uint32_t length = u32(head, 4);
  if (length < kHead + 4 || length % 4 != 0) {
    return fail(fmt::format("section header length {}", length));
  }
  interfaces_.clear();
  return source_.skip(length) ? Seen::other : fail("truncated section header");
}

PcapngReader::Seen PcapngReader::describe_interface(wire::ByteView body) {
  if (body.size() < 8) return fail("truncated interface description");
  if (interfaces_.size() == kMostInterfaces) return fail("too many interfaces");
  Interface interface;
  interface.link_type = u16(body, 0);
  interface.snap_length = u32(body, 4);
  read_resolution(interface, body.subspan(8));
  if (!first_link_type_) first_link_type_ = interface.link_type;
  interfaces_.push_back(interface);
  return Seen::other;
}

void PcapngReader::read_resolution(Interface& interface, wire::ByteView options) const {
  if (const wire::ByteView value = option(options, kResolution); !value.empty()) {
    const unsigned exponent = wire::load_u8(value.data()) & 0x7fu;
    const bool binary = (wire::load_u8(value.data()) & 0x80) != 0;
    // Finer than 2^-62 s or 10^-18 s does not fit 64 bits: no clock is.
    if (binary) {
      interface.units = std::uint64_t{1} << std::min(exponent, 62u);
    } else {
      interface.units = 1;
      for (unsigned i = 0; i < std::min(exponent, 18u); ++i) interface.units *= 10;
    }
  }
  if (const wire::ByteView value = option(options, kTimeOffset); value.size() >= 8) {
    const std::uint64_t a = u32(value, 0);
    const std::uint64_t b = u32(value, 4);
    interface.offset = static_cast<std::int64_t>(big_endian_ ? a << 32 | b : b << 32 | a);
  }
}

wire::ByteView PcapngReader::option(wire::ByteView options, std::uint16_t code) const {
  while (options.size() >= 4) {
    const std::uint16_t this_code = u16(options, 0);
    const std::size_t length = u16(options, 2);
    if (this_code == 0 || options.size() - 4 < length) break;
    if (this_code == code) return options.subspan(4, length);
    options = options.subspan(std::min(options.size(), 4 + padded(length)));
  }
  return {};
}

PcapngReader::Seen PcapngReader::enhanced_packet(wire::ByteView body) {
  constexpr std::size_t kHead = 20;
  if (body.size() < kHead) return fail("truncated packet block");
  const std::uint64_t stamp = std::uint64_t{u32(body, 4)} << 32 | u32(body, 8);
  const std::uint32_t captured = u32(body, 12);
  const Seen seen = packet(u32(body, 0), stamp, captured, u32(body, 16), body.subspan(kHead));
  if (seen != Seen::packet) return seen;
  const std::size_t end = kHead + padded(captured);
  if (end < body.size()) {
    const wire::ByteView text = option(body.subspan(end), kComment);
    packet_.comment = {reinterpret_cast<const char*>(text.data()), text.size()};
  }
  return seen;
}

PcapngReader::Seen PcapngReader::simple_packet(wire::ByteView body) {
  if (body.size() < 4) return fail("truncated packet block");
  const std::uint32_t wire_size = u32(body, 0);
  std::size_t captured = std::min<std::size_t>(wire_size, body.size() - 4);
  if (!interfaces_.empty() && interfaces_.front().snap_length != 0) {
    captured = std::min<std::size_t>(captured, interfaces_.front().snap_length);
  }
  return packet(0, 0, captured, wire_size, body.subspan(4));
}

PcapngReader::Seen PcapngReader::old_packet(wire::ByteView body) {
  constexpr std::size_t kHead = 20;
  if (body.size() < kHead) return fail("truncated packet block");
  const std::uint64_t stamp = std::uint64_t{u32(body, 4)} << 32 | u32(body, 8);
  return packet(u16(body, 0), stamp, u32(body, 12), u32(body, 16), body.subspan(kHead));
}

PcapngReader::Seen PcapngReader::packet(std::uint32_t interface, std::uint64_t stamp,
                                        std::size_t captured, std::uint32_t wire_size,
                                        wire::ByteView data) {
  if (interface >= interfaces_.size()) {
    return fail(fmt::format("a packet of interface {}, which is not described", interface));
  }
  if (captured > data.size()) return fail("a packet is longer than its block");
  const Interface& from = interfaces_[interface];
  packet_.at = instant(from, stamp);
  packet_.wire_size = wire_size;
  packet_.bytes = data.first(captured);
  packet_.link_type = from.link_type;
  packet_.comment = {};
  return Seen::packet;
}

wire::Instant PcapngReader::instant(const Interface& interface, std::uint64_t stamp) {
  constexpr std::uint64_t kNanoseconds = 1'000'000'000;
  __extension__ using Wide = __int128;
  const Wide seconds = Wide{stamp / interface.units} + interface.offset;
  const Wide rest = stamp % interface.units;
  // What does not fit is a damaged stamp: time_stamp() bounds it further.
  constexpr Wide kMost = std::numeric_limits<std::int64_t>::max();
  return time_stamp(static_cast<std::int64_t>(std::clamp(seconds, -kMost, kMost)),
                    static_cast<std::uint32_t>(rest * kNanoseconds / interface.units));
}

}  // namespace softrnic::capture
