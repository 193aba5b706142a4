// SPDX-License-Identifier: GPL-2.0-or-later
// Everything of Wireshark that the plugin uses, and the only place that knows in what Wireshark
// 4.0, 4.2 and 4.4 differ.
//
// Wireshark's exceptions are longjmp()s: no object with a destructor may be alive across a call
// that can throw (tvb_get_*, a dissector called, most proto_tree_add_*). Copy first, compute after.
#pragma once

#include <ws_version.h>

// Before 4.2 this was Wireshark's config.h's business.
#define WS_BUILD_DLL
#include <wireshark.h>

#include <epan/column-utils.h>
#include <epan/conversation.h>
#include <epan/conversation_table.h>
#include <epan/decode_as.h>
#include <epan/expert.h>
#include <epan/export_object.h>
#include <epan/follow.h>
#include <epan/packet.h>
#include <epan/prefs.h>
#include <epan/proto_data.h>
#include <epan/stat_tap_ui.h>
#include <epan/stats_tree.h>
#include <epan/tap.h>
#include <epan/to_str.h>
#include <epan/uat.h>

// These come without extern "C".
extern "C" {
#include <epan/dissectors/packet-infiniband.h>
#include <epan/exceptions.h>
#include <epan/reassemble.h>
#include <epan/show_exception.h>
}

#if WIRESHARK_VERSION_MAJOR > 4 || (WIRESHARK_VERSION_MAJOR == 4 && WIRESHARK_VERSION_MINOR >= 2)
#include <wsutil/plugins.h>
#endif

#ifdef __clang__
// What TRY and its kind expand to counts in a volatile variable.
#pragma clang diagnostic ignored "-Wdeprecated-volatile"
#endif

namespace softrnic::dissector {

// What Wireshark calls true and false: gboolean, an int, until 4.2; bool since 4.4.
#if WIRESHARK_VERSION_MAJOR > 4 || (WIRESHARK_VERSION_MAJOR == 4 && WIRESHARK_VERSION_MINOR >= 4)
using Boolean = bool;
#else
using Boolean = gboolean;
#endif

// Since 4.2 a follower also says how many streams there are, and of sub-streams, if it has any.
inline void register_follower(int protocol, const char* tap, follow_conv_filter_func of_packet,
                              follow_index_filter_func of_index,
                              follow_address_filter_func of_addresses,
                              follow_port_to_display_func show_port, tap_packet_cb listener,
                              guint32 (*stream_count)(void)) {
#if WIRESHARK_VERSION_MAJOR > 4 || (WIRESHARK_VERSION_MAJOR == 4 && WIRESHARK_VERSION_MINOR >= 2)
  register_follow_stream(protocol, tap, of_packet, of_index, of_addresses, show_port, listener,
                         stream_count, nullptr);
#else
  (void)stream_count;
  register_follow_stream(protocol, tap, of_packet, of_index, of_addresses, show_port, listener);
#endif
}

}  // namespace softrnic::dissector
