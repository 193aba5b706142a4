// SPDX-License-Identifier: BSD-3-Clause
// End-to-end flow control as a requester keeps it: how many of the peer's receives its requests
// have taken, and how many there are (IBTA vol. 1, 9.7.7.2).
#pragma once

#include <cstdint>

#include "wire/aeth.hpp"

namespace softrnic::transport {

class EndToEndCredits {
 public:
  // The acknowledgement of all that is done says how many receives are left, or that nobody counts.
  void take(wire::Syndrome acknowledgement);

  // A request that consumes a receive has been sent in full; goes again; is done.
  void on_sent() { ++sent_; }
  void on_repeat() { --sent_; }
  void on_done() { ++done_; }
  // All that is not done goes again.
  void rewind() { sent_ = done_; }

  // The peer counts its receives for us.
  bool limited() const { return limited_; }
  // All the receives there are have been taken, and perhaps more asked for.
  bool exhausted() const { return limited_ && static_cast<std::int32_t>(sent_ - limit_) >= 0; }
  // The next request is the first beyond them.
  bool at_limit() const { return sent_ == limit_; }

 private:
  // Counted from an arbitrary point: receives taken by requests that are done, by those sent, and
  // how many there are.
  std::uint32_t done_ = 0;
  std::uint32_t sent_ = 0;
  std::uint32_t limit_ = 0;
  bool limited_ = false;
};

}  // namespace softrnic::transport
