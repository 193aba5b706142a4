// SPDX-License-Identifier: BSD-3-Clause
#include "link/pcapng.hpp"

#include <algorithm>
#include <limits>

namespace softrnic::link::pcapng {

namespace {

using Bytes = std::vector<std::byte>;

// Block types.
constexpr std::uint32_t kSectionHeader = 0x0a0d0d0a;
constexpr std::uint32_t kInterfaceDescription = 1;
constexpr std::uint32_t kEnhancedPacket = 6;

constexpr std::uint32_t kByteOrderMagic = 0x1a2b3c4d;

// Options.
constexpr std::uint16_t kEndOfOptions = 0;
constexpr std::uint16_t kComment = 1;
constexpr std::uint16_t kPacketFlags = 2;
constexpr std::uint16_t kInterfaceName = 2;
constexpr std::uint16_t kUserApplication = 4;
constexpr std::uint16_t kTimestampResolution = 9;
constexpr std::uint8_t kNanoseconds = 9;  // 10^-9 s

template <class Integer>
void append_le(Bytes& out, Integer value) {
  for (std::size_t i = 0; i < sizeof value; ++i) {
    out.push_back(static_cast<std::byte>(value >> (8 * i)));
  }
}

void pad(Bytes& out) {
  while (out.size() % 4 != 0) out.push_back(std::byte{0});
}

void append_bytes(Bytes& out, wire::ByteView bytes) {
  out.insert(out.end(), bytes.begin(), bytes.end());
}

void append_option(Bytes& out, std::uint16_t code, wire::ByteView value) {
  constexpr std::size_t kLongest = std::numeric_limits<std::uint16_t>::max();
  value = value.first(std::min(value.size(), kLongest));
  append_le(out, code);
  append_le(out, static_cast<std::uint16_t>(value.size()));
  append_bytes(out, value);
  pad(out);
}

void append_option(Bytes& out, std::uint16_t code, std::string_view text) {
  append_option(out, code, std::as_bytes(std::span(text)));
}

// A block begins and ends with its length, which is known when it is complete. Blocks are padded,
// so a buffer of whole blocks keeps every field aligned.
class Block {
 public:
  Block(Bytes& out, std::uint32_t type) : out_(out), start_(out.size()) {
    append_le(out_, type);
    append_le(out_, std::uint32_t{0});
  }
  ~Block() {
    append_le(out_, std::uint32_t{kEndOfOptions});
    const auto length = static_cast<std::uint32_t>(out_.size() - start_ + sizeof(std::uint32_t));
    for (std::size_t i = 0; i < sizeof length; ++i) {
      out_[start_ + 4 + i] = static_cast<std::byte>(length >> (8 * i));
    }
    append_le(out_, length);
  }
  Block(const Block&) = delete;
  Block& operator=(const Block&) = delete;

 private:
  Bytes& out_;
  std::size_t start_;
};

}  // namespace

std::size_t block_length(std::span<const std::byte> block) {
  std::size_t length = 0;
  for (std::size_t i = 0; i < 4; ++i) {
    length |= std::to_integer<std::size_t>(block[4 + i]) << (8 * i);
  }
  return length;
}

void append_section_header(Bytes& out) {
  const Block block(out, kSectionHeader);
  append_le(out, kByteOrderMagic);
  append_le(out, std::uint16_t{1});  // version 1.0
  append_le(out, std::uint16_t{0});
  append_le(out, ~std::uint64_t{0});  // section length: not told
  append_option(out, kUserApplication, "softrnic");
}

void append_interface(Bytes& out, std::string_view name, std::uint32_t snap_length,
                      std::uint16_t link_type) {
  const Block block(out, kInterfaceDescription);
  append_le(out, link_type);
  append_le(out, std::uint16_t{0});
  append_le(out, snap_length);
  if (!name.empty()) append_option(out, kInterfaceName, name);
  const std::byte resolution{kNanoseconds};
  append_option(out, kTimestampResolution, {&resolution, 1});
}

void append_packet(Bytes& out, const Packet& packet, const wire::ByteChain& frame) {
  const Block block(out, kEnhancedPacket);
  const auto stamp =
      static_cast<std::uint64_t>(std::max<std::int64_t>(0, packet.at.time_since_epoch().count()));
  const std::size_t kept = packet.snap_length == 0
                               ? frame.size()
                               : std::min<std::size_t>(frame.size(), packet.snap_length);
  append_le(out, packet.interface);
  append_le(out, static_cast<std::uint32_t>(stamp >> 32));
  append_le(out, static_cast<std::uint32_t>(stamp));
  append_le(out, static_cast<std::uint32_t>(kept));
  append_le(out, std::max(packet.wire_size, static_cast<std::uint32_t>(frame.size())));
  const wire::ByteChain part = frame.slice(0, kept);
  for (const auto& piece : part.pieces()) append_bytes(out, piece);
  pad(out);
  if (packet.direction != 0) {
    append_le(out, kPacketFlags);
    append_le(out, std::uint16_t{4});
    append_le(out, packet.direction);
  }
  if (!packet.comment.empty()) append_option(out, kComment, packet.comment);
}

}  // namespace softrnic::link::pcapng
