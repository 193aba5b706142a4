// SPDX-License-Identifier: BSD-3-Clause
// Responder: the half of a queue pair that executes a peer's requests and answers them
// (IBTA vol. 1, 9.7, 9.8). One implementation per kind of service.
#pragma once

#include <cstdint>
#include <optional>

#include "transport/packet.hpp"
#include "transport/work_request.hpp"
#include "wire/instant.hpp"

namespace softrnic::transport {

class Responder {
 public:
  virtual ~Responder() = default;

  // INIT -> RTR: begins at the attributes' receive PSN.
  virtual void start() = 0;
  // Attributes have changed in SQD.
  virtual void adapt() {}
  // Empties the queue without completions and forgets unsent answers.
  virtual void reset() = 0;
  // Completes all that is queued with "work request flushed", oldest first. `keep_answers`: a
  // NAK that says why is still to be sent.
  virtual void flush(bool keep_answers) = 0;

  virtual std::optional<PostError> post(const ReceiveRequest& request) = 0;
  virtual std::uint32_t depth() const = 0;

  virtual void on_request(wire::Instant now, const InboundPacket& packet) = 0;
  virtual bool wants_transmit() const = 0;
  virtual bool poll_transmit(wire::Instant now, OutboundPacket& out) = 0;

  // A request broke a rule that ends the connection: the queue pair must enter ERR.
  virtual bool failed() const = 0;

  virtual void prime_msn(std::uint32_t msn) = 0;
  // Messages completed, in 24 bits; 0 for services that do not count them.
  virtual std::uint32_t msn() const { return 0; }
};

}  // namespace softrnic::transport
