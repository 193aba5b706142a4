// SPDX-License-Identifier: BSD-3-Clause
// The posting half of a flow: keeps a queue pair's send queue full, and judges its completions.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "nic/nic.hpp"
#include "soak/noise.hpp"
#include "soak/operation_stream.hpp"

namespace softrnic::soak {

// Where the other side keeps what this one works on.
struct RemoteTargets {
  std::uint32_t key = 0;
  std::uint64_t writes = 0;  // kWriteTargets slots
  std::uint64_t source = 0;  // kMaxLength bytes, what READs fetch
  std::uint64_t word = 0;    // for atomics
  std::uint64_t source_name = 0;
};

class Sender {
 public:
  // `slots`: depth * kSlotSize bytes under `key`. All references outlive the sender.
  Sender(const Noise& noise, nic::Nic& nic, std::uint32_t qpn, std::uint32_t depth,
         std::span<std::byte> slots, std::uint32_t key);

  // Begins anew, with an empty queue, a stream drawn from `seed`, and the peer's word at `word`.
  void restart(std::uint64_t seed, std::uint64_t word, const RemoteTargets& targets);

  // Posts while there is room and at most `most` operations have been posted since restart().
  void post(std::uint64_t most);
  void on_completion(const transport::Completion& completion);

  // The send queue is empty: what has not been reported has completed in silence.
  void settle();

  // The connection is known to be broken: what was posted may be flushed.
  void expect_flush() { flushing_ = true; }
  // Whether the last failure was "retry exceeded": the user must begin anew.
  bool exhausted() const { return exhausted_; }

  std::uint64_t posted() const { return posted_; }
  std::uint64_t succeeded() const { return succeeded_; }
  bool idle() const { return accounted_ == posted_; }
  // The peer's word after all that has succeeded.
  std::uint64_t word() const { return word_; }
  const std::string& failure() const { return failure_; }

 private:
  struct Posted {
    Operation operation;
    std::uint64_t original = 0;  // what an atomic will fetch
  };

  bool post_one(bool last);
  std::span<std::byte> slot(std::uint64_t index) const;
  void settle_until(std::uint64_t end);
  void on_error(const Posted& posted, const transport::Completion& completion);
  void succeed(const Posted& posted);
  void check_fetched(const Posted& posted);
  void fail(const Operation& operation, const std::string& what);

  const Noise& noise_;
  nic::Nic& nic_;
  std::uint32_t qpn_;
  std::uint32_t depth_;
  std::span<std::byte> slots_;
  std::uint32_t key_;

  RemoteTargets targets_;
  OperationStream stream_{0, 1};
  std::vector<Posted> ring_;
  std::uint64_t posted_ = 0;
  std::uint64_t accounted_ = 0;
  std::uint64_t succeeded_ = 0;
  std::uint64_t word_ = 0;
  bool flushing_ = false;  // something may come back flushed
  bool flushed_ = false;   // something has come back in error
  bool exhausted_ = false;
  std::string failure_;
};

}  // namespace softrnic::soak
