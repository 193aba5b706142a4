// SPDX-License-Identifier: GPL-2.0-or-later
// The symbols by which Wireshark knows and starts the plugin.
#include "dissector/dissect.hpp"
#include "dissector/wireshark.hpp"

extern "C" {

// Constants are seen from outside only when declared so.
extern WS_DLL_PUBLIC_DEF const char plugin_version[];
extern WS_DLL_PUBLIC_DEF const int plugin_want_major;
extern WS_DLL_PUBLIC_DEF const int plugin_want_minor;
WS_DLL_PUBLIC void plugin_register(void);

// Asked for since 4.2.
#ifdef WS_PLUGIN_DESC_DISSECTOR
WS_DLL_PUBLIC uint32_t plugin_describe(void);

uint32_t plugin_describe(void) {
  return WS_PLUGIN_DESC_DISSECTOR;
}
#endif

const char plugin_version[] = SOFTRNIC_VERSION;
const int plugin_want_major = WIRESHARK_VERSION_MAJOR;
const int plugin_want_minor = WIRESHARK_VERSION_MINOR;

void plugin_register(void) {
  static proto_plugin plugin;
  plugin.register_protoinfo = softrnic::dissector::register_protocol;
  plugin.register_handoff = softrnic::dissector::register_handoff;
  proto_register_plugin(&plugin);
}

}  // extern "C"
