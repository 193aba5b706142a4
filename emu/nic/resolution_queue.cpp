// SPDX-License-Identifier: BSD-3-Clause
#include "nic/resolution_queue.hpp"

namespace softrnic::nic {

ResolutionQueue::~ResolutionQueue() {
  for (std::size_t i = 0; i < count_; ++i) frames_.cancel(parked_[i].frame);
}

void ResolutionQueue::park(link::Frame* frame, const wire::Gid& destination) {
  if (count_ == parked_.size()) {
    ++counters_.tx_unresolved;
    frames_.cancel(frame);
    return;
  }
  parked_[count_++] = {frame, destination};
}

void ResolutionQueue::settle(wire::Instant now) {
  std::size_t kept = 0;
  for (std::size_t i = 0; i < count_; ++i) {
    const Parked& parked = parked_[i];
    const NeighborTable::Lookup found = neighbors_.lookup(now, parked.destination);
    switch (found.state) {
      case NeighborTable::State::resolving:
        parked_[kept++] = parked;
        break;
      case NeighborTable::State::reachable:
        wire::store_mac(parked.frame->mutable_bytes().front().data(), found.mac);
        frames_.send(now, parked.frame);
        break;
      case NeighborTable::State::failed:
        ++counters_.tx_unresolved;
        frames_.cancel(parked.frame);
        break;
    }
  }
  count_ = kept;
}

}  // namespace softrnic::nic
