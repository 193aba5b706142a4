// SPDX-License-Identifier: BSD-3-Clause
// Two queue pairs under examination that are each other's peer, and the wire between them, on which
// the test decides what becomes of every packet.
#pragma once

#include <functional>
#include <optional>

#include "conformance/subject.hpp"

namespace softrnic::conformance {

enum class Fate : std::uint8_t { arrives, is_lost, arrives_twice, arrives_late };

class Connection {
 public:
  // What becomes of the packet that is the `ordinal`th on the wire, counted from 0, both ways.
  using Judge = std::function<Fate(std::size_t ordinal, const Packet& packet)>;

  // `first_psn`: the requester's first. The responder's user has posted no receives yet.
  explicit Connection(std::uint32_t first_psn = kSendPsn);

  Subject& requester() { return requester_; }
  Subject& responder() { return responder_; }

  // Posts a request for the responder's memory at `to`, from or to the requester's at `at`.
  void post(transport::SendOperation operation, std::uint64_t id, std::uint64_t at,
            std::uint32_t length, std::uint64_t to,
            const std::function<void(transport::SendRequest&)>& edit = {});

  // Carries packets, and lets time pass when there are none, until both ends rest. False when they
  // do not within a thousand rounds.
  bool run(const Judge& judge = {});

  // Everything that was sent, in order: "> RC SEND Only psn 1000 ackreq 4 B", "< ACK psn 1000 msn
  // 1", and what became of it: "(lost)", "(twice)", "(late)".
  const Lines& wire() const { return wire_; }

 private:
  bool carry(Subject& from, Subject& to, const char* arrow, const Judge& judge);

  Subject requester_;
  Subject responder_;
  Lines wire_;
};

}  // namespace softrnic::conformance
