// SPDX-License-Identifier: BSD-3-Clause
// Where messages are kept: for ever, or as long as something refers to them.
//
// In the second case who remembers a message says so with hold(), and release() when it no longer
// does. A message nobody holds lives until the next let_go(), then its number goes to another one.
#pragma once

#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

#include "analysis/message.hpp"
#include "analysis/packet_record.hpp"
#include "analysis/paged_array.hpp"

namespace softrnic::analysis {

class MessageStore {
 public:
  using Sink = std::function<void(const Message&)>;
  using Messages = PagedArray<Message, 7>;
  // Blocks of this size are free again in the BlockPool after let_go_of_all(): one for every 128
  // messages that were kept at the same time.
  static constexpr std::size_t kPageBytes = Messages::kPage * sizeof(Message);

  MessageStore(bool forgets, Sink sink) : forgets_(forgets), sink_(std::move(sink)) {}

  std::uint32_t push_back(const Message& message) {
    ++count_;
    if (!forgets_) return messages_.push_back(message);
    std::uint32_t index = kNone;
    if (free_.empty()) {
      index = messages_.push_back(message);
      holders_.push_back(0);
    } else {
      index = free_.back();
      free_.pop_back();
      messages_[index] = message;
      holders_[index] = 0;
    }
    unheld_.push_back(index);
    return index;
  }

  Message& operator[](std::size_t i) { return messages_[i]; }
  const Message& operator[](std::size_t i) const { return messages_[i]; }

  // How many there were so far.
  std::size_t size() const { return count_; }

  void hold(std::uint32_t index) {
    if (forgets_ && index != kNone) ++holders_[index];
  }
  void release(std::uint32_t index) {
    if (forgets_ && index != kNone && --holders_[index] == 0) unheld_.push_back(index);
  }

  void let_go() {
    for (const std::uint32_t index : unheld_) {
      if (holders_[index] != 0) continue;
      holders_[index] = kGone;
      if (sink_) sink_(messages_[index]);
      free_.push_back(index);
    }
    unheld_.clear();
  }

  // Tells of every message that is still here, in no order, and keeps none; nothing may refer to
  // one any more.
  void let_go_of_all() {
    if (!forgets_) return;
    for (std::uint32_t index = 0; index < messages_.size(); ++index) {
      if (holders_[index] != kGone && sink_) sink_(messages_[index]);
    }
    messages_ = Messages();
    for (auto* numbers : {&holders_, &free_, &unheld_}) *numbers = std::vector<std::uint32_t>();
  }

  std::size_t memory() const {
    return messages_.memory() +
           (holders_.capacity() + free_.capacity() + unheld_.capacity()) * sizeof(std::uint32_t);
  }

 private:
  static constexpr std::uint32_t kGone = 0xffffffff;

  bool forgets_;
  Sink sink_;
  Messages messages_;
  std::size_t count_ = 0;
  std::vector<std::uint32_t> holders_;  // of each; kGone: free
  std::vector<std::uint32_t> free_;
  std::vector<std::uint32_t> unheld_;  // perhaps
};

}  // namespace softrnic::analysis
