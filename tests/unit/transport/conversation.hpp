// SPDX-License-Identifier: BSD-3-Clause
// Two queue pairs joined by a pipe that a test may bend: packets are serialised, offered to
// `fate`, and delivered in order under a virtual clock.
#pragma once

#include <deque>
#include <functional>
#include <vector>

#include "flat_memory.hpp"
#include "transport/queue_pair.hpp"

namespace softrnic::transport::test {

struct Sink final : CompletionSink {
  std::vector<Completion> completions;
  std::size_t room = SIZE_MAX;
  bool complete(const Completion& c) override {
    if (completions.size() >= room) return false;
    completions.push_back(c);
    return true;
  }
};

struct SentPacket {
  int from = 0;  // endpoint
  wire::TransportHeaders headers;
  std::vector<std::byte> payload;
  wire::Instant at;
};

enum class Fate { deliver, drop, duplicate, hold };

struct Endpoint {
  Endpoint(std::uint32_t qpn, wire::Service service, QueuePairCapacity capacity)
      : memory(1 << 20),
        qp(QueuePairContext{.qpn = qpn,
                            .type = type_of(service),
                            .domain = ProtectionDomain{1},
                            .capacity = capacity,
                            .memory = memory,
                            .send_completions = sends,
                            .receive_completions = receives,
                            .counters = counters}) {}
  FlatMemory memory;
  Sink sends, receives;
  Counters counters;
  QueuePair qp;
};

class Conversation {
 public:
  static constexpr std::uint32_t kQpns[2] = {0x11, 0x22};

  explicit Conversation(QueuePairAttributes attributes = {},
                        wire::Service service = wire::Service::reliable_connection,
                        QueuePairCapacity capacity = {.send_requests = 64,
                                                      .receive_requests = 64,
                                                      .send_sges = 4,
                                                      .receive_sges = 4})
      : ends{Endpoint(kQpns[0], service, capacity), Endpoint(kQpns[1], service, capacity)} {
    attributes.remote_access = kRemoteWrite | kRemoteRead | kRemoteAtomic;
    for (int i = 0; i < 2; ++i) {
      QueuePairAttributes a = attributes;
      a.destination_qpn = kQpns[1 - i];
      for (auto state : {QueuePairState::init, QueuePairState::ready_to_receive,
                         QueuePairState::ready_to_send}) {
        if (ends[i].qp.modify(state, a)) std::abort();
      }
    }
  }

  Endpoint ends[2];
  wire::Instant now{};
  std::vector<SentPacket> log;                               // everything sent, in order
  std::function<Fate(std::size_t, const SentPacket&)> fate;  // by number in the log

  // Runs until nothing moves and no deadline is left, or `limit` virtual time has passed.
  void run(wire::Duration limit = std::chrono::seconds(100)) {
    const wire::Instant end = now + limit;
    for (;;) {
      while (exchange()) {
      }
      const wire::Instant next = std::min(ends[0].qp.next_deadline(), ends[1].qp.next_deadline());
      if (next > end) return;
      now = std::max(now, next);
      for (Endpoint& e : ends) {
        if (e.qp.next_deadline() <= now) e.qp.on_deadline(now);
      }
    }
  }

  void deliver(int to, const SentPacket& packet) {
    const wire::OpcodeInfo& opcode = wire::info(packet.headers.bth.opcode);
    static constexpr std::byte kGrh[40] = {};
    ends[to].qp.on_packet(now, {.headers = packet.headers,
                                .opcode = opcode,
                                .payload = wire::ByteChain(wire::ByteView(packet.payload)),
                                .grh = kGrh});
  }

  // One packet from `from`, not delivered; false when it has none.
  bool take(int from, SentPacket& out) {
    std::vector<std::byte> room(4096);
    OutboundPacket packet;
    packet.payload_room = wire::MutableByteChain(wire::ByteSpan(room));
    if (!ends[from].qp.poll_transmit(now, packet)) return false;
    room.resize(packet.payload_size);
    out = {.from = from, .headers = packet.headers, .payload = std::move(room), .at = now};
    return true;
  }

 private:
  bool exchange() {
    bool any = false;
    for (int from = 0; from < 2; ++from) {
      SentPacket packet;
      while (ends[from].qp.wants_transmit(now)) {
        if (!take(from, packet)) continue;
        any = true;
        log.push_back(packet);
        const Fate f = fate ? fate(log.size() - 1, packet) : Fate::deliver;
        if (f == Fate::hold) {
          held_.push_back(packet);
          continue;
        }
        if (f != Fate::drop) pipe_.push_back(packet);
        if (f == Fate::duplicate) pipe_.push_back(packet);
        while (!held_.empty()) {
          pipe_.push_back(held_.front());
          held_.pop_front();
        }
      }
    }
    while (!held_.empty() && !any) {
      pipe_.push_back(held_.front());
      held_.pop_front();
      any = true;
    }
    while (!pipe_.empty()) {
      any = true;
      const SentPacket packet = pipe_.front();
      pipe_.pop_front();
      deliver(1 - packet.from, packet);
    }
    return any;
  }

  std::deque<SentPacket> pipe_, held_;
};

}  // namespace softrnic::transport::test
