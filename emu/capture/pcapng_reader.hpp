// SPDX-License-Identifier: BSD-3-Clause
// Reads pcapng (draft-ietf-opsawg-pcapng): sections of either byte order, interfaces of different
// link types and time resolutions, packets in all three kinds of blocks, their comments. Any other
// block is passed over.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "capture/byte_source.hpp"
#include "capture/link_layer.hpp"
#include "wire/instant.hpp"

namespace softrnic::capture {

class PcapngReader {
 public:
  explicit PcapngReader(ByteSource& source) : source_(source) {}

  struct Packet {
    wire::Instant at;
    std::uint32_t wire_size = 0;
    wire::ByteView bytes;
    std::string_view comment;
    std::uint16_t link_type = 0;  // of the registry
  };

  // Null at the end, and where the file is damaged. Good until the next call.
  const Packet* next();
  // Reads on to the first packet, which next() will give; false when there is none.
  bool find_first();

  // What is wrong with it; empty when nothing is.
  const std::string& damage() const { return damage_; }
  // The link type of the first interface, when one was described.
  std::optional<std::uint16_t> first_link_type() const { return first_link_type_; }

  // Those of the interfaces described so far in this section.
  std::vector<std::uint16_t> link_types() const;

  // Whether a file that begins so is a pcapng file.
  static bool is_pcapng(wire::ByteView beginning);

 private:
  struct Interface {
    std::uint16_t link_type = 0;
    std::uint32_t snap_length = 0;
    std::uint64_t units = 1'000'000;  // in a second
    std::int64_t offset = 0;          // seconds
  };
  enum class Seen : std::uint8_t { packet, other, end };

  std::uint16_t u16(wire::ByteView bytes, std::size_t at) const;
  std::uint32_t u32(wire::ByteView bytes, std::size_t at) const;
  Seen read_block();
  Seen fail(std::string why);
  Seen begin_section();
  Seen describe_interface(wire::ByteView body);
  Seen enhanced_packet(wire::ByteView body);
  Seen simple_packet(wire::ByteView body);
  Seen old_packet(wire::ByteView body);
  Seen packet(std::uint32_t interface, std::uint64_t stamp, std::size_t captured,
              std::uint32_t wire_size, wire::ByteView data);
  void read_resolution(Interface& interface, wire::ByteView options) const;
  // The value of an option; empty when there is none.
  wire::ByteView option(wire::ByteView options, std::uint16_t code) const;
  static wire::Instant instant(const Interface& interface, std::uint64_t stamp);

  ByteSource& source_;
  bool big_endian_ = false;
  bool has_packet_ = false;            // found by find_first()
  std::uint64_t to_pass_ = 0;          // bytes of the block that was given last
  std::vector<Interface> interfaces_;  // of this section
  std::optional<std::uint16_t> first_link_type_;
  Packet packet_;
  std::string damage_;
};

}  // namespace softrnic::capture
