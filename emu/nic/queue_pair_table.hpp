// SPDX-License-Identifier: BSD-3-Clause
// Queue pairs by their number, each with what the NIC knows of it beside the transport's state.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <unordered_map>
#include <vector>

#include "link/link.hpp"
#include "nic/completion_queue.hpp"
#include "nic/deadline_queue.hpp"
#include "nic/intrusive_list.hpp"
#include "nic/number_map.hpp"
#include "nic/path.hpp"
#include "transport/queue_pair.hpp"
#include "transport/xrc_domain.hpp"

namespace softrnic::nic {

// What a queue pair works with and must outlive it; null where it has none.
struct QueuePairResources {
  CompletionQueue* send_completions = nullptr;
  CompletionQueue* receive_completions = nullptr;
  transport::SharedReceiveQueue* shared_receive_queue = nullptr;
  transport::XrcDomain* xrc_domain = nullptr;
};

struct QueuePairEntry : ListNode, Timed {
  QueuePairEntry(const transport::QueuePairContext& context, const QueuePairResources& its)
      : queue_pair(context), resources(its) {}

  bool is_datagram() const { return queue_pair.type() == transport::QueuePairType::ud; }

  // A queue in which it completes has lost a completion.
  bool has_overrun() const {
    const auto overrun = [](const CompletionQueue* q) { return q != nullptr && q->overrun(); };
    return overrun(resources.send_completions) || overrun(resources.receive_completions);
  }

  transport::QueuePair queue_pair;
  Path path;                                 // connected services, from RTR on
  std::optional<AddressAttributes> address;  // which it was made of
  QueuePairResources resources;

  // Which of the scheduler's lists it is in.
  enum class Place : std::uint8_t { idle, touched, ready, held } place = Place::idle;
  wire::Gid held_for;             // while held: the neighbour that is being resolved
  std::uint32_t attachments = 0;  // to multicast groups
  std::size_t index = 0;          // in the table's list
};

class QueuePairTable {
 public:
  // `numbers`: those it gives out, from `first_number` on.
  QueuePairTable(const link::QueuePairNumbers& numbers, std::uint32_t first_number,
                 std::uint32_t max);

  // The next number not in use; counts up, so that a number comes back as late as possible.
  std::uint32_t next_number();
  bool full() const { return entries_.size() >= max_; }
  // The number in the context must be free.
  QueuePairEntry& add(const transport::QueuePairContext& context,
                      const QueuePairResources& resources);
  void remove(QueuePairEntry& entry);

  QueuePairEntry* find(std::uint32_t number) const { return by_number_.find(number); }
  // The one connected to queue pair `number` of that host. Looks at each.
  QueuePairEntry* find_connected_to(const wire::Gid& host, std::uint32_t number) const;
  std::size_t size() const { return entries_.size(); }
  bool uses(transport::ProtectionDomain domain) const;
  bool uses(const CompletionQueue& queue) const { return completing_in_.contains(&queue); }
  bool uses(const transport::SharedReceiveQueue& queue) const;
  bool uses(const transport::XrcDomain& domain) const;

  template <class Visit>
  void for_each(Visit visit) {
    for (const auto& entry : entries_) visit(*entry);
  }

 private:
  void begin_use(const CompletionQueue* queue);
  void end_use(const CompletionQueue* queue);

  NumberMap<QueuePairEntry> by_number_;
  std::vector<std::unique_ptr<QueuePairEntry>> entries_;
  // How many halves of queue pairs complete in it: with as many queues as queue pairs, looking
  // through them all for each that goes would take for ever.
  std::unordered_map<const CompletionQueue*, std::uint32_t> completing_in_;
  link::QueuePairNumbers numbers_;
  std::uint32_t next_;
  std::uint32_t max_;
};

}  // namespace softrnic::nic
