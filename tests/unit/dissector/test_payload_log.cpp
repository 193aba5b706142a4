// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <catch2/catch.hpp>
#include <string>

#include "dissector/payload_log.hpp"

using softrnic::dissector::KeptMessage;
using softrnic::dissector::PayloadLog;
using softrnic::dissector::PayloadPiece;

namespace {

constexpr std::uint64_t kMebibyte = 1 << 20;

// A packet of 1000 bytes in a message of `packets` of them; the last one ends it.
PayloadLog::Packet packet_of(std::uint32_t message, std::uint32_t frame, std::uint32_t part,
                             std::uint32_t packets, const std::string& bytes) {
  PayloadLog::Packet packet;
  packet.message = message;
  packet.piece = {frame, part * 1000, std::as_bytes(std::span(bytes))};
  packet.ends_message = part + 1 == packets;
  if (packet.ends_message) packet.bytes_to_its_end = packets * 1000;
  return packet;
}

std::string bytes_of(std::uint32_t message, std::uint32_t part) {
  std::string bytes(1000, '\0');
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    bytes[i] = static_cast<char>(message * 7 + part * 31 + i);
  }
  return bytes;
}

void add_message(PayloadLog& log, std::uint32_t message, std::uint32_t first_frame,
                 std::uint32_t packets) {
  for (std::uint32_t part = 0; part < packets; ++part) {
    log.add(packet_of(message, first_frame + part, part, packets, bytes_of(message, part)));
  }
}

bool holds(const PayloadLog& log, std::uint32_t message, std::uint32_t packets) {
  const std::vector<PayloadPiece> pieces = log.pieces(message);
  if (pieces.size() != packets) return false;
  for (std::uint32_t part = 0; part < packets; ++part) {
    const std::string bytes = bytes_of(message, part);
    if (pieces[part].offset != part * 1000) return false;
    if (!std::ranges::equal(pieces[part].bytes, std::as_bytes(std::span(bytes)))) return false;
  }
  return true;
}

}  // namespace

TEST_CASE("a message is whole once its last packet is there, on every visit") {
  PayloadLog log;
  log.reset(kMebibyte, 1 << 20);
  CHECK(log.state(3) == KeptMessage::unknown);
  log.add(packet_of(3, 10, 0, 3, bytes_of(3, 0)));
  log.add(packet_of(3, 11, 1, 3, bytes_of(3, 1)));
  CHECK(log.state(3) == KeptMessage::open);
  CHECK(log.pieces(3).empty());
  log.add(packet_of(3, 14, 2, 3, bytes_of(3, 2)));
  CHECK(log.state(3) == KeptMessage::whole);
  CHECK(log.end_frame(3) == 14);
  CHECK(log.size(3) == 3000);
  REQUIRE(holds(log, 3, 3));
  CHECK(log.pieces(3)[2].frame == 14);

  // Visited again, from the end to the beginning.
  for (const std::uint32_t part : {2u, 1u, 0u}) {
    log.add(packet_of(3, part == 2 ? 14 : 10 + part, part, 3, bytes_of(3, part)));
  }
  CHECK(holds(log, 3, 3));
}

TEST_CASE("what fills a gap late ends the message, in its place") {
  PayloadLog log;
  log.reset(kMebibyte, 1 << 20);
  log.add(packet_of(0, 1, 0, 3, bytes_of(0, 0)));
  const std::string last_bytes = bytes_of(0, 2);
  PayloadLog::Packet last = packet_of(0, 2, 2, 3, last_bytes);
  last.ends_message = false;
  log.add(last);
  const std::string middle_bytes = bytes_of(0, 1);
  PayloadLog::Packet middle = packet_of(0, 3, 1, 3, middle_bytes);
  middle.ends_message = true;
  middle.bytes_to_its_end = 3000;
  log.add(middle);
  CHECK(log.state(0) == KeptMessage::whole);
  CHECK(log.end_frame(0) == 3);
  CHECK(holds(log, 0, 3));
}

TEST_CASE("messages interleaved keep apart") {
  PayloadLog log;
  log.reset(kMebibyte, 1 << 20);
  for (std::uint32_t part = 0; part < 20; ++part) {
    for (std::uint32_t message = 0; message < 10; ++message) {
      log.add(packet_of(message, 1 + part * 10 + message, part, 20, bytes_of(message, part)));
    }
  }
  for (std::uint32_t message = 0; message < 10; ++message) CHECK(holds(log, message, 20));
}

TEST_CASE("too much payload drops the oldest messages, and a second reading brings each back") {
  PayloadLog log;
  log.reset(kMebibyte, 1 << 20);
  constexpr std::uint32_t kMessages = 100;
  constexpr std::uint32_t kPackets = 150;  // 15 MB in all
  for (std::uint32_t message = 0; message < kMessages; ++message) {
    add_message(log, message, 1 + message * kPackets, kPackets);
    REQUIRE(holds(log, message, kPackets));
  }
  CHECK(log.state(0) == KeptMessage::dropped);
  CHECK(log.pieces(0).empty());
  CHECK(log.end_frame(0) == kPackets);
  CHECK(log.state(kMessages - 1) == KeptMessage::whole);
  CHECK(log.state(kMessages - 6) == KeptMessage::whole);
  CHECK(log.memory() < 5 * kMebibyte);

  for (std::uint32_t message = 0; message < kMessages; ++message) {
    add_message(log, message, 1 + message * kPackets, kPackets);
    REQUIRE(holds(log, message, kPackets));
  }
}

TEST_CASE("packets of a dropped message looked at here and there do not make a message") {
  PayloadLog log;
  log.reset(kMebibyte, 1 << 20);
  for (std::uint32_t message = 0; message < 200; ++message) {
    add_message(log, message, 1 + message * 50, 50);
  }
  log.add(packet_of(0, 1, 0, 50, bytes_of(0, 0)));     // its first packet
  log.add(packet_of(0, 50, 49, 50, bytes_of(0, 49)));  // its last
  CHECK(log.state(0) == KeptMessage::dropped);
  CHECK(log.pieces(0).empty());
  log.add(packet_of(0, 50, 49, 50, bytes_of(0, 49)));
  CHECK(log.pieces(0).empty());
  add_message(log, 0, 1, 50);
  CHECK(holds(log, 0, 50));
}

TEST_CASE("what is larger than the largest message is not kept") {
  PayloadLog log;
  log.reset(kMebibyte, 2500);
  add_message(log, 0, 1, 3);
  CHECK(log.state(0) == KeptMessage::too_large);
  CHECK(log.end_frame(0) == 3);
  const std::string bytes = bytes_of(1, 0);
  PayloadLog::Packet announced = packet_of(1, 4, 0, 3, bytes);
  announced.message_size = 3000;
  log.add(announced);
  CHECK(log.state(1) == KeptMessage::too_large);
  add_message(log, 2, 7, 2);
  CHECK(holds(log, 2, 2));
}

TEST_CASE("a packet captured in part spoils its message") {
  PayloadLog log;
  log.reset(kMebibyte, 1 << 20);
  log.add(packet_of(0, 1, 0, 2, bytes_of(0, 0)));
  const std::string bytes = bytes_of(0, 1);
  PayloadLog::Packet cut = packet_of(0, 2, 1, 2, bytes);
  cut.piece.bytes = cut.piece.bytes.first(10);
  cut.cut_short = true;
  log.add(cut);
  CHECK(log.state(0) == KeptMessage::cut_short);
  CHECK(log.pieces(0).empty());
}

TEST_CASE("pieces that overlap or leave a gap make no message, whatever the sum of their sizes") {
  PayloadLog log;
  log.reset(kMebibyte, 1 << 20);
  log.add(packet_of(0, 1, 0, 3, bytes_of(0, 0)));
  log.add(packet_of(0, 2, 0, 3, bytes_of(0, 0)));
  log.add(packet_of(0, 3, 2, 3, bytes_of(0, 2)));
  CHECK(log.pieces(0).empty());
}

TEST_CASE("a log without room keeps nothing") {
  PayloadLog log;
  log.reset(0, 1 << 20);
  add_message(log, 0, 1, 2);
  CHECK(log.pieces(0).empty());
  PayloadLog never_reset;
  add_message(never_reset, 0, 1, 2);
  CHECK(never_reset.pieces(0).empty());
}
