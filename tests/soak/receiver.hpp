// SPDX-License-Identifier: BSD-3-Clause
// The receiving half of a flow: posts receives, and when one completes looks at it and at all that
// was written on the flow before it, which must be there by then (IBTA vol. 1, 9.5).
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "nic/nic.hpp"
#include "soak/noise.hpp"
#include "soak/operation_stream.hpp"

namespace softrnic::soak {

inline constexpr std::uint32_t kReceives = 8;  // posted at once

class Receiver {
 public:
  // `receives`: kReceives slots, `targets`: kWriteTargets slots, both under `key`.
  Receiver(const Noise& noise, nic::Nic& nic, std::uint32_t qpn, std::span<std::byte> receives,
           std::span<std::byte> targets, std::uint32_t key);

  // Begins anew, with an empty queue and the stream that the sender of depth `depth` draws.
  void restart(std::uint64_t seed, std::uint32_t depth);
  // Fills the receive queue.
  void post();
  void on_completion(const transport::Completion& completion);
  void expect_flush() { flushing_ = true; }

  bool idle() const { return completed_ == posted_; }
  std::uint64_t verified() const { return verified_; }
  // The sender has completed `posted` operations, all of them: looks at those at the end that no
  // receive came after.
  void finish(std::uint64_t posted);
  const std::string& failure() const { return failure_; }

 private:
  std::span<std::byte> receive_slot(std::uint64_t index) const;
  void check_write(const Operation& operation);
  void check_receive(const Operation& operation, const transport::Completion& completion);
  void fail(const Operation& operation, const std::string& what);

  const Noise& noise_;
  nic::Nic& nic_;
  std::uint32_t qpn_;
  std::span<std::byte> receives_;
  std::span<std::byte> targets_;
  std::uint32_t key_;

  OperationStream coming_{0, 1};   // operations whose receives are posted
  OperationStream checked_{0, 1};  // operations that were looked at
  std::uint64_t looked_at_ = 0;    // of `checked_`
  std::uint64_t posted_ = 0;
  std::uint64_t completed_ = 0;
  std::uint64_t verified_ = 0;
  bool flushing_ = false;
  std::string failure_;
};

}  // namespace softrnic::soak
