// SPDX-License-Identifier: BSD-3-Clause
// ibv_recv_wr as the transport takes it.
#pragma once

#include <infiniband/verbs.h>

#include <array>
#include <cerrno>
#include <optional>

#include "transport/shared_receive_queue.hpp"
#include "transport/work_request.hpp"

namespace softrnic::verbs {

// What a verbs program gets for a request that was not taken.
constexpr int error_number(transport::PostError error) {
  return error == transport::PostError::queue_full ? ENOMEM : EINVAL;
}

// Calls `post` with the request; its error, as a number, or 0.
template <class Post>
int with_receive(const ibv_recv_wr& request, Post&& post) {
  std::array<transport::Sge, transport::kMaxReceiveSges> sges;
  if (request.num_sge < 0 || static_cast<std::size_t>(request.num_sge) > sges.size()) {
    return EINVAL;
  }
  const auto count = static_cast<std::size_t>(request.num_sge);
  for (std::size_t i = 0; i < count; ++i) {
    sges[i] = {request.sg_list[i].addr, request.sg_list[i].length, request.sg_list[i].lkey};
  }
  const std::optional<transport::PostError> error = post(transport::ReceiveRequest{
      request.wr_id, std::span<const transport::Sge>(sges.data(), count)});
  return error ? error_number(*error) : 0;
}

}  // namespace softrnic::verbs
