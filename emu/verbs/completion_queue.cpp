// SPDX-License-Identifier: BSD-3-Clause
#include "verbs/completion_queue.hpp"

#include <arpa/inet.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <new>

#include "verbs/protection_domain.hpp"

namespace softrnic::verbs {
namespace {

using transport::Completion;
using transport::CompletionOperation;

constexpr std::size_t kBatch = 16;

constexpr std::uint64_t kOfferedFields =
    IBV_WC_EX_WITH_BYTE_LEN | IBV_WC_EX_WITH_IMM | IBV_WC_EX_WITH_QP_NUM | IBV_WC_EX_WITH_SRC_QP |
    IBV_WC_EX_WITH_SLID | IBV_WC_EX_WITH_SL | IBV_WC_EX_WITH_DLID_PATH_BITS |
    IBV_WC_EX_WITH_COMPLETION_TIMESTAMP | IBV_WC_EX_WITH_COMPLETION_TIMESTAMP_WALLCLOCK;

// Values that later versions of the header have, and this one need not.
constexpr auto kFlushOpcode = static_cast<ibv_wc_opcode>(8);

const Completion& current(ibv_cq_ex* cq) {
  return CompletionQueue::of(cq).current;
}

std::uint32_t immediate_of(const Completion& completion) {
  return completion.has_invalidate ? completion.invalidated_key : htonl(completion.immediate);
}

int next_poll(ibv_cq_ex* cq) {
  CompletionQueue& queue = CompletionQueue::of(cq);
  if (queue.poll({&queue.current, 1}) == 0) return ENOENT;
  cq->wr_id = queue.current.id;
  // Numbered alike.
  cq->status = static_cast<ibv_wc_status>(queue.current.status);
  return 0;
}

int start_poll(ibv_cq_ex* cq, ibv_poll_cq_attr* attributes) {
  if (attributes != nullptr && attributes->comp_mask != 0) return EINVAL;
  // What is read afterwards is this thread's until it ends.
  CompletionQueue& queue = CompletionQueue::of(cq);
  queue.polling.lock();
  const int error = next_poll(cq);
  if (error != 0) queue.polling.unlock();
  return error;
}

void end_poll(ibv_cq_ex* cq) {
  CompletionQueue::of(cq).polling.unlock();
}

// For a program that promises that one thread polls.
int start_poll_alone(ibv_cq_ex* cq, ibv_poll_cq_attr* attributes) {
  if (attributes != nullptr && attributes->comp_mask != 0) return EINVAL;
  return next_poll(cq);
}

void end_poll_alone(ibv_cq_ex*) {}

std::uint64_t nanoseconds_of(const Completion& completion) {
  return static_cast<std::uint64_t>(completion.at.time_since_epoch().count());
}

void set_functions(ibv_cq_ex& cq, std::uint64_t fields, bool one_thread) {
  cq.start_poll = one_thread ? start_poll_alone : start_poll;
  cq.next_poll = next_poll;
  cq.end_poll = one_thread ? end_poll_alone : end_poll;
  cq.read_opcode = [](ibv_cq_ex* its) { return opcode_of(current(its)); };
  cq.read_vendor_err = [](ibv_cq_ex*) { return std::uint32_t{0}; };
  cq.read_wc_flags = [](ibv_cq_ex* its) { return flags_of(current(its)); };
  // The others only for those who asked for them, as drivers do.
  if ((fields & IBV_WC_EX_WITH_BYTE_LEN) != 0) {
    cq.read_byte_len = [](ibv_cq_ex* its) { return current(its).byte_length; };
  }
  if ((fields & IBV_WC_EX_WITH_IMM) != 0) {
    cq.read_imm_data = [](ibv_cq_ex* its) -> __be32 { return immediate_of(current(its)); };
  }
  if ((fields & IBV_WC_EX_WITH_QP_NUM) != 0) {
    cq.read_qp_num = [](ibv_cq_ex* its) { return current(its).qpn; };
  }
  if ((fields & IBV_WC_EX_WITH_SRC_QP) != 0) {
    cq.read_src_qp = [](ibv_cq_ex* its) { return current(its).source_qpn; };
  }
  if ((fields & IBV_WC_EX_WITH_SLID) != 0) {
    cq.read_slid = [](ibv_cq_ex*) { return std::uint32_t{0}; };  // Ethernet has no LIDs
  }
  if ((fields & IBV_WC_EX_WITH_SL) != 0) {
    cq.read_sl = [](ibv_cq_ex*) { return std::uint8_t{0}; };
  }
  if ((fields & IBV_WC_EX_WITH_DLID_PATH_BITS) != 0) {
    cq.read_dlid_path_bits = [](ibv_cq_ex*) { return std::uint8_t{0}; };
  }
  if ((fields & IBV_WC_EX_WITH_COMPLETION_TIMESTAMP) != 0) {
    cq.read_completion_ts = [](ibv_cq_ex* its) { return nanoseconds_of(current(its)); };
  }
  if ((fields & IBV_WC_EX_WITH_COMPLETION_TIMESTAMP_WALLCLOCK) != 0) {
    cq.read_completion_wallclock_ns = [](ibv_cq_ex* its) { return nanoseconds_of(current(its)); };
  }
}

struct Wanted {
  std::uint32_t entries = 0;
  void* cq_context = nullptr;
  ibv_comp_channel* channel = nullptr;
  int comp_vector = 0;
  std::uint64_t fields = 0;
  ProtectionDomain* parent_domain = nullptr;
  bool one_thread = false;  // polls the extended interface
};

CompletionQueue* create(ibv_context* handle, const Wanted& wanted) {
  if (wanted.entries == 0 || wanted.comp_vector < 0 ||
      wanted.comp_vector >= handle->num_comp_vectors) {
    errno = EINVAL;
    return nullptr;
  }
  Context& context = Context::of(handle);
  auto made = std::make_unique<CompletionQueue>();
  Adapter::Hold hold(*context.adapter);
  auto queue = hold->create_completion_queue(nic::CompletionQueueInit{wanted.entries});
  if (!queue) {
    errno = nic::error_number(queue.error());
    return nullptr;
  }
  CompletionQueue& cq = *made;
  cq.queue = *queue;
  cq.context = handle;
  cq.channel = wanted.channel;
  cq.cq_context = wanted.cq_context;
  cq.handle = context.next_handle();
  cq.cqe = static_cast<int>(cq.queue->depth());
  pthread_mutex_init(&cq.mutex, nullptr);
  pthread_cond_init(&cq.cond, nullptr);
  set_functions(cq, wanted.fields, wanted.one_thread);
  cq.parent_domain = wanted.parent_domain;
  if (cq.parent_domain != nullptr) ++cq.parent_domain->parents;
  if (cq.channel != nullptr) ++cq.channel->refcnt;
  cq.queue->on_notification([&cq, adapter = context.adapter.get()] {
    --adapter->armed;
    if (cq.channel != nullptr) cq.its_channel()->push(cq);
  });
  context.adapter->completion_queues.emplace(cq.queue->number(), &cq);
  context.completion_queues.insert(&cq);
  return made.release();
}

}  // namespace

std::size_t CompletionQueue::poll(std::span<Completion> out) {
  std::size_t taken = 0;
  std::uint32_t in_vain = 0;
  {
    Adapter::Hold hold(*its_context().adapter);
    taken = queue->poll(out);
    if (taken == 0) {
      hold.poll();
      taken = queue->poll(out);
    }
    empty_polls = taken > 0 ? 0 : empty_polls + 1;
    in_vain = empty_polls;
  }
  if (taken == 0) its_context().adapter->be_patient(in_vain);
  return taken;
}

ibv_wc_opcode opcode_of(const Completion& completion) {
  switch (completion.operation) {
    case CompletionOperation::send:
      return IBV_WC_SEND;
    case CompletionOperation::rdma_write:
      return IBV_WC_RDMA_WRITE;
    case CompletionOperation::rdma_read:
      return IBV_WC_RDMA_READ;
    case CompletionOperation::compare_swap:
      return IBV_WC_COMP_SWAP;
    case CompletionOperation::fetch_add:
      return IBV_WC_FETCH_ADD;
    case CompletionOperation::receive:
      return IBV_WC_RECV;
    case CompletionOperation::receive_rdma_with_immediate:
      return IBV_WC_RECV_RDMA_WITH_IMM;
    case CompletionOperation::local_invalidate:
      return IBV_WC_LOCAL_INV;
    case CompletionOperation::bind_window:
      return IBV_WC_BIND_MW;
    case CompletionOperation::atomic_write:
      return IBV_WC_ATOMIC_WRITE;
    case CompletionOperation::flush:
      return kFlushOpcode;
    case CompletionOperation::fast_register:
      break;  // verbs of programs have no such request
  }
  return IBV_WC_DRIVER1;
}

unsigned flags_of(const Completion& completion) {
  unsigned flags = 0;
  if (completion.has_grh) flags |= IBV_WC_GRH;
  if (completion.has_immediate) flags |= IBV_WC_WITH_IMM;
  if (completion.has_invalidate) flags |= IBV_WC_WITH_INV;
  return flags;
}

ibv_wc work_completion(const Completion& completion) {
  ibv_wc wc{};
  wc.wr_id = completion.id;
  wc.status = static_cast<ibv_wc_status>(completion.status);
  wc.opcode = opcode_of(completion);
  wc.byte_len = completion.byte_length;
  wc.imm_data = immediate_of(completion);
  wc.qp_num = completion.qpn;
  wc.src_qp = completion.source_qpn;
  wc.wc_flags = flags_of(completion);
  return wc;
}

int poll_cq(ibv_cq* cq, int entries, ibv_wc* completions) {
  CompletionQueue& queue = CompletionQueue::of(cq);
  std::array<Completion, kBatch> batch;
  int polled = 0;
  while (polled < entries) {
    const std::size_t wanted =
        std::min<std::size_t>(kBatch, static_cast<std::size_t>(entries - polled));
    const std::size_t taken = queue.poll({batch.data(), wanted});
    for (std::size_t i = 0; i < taken; ++i) completions[polled++] = work_completion(batch[i]);
    if (taken < wanted) break;
  }
  return polled;
}

int req_notify_cq(ibv_cq* cq, int solicited_only) {
  using Notify = nic::CompletionQueue::Notify;
  CompletionQueue& its = CompletionQueue::of(cq);
  Adapter& adapter = *its.its_context().adapter;
  Adapter::Hold hold(adapter);
  if (its.queue->armed() == Notify::no) ++adapter.armed;
  its.queue->request_notification(solicited_only != 0 ? Notify::solicited : Notify::any);
  hold.expect_wait();
  return 0;
}

ibv_cq_ex* create_cq_ex(ibv_context* context, ibv_cq_init_attr_ex* init) {
  constexpr std::uint32_t kMasks = IBV_CQ_INIT_ATTR_MASK_FLAGS | IBV_CQ_INIT_ATTR_MASK_PD;
  constexpr std::uint32_t kFlags =
      IBV_CREATE_CQ_ATTR_SINGLE_THREADED | IBV_CREATE_CQ_ATTR_IGNORE_OVERRUN;
  if ((init->comp_mask & ~kMasks) != 0 || (init->wc_flags & ~kOfferedFields) != 0) {
    errno = EOPNOTSUPP;
    return nullptr;
  }
  const std::uint32_t flags =
      (init->comp_mask & IBV_CQ_INIT_ATTR_MASK_FLAGS) != 0 ? init->flags : 0;
  if ((flags & ~kFlags) != 0) {
    errno = EOPNOTSUPP;
    return nullptr;
  }
  // A queue here cannot lose completions and go on.
  if ((flags & IBV_CREATE_CQ_ATTR_IGNORE_OVERRUN) != 0) {
    errno = EOPNOTSUPP;
    return nullptr;
  }
  Wanted wanted{init->cqe,
                init->cq_context,
                init->channel,
                static_cast<int>(init->comp_vector),
                init->wc_flags,
                nullptr,
                (flags & IBV_CREATE_CQ_ATTR_SINGLE_THREADED) != 0};
  if ((init->comp_mask & IBV_CQ_INIT_ATTR_MASK_PD) != 0) {
    ProtectionDomain& parent = ProtectionDomain::of(init->parent_domain);
    if (parent.stands_for == nullptr) {
      errno = EINVAL;
      return nullptr;
    }
    wanted.parent_domain = &parent;
  }
  return create(context, wanted);
}

}  // namespace softrnic::verbs

using namespace softrnic::verbs;
using namespace softrnic;

extern "C" {

ibv_cq* ibv_create_cq(ibv_context* context, int cqe, void* cq_context, ibv_comp_channel* channel,
                      int comp_vector) {
  const std::uint32_t entries = cqe > 0 ? static_cast<std::uint32_t>(cqe) : 0;
  CompletionQueue* queue =
      create(context, {entries, cq_context, channel, comp_vector, 0, nullptr, false});
  return queue == nullptr ? nullptr : queue->plain();
}

int ibv_resize_cq(ibv_cq* cq, int cqe) {
  if (cqe <= 0) return EINVAL;
  CompletionQueue& its = CompletionQueue::of(cq);
  Adapter::Hold hold(*its.its_context().adapter);
  const auto error = hold->resize_completion_queue(*its.queue, static_cast<std::uint32_t>(cqe));
  if (error) return nic::error_number(*error);
  cq->cqe = static_cast<int>(its.queue->depth());
  return 0;
}

int ibv_destroy_cq(ibv_cq* cq) {
  CompletionQueue& its = CompletionQueue::of(cq);
  Context& context = its.its_context();
  {
    Adapter::Hold hold(*context.adapter);
    const std::uint32_t number = its.queue->number();
    const bool armed = its.queue->armed() != nic::CompletionQueue::Notify::no;
    if (const auto error = hold->destroy_completion_queue(*its.queue)) {
      return nic::error_number(*error);
    }
    if (armed) --context.adapter->armed;
    context.adapter->completion_queues.erase(number);
    context.completion_queues.erase(&its);
    if (its.parent_domain != nullptr) --its.parent_domain->parents;
    if (its.channel != nullptr) --its.channel->refcnt;
  }
  if (its.channel != nullptr) its.its_channel()->forget(its);
  context.async_events.forget(cq);
  wait_for_acknowledgements(cq->mutex, cq->cond, cq->comp_events_completed, its.events_taken);
  wait_for_acknowledgements(cq->mutex, cq->cond, cq->async_events_completed,
                            its.async_events_taken);
  delete &its;
  return 0;
}

}  // extern "C"
