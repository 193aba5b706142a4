// SPDX-License-Identifier: BSD-3-Clause
// What a switch wraps around the frames that it mirrors to a distant analyzer, and what overlays
// wrap around theirs: ERSPAN (types I, II and III) and Ethernet or IP in GRE, VXLAN, GENEVE.
#pragma once

#include <optional>

#include "capture/link_layer.hpp"

namespace softrnic::capture {

// The packet inside, where the one that begins at `outer` is such a tunnel's and carries one; its
// tunnels are looked into as well. `outer` itself where it is none.
NetworkStart behind_tunnels(wire::ByteView record, NetworkStart outer);

}  // namespace softrnic::capture
