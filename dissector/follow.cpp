// SPDX-License-Identifier: GPL-2.0-or-later
#include "dissector/follow.hpp"

#include "dissector/analysis.hpp"

namespace softrnic::dissector {
namespace {

int tap = -1;

struct Followed {
  std::uint32_t stream;
  std::uint8_t sender;
  const guint8* payload;
  unsigned size;
};

gchar* filter_of(unsigned stream) {
  return g_strdup_printf("roce.stream eq %u", stream);
}

// The stream of the packet at hand.
gchar* filter_of_packet(epan_dissect_t*, packet_info* pinfo, unsigned* stream, unsigned*) {
  if (analyzer() == nullptr) return nullptr;
  const analysis::PacketRecord* record = analyzer()->find(pinfo->num);
  if (record == nullptr || record->stream == analysis::kNone) return nullptr;
  *stream = record->stream;
  return filter_of(record->stream);
}

gchar* filter_of_index(unsigned stream, unsigned) {
  return filter_of(stream);
}

// Addresses and ports do not tell one stream of two hosts from another.
gchar* filter_of_addresses(address*, address*, int, int) {
  return nullptr;
}

gchar* show_qpn(wmem_allocator_t* allocator, unsigned qpn) {
  if (qpn == analysis::kUnknownQpn) return wmem_strdup(allocator, "QP ?");
  return wmem_strdup_printf(allocator, "QP 0x%x", qpn);
}

// The side that sent first is the "client".
void name_sides(follow_info_t& info, const Followed& followed, const packet_info* pinfo) {
  if (analyzer() == nullptr) return;
  const analysis::Stream& stream = analyzer()->stream(followed.stream);
  info.client_port = stream.sides[0].qpn;
  info.server_port = stream.sides[1].qpn;
  if (info.client_ip.type != AT_NONE) return;
  const bool from_client = followed.sender == 0;
  copy_address(&info.client_ip, from_client ? &pinfo->src : &pinfo->dst);
  copy_address(&info.server_ip, from_client ? &pinfo->dst : &pinfo->src);
}

tap_packet_status follow(void* data, packet_info* pinfo, epan_dissect_t*, const void* packet,
                         tap_flags_t) {
  auto& info = *static_cast<follow_info_t*>(data);
  const auto& followed = *static_cast<const Followed*>(packet);
  name_sides(info, followed, pinfo);
  auto* record = g_new0(follow_record_t, 1);
  record->is_server = followed.sender != 0;
  record->packet_num = pinfo->num;
  record->abs_ts = pinfo->abs_ts;
  record->data =
      g_byte_array_append(g_byte_array_sized_new(followed.size), followed.payload, followed.size);
  info.bytes_written[followed.sender] += followed.size;
  info.payload = g_list_prepend(info.payload, record);
  return TAP_PACKET_DONT_REDRAW;
}

guint32 stream_count() {
  return analyzer() == nullptr ? 0 : static_cast<guint32>(analyzer()->stream_count());
}

}  // namespace

void register_follow(int protocol) {
  tap = register_tap("roce_follow");
  register_follower(protocol, "roce_follow", filter_of_packet, filter_of_index, filter_of_addresses,
                    show_qpn, follow, stream_count);
}

void tell_followers(const Packet& packet, const analysis::PacketRecord& record,
                    packet_info* pinfo) {
  if (!have_tap_listener(tap) || packet.payload_captured() == 0) return;
  auto* followed = static_cast<Followed*>(wmem_alloc(pinfo->pool, sizeof(Followed)));
  *followed = Followed{record.stream, record.sender,
                       reinterpret_cast<const guint8*>(packet.bytes + packet.header_size),
                       packet.payload_captured()};
  tap_queue_packet(tap, pinfo, followed);
}

}  // namespace softrnic::dissector
