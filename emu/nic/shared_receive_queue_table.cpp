// SPDX-License-Identifier: BSD-3-Clause
#include "nic/shared_receive_queue_table.hpp"

#include <algorithm>

namespace softrnic::nic {

using transport::SharedReceiveQueue;
using transport::XrcDomain;

std::uint32_t SharedReceiveQueueTable::next_number() {
  for (;;) {
    const std::uint32_t number = next_;
    next_ = next_ == kLastNumber ? 1 : next_ + 1;
    if (by_number_.find(number) == nullptr) return number;
  }
}

SharedReceiveQueue& SharedReceiveQueueTable::add(transport::SharedReceiveQueueContext context,
                                                 XrcDomain* domain) {
  context.number = next_number();
  auto entry = std::make_unique<Entry>(context, domain);
  entry->index = entries_.size();
  by_number_.insert(context.number, entry.get());
  if (domain != nullptr) domain->add(entry->queue);
  entries_.push_back(std::move(entry));
  return entries_.back()->queue;
}

void SharedReceiveQueueTable::remove(SharedReceiveQueue& queue) {
  Entry* entry = by_number_.erase(queue.number());
  if (entry->domain != nullptr) entry->domain->remove(queue);
  const std::size_t index = entry->index;
  std::swap(entries_[index], entries_.back());
  entries_[index]->index = index;
  entries_.pop_back();
}

bool SharedReceiveQueueTable::contains(const SharedReceiveQueue* queue) const {
  return std::any_of(entries_.begin(), entries_.end(),
                     [queue](const auto& entry) { return &entry->queue == queue; });
}

bool SharedReceiveQueueTable::uses(transport::ProtectionDomain domain) const {
  return std::any_of(entries_.begin(), entries_.end(),
                     [domain](const auto& entry) { return entry->queue.domain() == domain; });
}

bool SharedReceiveQueueTable::uses(const transport::CompletionSink& completions) const {
  return std::any_of(entries_.begin(), entries_.end(), [&completions](const auto& entry) {
    return entry->queue.completions() == &completions;
  });
}

XrcDomain& SharedReceiveQueueTable::add_domain() {
  domains_.push_back(std::make_unique<XrcDomain>());
  return *domains_.back();
}

void SharedReceiveQueueTable::remove_domain(const XrcDomain& domain) {
  std::erase_if(domains_, [&domain](const auto& d) { return d.get() == &domain; });
}

bool SharedReceiveQueueTable::contains(const XrcDomain* domain) const {
  return std::any_of(domains_.begin(), domains_.end(),
                     [domain](const auto& d) { return d.get() == domain; });
}

}  // namespace softrnic::nic
