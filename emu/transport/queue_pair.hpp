// SPDX-License-Identifier: BSD-3-Clause
// A queue pair: a send queue with its requester, a receive queue with its responder, and the
// state both obey (IBTA vol. 1, 10.2.4, 10.3.1).
//
// Sans-I/O. In: work requests, packets, and `now`. Out: packets, completions, the next deadline.
// Not thread-safe. Nothing here allocates for a packet: room for the first request that registers
// or binds, and for what a peer may ask for, is taken with need, a few times in a life
// (growing_ring.hpp).
#pragma once

#include <memory>
#include <optional>

#include "transport/async_event.hpp"
#include "transport/completion.hpp"
#include "transport/counters.hpp"
#include "transport/memory_gate.hpp"
#include "transport/packet.hpp"
#include "transport/queue_pair_attributes.hpp"
#include "transport/queue_pair_type.hpp"
#include "transport/retry_policy.hpp"
#include "transport/work_request.hpp"
#include "wire/expected.hpp"
#include "wire/instant.hpp"

namespace softrnic::transport {

class SharedReceiveQueue;
class XrcDomain;
class Requester;
class Responder;

// What a queue pair is made with, fixed for its life. References must outlive it.
struct QueuePairContext {
  std::uint32_t qpn;
  QueuePairType type;
  ProtectionDomain domain;
  QueuePairCapacity capacity;
  MemoryGate& memory;
  CompletionSink& send_completions;
  CompletionSink& receive_completions;
  Counters& counters;
  EventSink& events = unheard_events();
  SharedReceiveQueue* shared_receive_queue = nullptr;  // instead of receives of its own
  XrcDomain* xrc_domain = nullptr;                     // an XRC target's, and nobody else's
  // The device's: no request, of ours or of a peer, names more bytes.
  std::uint64_t max_message = kMaxMessage;

  wire::Service service() const { return service_of(type); }
  // Who asks, when a peer's request or a bind touches memory.
  Accessor accessor() const { return {domain, qpn}; }
};

class QueuePair {
 public:
  explicit QueuePair(const QueuePairContext& context);
  ~QueuePair();
  QueuePair(const QueuePair&) = delete;
  QueuePair& operator=(const QueuePair&) = delete;

  std::uint32_t qpn() const { return context_.qpn; }
  QueuePairType type() const { return context_.type; }
  wire::Service service() const { return context_.service(); }
  ProtectionDomain domain() const { return context_.domain; }
  const QueuePairCapacity& capacity() const { return context_.capacity; }
  QueuePairState state() const { return state_; }
  const QueuePairAttributes& attributes() const { return attributes_; }

  // Changes the state, and of the attributes those that are named, as the standard's table allows
  // (queue_pair_transition.hpp); altogether or not at all. Entering ERR flushes both queues;
  // entering RESET empties them without completions and forgets all attributes.
  //
  // A datagram's path MTU is the link's and no attribute of its own: a UD queue pair takes it from
  // `attributes` as it enters RTR, unnamed.
  std::optional<ModifyError> modify(QueuePairState to, const QueuePairAttributes& attributes,
                                    AttributeMask named);
  // The same, naming all that the transition takes; every attribute must be in its range.
  std::optional<ModifyError> modify(QueuePairState to, const QueuePairAttributes& attributes);

  // In SQD: something that was begun has not completed yet.
  bool draining() const { return draining_; }

  std::optional<PostError> post_send(const SendRequest& request);
  std::optional<PostError> post_receive(const ReceiveRequest& request);

  // A packet for this queue pair, its service already matched.
  void on_packet(wire::Instant now, const InboundPacket& packet);

  // True when poll_transmit() would give a packet at `now`.
  bool wants_transmit(wire::Instant now) const;
  // Fills the next packet to send; false when there is none (out is then unspecified). Responses
  // go before requests.
  bool poll_transmit(wire::Instant now, OutboundPacket& out);

  // The earliest instant at which on_deadline() has something to do; kNever when none.
  wire::Instant next_deadline() const;
  void on_deadline(wire::Instant now);

  // Messages waiting or in flight.
  std::uint32_t send_queue_depth() const;
  std::uint32_t receive_queue_depth() const;

  // For a peer that stands in for another, from a capture: messages the responder is to have
  // completed before the first packet.
  void prime_msn(std::uint32_t msn);
  // Messages its responder has completed so far, in 24 bits (reliable services).
  std::uint32_t msn() const;

 private:
  std::optional<ModifyError> check(QueuePairState to, const QueuePairAttributes& attributes,
                                   AttributeMask named) const;
  void enter(QueuePairState to);
  // Draws the consequences of what the halves did: SQE or ERR when one has failed, the end of
  // draining.
  void settle();
  void fail();
  void note_arrival();
  void note_last_receive();

  QueuePairContext context_;
  QueuePairState state_ = QueuePairState::reset;
  bool draining_ = false;
  bool established_ = false;  // a packet has arrived since RTR was entered
  QueuePairAttributes attributes_;
  std::unique_ptr<Requester> requester_;
  std::unique_ptr<Responder> responder_;
};

}  // namespace softrnic::transport
