// SPDX-License-Identifier: BSD-3-Clause
#include "verbs/queue_pair_attributes.hpp"

#include "verbs/address_handle.hpp"

namespace softrnic::verbs {
namespace {

using transport::QueuePairState;
namespace attribute = transport::attribute;

std::optional<QueuePairState> state_of(ibv_qp_state state) {
  // Numbered alike; the states behind ERR are no state to ask for.
  if (state < IBV_QPS_RESET || state > IBV_QPS_ERR) return std::nullopt;
  return static_cast<QueuePairState>(state);
}

}  // namespace

std::optional<std::uint32_t> bytes_of(ibv_mtu mtu) {
  if (mtu < IBV_MTU_256 || mtu > IBV_MTU_4096) return std::nullopt;
  return 128u << static_cast<unsigned>(mtu);
}

ibv_mtu mtu_of(std::uint32_t bytes) {
  for (const ibv_mtu mtu : {IBV_MTU_4096, IBV_MTU_2048, IBV_MTU_1024, IBV_MTU_512}) {
    if (bytes >= *bytes_of(mtu)) return mtu;
  }
  return IBV_MTU_256;
}

int own_attributes(ibv_qp_type type, int mask) {
  switch (type) {
    case IBV_QPT_XRC_SEND:
      return mask & ~(IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER);
    case IBV_QPT_XRC_RECV:
      return mask & ~(IBV_QP_MAX_QP_RD_ATOMIC | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY);
    default:
      return mask;
  }
}

std::optional<QueuePairChange> change_of(const ibv_qp_attr& attributes, int mask,
                                         QueuePairState from) {
  constexpr unsigned kKnown = (1u << 21) - 1;  // all but the rate limit, which we do not offer
  QueuePairChange change;
  change.named = static_cast<transport::AttributeMask>(mask);
  if ((change.named & ~kKnown) != 0) return std::nullopt;
  const auto has = [&change](transport::AttributeMask name) { return (change.named & name) != 0; };
  change.to = from;
  if (has(attribute::state)) {
    const auto to = state_of(attributes.qp_state);
    if (!to) return std::nullopt;
    change.to = *to;
  }
  if (has(attribute::current_state)) {
    const auto current = state_of(attributes.cur_qp_state);
    if (!current) return std::nullopt;
    change.attributes.current_state = *current;
  }
  if (has(attribute::partition_key) && attributes.pkey_index != 0) return std::nullopt;
  if (has(attribute::path_mtu)) {
    const auto bytes = bytes_of(attributes.path_mtu);
    if (!bytes) return std::nullopt;
    change.attributes.path_mtu = *bytes;
  }
  if (has(attribute::address)) {
    change.address = address_of(attributes.ah_attr);
    if (!change.address) return std::nullopt;
  }
  transport::QueuePairAttributes& to = change.attributes;
  to.drained_event = attributes.en_sqd_async_notify != 0;
  if (has(attribute::port)) to.port = attributes.port_num;
  if (has(attribute::migration_state)) {
    to.migration_state = static_cast<transport::MigrationState>(attributes.path_mig_state);
  }
  // Programs name rights of their own memory too, which are nothing to peers.
  to.remote_access = attributes.qp_access_flags & transport::kRemoteAccess;
  to.queue_key = attributes.qkey;
  to.destination_qpn = attributes.dest_qp_num & 0xffffff;
  // In 24 bits; what is above is left out, as drivers do.
  to.receive_psn = wire::Psn(attributes.rq_psn & 0xffffff);
  to.send_psn = wire::Psn(attributes.sq_psn & 0xffffff);
  to.max_dest_rd_atomic = attributes.max_dest_rd_atomic;
  to.max_rd_atomic = attributes.max_rd_atomic;
  to.min_rnr_timer = attributes.min_rnr_timer;
  to.timeout = attributes.timeout;
  to.retry_count = attributes.retry_cnt;
  to.rnr_retry = attributes.rnr_retry;
  return change;
}

ibv_qp_attr attributes_of(const nic::QueuePairStatus& status) {
  const transport::QueuePairAttributes& from = status.attributes;
  ibv_qp_attr to{};
  to.qp_state = static_cast<ibv_qp_state>(status.state);
  to.cur_qp_state = to.qp_state;
  to.path_mtu = mtu_of(from.path_mtu);
  to.path_mig_state = static_cast<ibv_mig_state>(from.migration_state);
  to.qkey = from.queue_key;
  to.rq_psn = from.receive_psn.value();
  to.sq_psn = from.send_psn.value();
  to.dest_qp_num = from.destination_qpn;
  to.qp_access_flags = from.remote_access;
  to.cap.max_send_wr = status.capacity.send_requests;
  to.cap.max_recv_wr = status.capacity.receive_requests;
  to.cap.max_send_sge = status.capacity.send_sges;
  to.cap.max_recv_sge = status.capacity.receive_sges;
  to.cap.max_inline_data = status.capacity.inline_bytes;
  if (status.address) to.ah_attr = attributes_of(*status.address);
  to.en_sqd_async_notify = from.drained_event ? 1 : 0;
  to.sq_draining = status.draining ? 1 : 0;
  to.max_rd_atomic = from.max_rd_atomic;
  to.max_dest_rd_atomic = from.max_dest_rd_atomic;
  to.min_rnr_timer = from.min_rnr_timer;
  to.port_num = from.port;
  to.timeout = from.timeout;
  to.retry_cnt = from.retry_count;
  to.rnr_retry = from.rnr_retry;
  return to;
}

}  // namespace softrnic::verbs
