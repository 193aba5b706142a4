// SPDX-License-Identifier: BSD-3-Clause
#include "link/capture_link.hpp"

#include <catch2/catch.hpp>
#include <string>

#include "link/memory_link.hpp"
#include "unit/link/exchange.hpp"
#include "unit/link/network_namespace.hpp"
#include "unit/link/temporary_file.hpp"

namespace softrnic::link {
namespace {

using namespace test;
using wire::Instant;

// 2024-01-02 03:04:05.123456789 UTC
constexpr Instant kMorning{std::chrono::nanoseconds(1704164645123456789)};

std::shared_ptr<CaptureFile> create(const TemporaryFile& file) {
  auto capture_file = CaptureFile::create(file.path());
  REQUIRE(capture_file);
  return *capture_file;
}

Bytes from_hex(std::string_view text) {
  Bytes out;
  std::string digits;
  for (const char c : text) {
    if (c == ' ' || c == '\n') continue;
    digits += c;
    if (digits.size() < 2) continue;
    out.push_back(static_cast<std::byte>(std::stoi(digits, nullptr, 16)));
    digits.clear();
  }
  return out;
}

TEST_CASE("A capture file is pcapng, byte for byte") {
  const TemporaryFile file;
  {
    const auto capture_file = create(file);
    CHECK(capture_file->add_interface("tap:r0") == 0);
    CHECK(capture_file->add_interface("short", 4) == 1);
    const Bytes frame{std::byte{1}, std::byte{2}, std::byte{3}, std::byte{4}, std::byte{5}};
    const Bytes rest{std::byte{6}};
    wire::ByteChain chain(frame);
    chain.append(rest);  // frames may lie in several pieces
    capture_file->write(kMorning, 0, Direction::outbound, chain, "drop: tx");
    capture_file->write(Instant{}, 1, Direction::inbound, chain);
    capture_file->write(Instant{}, 2, Direction::inbound, chain);  // there is no such interface
    CHECK(capture_file->close());
    capture_file->write(Instant{}, 0, Direction::inbound, chain);  // closed: nothing more
    CHECK(capture_file->close());
  }
  // Written by hand from the draft: type, length, body, options (code, length, value), length.
  const Bytes expected = from_hex(R"(
    0a0d0d0a 2c000000 4d3c2b1a 0100 0000 ffffffffffffffff
      0400 0800 736f6674726e6963  0000 0000  2c000000
    01000000 2c000000 0100 0000 00000000
      0200 0600 7461703a7230 0000  0900 0100 09000000  0000 0000  2c000000
    01000000 2c000000 0100 0000 04000000
      0200 0500 73686f7274 000000  0900 0100 09000000  0000 0000  2c000000
    06000000 40000000 00000000 b768a617 15ff5c37 06000000 06000000
      010203040506 0000  0200 0400 02000000  0100 0800 64726f703a207478  0000 0000  40000000
    06000000 30000000 01000000 00000000 00000000 04000000 06000000
      01020304  0200 0400 01000000  0000 0000  30000000)");
  CHECK(file.bytes() == expected);
}

TEST_CASE("A captured link writes what crosses it, with the notes") {
  const TemporaryFile file;
  MemoryWire wire;
  const auto peer = wire.attach("peer");
  {
    const auto capture_file = create(file);
    const auto link = capture(wire.attach("nic"), capture_file, "nic");
    CHECK(link->capabilities().name == "nic");
    const Bytes out = ethernet(wire::MacAddress::broadcast(), station(1), 60, 1);
    const Bytes back = ethernet(station(1), station(2), 61, 2);
    Frame* frame = nullptr;
    REQUIRE(link->tx_alloc({&frame, 1}) == 1);
    fill(*frame, out);
    frame->note = "corrupt icrc bit 3: corrupt icrc";
    link->tx_push(kMorning, {&frame, 1});
    CHECK(receive(*peer) == Frames{out});
    send(*peer, back);
    CHECK(receive(*link, kMorning + std::chrono::nanoseconds(1)) == Frames{back});
  }
  const TemporaryFile expected;
  {
    const auto by_hand = create(expected);
    by_hand->add_interface("nic");
    by_hand->write(kMorning, 0, Direction::outbound,
                   wire::ByteView(ethernet(wire::MacAddress::broadcast(), station(1), 60, 1)),
                   "corrupt icrc bit 3: corrupt icrc");
    by_hand->write(kMorning + std::chrono::nanoseconds(1), 0, Direction::inbound,
                   wire::ByteView(ethernet(station(1), station(2), 61, 2)));
  }
  CHECK(file.bytes() == expected.bytes());
}

TEST_CASE("Wireshark reads stamps, names, directions and comments") {
  if (std::system("tshark --version >/dev/null 2>&1") != 0) {
    skip("Wireshark reads our captures", "tshark is not installed");
    return;
  }
  const TemporaryFile file;
  {
    const auto capture_file = create(file);
    capture_file->add_interface("tap:left");
    capture_file->add_interface("tap:right");
    const Bytes frame = ethernet(station(1), station(2), 4214, 0);
    capture_file->write(kMorning, 0, Direction::outbound, wire::ByteView(frame),
                        "drop: tx drop 3rd WRITE MIDDLE of QP 0x12");
    capture_file->write(kMorning + std::chrono::nanoseconds(1), 1, Direction::inbound,
                        wire::ByteView(frame));
  }
  const std::string read = NetworkNamespace::output(
      "tshark -r " + file.path() +
      " -T fields -E separator='|' -e frame.time_epoch -e frame.interface_name -e frame.len"
      " -e frame.packet_flags_direction -e frame.comment 2>/dev/null");
  CHECK(read ==
        "1704164645.123456789|tap:left|4214|0x00000002|drop: tx drop 3rd WRITE MIDDLE of QP "
        "0x12\n1704164645.123456790|tap:right|4214|0x00000001|\n");
}

TEST_CASE("What is in the file at any time is whole blocks") {
  const TemporaryFile file;
  const auto capture_file = create(file);
  capture_file->add_interface("nic");
  const Bytes frame(1000);
  std::size_t sizes_seen = 0;
  std::size_t before = 0;
  for (int i = 0; i < 2000; ++i) {
    capture_file->write(kMorning + std::chrono::milliseconds(i), 0, Direction::inbound,
                        wire::ByteView(frame));
    if (i % 50 != 0) continue;
    const Bytes bytes = file.bytes();
    if (bytes.size() == before) continue;
    before = bytes.size();
    ++sizes_seen;
    std::size_t at = 0;
    while (at + 8 <= bytes.size()) {
      at += std::to_integer<std::size_t>(bytes[at + 4]) |
            std::to_integer<std::size_t>(bytes[at + 5]) << 8;
    }
    CHECK(at == bytes.size());
  }
  CHECK(sizes_seen >= 3);
}

TEST_CASE("A capture that cannot be written says so") {
  CHECK(CaptureFile::create("/nowhere/x.pcapng").error().message ==
        "cannot write the capture \"/nowhere/x.pcapng\": No such file or directory: name a file "
        "in a directory you may write to");
  // A full disk is told when the file is closed, and harms nothing before.
  auto full = CaptureFile::create("/dev/full");
  REQUIRE(full);
  (*full)->add_interface("nic");
  const Bytes frame(1000);
  for (int i = 0; i < 1000; ++i) {
    (*full)->write(kMorning, 0, Direction::inbound, wire::ByteView(frame));
  }
  CHECK_FALSE((*full)->close());
  CHECK_FALSE((*full)->close());
}

}  // namespace
}  // namespace softrnic::link
