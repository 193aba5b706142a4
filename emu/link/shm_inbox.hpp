// SPDX-License-Identifier: BSD-3-Clause
// What arrives at a port, looked over: a frame outside of its buffer, or one that is not lent to
// us, is passed over.
#pragma once

#include <optional>

#include "link/shm_port.hpp"
#include "link/shm_ring.hpp"

namespace softrnic::link::shm {

// A frame in another port's memory, ours to read until given back. Its bytes may still change, if
// its sender has gone wrong.
struct Arrival {
  std::uint64_t handle = 0;
  std::size_t from = 0;         // the port
  std::byte* buffer = nullptr;  // where its buffer begins
  std::byte* bytes = nullptr;
  std::size_t length = 0;
};

class Inbox {
 public:
  explicit Inbox(Port& port);

  std::optional<Arrival> next();
  void give_back(std::uint64_t handle) { lent(handle).store(0, std::memory_order_release); }
  // After some have been taken.
  void publish() { ring_.publish(); }
  RingReceiver& ring() { return ring_; }

 private:
  std::optional<Arrival> accept(const Descriptor& descriptor);
  Word<std::uint32_t>& lent(std::uint64_t handle);
  bool lent_to_us(std::uint64_t handle);

  Port* port_;
  RingReceiver ring_;
};

}  // namespace softrnic::link::shm
