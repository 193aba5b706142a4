// SPDX-License-Identifier: BSD-3-Clause
// End-to-end credits of one requester: how many more receives its acknowledgements promised
// (IBTA vol. 1, 9.7.7.2), and whether a request goes beyond them.
//
// Counted are the requests that consume a receive (SEND, and WRITE with immediate), so that others
// in between do not matter.
#pragma once

#include <cstdint>

#include "wire/aeth.hpp"
#include "wire/opcode.hpp"

namespace softrnic::analysis {

class CreditLimit {
 public:
  // A request packet that was not seen before. Returns how far its message goes beyond the limit:
  // 0 within it; 1 for the one request that the standard lets through, for the responder to answer
  // with new credits.
  std::uint32_t on_request(const wire::OpcodeInfo& opcode);

  // A message with, or without, use of a receive was completed.
  void on_complete(bool took_receive) { done_ += took_receive; }

  // An acknowledgement, after the messages that it completes. With nothing left to be acknowledged
  // `idle` lets the counts start from the same point, whatever the capture did not show.
  void on_acknowledge(const wire::Aeth& aeth, bool idle);

  // Whether it only brings other credits than those before. A responder may acknowledge once more
  // for that.
  bool is_update(const wire::Aeth& aeth) const;

  bool is_limited() const { return limited_; }
  std::uint32_t limit_msn() const;  // the last message with a receive, where it is limited

 private:
  // Of the newest acknowledgement: its MSN, and what its syndrome says of credits.
  std::uint32_t last_msn_ : 24 = 0;
  std::uint32_t last_credits_ : 5 = 0;
  bool limited_ : 1 = false;
  std::uint32_t asked_ = 0;  // receives that requests took so far
  std::uint32_t done_ = 0;   // of them, acknowledged
  std::uint32_t limit_ = 0;  // most that may be asked
};

}  // namespace softrnic::analysis
