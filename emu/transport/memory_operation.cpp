// SPDX-License-Identifier: BSD-3-Clause
#include "transport/memory_operation.hpp"

namespace softrnic::transport {

CompletionStatus execute_locally(const QueuePairContext& context, const SendRequest& request) {
  MemoryFault fault = MemoryFault::wrong_kind;
  switch (request.operation) {
    case SendOperation::local_invalidate:
      fault = context.memory.invalidate_local(context.accessor(), request.invalidate_key);
      break;
    case SendOperation::fast_register:
      fault = context.memory.fast_register(context.domain, *request.registration);
      break;
    case SendOperation::bind_window:
      fault = context.memory.bind_window(context.accessor(), *request.binding);
      break;
    default:
      break;
  }
  return fault == MemoryFault::none ? CompletionStatus::success
                                    : CompletionStatus::memory_management_error;
}

}  // namespace softrnic::transport
