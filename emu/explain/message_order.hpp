// SPDX-License-Identifier: BSD-3-Clause
// Messages in the order of their first frames. The analysis lets them go when nothing can change
// them any more, which is not in that order; so a bounded number is held back and sorted.
#pragma once

#include <functional>
#include <queue>
#include <vector>

#include "explain/explanation.hpp"

namespace softrnic::explain {

class MessageOrder final : public Listener {
 public:
  // A message that lasted while more others than this came and went is told late.
  static constexpr std::size_t kHeldBack = std::size_t{1} << 17;

  using Take = std::function<void(const analysis::Message&)>;
  explicit MessageOrder(Take take) : take_(std::move(take)) {}

  void on_message(const analysis::Message& message, const analysis::Stream& stream) override;
  // All that are left, after Explanation::finish().
  void finish();

 private:
  struct Later {
    bool operator()(const analysis::Message& a, const analysis::Message& b) const {
      return a.first_frame > b.first_frame;
    }
  };

  Take take_;
  std::priority_queue<analysis::Message, std::vector<analysis::Message>, Later> held_;
};

}  // namespace softrnic::explain
