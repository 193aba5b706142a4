// SPDX-License-Identifier: BSD-3-Clause
// Frames as a capture between many pairs of queue pairs would hold them, made on the fly: SENDs,
// WRITEs of several packets, READs and atomics, of senders that go back where something was lost
// (go-back-N), before the capture or behind it.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <optional>
#include <random>
#include <vector>

#include "analysis/frame.hpp"

namespace softrnic::test {

struct GeneratedCaptureOptions {
  std::uint32_t connections = 1;
  std::uint32_t window = 16;       // packets that a sender leaves unacknowledged
  std::uint32_t loss = 0;          // of each packet at each side of the capture, in thousandths
  std::uint32_t bad_icrc = 0;      // in thousandths
  std::uint32_t duplicated = 0;    // by the network, in thousandths
  bool small_writes_only = false;  // of one packet of 8 bytes, as benchmarks have them
  wire::Duration step = std::chrono::microseconds(1);
  std::uint64_t seed = 1;
};

class GeneratedCapture {
 public:
  using Frame = analysis::Frame;

  explicit GeneratedCapture(const GeneratedCaptureOptions& options)
      : options_(options), random_(options.seed), connections_(options.connections) {
    for (std::uint32_t i = 0; i < options.connections; ++i) {
      Connection& c = connections_[i];
      c.kind = options.small_writes_only ? Kind::small_write : static_cast<Kind>(i % 5);
      c.una = c.cursor = c.expected = static_cast<std::uint32_t>(random_() & wire::Psn::kMask);
      c.base = c.next = c.una;
    }
    frame_.time = wire::Instant(std::chrono::seconds(1000));
  }

  // The next one; good until the next call.
  const Frame& next() {
    if (below(1000) < options_.duplicated && frame_.number != 0) {
      frame_.time += std::chrono::nanoseconds(100);
      ++frame_.number;
      return frame_;
    }
    while (!step(below(options_.connections))) {
    }
    return frame_;
  }

 private:
  enum class Kind : std::uint8_t { send, write, read, fetch_add, small_write };
  static constexpr std::uint32_t kPacketsOfWrite = 4;
  static constexpr std::uint32_t kPathMtu = 256;

  // PSNs are counted on without a wrap here, and cut for the wire.
  struct Connection {
    Kind kind{};
    bool ack_due = false;
    bool nak_due = false;
    bool nak_sent = false;
    std::uint32_t base = 0;
    std::uint32_t una = 0;       // the oldest the sender knows no answer to
    std::uint32_t cursor = 0;    // what it sends next
    std::uint32_t next = 0;      // what it never sent
    std::uint32_t expected = 0;  // by the receiver
    std::optional<std::uint32_t> response;
  };

  std::uint32_t below(std::uint32_t n) {
    return static_cast<std::uint32_t>((random_() & 0xffffffff) * n >> 32);
  }
  bool lost() { return options_.loss != 0 && below(1000) < options_.loss; }

  // One thing happens in a connection; false when the capture does not see it.
  bool step(std::uint32_t index) {
    Connection& c = connections_[index];
    if (c.response) return answer_with_data(index, c);
    if (c.nak_due || (c.ack_due && below(4) == 0)) return acknowledge(index, c);
    if (c.cursor - c.una < options_.window) return request(index, c);
    if (c.ack_due) return acknowledge(index, c);
    frame_.time += std::chrono::milliseconds(100);
    c.cursor = c.una;
    return false;
  }

  bool request(std::uint32_t index, Connection& c) {
    const std::uint32_t psn = c.cursor++;
    c.next = std::max(c.next, c.cursor);
    const bool seen = !lost();
    const bool spoilt = below(1000) < options_.bad_icrc;
    if (seen) show_request(index, c, psn, spoilt);
    if (seen && !spoilt && !lost()) receive(c, psn);
    return seen;
  }

  void receive(Connection& c, std::uint32_t psn) {
    const bool with_data = c.kind == Kind::read || c.kind == Kind::fetch_add;
    if (psn > c.expected) {
      c.nak_due = !c.nak_sent;
      return;
    }
    if (psn == c.expected) {
      ++c.expected;
      c.nak_due = c.nak_sent = false;
    }
    if (with_data) {
      c.response = psn;
    } else {
      c.ack_due = true;
    }
  }

  bool acknowledge(std::uint32_t index, Connection& c) {
    const bool nak = c.nak_due;
    c.nak_sent = c.nak_sent || nak;
    c.nak_due = c.ack_due = false;
    if (lost()) return false;
    Frame& frame =
        begin(index, false, wire::Opcode::rc_acknowledge, nak ? c.expected : c.expected - 1);
    frame.headers.aeth.syndrome =
        nak ? wire::Syndrome::nak(wire::NakCode::psn_sequence_error) : wire::Syndrome::ack();
    frame.headers.aeth.msn = msn(c);
    if (lost()) return true;
    c.una = std::max(c.una, c.expected);
    c.cursor = nak ? c.expected : std::max(c.cursor, c.una);
    return true;
  }

  bool answer_with_data(std::uint32_t index, Connection& c) {
    const std::uint32_t psn = *c.response;
    c.response.reset();
    if (lost()) return false;
    const bool read = c.kind == Kind::read;
    Frame& frame = begin(
        index, false,
        read ? wire::Opcode::rc_read_response_only : wire::Opcode::rc_atomic_acknowledge, psn);
    frame.payload_size = read ? kPathMtu : 0;
    frame.headers.aeth.syndrome = wire::Syndrome::ack();
    frame.headers.aeth.msn = msn(c);
    frame.headers.atomic_ack_eth.original = psn;
    if (lost()) return true;
    if (psn > c.una) {
      c.cursor = c.una;
    } else if (psn == c.una) {
      c.cursor = std::max(c.cursor, ++c.una);
    }
    return true;
  }

  std::uint32_t msn(const Connection& c) const {
    const std::uint32_t packets = c.expected - c.base;
    return (c.kind == Kind::write ? packets / kPacketsOfWrite : packets) & 0xffffff;
  }

  void show_request(std::uint32_t index, const Connection& c, std::uint32_t psn, bool spoilt) {
    using wire::Opcode;
    const std::uint32_t at = (psn - c.base) % kPacketsOfWrite;
    Opcode opcode = Opcode::rc_send_only;
    std::uint32_t length = kPathMtu;
    switch (c.kind) {
      case Kind::send:
        break;
      case Kind::write:
        opcode = at == 0                     ? Opcode::rc_write_first
                 : at + 1 == kPacketsOfWrite ? Opcode::rc_write_last
                                             : Opcode::rc_write_middle;
        length = kPathMtu * kPacketsOfWrite;
        break;
      case Kind::read:
        opcode = Opcode::rc_read_request;
        break;
      case Kind::fetch_add:
        opcode = Opcode::rc_fetch_add;
        break;
      case Kind::small_write:
        opcode = Opcode::rc_write_only;
        length = 8;
        break;
    }
    Frame& frame = begin(index, true, opcode, psn);
    frame.payload_size = frame.opcode->carries_payload ? std::min(length, kPathMtu) : 0;
    frame.headers.reth = {0x1000 + std::uint64_t{psn - c.base - at} * 64, 7, length};
    frame.headers.atomic_eth.virtual_address = 0x1000 + (psn & 0xf) * 8;
    frame.icrc = spoilt ? analysis::IcrcVerdict::bad : analysis::IcrcVerdict::good;
  }

  Frame& begin(std::uint32_t index, bool request, wire::Opcode opcode, std::uint32_t psn) {
    frame_.time += options_.step;
    ++frame_.number;
    frame_.checksum = 0x9e3779b1u * frame_.number | 1;
    frame_.icrc = analysis::IcrcVerdict::good;
    frame_.payload_size = 0;
    // A few hundred hosts; the numbers of queue pairs grow.
    const std::uint32_t host = 0x0a000100 + index % 256;
    frame_.source = wire::Gid::from_ipv4(request ? host : 0x0a010001);
    frame_.destination = wire::Gid::from_ipv4(request ? 0x0a010001 : host);
    frame_.udp_source_port = static_cast<std::uint16_t>(0xc000 + index % 0x3fff);
    frame_.opcode = &wire::info(opcode);
    frame_.headers.bth.opcode = opcode;
    frame_.headers.bth.destination_qpn = (request ? 0x200000 : 0x100000) + index;
    frame_.headers.bth.psn = wire::Psn(psn);
    return frame_;
  }

  GeneratedCaptureOptions options_;
  std::mt19937_64 random_;
  std::vector<Connection> connections_;
  Frame frame_;
};

}  // namespace softrnic::test
