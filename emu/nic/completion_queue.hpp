// SPDX-License-Identifier: BSD-3-Clause
// Completion queue (IBTA vol. 1, 10.2.6): a bounded ring of completions. Not thread-safe.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "transport/completion.hpp"

namespace softrnic::nic {

class CompletionQueue final : public transport::CompletionSink {
 public:
  explicit CompletionQueue(std::uint32_t depth);

  // Takes up to out.size() completions, oldest first; returns how many.
  std::size_t poll(std::span<transport::Completion> out);
  std::size_t size() const { return size_; }
  // A completion found no room and was lost; the queue stays in error (10.10.3).
  bool overrun() const { return overrun_; }

  bool complete(const transport::Completion& completion) override;

 private:
  std::vector<transport::Completion> ring_;
  std::size_t head_ = 0;
  std::size_t size_ = 0;
  bool overrun_ = false;
};

}  // namespace softrnic::nic
