// SPDX-License-Identifier: BSD-3-Clause
// Two queue pairs whose packets an analyzer sees, one call for each: alice (10.0.0.1, QP 0x11) asks
// and bob (10.0.0.2, QP 0x12) answers, both of path MTU 256 unless a test says otherwise.
#pragma once

#include <algorithm>
#include <catch2/catch.hpp>
#include <functional>
#include <string>
#include <vector>

#include "analysis/analyzer.hpp"

namespace softrnic::analysis::test {

using namespace std::chrono_literals;
using wire::Opcode;
using wire::Psn;
using wire::Syndrome;

inline const wire::Gid kAlice = wire::Gid::from_ipv4(0x0a000001);
inline const wire::Gid kBob = wire::Gid::from_ipv4(0x0a000002);

// What the analyzer said of a packet when it saw it.
struct Said {
  PacketRecord record;
  std::vector<Finding> findings;

  const Finding* of(FindingKind kind) const {
    const auto found = std::find_if(findings.begin(), findings.end(),
                                    [&](const Finding& f) { return f.kind == kind; });
    return found == findings.end() ? nullptr : &*found;
  }
  bool has(FindingKind kind) const { return of(kind) != nullptr; }
  bool nothing() const { return findings.empty(); }
  // The only one.
  Finding only() const {
    INFO(text());
    REQUIRE(findings.size() == 1);
    return findings.front();
  }
  std::string text() const {
    std::string all;
    for (const Finding& f : findings) {
      all += std::string(info(f.kind).name) + ": " + sentence(f) + "\n";
    }
    return all;
  }
};

class CapturedTalk {
 public:
  using Change = std::function<void(Frame&)>;

  explicit CapturedTalk(AnalyzerOptions options = {}) : analyzer(std::move(options)) {
    frame_.time = wire::Instant(1000s);
  }

  // Time passes before the next packet; a microsecond does by itself.
  CapturedTalk& wait(wire::Duration time) {
    frame_.time += time;
    return *this;
  }

  // From alice to bob, or, in a `from_bob`, the other way.
  Said packet(bool from_alice, Opcode opcode, std::uint32_t psn, std::uint32_t size,
              const Change& change = {}) {
    Frame frame;
    frame.number = ++frame_.number;
    frame.time = frame_.time += 1us;
    frame.source = from_alice ? kAlice : kBob;
    frame.destination = from_alice ? kBob : kAlice;
    frame.udp_source_port = from_alice ? 0xc111 : 0xc222;
    frame.opcode = &wire::info(opcode);
    wire::Bth& bth = frame.headers.bth;
    bth.opcode = opcode;
    bth.destination_qpn = from_alice ? 0x12 : 0x11;
    bth.psn = Psn(psn);
    bth.pad_count = static_cast<std::uint8_t>(-size & 3);
    frame.payload_size = size;
    frame.headers.aeth.syndrome = Syndrome::ack();
    frame.headers.deth.source_qpn = from_alice ? 0x11 : 0x12;
    frame.icrc = IcrcVerdict::good;
    // Like the IPv4 identification makes it: no two sendings are of one checksum.
    frame.checksum = 0x5eed0000 + frame.number;
    if (change) change(frame);
    last = frame;
    return see(frame);
  }

  Said see(const Frame& frame) {
    if (also) also(frame);
    Said said;
    said.record = analyzer.on_packet(frame);
    const auto findings = analyzer.findings(said.record);
    said.findings.assign(findings.begin(), findings.end());
    return said;
  }

  // The last frame once more, bit by bit.
  Said doubled(wire::Duration later = 1us) {
    Frame frame = last;
    frame.number = ++frame_.number;
    frame.time = frame_.time += later;
    return see(frame);
  }

  Said request(Opcode opcode, std::uint32_t psn, std::uint32_t size, const Change& change = {}) {
    return packet(true, opcode, psn, size, change);
  }
  Said send(std::uint32_t psn, std::uint32_t size = 64, const Change& change = {}) {
    return request(Opcode::rc_send_only, psn, size, change);
  }
  Said read(std::uint32_t psn, std::uint32_t length, std::uint64_t address = 0x1000) {
    return request(Opcode::rc_read_request, psn, 0, reth(length, address));
  }
  Said fetch_add(std::uint32_t psn) {
    return request(Opcode::rc_fetch_add, psn, 0, [](Frame& f) {
      f.headers.atomic_eth.virtual_address = 0x1000;
      f.headers.atomic_eth.remote_key = 7;
    });
  }

  Said answer(Opcode opcode, std::uint32_t psn, std::uint32_t size, std::uint32_t msn,
              const Change& change = {}) {
    return packet(false, opcode, psn, size, [&](Frame& f) {
      f.headers.aeth.msn = msn;
      if (change) change(f);
    });
  }
  Said ack(std::uint32_t psn, std::uint32_t msn, Syndrome syndrome = Syndrome::ack()) {
    return answer(Opcode::rc_acknowledge, psn, 0, msn,
                  [&](Frame& f) { f.headers.aeth.syndrome = syndrome; });
  }
  Said nak(std::uint32_t psn, std::uint32_t msn,
           wire::NakCode code = wire::NakCode::psn_sequence_error) {
    return ack(psn, msn, Syndrome::nak(code));
  }
  Said atomic_ack(std::uint32_t psn, std::uint32_t msn, std::uint64_t value) {
    return answer(Opcode::rc_atomic_acknowledge, psn, 0, msn,
                  [&](Frame& f) { f.headers.atomic_ack_eth.original = value; });
  }

  static Change reth(std::uint32_t length, std::uint64_t address = 0x1000) {
    return [=](Frame& f) {
      f.headers.reth.virtual_address = address;
      f.headers.reth.remote_key = 7;
      f.headers.reth.dma_length = length;
    };
  }

  // A WRITE of `packets` packets of 256 bytes; says what the last one found.
  Said write(std::uint32_t psn, std::uint32_t packets) {
    if (packets == 1) return request(Opcode::rc_write_only, psn, 256, reth(256));
    request(Opcode::rc_write_first, psn, 256, reth(256 * packets));
    for (std::uint32_t i = 1; i + 1 < packets; ++i) {
      request(Opcode::rc_write_middle, psn + i, 256);
    }
    return request(Opcode::rc_write_last, psn + packets - 1, 256);
  }

  const Stream& stream(std::uint32_t index = 0) const { return analyzer.stream(index); }
  const Message& message(const Said& said) const {
    REQUIRE(said.record.message != kNone);
    return analyzer.message(said.record.message);
  }
  std::uint32_t frame() const { return frame_.number; }

  Analyzer analyzer;
  std::function<void(const Frame&)> also;  // is shown every frame, too
  Frame last;

 private:
  Frame frame_;  // number and time go on from packet to packet
};

}  // namespace softrnic::analysis::test
