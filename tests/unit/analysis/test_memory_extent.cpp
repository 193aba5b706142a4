// SPDX-License-Identifier: BSD-3-Clause
// What succeeded before explains a remote access error, or says nothing.
#include <catch2/catch.hpp>

#include "analysis/memory_extent.hpp"
#include "captured_talk.hpp"

namespace softrnic::analysis::test {
namespace {

using wire::Operation;

Message request(Operation operation, std::uint32_t key, std::uint64_t address,
                std::uint32_t length) {
  Message message;
  message.operation = operation;
  message.remote_key = key;
  message.virtual_address = address;
  message.length = length;
  return message;
}

Message read(std::uint32_t key, std::uint64_t address, std::uint32_t length) {
  return request(Operation::read_request, key, address, length);
}

Message write(std::uint32_t key, std::uint64_t address, std::uint32_t length) {
  return request(Operation::write, key, address, length);
}

TEST_CASE("without a success before, a refusal is not explained") {
  MemoryExtent extent;
  REQUIRE_FALSE(extent.explain(kBob, write(7, 0x1000, 64)));
  extent.on_success(kAlice, write(8, 0x1000, 64));
  REQUIRE_FALSE(extent.explain(kBob, write(7, 0x1000, 64)));
  // What touches no memory shows nothing.
  extent.on_success(kBob, request(Operation::send, 0, 0, 64));
  extent.on_success(kBob, write(9, 0x1000, 0));
  REQUIRE_FALSE(extent.explain(kBob, write(7, 0x1000, 64)));
  REQUIRE(extent.memory() > 0);
}

TEST_CASE("a key that never worked stands out once another did at the same host") {
  MemoryExtent extent;
  extent.on_success(kBob, write(8, 0x1000, 64));
  REQUIRE(extent.explain(kBob, write(7, 0x1000, 64)) == Finding{FindingKind::key_unknown, 0, 7});
  REQUIRE_FALSE(extent.explain(kAlice, write(7, 0x1000, 64)));
  REQUIRE_FALSE(extent.explain(kBob, write(7, 0x1000, 0)));
}

TEST_CASE("what lies beyond the places that worked is counted") {
  MemoryExtent extent;
  extent.on_success(kBob, write(7, 0x1000, 0x100));
  extent.on_success(kBob, write(7, 0x1800, 0x100));  // one region: the hull is 0x1000 to 0x1900
  const auto beyond = [&](std::uint64_t address, std::uint32_t length) {
    const auto finding = extent.explain(kBob, write(7, address, length));
    REQUIRE(finding);
    REQUIRE(finding->kind == FindingKind::address_out_of_bounds);
    return std::pair{finding->a, finding->b};
  };
  REQUIRE(beyond(0x1900, 1) == std::pair<std::uint64_t, std::uint64_t>(0x1900, 1));
  REQUIRE(beyond(0x18c0, 0x80) == std::pair<std::uint64_t, std::uint64_t>(0x1900, 0x40));
  REQUIRE(beyond(0xff0, 0x20) == std::pair<std::uint64_t, std::uint64_t>(0xff0, 0x10));
  REQUIRE(beyond(0x100, 0x20) == std::pair<std::uint64_t, std::uint64_t>(0x100, 0x20));
  REQUIRE(beyond(0x9000, 0x20) == std::pair<std::uint64_t, std::uint64_t>(0x9000, 0x20));
  REQUIRE(beyond(0xff0, 0x1000) == std::pair<std::uint64_t, std::uint64_t>(0xff0, 0x700));
  REQUIRE_FALSE(extent.explain(kBob, write(7, 0x1000, 0x900)));  // that had worked
  REQUIRE_FALSE(extent.explain(kBob, write(7, 0x1400, 4)));
}

TEST_CASE("a place that could be read but not written") {
  MemoryExtent extent;
  extent.on_success(kBob, read(7, 0x1000, 0x1000));
  REQUIRE(extent.explain(kBob, write(7, 0x1800, 0x100)) == Finding{FindingKind::write_refused});
  REQUIRE(extent.explain(kBob, request(Operation::fetch_add, 7, 0x1008, 8)) ==
          Finding{FindingKind::write_refused});
  REQUIRE_FALSE(extent.explain(kBob, read(7, 0x1800, 0x100)));
  extent.on_success(kBob, write(7, 0x1800, 0x100));
  REQUIRE_FALSE(extent.explain(kBob, write(7, 0x1800, 0x100)));
}

TEST_CASE("an invalidated key is forgotten") {
  MemoryExtent extent;
  extent.on_success(kBob, write(7, 0x1000, 64));
  extent.on_success(kBob, write(8, 0x1000, 64));
  Message send = request(Operation::send, 0, 0, 4);
  send.has_invalidate = true;
  send.invalidated_key = 7;
  extent.on_success(kBob, send);
  REQUIRE(extent.explain(kBob, write(7, 0x1000, 64)) == Finding{FindingKind::key_unknown, 0, 7});
}

TEST_CASE("addresses at the end of the address space do not run over") {
  MemoryExtent extent;
  extent.on_success(kBob, write(7, 0xfffffffffffffff0, 8));
  extent.on_success(kBob, write(7, 0xfffffffffffffff0, 0x20));  // cannot be: nothing learned
  REQUIRE_FALSE(extent.explain(kBob, write(7, 0xfffffffffffffff8, 0x100)));
  REQUIRE(extent.explain(kBob, write(7, 0xfffffffffffffff4, 8)) ==
          Finding{FindingKind::address_out_of_bounds, 0, 0xfffffffffffffff8, 4});
}

TEST_CASE("memory stays bounded with any number of keys, and the newest are known") {
  MemoryExtent extent;
  extent.on_success(kBob, write(0, 0x1000, 64));
  const std::size_t memory = extent.memory();
  for (std::uint32_t key = 1; key <= 100'000; ++key) {
    extent.on_success(kBob, write(key, 0x1000, 64));
  }
  REQUIRE(extent.memory() == memory);
  const auto finding = extent.explain(kBob, write(100'000, 0x2000, 64));
  REQUIRE(finding);
  REQUIRE(finding->kind == FindingKind::address_out_of_bounds);
}

TEST_CASE("the same key at many hosts is another key at each of them") {
  MemoryExtent extent;
  for (std::uint32_t host = 0; host < 4000; ++host) {
    extent.on_success(wire::Gid::from_ipv4(host), write(7, 0x1000, 64));
  }
  for (std::uint32_t host = 4000; host < 5000; ++host) {
    REQUIRE_FALSE(extent.explain(wire::Gid::from_ipv4(host), write(7, 0x9000, 64)));
  }
}

// --- through the analyzer ---

TEST_CASE("a remote access error beyond what was written is explained") {
  CapturedTalk talk;
  talk.request(Opcode::rc_write_only, 100, 256, CapturedTalk::reth(256, 0x1000));
  talk.ack(100, 1);
  talk.request(Opcode::rc_write_only, 101, 256, CapturedTalk::reth(256, 0x1080));
  const Said nak = talk.nak(101, 1, wire::NakCode::remote_access_error);
  INFO(nak.text());
  REQUIRE(nak.findings.size() == 2);
  REQUIRE(nak.has(FindingKind::nak_remote_access));
  const Finding* why = nak.of(FindingKind::address_out_of_bounds);
  REQUIRE(why != nullptr);
  REQUIRE(why->a == 0x1100);
  REQUIRE(why->b == 0x80);
}

TEST_CASE("a write refused where a read was answered is explained") {
  CapturedTalk talk;
  talk.read(100, 64, 0x1000);
  talk.answer(Opcode::rc_read_response_only, 100, 64, 1);
  talk.request(Opcode::rc_write_only, 101, 64, CapturedTalk::reth(64, 0x1000));
  REQUIRE(talk.nak(101, 1, wire::NakCode::remote_access_error).has(FindingKind::write_refused));
}

TEST_CASE("a key that never worked is named, and without any evidence nothing is") {
  CapturedTalk talk;
  SECTION("after a success with another key") {
    talk.write(100, 1);
    talk.ack(100, 1);
    talk.request(Opcode::rc_read_request, 101, 0, [](Frame& f) {
      f.headers.reth = {0x1000, 0xbad, 64};
    });
    const Said nak = talk.nak(101, 1, wire::NakCode::remote_access_error);
    REQUIRE(nak.has(FindingKind::key_unknown));
    REQUIRE(nak.of(FindingKind::key_unknown)->a == 0xbad);
  }
  SECTION("as the first request") {
    talk.write(100, 1);
    REQUIRE(talk.nak(100, 0, wire::NakCode::remote_access_error).only().kind ==
            FindingKind::nak_remote_access);
  }
}

}  // namespace
}  // namespace softrnic::analysis::test
