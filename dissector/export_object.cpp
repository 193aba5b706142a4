// SPDX-License-Identifier: GPL-2.0-or-later
#include "dissector/export_object.hpp"

#include "dissector/fields.hpp"

namespace softrnic::dissector {
namespace {

int tap = -1;

struct Exported {
  analysis::Message message;
  tvbuff_t* payload;
};

const char* short_name(wire::Operation operation) {
  switch (operation) {
    case wire::Operation::send:
      return "send";
    case wire::Operation::write:
      return "write";
    case wire::Operation::read_request:
      return "read";
    default:
      return "message";
  }
}

// Messages are numbered for each requester: those that the second side asked for bear a "b".
gchar* file_name(const analysis::Message& message, unsigned size) {
  return g_strdup_printf("stream%u-message%u%s-%s-%u.bin", message.stream, message.number,
                         message.requester == 0 ? "" : "b", short_name(message.operation), size);
}

tap_packet_status add_object(void* list, packet_info* pinfo, epan_dissect_t*, const void* data,
                             tap_flags_t) {
  const auto& exported = *static_cast<const Exported*>(data);
  const unsigned size = tvb_captured_length(exported.payload);
  if (size != tvb_reported_length(exported.payload)) return TAP_PACKET_DONT_REDRAW;
  const auto& objects = *static_cast<export_object_list_t*>(list);
  auto* entry = g_new0(export_object_entry_t, 1);
  entry->pkt_num = pinfo->num;
  entry->hostname = address_to_str(nullptr, &pinfo->src);
  entry->content_type = g_strdup(operation_name(exported.message.operation));
  entry->filename = file_name(exported.message, size);
  entry->payload_len = size;
  entry->payload_data = static_cast<guint8*>(tvb_memdup(nullptr, exported.payload, 0, size));
  objects.add_entry(objects.gui_data, entry);
  return TAP_PACKET_REDRAW;
}

}  // namespace

void register_export(int protocol) {
  tap = register_export_object(protocol, add_object, nullptr);
}

bool export_wants_messages() {
  return have_tap_listener(tap) != 0;
}

void export_message(const analysis::Message& message, const WholeMessage& whole,
                    packet_info* pinfo) {
  if (!export_wants_messages()) return;
  auto* exported = static_cast<Exported*>(wmem_alloc(pinfo->pool, sizeof(Exported)));
  *exported = Exported{message, whole.payload};
  tap_queue_packet(tap, pinfo, exported);
}

}  // namespace softrnic::dissector
