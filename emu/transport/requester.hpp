// SPDX-License-Identifier: BSD-3-Clause
// Requester: the half of a queue pair that turns send requests into packets and their answers
// into completions (IBTA vol. 1, 9.7, 9.8). One implementation per kind of service.
#pragma once

#include <cstdint>
#include <optional>

#include "transport/packet.hpp"
#include "transport/work_request.hpp"
#include "wire/instant.hpp"

namespace softrnic::transport {

class Requester {
 public:
  virtual ~Requester() = default;

  // RTR -> RTS: begins at the attributes' send PSN.
  virtual void start() = 0;
  // Empties the queue without completions.
  virtual void reset() = 0;
  // Completes all that is queued with "work request flushed", oldest first.
  virtual void flush() = 0;

  // RTS -> SQD: what has begun is finished, and nothing more is begun until resume().
  virtual void drain() = 0;
  virtual void resume() = 0;
  // Nothing that has begun is unfinished.
  virtual bool drained() const = 0;

  virtual std::optional<PostError> post(const SendRequest& request) = 0;
  virtual std::uint32_t depth() const = 0;

  virtual void on_response(wire::Instant now, const InboundPacket& packet) = 0;
  virtual bool wants_transmit(wire::Instant now) const = 0;
  virtual bool poll_transmit(wire::Instant now, OutboundPacket& out) = 0;
  virtual wire::Instant next_deadline() const = 0;
  virtual void on_deadline(wire::Instant now) = 0;

  // A request ended in error: the queue pair must enter ERR or SQE.
  virtual bool failed() const = 0;
  // Its completion, in error or not, found no room: nothing but ERR is left.
  virtual bool lost_completion() const = 0;
};

}  // namespace softrnic::transport
