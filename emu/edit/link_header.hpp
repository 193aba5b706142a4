// SPDX-License-Identifier: BSD-3-Clause
// The link's header of a captured frame: MAC addresses, VLAN tags, EtherType; of Ethernet and of
// Linux cooked captures, which have but the sender's address.
#pragma once

#include <optional>

#include "edit/frame_parts.hpp"
#include "edit/translation.hpp"
#include "wire/ethernet.hpp"

namespace softrnic::edit {

bool has_ethertype(capture::LinkType link_type);

void translate_link(FrameParts& frame, const Translation& translation);

// The EtherType of what follows, behind all tags.
void set_ethertype(FrameParts& frame, std::uint16_t ethertype);

// The outermost tag. A frame whose link has none, or that was cut off before, has no value.
std::optional<wire::VlanTag> outer_tag(const FrameParts& frame);
// Whether a tag can be there.
bool takes_tags(const FrameParts& frame);
void set_outer_tag(FrameParts& frame, const wire::VlanTag& tag);
void add_tag(FrameParts& frame, const wire::VlanTag& tag);
void strip_outer_tag(FrameParts& frame);

}  // namespace softrnic::edit
