// SPDX-License-Identifier: BSD-3-Clause
// One queue pair under examination: the test is its user, its clock and its peer, and sees every
// packet it sends.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "nic/completion_queue.hpp"
#include "nic/event_queue.hpp"
#include "nic/memory_region_table.hpp"
#include "transport/queue_pair.hpp"

namespace softrnic::conformance {

using Bytes = std::vector<std::byte>;

// A packet from the BTH up, as the subject sends it or the test hands it in.
struct Packet {
  wire::TransportHeaders headers;
  Bytes payload;

  const wire::Bth& bth() const { return headers.bth; }
  const wire::OpcodeInfo& info() const { return wire::info(headers.bth.opcode); }

  // Edits for one-line packets.
  Packet&& with_ack_request() && {
    headers.bth.ack_request = true;
    return std::move(*this);
  }
  Packet&& solicited() && {
    headers.bth.solicited = true;
    return std::move(*this);
  }
};

constexpr std::uint32_t kSubjectQpn = 0x11;
constexpr std::uint32_t kPeerQpn = 0x22;
constexpr std::uint32_t kPathMtu = 256;
// What the subject's user and its peer agreed on, unless a test says otherwise.
constexpr std::uint32_t kSendPsn = 1000;    // the subject's first request
constexpr std::uint32_t kReceivePsn = 500;  // the peer's first request

// Distinct, recognisable bytes.
Bytes pattern(std::size_t size, unsigned start = 1);

// --- what the peer may send ---

Packet request(wire::Opcode opcode, std::uint32_t psn, Bytes payload = {});
Packet send_only(std::uint32_t psn, Bytes payload = {});
Packet write_request(wire::Opcode opcode, std::uint32_t psn, std::uint64_t address,
                     std::uint32_t key, std::uint32_t length, Bytes payload = {});
Packet read_request(std::uint32_t psn, std::uint64_t address, std::uint32_t key,
                    std::uint32_t length);
Packet fetch_add(std::uint32_t psn, std::uint64_t address, std::uint32_t key, std::uint64_t add);
Packet compare_swap(std::uint32_t psn, std::uint64_t address, std::uint32_t key,
                    std::uint64_t compare, std::uint64_t swap);
// Eight bytes, or as many as a test for errors wants.
Packet atomic_write(std::uint32_t psn, std::uint64_t address, std::uint32_t key, Bytes payload);
Packet flush(std::uint32_t psn, std::uint64_t address, std::uint32_t key, std::uint32_t length,
             std::uint8_t placement, std::uint8_t selectivity = wire::Feth::kRange);
Packet acknowledge(std::uint32_t psn, std::uint32_t msn = 0,
                   wire::Syndrome syndrome = wire::Syndrome::ack());
Packet nak(std::uint32_t psn, wire::NakCode code, std::uint32_t msn = 0);
Packet rnr_nak(std::uint32_t psn, std::uint8_t timer_code, std::uint32_t msn = 0);
Packet read_response(wire::Opcode opcode, std::uint32_t psn, Bytes payload, std::uint32_t msn = 0);
Packet atomic_response(std::uint32_t psn, std::uint64_t original, std::uint32_t msn = 0);

struct Setup {
  wire::Service service = wire::Service::reliable_connection;
  std::optional<transport::QueuePairType> type;  // when the service alone does not tell
  transport::SharedReceiveQueue* shared_receive_queue = nullptr;
  transport::XrcDomain* xrc_domain = nullptr;
  transport::QueuePairCapacity capacity{16, 16, 4, 4};
  transport::QueuePairAttributes attributes;
  transport::QueuePairState state = transport::QueuePairState::ready_to_send;
  std::uint32_t completions = 64;

  Setup();
  Setup& with(const std::function<void(transport::QueuePairAttributes&)>& edit) {
    edit(attributes);
    return *this;
  }
};

class Subject {
 public:
  explicit Subject(const Setup& setup = {});

  transport::QueuePair& qp() { return qp_; }
  transport::Counters& counters() { return counters_; }
  nic::MemoryRegionTable& memory() { return memory_; }
  nic::CompletionQueue& send_queue_completions() { return sends_; }
  nic::CompletionQueue& receive_queue_completions() { return receives_; }
  Bytes& bytes() { return bytes_; }

  // The whole memory as one region with all rights, addressed from kBase.
  static constexpr std::uint64_t kBase = 0x7f0000000000;
  static constexpr std::size_t kSize = 65536;
  static constexpr transport::ProtectionDomain kDomain{1};
  static constexpr transport::ProtectionDomain kOtherDomain{2};
  std::uint32_t key() const { return keys_.remote; }
  std::uint32_t local_key() const { return keys_.local; }
  // A region over the same memory with other rights or in another domain.
  nic::MemoryKeys add_region(transport::ProtectionDomain domain, std::uint32_t access,
                             std::uint64_t length = kSize);
  transport::Sge local(std::uint64_t offset, std::uint32_t length) const {
    return {kBase + offset, length, keys_.local};
  }
  std::uint64_t word(std::size_t offset) const;
  void set_word(std::size_t offset, std::uint64_t value);

  wire::Instant now{};
  void advance(wire::Duration by) { now += by; }
  // Moves the clock to the next deadline and lets it pass; false when there is none.
  bool pass_deadline();

  // --- the peer ---
  void deliver(const Packet& packet);
  // All that the subject wants to send now, but not more than `most`.
  std::vector<Packet> transmit(std::size_t most = 10000);
  // The same, for a test that wants exactly one.
  Packet transmit_one();

  // --- the user ---
  void post(transport::SendOperation operation, std::uint64_t id, std::uint64_t offset,
            std::uint32_t length, const std::function<void(transport::SendRequest&)>& edit = {});
  void post_receive(std::uint64_t id, std::uint64_t offset, std::uint32_t length);
  std::vector<transport::Completion> sent();
  std::vector<transport::Completion> received();
  // Asynchronous events about the queue pair, by ibv's words: "send queue drained".
  std::vector<std::string> events();

 private:
  Bytes bytes_;
  nic::MemoryRegionTable memory_;
  nic::MemoryKeys keys_;
  nic::CompletionQueue sends_;
  nic::CompletionQueue receives_;
  nic::EventQueue events_;
  transport::Counters counters_;
  transport::QueuePair qp_;
};

// What a packet is, in words: "ACK psn 500 msn 1", "NAK remote access error psn 501 msn 0",
// "RC RDMA WRITE First psn 1000 ackreq 256 B".
std::string describe(const Packet& packet);
std::vector<std::string> describe(const std::vector<Packet>& packets);
// "1 success", "2 work request flushed", in order.
std::vector<std::string> describe(const std::vector<transport::Completion>& completions);

using Lines = std::vector<std::string>;

}  // namespace softrnic::conformance
