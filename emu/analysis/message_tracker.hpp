// SPDX-License-Identifier: BSD-3-Clause
// The message tracker: which message a packet belongs to, where its payload stands there, and
// whether the packets of a message are as they should be (IBTA vol. 1, 9.6 and 9.7.4).
#pragma once

#include "analysis/ledger.hpp"
#include "analysis/number_space.hpp"
#include "analysis/request_sequence.hpp"

namespace softrnic::analysis {

class MessageTracker {
 public:
  MessageTracker(NumberSpace& numbers, bool reliable) : n_(numbers), reliable_(reliable) {}

  // A request packet whose place among the PSNs is known.
  void on_request(Observation& o, const RequestSequence::Place& place);

  // A datagram is a message of its own.
  void on_datagram(Observation& o, bool repeated);

 private:
  std::uint32_t message_of(Observation& o, const RequestSequence::Place& place);
  std::uint32_t recut(const Observation& o);
  std::uint32_t continued(const Observation& o);
  std::uint32_t begin(Observation& o, const SentPacket& packet);
  void check_order(Observation& o, const RequestSequence::Place& place, std::uint32_t message);
  void check_size(Observation& o);
  void check_pad(Observation& o);
  void add(Observation& o, SentPacket& packet, std::uint32_t index);
  void repeat(Observation& o, SentPacket* packet);
  void end(Observation& o, Message& message, std::uint32_t size);
  std::uint32_t offset_in(const Observation& o, const Message& message) const;
  void set_open(Observation& o, std::uint32_t index);

  NumberSpace& n_;
  bool reliable_;
};

}  // namespace softrnic::analysis
