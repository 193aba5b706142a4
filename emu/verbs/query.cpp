// SPDX-License-Identifier: BSD-3-Clause
// What a device, its port and its tables are like. Nothing is claimed that does not work.
#include <endian.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <limits>

#include "nic/event_loop.hpp"
#include "verbs/address_handle.hpp"
#include "verbs/context.hpp"
#include "verbs/device_identity.hpp"
#include "verbs/device_memory.hpp"
#include "verbs/queue_pair_attributes.hpp"

namespace softrnic::verbs {
namespace {

constexpr std::uint16_t kPartitionKey = 0xffff;
// 4 lanes of 25 Gbit/s: there is no wire whose speed it could be, and a program that divides by it
// must find a number.
constexpr std::uint8_t kWidth4x = 2;
constexpr std::uint8_t kSpeedEdr = 32;
constexpr std::uint8_t kLinkUp = 5;
constexpr std::uint64_t kNanosecondsPerKilohertz = 1'000'000;  // a clock of 1 GHz, in kHz
// No vendor's, as the emulated NICs of kernels say it: programs take zero for no answer.
constexpr std::uint32_t kNoVendor = 0xffffff;
constexpr std::uint64_t kPageSizes = 0xfffffffffffff000;  // every power of two from 4 KiB

int at_most_int(std::uint64_t value) {
  return static_cast<int>(std::min<std::uint64_t>(value, std::numeric_limits<int>::max()));
}

ibv_device_attr device_attributes(nic::Nic& nic) {
  const nic::DeviceLimits& limits = nic.limits();
  ibv_device_attr to{};
  std::strncpy(to.fw_ver, SOFTRNIC_VERSION, sizeof(to.fw_ver) - 1);
  to.node_guid = htobe64(guid_of(nic.mac()));
  to.sys_image_guid = to.node_guid;
  to.max_mr_size = limits.region_bytes;
  to.page_size_cap = kPageSizes;
  to.vendor_id = kNoVendor;
  to.max_qp = at_most_int(limits.queue_pairs);
  to.max_qp_wr = at_most_int(limits.requests);
  to.device_cap_flags = IBV_DEVICE_BAD_PKEY_CNTR | IBV_DEVICE_BAD_QKEY_CNTR |
                        IBV_DEVICE_CURR_QP_STATE_MOD | IBV_DEVICE_SYS_IMAGE_GUID |
                        IBV_DEVICE_RC_RNR_NAK_GEN | IBV_DEVICE_SRQ_RESIZE | IBV_DEVICE_MEM_WINDOW |
                        IBV_DEVICE_XRC | IBV_DEVICE_MEM_MGT_EXTENSIONS |
                        IBV_DEVICE_MEM_WINDOW_TYPE_2B;
  to.max_sge = at_most_int(limits.sges);
  to.max_sge_rd = at_most_int(limits.sges);
  to.max_cq = at_most_int(limits.completion_queues);
  to.max_cqe = at_most_int(limits.completions);
  to.max_mr = at_most_int(limits.regions);
  to.max_pd = at_most_int(limits.domains);
  to.max_qp_rd_atom = at_most_int(limits.responder_depth);
  to.max_res_rd_atom = at_most_int(limits.responder_depth * limits.queue_pairs);
  to.max_qp_init_rd_atom = at_most_int(limits.initiator_depth);
  to.atomic_cap = IBV_ATOMIC_HCA;
  to.max_mw = at_most_int(limits.windows);
  to.max_mcast_grp = at_most_int(limits.multicast_groups);
  to.max_mcast_qp_attach = at_most_int(limits.multicast_group_queue_pairs);
  to.max_total_mcast_qp_attach = at_most_int(limits.multicast_attachments);
  to.max_ah = at_most_int(limits.address_handles);
  to.max_srq = at_most_int(limits.shared_receive_queues);
  to.max_srq_wr = at_most_int(limits.shared_requests);
  to.max_srq_sge = at_most_int(limits.shared_sges);
  to.max_pkeys = 1;
  to.local_ca_ack_delay = 15;
  to.phys_port_cnt = 1;
  return to;
}

ibv_port_attr port_attributes(nic::Nic& nic) {
  ibv_port_attr to{};
  to.state = IBV_PORT_ACTIVE;
  to.max_mtu = IBV_MTU_4096;
  to.active_mtu = mtu_of(nic.active_mtu());
  to.gid_tbl_len = static_cast<int>(nic.gids().entries().size());
  to.port_cap_flags = IBV_PORT_CM_SUP | IBV_PORT_IP_BASED_GIDS;
  to.max_msg_sz = static_cast<std::uint32_t>(nic.limits().message_bytes);
  to.bad_pkey_cntr = static_cast<std::uint32_t>(nic.counters().bad_pkey);
  to.qkey_viol_cntr = static_cast<std::uint32_t>(nic.counters().qkey_violations);
  to.pkey_tbl_len = 1;
  to.max_vl_num = 1;
  to.active_width = kWidth4x;
  to.active_speed = kSpeedEdr;
  to.phys_state = kLinkUp;
  to.link_layer = IBV_LINK_LAYER_ETHERNET;
  to.flags = IBV_QPF_GRH_REQUIRED;
  return to;
}

ibv_odp_caps on_demand_capabilities() {
  constexpr std::uint32_t kDatagram = IBV_ODP_SUPPORT_SEND | IBV_ODP_SUPPORT_RECV;
  constexpr std::uint32_t kUnreliable = kDatagram | IBV_ODP_SUPPORT_WRITE;
  constexpr std::uint32_t kReliable =
      kUnreliable | IBV_ODP_SUPPORT_READ | IBV_ODP_SUPPORT_ATOMIC | IBV_ODP_SUPPORT_SRQ_RECV;
  ibv_odp_caps caps{};
  caps.general_caps = IBV_ODP_SUPPORT | IBV_ODP_SUPPORT_IMPLICIT;
  caps.per_transport_caps = {kReliable, kUnreliable, kDatagram | IBV_ODP_SUPPORT_SRQ_RECV};
  return caps;
}

ibv_device_attr_ex device_attributes_ex(nic::Nic& nic) {
  ibv_device_attr_ex to{};
  to.orig_attr = device_attributes(nic);
  to.odp_caps = on_demand_capabilities();
  to.xrc_odp_caps = to.odp_caps.per_transport_caps.rc_odp_caps;
  to.completion_timestamp_mask = ~std::uint64_t{0};
  to.hca_core_clock = kNanosecondsPerKilohertz;
  to.device_cap_flags_ex = to.orig_attr.device_cap_flags;
  to.phys_port_cnt_ex = 1;
  to.max_dm_size = kDeviceMemoryBytes;
  return to;
}

bool has_port(std::uint32_t port) {
  return port == 1;
}

ibv_gid_type type_of(wire::RoceVersion version) {
  return version == wire::RoceVersion::v1 ? IBV_GID_TYPE_ROCE_V1 : IBV_GID_TYPE_ROCE_V2;
}

ibv_gid_entry entry_of(const nic::GidEntry& entry, std::size_t index) {
  ibv_gid_entry to{};
  to.gid = gid_of(entry.gid);
  to.gid_index = static_cast<std::uint32_t>(index);
  to.port_num = 1;
  to.gid_type = type_of(entry.version);
  return to;
}

// Programs pass the size of the structure they were built with.
template <class Structure>
void copy_known(const Structure& from, void* to, std::size_t size) {
  std::memset(to, 0, size);
  std::memcpy(to, &from, std::min(size, sizeof(from)));
}

}  // namespace

int query_port(ibv_context* context, std::uint8_t port, ibv_port_attr* attributes,
               std::size_t size) {
  if (!has_port(port)) return EINVAL;
  Adapter::Hold hold(*Context::of(context).adapter);
  copy_known(port_attributes(*hold), attributes, size);
  return 0;
}

int query_device_ex(ibv_context* context, const ibv_query_device_ex_input* input,
                    ibv_device_attr_ex* attributes, std::size_t size) {
  if (input != nullptr && input->comp_mask != 0) return EINVAL;
  if (size < sizeof(ibv_device_attr)) return EINVAL;
  Adapter::Hold hold(*Context::of(context).adapter);
  copy_known(device_attributes_ex(*hold), attributes, size);
  return 0;
}

int query_rt_values(ibv_context*, ibv_values_ex* values) {
  const std::uint32_t wanted = values->comp_mask;
  values->comp_mask = 0;
  if ((wanted & ~static_cast<std::uint32_t>(IBV_VALUES_MASK_RAW_CLOCK)) != 0) return EINVAL;
  if (wanted == 0) return 0;
  const std::int64_t now = nic::real_now().time_since_epoch().count();
  values->raw_clock.tv_sec = static_cast<time_t>(now / 1'000'000'000);
  values->raw_clock.tv_nsec = static_cast<long>(now % 1'000'000'000);
  values->comp_mask = IBV_VALUES_MASK_RAW_CLOCK;
  return 0;
}

}  // namespace softrnic::verbs

using namespace softrnic::verbs;
using namespace softrnic;

#undef ibv_query_port

extern "C" {

int ibv_query_device(ibv_context* context, ibv_device_attr* attributes) {
  Adapter::Hold hold(*Context::of(context).adapter);
  *attributes = device_attributes(*hold);
  return 0;
}

// For programs so old that they know no other: their structure ends before `port_cap_flags2`.
int ibv_query_port(ibv_context* context, std::uint8_t port, _compat_ibv_port_attr* attributes) {
  return query_port(context, port, reinterpret_cast<ibv_port_attr*>(attributes),
                    offsetof(ibv_port_attr, port_cap_flags2));
}

int ibv_query_gid(ibv_context* context, std::uint8_t port, int index, ibv_gid* gid) {
  Adapter::Hold hold(*Context::of(context).adapter);
  const nic::GidEntry* entry =
      has_port(port) && index >= 0 ? hold->gids().find(static_cast<std::uint32_t>(index)) : nullptr;
  if (entry == nullptr) {
    errno = EINVAL;
    return -1;
  }
  *gid = gid_of(entry->gid);
  return 0;
}

int _ibv_query_gid_ex(ibv_context* context, std::uint32_t port, std::uint32_t index,
                      ibv_gid_entry* entry, std::uint32_t flags, std::size_t size) {
  if (flags != 0) return EOPNOTSUPP;
  if (!has_port(port)) return EINVAL;
  Adapter::Hold hold(*Context::of(context).adapter);
  const nic::GidEntry* from = hold->gids().find(index);
  if (from == nullptr) return EINVAL;
  copy_known(entry_of(*from, index), entry, size);
  return 0;
}

ssize_t _ibv_query_gid_table(ibv_context* context, ibv_gid_entry* entries, std::size_t most,
                             std::uint32_t flags, std::size_t size) {
  if (flags != 0) return -EOPNOTSUPP;
  Adapter::Hold hold(*Context::of(context).adapter);
  const auto from = hold->gids().entries();
  if (from.size() > most) return -EINVAL;
  auto* to = reinterpret_cast<std::byte*>(entries);
  for (std::size_t i = 0; i < from.size(); ++i)
    copy_known(entry_of(from[i], i), to + i * size, size);
  return static_cast<ssize_t>(from.size());
}

// As the kernel's files number them: 0 is RoCE v1, which InfiniBand's GIDs share, 1 is v2.
int ibv_query_gid_type(ibv_context* context, std::uint8_t port, unsigned index, unsigned* type) {
  Adapter::Hold hold(*Context::of(context).adapter);
  const nic::GidEntry* entry = has_port(port) ? hold->gids().find(index) : nullptr;
  if (entry == nullptr) {
    errno = EINVAL;
    return -1;
  }
  *type = entry->version == wire::RoceVersion::v1 ? 0 : 1;
  return 0;
}

int ibv_query_pkey(ibv_context*, std::uint8_t port, int index, __be16* key) {
  if (!has_port(port) || index != 0) {
    errno = EINVAL;
    return -1;
  }
  *key = htobe16(kPartitionKey);
  return 0;
}

int ibv_get_pkey_index(ibv_context*, std::uint8_t port, __be16 key) {
  // The membership bit does not count (IBTA vol. 1, 10.9.1.1).
  if (has_port(port) && (be16toh(key) & 0x7fff) == (kPartitionKey & 0x7fff)) return 0;
  errno = EINVAL;
  return -1;
}

}  // extern "C"
