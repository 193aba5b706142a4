// SPDX-License-Identifier: BSD-3-Clause
// The two ends that a description speaks of, and what has passed between them: it fills in what a
// line leaves open. PSNs and MSNs count up, answers answer the last request, times go on.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <vector>

#include "craft/packet_plan.hpp"
#include "craft/packet_request.hpp"
#include "wire/instant.hpp"

namespace softrnic::craft {

struct End {
  wire::Gid address;
  wire::MacAddress mac;
  std::uint32_t qpn = 0;
  std::uint32_t queue_key = 0x11111111;
  std::uint32_t first_psn = 0;

  static End at(const wire::Gid& address, unsigned number);
};

// What one line comes to: the packets of a message.
class Message {
 public:
  std::size_t count() const { return count_; }
  Bytes frame(std::size_t index) const;
  const PacketRequest& request() const { return request_; }
  std::uint8_t from() const { return from_; }
  std::uint32_t psn() const { return psn_; }

 private:
  friend class Exchange;

  const wire::OpcodeInfo& opcode_at(std::size_t index) const;
  PacketPlan plan_at(std::size_t index) const;

  PacketRequest request_;
  PacketPlan plan_;
  Bytes payload_;
  std::size_t count_ = 1;
  std::size_t packet_size_ = 0;  // payload of all but the last
  std::uint8_t from_ = 0;
  std::uint32_t psn_ = 0;   // of the first packet
  std::uint32_t psns_ = 0;  // that it takes
  std::uint32_t qpn_ = 0;
};

class Exchange {
 public:
  Exchange();

  void set_end(std::uint8_t which, const End& end) { ends_[which] = end; }
  const End& end(std::uint8_t which) const { return ends_[which]; }
  void set_start(wire::Instant start);

  // What the request comes to now; changes nothing.
  wire::Expected<Message, Complaint> fill(PacketRequest request) const;
  // It has been said: what is filled in next goes on from it.
  void commit(const Message& message);

  // When the next packet is due that asks for no time of its own, or for this one.
  wire::Instant next_time(const std::optional<PacketRequest::When>& when, wire::Duration gap) const;
  void set_time(wire::Instant at) { now_ = at; }

  static constexpr wire::Duration kGap{1000};
  static constexpr std::uint32_t kMtu = 1024;

 private:
  // READs and atomics whose responses have not been said.
  struct Owed {
    std::uint32_t psn = 0;
    std::size_t bytes = 0;
  };
  // All that went from one address to a queue pair at another.
  struct Flow {
    std::uint32_t next_psn = 0;
    std::uint32_t last_psn = 0;
    std::uint32_t completed = 0;  // messages
    std::optional<std::uint16_t> source_port;
    std::deque<Owed> owed;
  };
  struct Key {
    wire::Gid source;
    wire::Gid destination;
    std::uint32_t qpn = 0;
    auto operator<=>(const Key&) const = default;
  };

  Key key(std::uint8_t from, std::uint32_t qpn) const;
  Flow flow(std::uint8_t from, std::uint32_t qpn) const;
  Flow& flow_to_change(std::uint8_t from, std::uint32_t qpn);
  std::uint8_t direction(const PacketRequest& request) const;

  std::optional<Complaint> fill_payload(Message& message) const;
  void fill_network(Message& message) const;
  void fill_headers(Message& message) const;
  void fill_answer(Message& message) const;
  std::optional<Complaint> fill_cm(Message& message) const;
  std::optional<Complaint> fill_fields(Message& message) const;
  const Owed* owed_by(const Flow& answered) const;

  std::array<End, 2> ends_;
  std::array<std::uint16_t, 2> identifications_{1, 1};
  std::uint8_t last_request_from_ = 0;
  wire::Instant start_;
  std::optional<wire::Instant> now_;  // of the last packet
  std::map<Key, Flow> flows_;
};

}  // namespace softrnic::craft
