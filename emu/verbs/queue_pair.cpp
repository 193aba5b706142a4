// SPDX-License-Identifier: BSD-3-Clause
#include "verbs/queue_pair.hpp"

#include <cerrno>
#include <memory>

#include "verbs/address_handle.hpp"
#include "verbs/completion_queue.hpp"
#include "verbs/protection_domain.hpp"
#include "verbs/queue_pair_attributes.hpp"
#include "verbs/shared_receive_queue.hpp"
#include "verbs/xrc_domain.hpp"

namespace softrnic::verbs {
namespace {

using transport::QueuePairType;

std::optional<QueuePairType> type_of(ibv_qp_type type) {
  switch (type) {
    case IBV_QPT_RC:
    case IBV_QPT_UC:
    case IBV_QPT_UD:
    case IBV_QPT_XRC_SEND:
    case IBV_QPT_XRC_RECV:
      return static_cast<QueuePairType>(type);  // numbered alike
    default:
      return std::nullopt;
  }
}

nic::CompletionQueue* queue_of(ibv_cq* cq) {
  return cq == nullptr ? nullptr : CompletionQueue::of(cq).queue;
}

nic::QueuePairInit init_of(const ibv_qp_init_attr_ex& init, QueuePairType type) {
  nic::QueuePairInit result;
  result.type = type;
  if (init.pd != nullptr) result.domain = ProtectionDomain::of(init.pd).domain;
  result.send_completions = queue_of(init.send_cq);
  result.receive_completions = queue_of(init.recv_cq);
  result.capacity.send_requests = init.cap.max_send_wr;
  result.capacity.receive_requests = init.cap.max_recv_wr;
  result.capacity.send_sges = init.cap.max_send_sge;
  result.capacity.receive_sges = init.cap.max_recv_sge;
  result.capacity.inline_bytes = init.cap.max_inline_data;
  if (init.srq != nullptr) result.shared_receive_queue = SharedReceiveQueue::of(init.srq).queue;
  if (type == QueuePairType::xrc_target) {
    result.xrc_domain = XrcDomain::of(init.xrcd).domain;
    result.capacity = {0, 0, 0, 0, 0};
  } else if (type == QueuePairType::xrc_initiator || init.srq != nullptr) {
    result.capacity.receive_requests = 0;
    result.capacity.receive_sges = 0;
  }
  return result;
}

void set_capacity(const transport::QueuePairCapacity& from, ibv_qp_cap& to) {
  to.max_send_wr = from.send_requests;
  to.max_recv_wr = from.receive_requests;
  to.max_send_sge = from.send_sges;
  to.max_recv_sge = from.receive_sges;
  to.max_inline_data = from.inline_bytes;
}

void set_base(ibv_qp& base, Context& context, const ibv_qp_init_attr_ex& init,
              std::uint32_t number) {
  base.context = context.handle();
  base.qp_context = init.qp_context;
  base.pd = init.pd;
  base.send_cq = init.send_cq;
  base.recv_cq = init.recv_cq;
  base.srq = init.srq;
  base.handle = context.next_handle();
  base.qp_num = number;
  base.state = IBV_QPS_RESET;
  base.qp_type = init.qp_type;
  base.events_completed = 0;
  pthread_mutex_init(&base.mutex, nullptr);
  pthread_cond_init(&base.cond, nullptr);
}

ibv_qp* create(Context& context, ibv_qp_init_attr_ex& init) {
  const auto type = type_of(init.qp_type);
  if (!type) {
    errno = EOPNOTSUPP;
    return nullptr;
  }
  const bool is_target = *type == QueuePairType::xrc_target;
  if (is_target ? init.xrcd == nullptr : init.pd == nullptr) {
    errno = EINVAL;
    return nullptr;
  }
  auto made = std::make_unique<QueuePair>();
  Adapter::Hold hold(*context.adapter);
  const auto created = hold->create_queue_pair(init_of(init, *type));
  if (!created) {
    errno = nic::error_number(created.error());
    return nullptr;
  }
  transport::QueuePair& queue_pair = **created;
  QueuePair& qp = *made;
  set_base(qp.qp_base, context, init, queue_pair.qpn());
  qp.comp_mask = 0;
  set_extended_functions(qp);
  qp.signals_all = init.sq_sig_all != 0;
  qp.inline_bytes = queue_pair.capacity().inline_bytes;
  if (is_target) {
    qp.xrc_domain = &XrcDomain::of(init.xrcd);
    ++qp.xrc_domain->users;
  }
  set_capacity(queue_pair.capacity(), init.cap);
  context.adapter->queue_pairs.emplace(qp.number(), &qp);
  context.queue_pairs.insert(&qp);
  return made.release()->plain();
}

// Every operation that send_ops_flags can name and a service has.
constexpr std::uint64_t kFlushOperation = 1u << 11;  // later headers: IBV_QP_EX_WITH_FLUSH

std::uint64_t operations_of(ibv_qp_type type) {
  constexpr std::uint64_t kSends = IBV_QP_EX_WITH_SEND | IBV_QP_EX_WITH_SEND_WITH_IMM;
  constexpr std::uint64_t kWrites = IBV_QP_EX_WITH_RDMA_WRITE | IBV_QP_EX_WITH_RDMA_WRITE_WITH_IMM;
  constexpr std::uint64_t kKeys =
      IBV_QP_EX_WITH_LOCAL_INV | IBV_QP_EX_WITH_BIND_MW | IBV_QP_EX_WITH_SEND_WITH_INV;
  constexpr std::uint64_t kAnswered = IBV_QP_EX_WITH_RDMA_READ | IBV_QP_EX_WITH_ATOMIC_CMP_AND_SWP |
                                      IBV_QP_EX_WITH_ATOMIC_FETCH_AND_ADD;
  switch (type) {
    case IBV_QPT_UD:
      return kSends;
    case IBV_QPT_UC:
      return kSends | kWrites | kKeys;
    case IBV_QPT_RC:
      return kSends | kWrites | kKeys | kAnswered | IBV_QP_EX_WITH_ATOMIC_WRITE | kFlushOperation;
    case IBV_QPT_XRC_SEND:
      return kSends | kWrites | kKeys | kAnswered;
    default:
      return 0;
  }
}

}  // namespace

ibv_qp* create_qp_ex(ibv_context* context, ibv_qp_init_attr_ex* init) {
  constexpr std::uint32_t kMasks = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_XRCD |
                                   IBV_QP_INIT_ATTR_CREATE_FLAGS | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS;
  const auto has = [init](std::uint32_t mask) { return (init->comp_mask & mask) != 0; };
  if ((init->comp_mask & ~kMasks) != 0 ||
      (has(IBV_QP_INIT_ATTR_CREATE_FLAGS) && init->create_flags != 0) ||
      (has(IBV_QP_INIT_ATTR_SEND_OPS_FLAGS) &&
       (init->send_ops_flags & ~operations_of(init->qp_type)) != 0)) {
    errno = EOPNOTSUPP;
    return nullptr;
  }
  ibv_qp_init_attr_ex wanted = *init;
  if (!has(IBV_QP_INIT_ATTR_PD)) wanted.pd = nullptr;
  if (!has(IBV_QP_INIT_ATTR_XRCD)) wanted.xrcd = nullptr;
  ibv_qp* made = create(Context::of(context), wanted);
  if (made == nullptr) return nullptr;
  init->cap = wanted.cap;
  return made;
}

ibv_qp* open_qp(ibv_context* handle, ibv_qp_open_attr* attributes) {
  constexpr std::uint32_t kNeeded =
      IBV_QP_OPEN_ATTR_NUM | IBV_QP_OPEN_ATTR_XRCD | IBV_QP_OPEN_ATTR_TYPE;
  if ((attributes->comp_mask & kNeeded) != kNeeded || attributes->xrcd == nullptr ||
      attributes->qp_type != IBV_QPT_XRC_RECV) {
    errno = EINVAL;
    return nullptr;
  }
  Context& context = Context::of(handle);
  XrcDomain& xrcd = XrcDomain::of(attributes->xrcd);
  auto made = std::make_unique<QueuePair>();
  const Adapter::Hold hold(*context.adapter);
  const auto found = context.adapter->queue_pairs.find(attributes->qp_num);
  if (found == context.adapter->queue_pairs.end() || found->second->xrc_domain == nullptr ||
      found->second->xrc_domain->domain != xrcd.domain) {
    errno = EINVAL;
    return nullptr;
  }
  ibv_qp_init_attr_ex init{};
  init.qp_type = IBV_QPT_XRC_RECV;
  if ((attributes->comp_mask & IBV_QP_OPEN_ATTR_CONTEXT) != 0) {
    init.qp_context = attributes->qp_context;
  }
  set_base(made->qp_base, context, init, attributes->qp_num);
  made->qp_base.state = found->second->qp_base.state;
  made->is_opened = true;
  made->xrc_domain = &xrcd;
  ++xrcd.users;
  context.queue_pairs.insert(made.get());
  return made.release()->plain();
}

}  // namespace softrnic::verbs

using namespace softrnic::verbs;
using namespace softrnic;

extern "C" {

ibv_qp* ibv_create_qp(ibv_pd* pd, ibv_qp_init_attr* init) {
  ibv_qp_init_attr_ex wanted{};
  wanted.qp_context = init->qp_context;
  wanted.send_cq = init->send_cq;
  wanted.recv_cq = init->recv_cq;
  wanted.srq = init->srq;
  wanted.cap = init->cap;
  wanted.qp_type = init->qp_type;
  wanted.sq_sig_all = init->sq_sig_all;
  wanted.pd = pd;
  ibv_qp* made = create(Context::of(pd->context), wanted);
  if (made != nullptr) init->cap = wanted.cap;
  return made;
}

ibv_qp_ex* ibv_qp_to_qp_ex(ibv_qp* qp) {
  return &QueuePair::of(qp);
}

int ibv_modify_qp(ibv_qp* qp, ibv_qp_attr* attributes, int mask) {
  QueuePair& its = QueuePair::of(qp);
  Adapter::Hold hold(*its.its_context().adapter);
  const auto status = hold->query_queue_pair(qp->qp_num);
  if (!status) return EINVAL;
  const auto change = change_of(*attributes, own_attributes(qp->qp_type, mask), status->state);
  if (!change) return EINVAL;
  const auto error = hold->modify(qp->qp_num, change->to, change->attributes, change->named,
                                  change->address ? &*change->address : nullptr);
  if (error) return nic::error_number(*error);
  qp->state = static_cast<ibv_qp_state>(change->to);
  hold.ring_doorbell();
  return 0;
}

int ibv_query_qp(ibv_qp* qp, ibv_qp_attr* attributes, int, ibv_qp_init_attr* init) {
  QueuePair& its = QueuePair::of(qp);
  Adapter::Hold hold(*its.its_context().adapter);
  const auto status = hold->query_queue_pair(qp->qp_num);
  if (!status) return EINVAL;
  *attributes = attributes_of(*status);
  qp->state = attributes->qp_state;
  init->qp_context = qp->qp_context;
  init->send_cq = qp->send_cq;
  init->recv_cq = qp->recv_cq;
  init->srq = qp->srq;
  init->qp_type = qp->qp_type;
  init->cap = attributes->cap;
  init->sq_sig_all = its.signals_all ? 1 : 0;
  return 0;
}

int ibv_destroy_qp(ibv_qp* qp) {
  QueuePair& its = QueuePair::of(qp);
  Context& context = its.its_context();
  {
    Adapter::Hold hold(*context.adapter);
    if (!its.is_opened) {
      if (const auto error = hold->destroy_queue_pair(qp->qp_num)) return nic::error_number(*error);
      context.adapter->queue_pairs.erase(qp->qp_num);
    }
    context.queue_pairs.erase(&its);
    if (its.xrc_domain != nullptr) --its.xrc_domain->users;
  }
  context.async_events.forget(qp);
  wait_for_acknowledgements(qp->mutex, qp->cond, qp->events_completed, its.events_taken);
  delete &its;
  return 0;
}

int ibv_attach_mcast(ibv_qp* qp, const ibv_gid* gid, std::uint16_t) {
  Adapter::Hold hold(*QueuePair::of(qp).its_context().adapter);
  const auto error = hold->attach_multicast(qp->qp_num, gid_of(*gid));
  if (!error) hold.ring_doorbell();
  return error ? nic::error_number(*error) : 0;
}

int ibv_detach_mcast(ibv_qp* qp, const ibv_gid* gid, std::uint16_t) {
  Adapter::Hold hold(*QueuePair::of(qp).its_context().adapter);
  const auto error = hold->detach_multicast(qp->qp_num, gid_of(*gid));
  if (!error) hold.ring_doorbell();
  return error ? nic::error_number(*error) : 0;
}

int ibv_query_ece(ibv_qp*, ibv_ece* ece) {
  *ece = {};
  return 0;
}

int ibv_set_ece(ibv_qp*, ibv_ece* ece) {
  // Zeros ask for nothing, which is what there is.
  return ece->vendor_id == 0 && ece->options == 0 ? 0 : EOPNOTSUPP;
}

int ibv_query_qp_data_in_order(ibv_qp*, ibv_wr_opcode, std::uint32_t) {
  return 0;
}

}  // extern "C"
