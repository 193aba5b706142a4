// SPDX-License-Identifier: BSD-3-Clause
#include "edit/link_header.hpp"

#include <algorithm>

namespace softrnic::edit {
namespace {

using capture::LinkType;
using wire::VlanTag;

constexpr std::uint16_t kServiceTag = 0x88a8;  // IEEE 802.1ad

// Where the link's header keeps its protocol, and where tags follow.
struct Shape {
  std::size_t header;    // without tags
  std::size_t protocol;  // the EtherType, or a tag's
};

std::optional<Shape> shape_of(LinkType type) {
  switch (type) {
    case LinkType::ethernet:
      return Shape{14, 12};
    case LinkType::linux_cooked:
      return Shape{16, 14};
    case LinkType::linux_cooked_2:
      return Shape{20, 0};
    default:
      return std::nullopt;
  }
}

std::optional<Shape> shape_of(const FrameParts& frame) {
  const auto shape = shape_of(frame.link_type);
  return shape && frame.link.size() >= shape->header ? shape : std::nullopt;
}

bool is_tagged(const FrameParts& frame, const Shape& shape) {
  const std::uint16_t type = wire::load_be16(frame.link.data() + shape.protocol);
  const bool tag = type == wire::ethertype::kVlan || type == kServiceTag;
  return tag && frame.link.size() >= shape.header + VlanTag::kSize;
}

std::uint16_t control_of(const VlanTag& tag) {
  return static_cast<std::uint16_t>(tag.priority << 13 | (tag.drop_eligible ? 1 : 0) << 12 |
                                    (tag.id & 0xfff));
}

void translate_mac(std::byte* p, const Translation& translation, Side side) {
  wire::store_mac(p, translation.mac(wire::load_mac(p), side));
}

}  // namespace

bool has_ethertype(LinkType link_type) {
  return shape_of(link_type).has_value();
}

void translate_link(FrameParts& frame, const Translation& translation) {
  constexpr std::size_t kMac = 6;
  if (!shape_of(frame)) return;
  std::byte* p = frame.link.data();
  // A cooked header says how long the sender's address is, and has room for eight bytes.
  switch (frame.link_type) {
    case LinkType::ethernet:
      translate_mac(p, translation, Side::destination);
      return translate_mac(p + kMac, translation, Side::source);
    case LinkType::linux_cooked:
      if (wire::load_be16(p + 4) == kMac) translate_mac(p + 6, translation, Side::source);
      return;
    case LinkType::linux_cooked_2:
      if (wire::load_u8(p + 11) == kMac) translate_mac(p + 12, translation, Side::source);
      return;
    default:
      return;
  }
}

void set_ethertype(FrameParts& frame, std::uint16_t ethertype) {
  const auto shape = shape_of(frame);
  if (!shape) return;
  const std::size_t at =
      is_tagged(frame, *shape) ? frame.link.size() - sizeof(ethertype) : shape->protocol;
  wire::store_be16(frame.link.data() + at, ethertype);
}

bool takes_tags(const FrameParts& frame) {
  return shape_of(frame).has_value();
}

std::optional<VlanTag> outer_tag(const FrameParts& frame) {
  const auto shape = shape_of(frame);
  if (!shape || !is_tagged(frame, *shape)) return std::nullopt;
  const std::uint16_t control = wire::load_be16(frame.link.data() + shape->header);
  return VlanTag{static_cast<std::uint8_t>(control >> 13), (control >> 12 & 1) != 0,
                 static_cast<std::uint16_t>(control & 0xfff)};
}

void set_outer_tag(FrameParts& frame, const VlanTag& tag) {
  const auto shape = shape_of(frame);
  if (shape) wire::store_be16(frame.link.data() + shape->header, control_of(tag));
}

// Behind the header: the tag's control and the type of what follows it.
void add_tag(FrameParts& frame, const VlanTag& tag) {
  const auto shape = shape_of(frame);
  if (!shape) return;
  const std::uint16_t type = wire::load_be16(frame.link.data() + shape->protocol);
  wire::store_be16(frame.link.data() + shape->protocol, wire::ethertype::kVlan);
  std::array<std::byte, VlanTag::kSize> bytes;
  wire::store_be16(bytes.data(), control_of(tag));
  wire::store_be16(bytes.data() + 2, type);
  frame.link.insert(frame.link.begin() + static_cast<std::ptrdiff_t>(shape->header), bytes.begin(),
                    bytes.end());
}

void strip_outer_tag(FrameParts& frame) {
  const auto shape = shape_of(frame);
  if (!shape || !is_tagged(frame, *shape)) return;
  const auto at = frame.link.begin() + static_cast<std::ptrdiff_t>(shape->header);
  wire::store_be16(frame.link.data() + shape->protocol, wire::load_be16(&*at + 2));
  frame.link.erase(at, at + VlanTag::kSize);
}

}  // namespace softrnic::edit
