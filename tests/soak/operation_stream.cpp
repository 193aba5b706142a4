// SPDX-License-Identifier: BSD-3-Clause
#include "soak/operation_stream.hpp"

#include <algorithm>

namespace softrnic::soak {

using transport::SendOperation;

SendOperation OperationStream::draw_kind() {
  if (writes_since_receive_ == kWritesBetweenReceives) {
    return random_.pick({SendOperation::send, SendOperation::send_with_immediate,
                         SendOperation::rdma_write_with_immediate});
  }
  return random_.pick({SendOperation::send, SendOperation::send, SendOperation::send_with_immediate,
                       SendOperation::rdma_write, SendOperation::rdma_write,
                       SendOperation::rdma_write, SendOperation::rdma_write_with_immediate,
                       SendOperation::rdma_read, SendOperation::rdma_read,
                       SendOperation::compare_swap, SendOperation::fetch_add,
                       SendOperation::atomic_write, SendOperation::flush});
}

std::uint32_t OperationStream::draw_length() {
  switch (random_.below(8)) {
    case 0:
      return 0;
    case 1:
      return random_.between(1, 8);
    case 2:  // around a multiple of the smallest path MTU, and so of every other
      return 256 * random_.between(1, 16) - 1 + random_.between(0, 2);
    case 3:
      return random_.between(0, kMaxLength);
    default:
      return random_.between(0, 600);
  }
}

Operation OperationStream::next() {
  Operation operation;
  operation.index = next_index_++;
  operation.kind = draw_kind();
  operation.name = random_.next();
  operation.length = draw_length();
  operation.pieces = random_.chance(70) ? random_.between(1, 3) : random_.between(1, kMaxPieces);
  operation.receive_pieces =
      random_.chance(70) ? random_.between(1, 3) : random_.between(1, kMaxPieces);
  operation.receive_slack = random_.chance(50) ? random_.between(0, 64) : 0;
  operation.immediate = static_cast<std::uint32_t>(random_.next());
  operation.operand = random_.next();
  operation.signaled = random_.chance(50) || ++since_signal_ >= signal_every_;
  operation.solicited = random_.chance(20) && operation.consumes_receive();
  operation.fence = random_.chance(10);
  operation.compare_hits = random_.chance(50);
  const bool takes_inline = operation.is_send() || operation.kind == SendOperation::rdma_write ||
                            operation.kind == SendOperation::rdma_write_with_immediate;
  operation.is_inline = random_.chance(25) && takes_inline && operation.length <= kMaxInline;
  if (operation.is_atomic() || operation.kind == SendOperation::atomic_write) {
    operation.length = 8;
    operation.pieces = 1;
  }
  if (operation.is_write()) operation.write = next_write_++;
  if (operation.signaled) since_signal_ = 0;
  if (operation.is_write()) ++writes_since_receive_;
  if (operation.consumes_receive()) writes_since_receive_ = 0;
  operation.length = std::min(operation.length, kMaxLength - 64);  // room for the slack
  return operation;
}

Layout lay_out(std::uint64_t name, std::uint32_t length, std::uint32_t pieces) {
  property::Random random(name);
  Layout layout;
  layout.count = pieces;
  std::uint32_t at = 0;
  for (std::uint32_t i = 0; i < pieces; ++i) {
    at += random.between(1, kMaxGap);
    const std::uint32_t share = i + 1 == pieces ? length : random.between(0, length);
    layout.offsets[i] = at;
    layout.lengths[i] = share;
    at += share;
    length -= share;
  }
  return layout;
}

}  // namespace softrnic::soak
