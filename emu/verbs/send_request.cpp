// SPDX-License-Identifier: BSD-3-Clause
// ibv_post_send and ibv_post_recv: requests of the plain interface as the transport takes them.
#include <arpa/inet.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <optional>

#include "verbs/memory_region.hpp"
#include "verbs/queue_pair.hpp"
#include "verbs/receive_request.hpp"
#include "verbs/shared_receive_queue.hpp"

namespace softrnic::verbs {
namespace {

using transport::SendOperation;
using transport::SendRequest;

constexpr std::size_t kMostSges = 32;
constexpr std::size_t kMostInline = 4096;

std::optional<SendOperation> operation_of(ibv_wr_opcode opcode) {
  switch (opcode) {
    case IBV_WR_RDMA_WRITE:
      return SendOperation::rdma_write;
    case IBV_WR_RDMA_WRITE_WITH_IMM:
      return SendOperation::rdma_write_with_immediate;
    case IBV_WR_SEND:
      return SendOperation::send;
    case IBV_WR_SEND_WITH_IMM:
      return SendOperation::send_with_immediate;
    case IBV_WR_RDMA_READ:
      return SendOperation::rdma_read;
    case IBV_WR_ATOMIC_CMP_AND_SWP:
      return SendOperation::compare_swap;
    case IBV_WR_ATOMIC_FETCH_AND_ADD:
      return SendOperation::fetch_add;
    case IBV_WR_LOCAL_INV:
      return SendOperation::local_invalidate;
    case IBV_WR_BIND_MW:
      return SendOperation::bind_window;
    case IBV_WR_SEND_WITH_INV:
      return SendOperation::send_with_invalidate;
    case IBV_WR_ATOMIC_WRITE:
      return SendOperation::atomic_write;
    default:
      return std::nullopt;
  }
}

void set_remote(const ibv_send_wr& wr, SendRequest& request) {
  switch (request.operation) {
    case SendOperation::rdma_write:
    case SendOperation::rdma_write_with_immediate:
    case SendOperation::rdma_read:
    case SendOperation::atomic_write:
      request.remote_address = wr.wr.rdma.remote_addr;
      request.remote_key = wr.wr.rdma.rkey;
      break;
    case SendOperation::compare_swap:
      request.compare = wr.wr.atomic.compare_add;
      request.swap_add = wr.wr.atomic.swap;
      request.remote_address = wr.wr.atomic.remote_addr;
      request.remote_key = wr.wr.atomic.rkey;
      break;
    case SendOperation::fetch_add:
      request.swap_add = wr.wr.atomic.compare_add;
      request.remote_address = wr.wr.atomic.remote_addr;
      request.remote_key = wr.wr.atomic.rkey;
      break;
    default:
      break;
  }
}

// A request on its way into the queue, with the room for what it points to.
class Posting {
 public:
  // 0, or why it cannot be posted.
  int prepare(const QueuePair& queue_pair, const ibv_send_wr& wr) {
    const auto operation = operation_of(wr.opcode);
    if (!operation || wr.num_sge < 0 || static_cast<std::size_t>(wr.num_sge) > kMostSges) {
      return EINVAL;
    }
    request_ = SendRequest{};
    request_.id = wr.wr_id;
    request_.operation = *operation;
    request_.signaled = queue_pair.signals_all || (wr.send_flags & IBV_SEND_SIGNALED) != 0;
    request_.solicited = (wr.send_flags & IBV_SEND_SOLICITED) != 0;
    request_.fence = (wr.send_flags & IBV_SEND_FENCE) != 0;
    request_.immediate = ntohl(wr.imm_data);
    request_.invalidate_key = wr.invalidate_rkey;
    set_remote(wr, request_);
    if (queue_pair.qp_base.qp_type == IBV_QPT_UD) {
      if (wr.wr.ud.ah == nullptr) return EINVAL;
      request_.address_handle = wr.wr.ud.ah->handle;
      request_.remote_qpn = wr.wr.ud.remote_qpn;
      request_.remote_queue_key = wr.wr.ud.remote_qkey;
    } else if (queue_pair.qp_base.qp_type == IBV_QPT_XRC_SEND) {
      request_.remote_srq = wr.qp_type.xrc.remote_srqn;
    }
    if (*operation == SendOperation::bind_window) {
      if (wr.bind_mw.mw == nullptr) return EINVAL;
      binding_ = binding_of(*wr.bind_mw.mw, wr.bind_mw.rkey, wr.bind_mw.bind_info);
      request_.binding = &binding_;
      return 0;
    }
    if (*operation == SendOperation::local_invalidate) return 0;
    const std::span<const ibv_sge> list(wr.sg_list, static_cast<std::size_t>(wr.num_sge));
    if ((wr.send_flags & IBV_SEND_INLINE) != 0) return set_inline(list, queue_pair.inline_bytes);
    for (std::size_t i = 0; i < list.size(); ++i) {
      sges_[i] = {list[i].addr, list[i].length, list[i].lkey};
    }
    request_.sges = {sges_.data(), list.size()};
    return 0;
  }

  const SendRequest& request() const { return request_; }

 private:
  int set_inline(std::span<const ibv_sge> list, std::size_t most) {
    if (list.size() == 1) {
      request_.inline_data = {reinterpret_cast<const std::byte*>(list[0].addr), list[0].length};
      return 0;
    }
    std::size_t size = 0;
    for (const ibv_sge& sge : list) {
      if (sge.length > std::min(most, inline_.size()) - size) return EINVAL;
      std::memcpy(inline_.data() + size, reinterpret_cast<const void*>(sge.addr), sge.length);
      size += sge.length;
    }
    request_.inline_data = {inline_.data(), size};
    return 0;
  }

  SendRequest request_;
  transport::WindowBinding binding_;
  std::array<transport::Sge, kMostSges> sges_;
  std::array<std::byte, kMostInline> inline_;
};

}  // namespace

int post_send(ibv_qp* qp, ibv_send_wr* wr, ibv_send_wr** bad) {
  QueuePair& queue_pair = QueuePair::of(qp);
  Posting posting;
  Adapter::Hold hold(*queue_pair.its_context().adapter);
  int error = 0;
  for (; wr != nullptr; wr = wr->next) {
    error = posting.prepare(queue_pair, *wr);
    if (error == 0) {
      const auto refused = hold->post_send(qp->qp_num, posting.request());
      if (refused) error = error_number(*refused);
    }
    if (error != 0) {
      *bad = wr;
      break;
    }
  }
  hold.ring_doorbell();
  return error;
}

int post_recv(ibv_qp* qp, ibv_recv_wr* wr, ibv_recv_wr** bad) {
  QueuePair& queue_pair = QueuePair::of(qp);
  Adapter::Hold hold(*queue_pair.its_context().adapter);
  for (; wr != nullptr; wr = wr->next) {
    const int error = with_receive(*wr, [&](const transport::ReceiveRequest& receive) {
      return hold->post_receive(qp->qp_num, receive);
    });
    if (error == 0) continue;
    *bad = wr;
    return error;
  }
  return 0;
}

}  // namespace softrnic::verbs
