// SPDX-License-Identifier: BSD-3-Clause
// The half that a queue pair of XRC does not have: an initiator answers no requests, a target makes
// none (IBTA vol. 1, annex A14). It takes no work, and packets for it are dropped and counted.
#pragma once

#include "transport/queue_pair.hpp"
#include "transport/requester.hpp"
#include "transport/responder.hpp"

namespace softrnic::transport {

class AbsentRequester final : public Requester {
 public:
  explicit AbsentRequester(const QueuePairContext& context) : context_(context) {}

  void start() override {}
  void reset() override {}
  void flush() override {}
  void drain() override {}
  void resume() override {}
  bool drained() const override { return true; }
  std::optional<PostError> post(const SendRequest&) override { return PostError::bad_operation; }
  std::uint32_t depth() const override { return 0; }
  void on_response(wire::Instant, const InboundPacket&) override {
    ++context_.counters.wrong_service;
  }
  bool wants_transmit(wire::Instant) const override { return false; }
  bool poll_transmit(wire::Instant, OutboundPacket&) override { return false; }
  wire::Instant next_deadline() const override { return wire::kNever; }
  void on_deadline(wire::Instant) override {}
  bool failed() const override { return false; }
  bool lost_completion() const override { return false; }

 private:
  const QueuePairContext& context_;
};

class AbsentResponder final : public Responder {
 public:
  explicit AbsentResponder(const QueuePairContext& context) : context_(context) {}

  void start() override {}
  void reset() override {}
  void flush(bool) override {}
  std::optional<PostError> post(const ReceiveRequest&) override { return PostError::bad_operation; }
  std::uint32_t depth() const override { return 0; }
  void on_request(wire::Instant, const InboundPacket&) override {
    ++context_.counters.wrong_service;
  }
  bool wants_transmit() const override { return false; }
  bool poll_transmit(wire::Instant, OutboundPacket&) override { return false; }
  bool failed() const override { return false; }
  void prime_msn(std::uint32_t) override {}

 private:
  const QueuePairContext& context_;
};

}  // namespace softrnic::transport
