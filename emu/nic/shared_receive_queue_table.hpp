// SPDX-License-Identifier: BSD-3-Clause
// Shared receive queues by their number, 24 bits of it, and the XRC domains some of them are in.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "nic/number_map.hpp"
#include "transport/xrc_domain.hpp"

namespace softrnic::nic {

class SharedReceiveQueueTable {
 public:
  explicit SharedReceiveQueueTable(std::uint64_t max) : max_(max) {}

  // Gives the queue the next number that is not in use; they count up, so that one comes back as
  // late as possible. `domain`: its XRC domain, or null. There must be room.
  transport::SharedReceiveQueue& add(transport::SharedReceiveQueueContext context,
                                     transport::XrcDomain* domain);
  void remove(transport::SharedReceiveQueue& queue);

  bool full() const { return entries_.size() >= max_; }
  bool contains(const transport::SharedReceiveQueue* queue) const;
  bool uses(transport::ProtectionDomain domain) const;
  bool uses(const transport::CompletionSink& completions) const;

  transport::XrcDomain& add_domain();
  void remove_domain(const transport::XrcDomain& domain);
  bool contains(const transport::XrcDomain* domain) const;

 private:
  static constexpr std::uint32_t kLastNumber = 0xffffff;

  struct Entry {
    Entry(const transport::SharedReceiveQueueContext& context, transport::XrcDomain* its_domain)
        : queue(context), domain(its_domain) {}
    transport::SharedReceiveQueue queue;
    transport::XrcDomain* domain;
    std::size_t index = 0;  // in entries_
  };

  std::uint32_t next_number();

  NumberMap<Entry> by_number_;
  std::vector<std::unique_ptr<Entry>> entries_;
  std::vector<std::unique_ptr<transport::XrcDomain>> domains_;
  std::uint64_t max_;
  std::uint32_t next_ = 1;
};

}  // namespace softrnic::nic
