// SPDX-License-Identifier: BSD-3-Clause
#include "connected_queue_pair.hpp"

namespace softrnic::tools {

namespace {

bool is_connected(const transport::QueuePair& queue_pair) {
  return queue_pair.service() != wire::Service::unreliable_datagram &&
         queue_pair.state() != transport::QueuePairState::reset &&
         queue_pair.state() != transport::QueuePairState::init;
}

}  // namespace

fabric::ConnectedQueuePair connected_queue_pair(const std::unique_ptr<nic::Nic>& nic) {
  return [&nic](link::Direction direction, const wire::Gid& destination,
                std::uint32_t qpn) -> std::optional<std::uint32_t> {
    if (!nic) return std::nullopt;
    if (direction == link::Direction::inbound) {
      const transport::QueuePair* own = nic->find_queue_pair(qpn);
      if (own == nullptr || !is_connected(*own)) return std::nullopt;
      return own->attributes().destination_qpn;
    }
    const transport::QueuePair* own = nic->find_queue_pair_connected_to(destination, qpn);
    if (own == nullptr || !is_connected(*own)) return std::nullopt;
    return own->qpn();
  };
}

}  // namespace softrnic::tools
