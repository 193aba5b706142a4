// SPDX-License-Identifier: BSD-3-Clause
#include "nic/queue_pair_table.hpp"

#include <algorithm>

namespace softrnic::nic {

QueuePairTable::QueuePairTable(const link::QueuePairNumbers& numbers, std::uint32_t first_number,
                               std::uint32_t max)
    : numbers_(numbers),
      next_(std::clamp(first_number, numbers.first, numbers.last)),
      max_(std::min(max, numbers.last - numbers.first)) {}

std::uint32_t QueuePairTable::next_number() {
  for (;;) {
    const std::uint32_t number = next_;
    next_ = next_ == numbers_.last ? numbers_.first : next_ + 1;
    if (find(number) == nullptr) return number;
  }
}

QueuePairEntry& QueuePairTable::add(const transport::QueuePairContext& context,
                                    const QueuePairResources& resources) {
  auto entry = std::make_unique<QueuePairEntry>(context, resources);
  entry->index = entries_.size();
  by_number_.insert(context.qpn, entry.get());
  entries_.push_back(std::move(entry));
  begin_use(resources.send_completions);
  begin_use(resources.receive_completions);
  return *entries_.back();
}

void QueuePairTable::remove(QueuePairEntry& entry) {
  end_use(entry.resources.send_completions);
  end_use(entry.resources.receive_completions);
  by_number_.erase(entry.queue_pair.qpn());
  const std::size_t index = entry.index;
  std::swap(entries_[index], entries_.back());
  entries_[index]->index = index;
  entries_.pop_back();
}

QueuePairEntry* QueuePairTable::find_connected_to(const wire::Gid& host,
                                                  std::uint32_t number) const {
  const auto found = std::find_if(entries_.begin(), entries_.end(), [&](const auto& entry) {
    return !entry->is_datagram() && entry->path.destination() == host &&
           entry->queue_pair.attributes().destination_qpn == number;
  });
  return found == entries_.end() ? nullptr : found->get();
}

bool QueuePairTable::uses(transport::ProtectionDomain domain) const {
  return std::any_of(entries_.begin(), entries_.end(),
                     [domain](const auto& entry) { return entry->queue_pair.domain() == domain; });
}

void QueuePairTable::begin_use(const CompletionQueue* queue) {
  if (queue != nullptr) ++completing_in_[queue];
}

void QueuePairTable::end_use(const CompletionQueue* queue) {
  const auto found = completing_in_.find(queue);
  if (found != completing_in_.end() && --found->second == 0) completing_in_.erase(found);
}

bool QueuePairTable::uses(const transport::SharedReceiveQueue& queue) const {
  return std::any_of(entries_.begin(), entries_.end(), [&queue](const auto& entry) {
    return entry->resources.shared_receive_queue == &queue;
  });
}

bool QueuePairTable::uses(const transport::XrcDomain& domain) const {
  return std::any_of(entries_.begin(), entries_.end(), [&domain](const auto& entry) {
    return entry->resources.xrc_domain == &domain;
  });
}

}  // namespace softrnic::nic
