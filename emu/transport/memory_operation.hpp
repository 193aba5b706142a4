// SPDX-License-Identifier: BSD-3-Clause
// Requests that change keys and send nothing: local invalidate, fast registration, window bind
// (IBTA vol. 1, 10.6.3.3, 10.6.5, 10.6.7).
#pragma once

#include "transport/queue_pair.hpp"

namespace softrnic::transport {

// Carries out a local request (is_local()); not success leaves all keys as they were.
CompletionStatus execute_locally(const QueuePairContext& context, const SendRequest& request);

}  // namespace softrnic::transport
