// SPDX-License-Identifier: BSD-3-Clause
#include <catch2/catch.hpp>
#include <map>

#include "nic/neighbor_table.hpp"

namespace softrnic::nic {
namespace {

using State = NeighborTable::State;
using wire::Gid;
using wire::Instant;

const wire::MacAddress kMac{{2, 0, 0, 0, 0, 1}};
const wire::MacAddress kOtherMac{{2, 0, 0, 0, 0, 2}};

Gid host(std::uint32_t n) {
  return Gid::from_ipv4(0x0a000000 + n);
}

Instant at(wire::Duration since_start) {
  return Instant{} + since_start;
}

TEST_CASE("an unknown neighbour is probed three times, then fails, then may be asked for again") {
  NeighborTable table;
  CHECK(table.next_deadline() == wire::kNever);
  CHECK(table.lookup(at({}), host(1)).state == State::resolving);

  Instant now = at({});
  for (int probe = 0; probe < NeighborTable::kProbes; ++probe) {
    INFO("probe " << probe);
    REQUIRE(table.next_deadline() == now);
    CHECK(table.next_probe(now - wire::Duration(1)) == std::nullopt);
    CHECK(table.next_probe(now) == host(1));
    CHECK(table.next_probe(now) == std::nullopt);
    now += NeighborTable::kProbeInterval;
  }
  REQUIRE(table.next_deadline() == now);
  CHECK(table.lookup(now, host(1)).state == State::resolving);
  const std::uint64_t before = table.generation();
  CHECK(table.next_probe(now) == std::nullopt);
  CHECK(table.lookup(now, host(1)).state == State::failed);
  CHECK(table.generation() > before);
  CHECK(table.next_deadline() == wire::kNever);

  now += NeighborTable::kRetryAfter;
  CHECK(table.lookup(now - wire::Duration(1), host(1)).state == State::failed);
  CHECK(table.lookup(now, host(1)).state == State::resolving);
  CHECK(table.next_probe(now) == host(1));
}

TEST_CASE("an answer ends the probing and a changed address is taken over") {
  NeighborTable table;
  table.lookup(at({}), host(1));
  CHECK(table.next_probe(at({})) == host(1));
  table.update(host(1), kMac);
  auto found = table.lookup(at({}), host(1));
  CHECK(found.state == State::reachable);
  CHECK(found.mac == kMac);
  const Instant later = at(std::chrono::hours(1));
  CHECK(table.next_probe(later) == std::nullopt);
  CHECK(table.next_deadline() == wire::kNever);

  const std::uint64_t before = table.generation();
  table.update(host(1), kMac);
  CHECK(table.generation() == before);
  table.update(host(1), kOtherMac);
  CHECK(table.generation() > before);
  CHECK(table.lookup(later, host(1)).mac == kOtherMac);
}

TEST_CASE("only what addresses us makes an entry") {
  NeighborTable table;
  table.update(host(1), kMac);
  CHECK(table.size() == 0);
  CHECK_FALSE(table.find(host(1)));
  table.learn(host(1), kMac);
  REQUIRE(table.find(host(1)));
  CHECK(table.find(host(1))->state == State::reachable);
  CHECK(table.next_deadline() == wire::kNever);
}

TEST_CASE("peers cannot crowd out what the NIC asked for") {
  NeighborTable table;
  table.lookup(at({}), host(0));
  table.update(host(0), kMac);
  for (std::uint32_t n = 1; n < 3 * NeighborTable::kMaxEntries; ++n) table.learn(host(n), kMac);
  CHECK(table.size() == NeighborTable::kMaxEntries);

  // The NIC's own look-ups still find room, at the cost of entries nobody asked for.
  const Instant now = at(std::chrono::seconds(1));
  const std::uint32_t wanted = 4 * NeighborTable::kMaxEntries;
  CHECK(table.lookup(now, host(wanted)).state == State::resolving);
  CHECK(table.size() == NeighborTable::kMaxEntries);
  REQUIRE(table.find(host(0)));
  CHECK(table.find(host(0))->state == State::reachable);
}

TEST_CASE("a full table gives up the entry that was longest not asked for") {
  NeighborTable table;
  for (std::uint32_t n = 0; n < NeighborTable::kMaxEntries; ++n) {
    table.lookup(at(wire::Duration(n)), host(n));
    table.update(host(n), kMac);
  }
  const Instant now = at(std::chrono::seconds(1));
  table.lookup(now, host(0));
  table.lookup(now, host(NeighborTable::kMaxEntries));
  CHECK(table.find(host(0)));
  CHECK_FALSE(table.find(host(1)));
  CHECK(table.find(host(2)));
}

TEST_CASE("a table full of neighbours being resolved refuses a new one and loses none") {
  NeighborTable table;
  for (std::uint32_t n = 0; n < NeighborTable::kMaxEntries; ++n) table.lookup(at({}), host(n));
  CHECK(table.lookup(at({}), host(NeighborTable::kMaxEntries)).state == State::failed);
  CHECK(table.size() == NeighborTable::kMaxEntries);
  std::size_t probes = 0;
  while (table.next_probe(at({}))) ++probes;
  CHECK(probes == NeighborTable::kMaxEntries);
}

TEST_CASE("every resolving neighbour gets its probes") {
  NeighborTable table;
  constexpr std::uint32_t kHosts = 100;
  for (std::uint32_t n = 0; n < kHosts; ++n) table.lookup(at(wire::Duration(n)), host(n));
  std::map<Gid, int> probes;
  while (table.next_deadline() != wire::kNever) {
    const Instant now = table.next_deadline();
    while (const auto address = table.next_probe(now)) ++probes[*address];
  }
  CHECK(probes.size() == kHosts);
  for (const auto& [address, count] : probes) CHECK(count == NeighborTable::kProbes);
}

}  // namespace
}  // namespace softrnic::nic
