// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <array>
#include <atomic>
#include <catch2/catch.hpp>
#include <numeric>
#include <set>
#include <thread>
#include <vector>

#include "nic/memory_region_table.hpp"

namespace softrnic::nic {
namespace {

using transport::Access;
using transport::AtomicOperation;
using transport::MemoryFault;
using transport::ProtectionDomain;
using transport::Sge;

constexpr ProtectionDomain kDomain{1};
constexpr ProtectionDomain kOtherDomain{2};
constexpr std::uint32_t kEverything = transport::kLocalWrite | transport::kRemoteWrite |
                                      transport::kRemoteRead | transport::kRemoteAtomic;
constexpr std::uint64_t kTop = ~std::uint64_t{0};

// A buffer whose bytes count up, and a table that has it registered.
struct Registered {
  explicit Registered(std::uint32_t access = kEverything,
                      std::optional<std::uint64_t> virtual_address = std::nullopt) {
    for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<std::byte>(i);
    keys = table.add({kDomain, bytes.data(), bytes.size(), access, virtual_address, {}}).value();
    address = virtual_address.value_or(reinterpret_cast<std::uintptr_t>(bytes.data()));
  }

  Sge sge(std::uint64_t offset, std::uint32_t length) const {
    return {address + offset, length, keys.local};
  }

  alignas(8) std::array<std::byte, 256> bytes{};
  MemoryRegionTable table{1};
  MemoryKeys keys;
  std::uint64_t address = 0;
};

std::vector<std::byte> pattern(std::size_t n, std::uint8_t first) {
  std::vector<std::byte> out(n);
  for (std::size_t i = 0; i < n; ++i) out[i] = static_cast<std::byte>(first + i);
  return out;
}

TEST_CASE("registration refuses what cannot be a region") {
  MemoryRegionTable table(1);
  std::array<std::byte, 16> bytes{};
  const RegionAttributes good{kDomain, bytes.data(), bytes.size(), kEverything, {}, {}};
  const auto error_of = [&table](const RegionAttributes& attributes) {
    const auto result = table.add(attributes);
    REQUIRE_FALSE(result.has_value());
    return result.error();
  };

  RegionAttributes a = good;
  a.domain = ProtectionDomain{};
  CHECK(error_of(a) == RegisterError::bad_domain);
  for (const std::uint32_t access :
       {std::uint32_t{transport::kRemoteWrite}, std::uint32_t{transport::kRemoteAtomic},
        transport::kRemoteRead | transport::kRemoteWrite, 1u << 10, 1u << 31}) {
    a = good;
    a.access = access;
    CHECK(error_of(a) == RegisterError::bad_access);
  }
  a = good;
  a.virtual_address = kTop - 14;
  CHECK(error_of(a) == RegisterError::bad_range);
  a = good;
  a.length = kTop;
  CHECK(error_of(a) == RegisterError::bad_range);
  a = good;
  a.base = nullptr;
  CHECK(error_of(a) == RegisterError::bad_range);
  CHECK(table.size() == 0);

  a = good;
  a.access = transport::kRemoteRead;
  CHECK(table.add(a).has_value());
  a.access = 0;
  CHECK(table.add(a).has_value());
  a.length = 0;
  a.base = nullptr;
  CHECK(table.add(a).has_value());
  CHECK(table.size() == 3);
}

TEST_CASE("a wanted key is given once") {
  MemoryRegionTable table(1);
  std::array<std::byte, 16> bytes{};
  RegionAttributes a{kDomain, bytes.data(), bytes.size(), kEverything, {}, 0x12345678};
  const auto keys = table.add(a);
  REQUIRE(keys.has_value());
  CHECK(keys->local == 0x12345678);
  CHECK(keys->remote == 0x12345678);
  CHECK(table.add(a).error() == RegisterError::key_in_use);
  a.key = 0x12345679;  // the same index under another key byte
  CHECK(table.add(a).error() == RegisterError::key_in_use);
  a.key = 0x12345778;
  CHECK(table.add(a).has_value());
}

TEST_CASE("drawn keys are distinct, and none comes back after its region went") {
  MemoryRegionTable table(3);
  std::array<std::byte, 16> bytes{};
  const RegionAttributes a{kDomain, bytes.data(), bytes.size(), kEverything, {}, {}};
  std::set<std::uint32_t> indexes;
  std::set<std::uint32_t> steps;
  std::uint32_t last = 0;
  for (int i = 0; i < 20000; ++i) {
    const MemoryKeys keys = table.add(a).value();
    REQUIRE(keys.local != 0);
    REQUIRE(indexes.insert(keys.local >> 8).second);
    steps.insert(keys.local - last);
    last = keys.local;
    if (i % 2 == 0) REQUIRE(table.remove(keys.local));
  }
  CHECK(table.size() == 10000);
  CHECK(steps.size() > 19990);  // no pattern from one key to the next
}

TEST_CASE("the same seed draws the same keys, no seed draws others") {
  std::array<std::byte, 16> bytes{};
  const RegionAttributes a{kDomain, bytes.data(), bytes.size(), kEverything, {}, {}};
  const auto first_key = [&a](std::uint64_t seed) {
    MemoryRegionTable table(seed);
    return table.add(a).value().local;
  };
  CHECK(first_key(5) == first_key(5));
  CHECK(first_key(5) != first_key(6));
  CHECK(first_key(0) != first_key(0));
}

TEST_CASE("the table takes no more regions than it may") {
  MemoryRegionTable table(1, {.regions = 2});
  std::array<std::byte, 16> bytes{};
  const RegionAttributes a{kDomain, bytes.data(), bytes.size(), kEverything, {}, {}};
  const MemoryKeys first = table.add(a).value();
  REQUIRE(table.add(a).has_value());
  CHECK(table.add(a).error() == RegisterError::table_full);
  REQUIRE(table.remove(first.local));
  CHECK(table.add(a).has_value());
}

TEST_CASE("the table takes no larger region than it may") {
  MemoryRegionTable table(1, {.region_bytes = 16});
  std::array<std::byte, 32> bytes{};
  RegionAttributes a{kDomain, bytes.data(), 16, kEverything, {}, {}};
  const MemoryKeys keys = table.add(a).value();
  CHECK(table.allocate(kDomain, 17).error() == RegisterError::bad_range);
  CHECK(table.allocate(kDomain, 16).has_value());
  a.length = 17;
  CHECK(table.add(a).error() == RegisterError::bad_range);
  CHECK(table.reregister(keys.local, kChangeTranslation, a).error() == RegisterError::bad_range);
  a.length = 8;
  CHECK(table.reregister(keys.local, kChangeTranslation, a).has_value());
}

TEST_CASE("removal takes the right region and only once") {
  MemoryRegionTable table(1);
  std::array<std::byte, 16> bytes{};
  const RegionAttributes a{kDomain, bytes.data(), bytes.size(), kEverything, {}, {}};
  std::vector<MemoryKeys> keys;
  for (int i = 0; i < 5; ++i) keys.push_back(table.add(a).value());
  CHECK_FALSE(table.remove(keys[1].local ^ 1));  // another key byte
  CHECK(table.remove(keys[1].local));
  CHECK_FALSE(table.remove(keys[1].local));
  CHECK(table.size() == 4);
  const auto address = reinterpret_cast<std::uintptr_t>(bytes.data());
  for (int i = 0; i < 5; ++i) {
    INFO(i);
    const auto fault =
        table.check_remote(kDomain, keys[i].remote, address, 1, transport::kRemoteRead);
    CHECK(fault == (i == 1 ? MemoryFault::bad_key : MemoryFault::none));
  }
}

TEST_CASE("the table knows which domains are in use") {
  Registered r;
  CHECK(r.table.uses(kDomain));
  CHECK_FALSE(r.table.uses(kOtherDomain));
  r.table.remove(r.keys.local);
  CHECK_FALSE(r.table.uses(kDomain));
}

TEST_CASE("remote access: every fault, and no byte moved") {
  Registered r;
  const auto before = r.bytes;
  std::array<std::byte, 8> buffer{};
  const auto write = [&](ProtectionDomain pd, std::uint32_t key, std::uint64_t address) {
    return r.table.write_remote(pd, key, address, wire::ByteView(buffer));
  };
  CHECK(write(kDomain, r.keys.remote ^ 0x01, r.address) == MemoryFault::bad_key);
  CHECK(write(kDomain, r.keys.remote ^ 0x100, r.address) == MemoryFault::bad_key);
  CHECK(write(kOtherDomain, r.keys.remote, r.address) == MemoryFault::wrong_domain);
  CHECK(write(kDomain, r.keys.remote, r.address - 1) == MemoryFault::out_of_bounds);
  CHECK(write(kDomain, r.keys.remote, r.address + 249) == MemoryFault::out_of_bounds);
  CHECK(write(kDomain, r.keys.remote, 0) == MemoryFault::out_of_bounds);
  CHECK(write(kDomain, r.keys.remote, kTop) == MemoryFault::out_of_bounds);
  r.table.remove(r.keys.local);
  CHECK(write(kDomain, r.keys.remote, r.address) == MemoryFault::bad_key);
  CHECK(r.bytes == before);
}

TEST_CASE("each right is needed for its access alone") {
  const std::uint32_t with_local = transport::kLocalWrite;
  for (const std::uint32_t granted :
       {0u, with_local, std::uint32_t{transport::kRemoteRead}, with_local | transport::kRemoteWrite,
        with_local | transport::kRemoteAtomic}) {
    INFO("granted " << granted);
    Registered r(granted);
    const auto expected = [granted](std::uint32_t needed) {
      return (granted & needed) != 0 ? MemoryFault::none : MemoryFault::no_access;
    };
    std::array<std::byte, 8> buffer{};
    std::uint64_t original = 0;
    for (const Access access :
         {transport::kRemoteRead, transport::kRemoteWrite, transport::kRemoteAtomic}) {
      CHECK(r.table.check_remote(kDomain, r.keys.remote, r.address, 8, access) == expected(access));
    }
    CHECK(r.table.read_remote(kDomain, r.keys.remote, r.address, wire::ByteSpan(buffer)) ==
          expected(transport::kRemoteRead));
    CHECK(r.table.write_remote(kDomain, r.keys.remote, r.address, wire::ByteView(buffer)) ==
          expected(transport::kRemoteWrite));
    CHECK(r.table.atomic_remote(kDomain, r.keys.remote, r.address, AtomicOperation::fetch_add, 0, 0,
                                original) == expected(transport::kRemoteAtomic));
    const Sge sge = r.sge(0, 8);
    CHECK(r.table.check_local(kDomain, {&sge, 1}, false) == MemoryFault::none);
    CHECK(r.table.check_local(kDomain, {&sge, 1}, true) == expected(transport::kLocalWrite));
    CHECK(r.table.gather(kDomain, {&sge, 1}, 0, wire::ByteSpan(buffer)) == MemoryFault::none);
    CHECK(r.table.scatter(kDomain, {&sge, 1}, 0, wire::ByteView(buffer)) ==
          expected(transport::kLocalWrite));
  }
}

TEST_CASE("bounds hold at the end of the address space") {
  // The region's last byte is the last address there is.
  Registered r(kEverything, kTop - 255);
  const auto check = [&r](std::uint64_t address, std::uint64_t length) {
    return r.table.check_remote(kDomain, r.keys.remote, address, length, transport::kRemoteWrite);
  };
  CHECK(check(kTop, 1) == MemoryFault::none);
  CHECK(check(kTop - 255, 256) == MemoryFault::none);
  CHECK(check(kTop - 255, 257) == MemoryFault::out_of_bounds);
  CHECK(check(kTop, 2) == MemoryFault::out_of_bounds);
  CHECK(check(kTop, kTop) == MemoryFault::out_of_bounds);
  CHECK(check(kTop - 256, 1) == MemoryFault::out_of_bounds);
  CHECK(check(0, 1) == MemoryFault::out_of_bounds);
  CHECK(check(kTop - 7, kTop - 7) == MemoryFault::out_of_bounds);

  // And at its start.
  Registered zero(kEverything, 0);
  const auto check_zero = [&zero](std::uint64_t address, std::uint64_t length) {
    return zero.table.check_remote(kDomain, zero.keys.remote, address, length,
                                   transport::kRemoteWrite);
  };
  CHECK(check_zero(0, 256) == MemoryFault::none);
  CHECK(check_zero(255, 1) == MemoryFault::none);
  CHECK(check_zero(255, 2) == MemoryFault::out_of_bounds);
  CHECK(check_zero(256, 1) == MemoryFault::out_of_bounds);
  CHECK(check_zero(kTop, 1) == MemoryFault::out_of_bounds);
  CHECK(check_zero(1, kTop) == MemoryFault::out_of_bounds);
}

TEST_CASE("an access of length zero is allowed whatever the key") {
  Registered r;
  CHECK(r.table.check_remote(kOtherDomain, 0xdead, kTop, 0, transport::kRemoteWrite) ==
        MemoryFault::none);
  CHECK(r.table.read_remote(kDomain, 0xdead, kTop, {}) == MemoryFault::none);
  CHECK(r.table.write_remote(kDomain, 0xdead, kTop, {}) == MemoryFault::none);
  const Sge empty{kTop, 0, 0xdead};
  CHECK(r.table.check_local(kDomain, {&empty, 1}, true) == MemoryFault::none);
  CHECK(r.table.gather(kDomain, {&empty, 1}, 0, {}) == MemoryFault::none);
  CHECK(r.table.scatter(kDomain, {}, 0, {}) == MemoryFault::none);
}

TEST_CASE("remote bytes are moved, in pieces, and nothing beside them") {
  Registered r(kEverything, 0x1000);
  auto before = r.bytes;
  const auto data = pattern(7, 0xa0);
  wire::ByteChain chain;
  chain.append(wire::ByteView(data).first(3));
  chain.append(wire::ByteView(data).subspan(3, 4));
  REQUIRE(r.table.write_remote(kDomain, r.keys.remote, 0x1000 + 249, chain) == MemoryFault::none);
  std::copy(data.begin(), data.end(), before.begin() + 249);
  CHECK(r.bytes == before);

  std::vector<std::byte> a(5);
  std::vector<std::byte> b(2);
  wire::MutableByteChain out;
  out.append(wire::ByteSpan(a));
  out.append(wire::ByteSpan(b));
  REQUIRE(r.table.read_remote(kDomain, r.keys.remote, 0x1000 + 249, out) == MemoryFault::none);
  a.insert(a.end(), b.begin(), b.end());
  CHECK(a == data);
}

TEST_CASE("a list of elements is gathered and scattered at any offset and length") {
  Registered r;
  // 10 + 0 + 1 + 20 bytes, out of order in memory; the empty one's key means nothing.
  std::array<Sge, 4> sges{r.sge(100, 10), r.sge(0, 0), r.sge(50, 1), r.sge(200, 20)};
  sges[1].local_key = 0xdead;
  std::vector<std::byte> flat;
  for (const Sge& sge : sges) {
    const auto first = r.bytes.begin() + static_cast<std::ptrdiff_t>(sge.address - r.address);
    flat.insert(flat.end(), first, first + sge.length);
  }
  REQUIRE(r.table.check_local(kDomain, sges, true) == MemoryFault::none);
  for (std::size_t offset = 0; offset <= flat.size(); ++offset) {
    for (std::size_t n = 0; n <= flat.size() - offset; ++n) {
      INFO("offset " << offset << " length " << n);
      std::vector<std::byte> out(n);
      REQUIRE(r.table.gather(kDomain, sges, offset, wire::ByteSpan(out)) == MemoryFault::none);
      REQUIRE(
          std::equal(out.begin(), out.end(), flat.begin() + static_cast<std::ptrdiff_t>(offset)));

      auto expected = r.bytes;
      const auto data = pattern(n, 0x80);
      REQUIRE(r.table.scatter(kDomain, sges, offset, wire::ByteView(data)) == MemoryFault::none);
      std::vector<std::byte> now(flat.size());
      REQUIRE(r.table.gather(kDomain, sges, 0, wire::ByteSpan(now)) == MemoryFault::none);
      REQUIRE(
          std::equal(data.begin(), data.end(), now.begin() + static_cast<std::ptrdiff_t>(offset)));
      r.table.scatter(kDomain, sges, 0, wire::ByteView(flat));
      REQUIRE(r.bytes == expected);
    }
  }
}

TEST_CASE("a list with one bad element moves no byte") {
  Registered r;
  const auto before = r.bytes;
  std::array<Sge, 2> sges{r.sge(0, 16), r.sge(250, 16)};
  const auto data = pattern(32, 0x80);
  CHECK(r.table.check_local(kDomain, sges, true) == MemoryFault::out_of_bounds);
  CHECK(r.table.scatter(kDomain, sges, 0, wire::ByteView(data)) == MemoryFault::out_of_bounds);
  // Even when the bytes moved now would lie inside: the element as a whole is bad.
  CHECK(r.table.scatter(kDomain, sges, 12, wire::ByteView(data).first(8)) ==
        MemoryFault::out_of_bounds);
  sges[1] = r.sge(0, 16);
  sges[1].local_key ^= 1;
  CHECK(r.table.scatter(kDomain, sges, 0, wire::ByteView(data)) == MemoryFault::bad_key);
  CHECK(r.table.scatter(kOtherDomain, sges, 0, wire::ByteView(data)) == MemoryFault::wrong_domain);
  // A list that is too short.
  CHECK(r.table.scatter(kDomain, {sges.data(), 1}, 0, wire::ByteView(data)) ==
        MemoryFault::out_of_bounds);
  CHECK(r.bytes == before);
}

TEST_CASE("atomics change eight bytes and give back what was there") {
  Registered r(kEverything, 0x1000);
  auto* words = reinterpret_cast<std::uint64_t*>(r.bytes.data());
  words[1] = 41;
  words[2] = 7;
  const std::uint64_t neighbour = words[0];
  std::uint64_t original = 0;
  const auto atomic = [&](std::uint64_t address, AtomicOperation operation, std::uint64_t swap_add,
                          std::uint64_t compare) {
    return r.table.atomic_remote(kDomain, r.keys.remote, address, operation, swap_add, compare,
                                 original);
  };
  CHECK(atomic(0x1008, AtomicOperation::fetch_add, 1, 0) == MemoryFault::none);
  CHECK(original == 41);
  CHECK(words[1] == 42);
  CHECK(atomic(0x1008, AtomicOperation::fetch_add, kTop, 0) == MemoryFault::none);
  CHECK(words[1] == 41);

  CHECK(atomic(0x1010, AtomicOperation::compare_swap, 100, 8) == MemoryFault::none);
  CHECK(original == 7);
  CHECK(words[2] == 7);
  CHECK(atomic(0x1010, AtomicOperation::compare_swap, 100, 7) == MemoryFault::none);
  CHECK(original == 7);
  CHECK(words[2] == 100);

  original = 5;
  CHECK(atomic(0x1004, AtomicOperation::fetch_add, 1, 0) == MemoryFault::misaligned);
  CHECK(atomic(0x10fc, AtomicOperation::fetch_add, 1, 0) == MemoryFault::out_of_bounds);
  CHECK(atomic(0x1100, AtomicOperation::fetch_add, 1, 0) == MemoryFault::out_of_bounds);
  CHECK(original == 5);
  CHECK(words[0] == neighbour);
  CHECK(r.table.check_remote(kDomain, r.keys.remote, 0x1004, 8, transport::kRemoteAtomic) ==
        MemoryFault::misaligned);
}

TEST_CASE("a peer's atomics and the processor's own lose nothing to each other") {
  constexpr std::uint64_t kTimes = 200'000;
  Registered r(kEverything, 0x1000);
  auto* word = reinterpret_cast<std::uint64_t*>(r.bytes.data());
  *word = 0;
  std::atomic<bool> ready{false};
  std::jthread local([&] {
    while (!ready) std::this_thread::yield();
    for (std::uint64_t i = 0; i < kTimes; ++i) __atomic_fetch_add(word, 1, __ATOMIC_RELAXED);
  });
  ready = true;
  std::uint64_t original = 0;
  std::uint64_t swaps = 0;
  for (std::uint64_t i = 0; i < kTimes; ++i) {
    REQUIRE(r.table.atomic_remote(kDomain, r.keys.remote, 0x1000, AtomicOperation::fetch_add, 1, 0,
                                  original) == MemoryFault::none);
    const std::uint64_t guess = original + 1;
    REQUIRE(r.table.atomic_remote(kDomain, r.keys.remote, 0x1000, AtomicOperation::compare_swap,
                                  guess + 1, guess, original) == MemoryFault::none);
    swaps += original == guess;
  }
  local.join();
  CHECK(*word == 2 * kTimes + swaps);
}

TEST_CASE("memory of a dma-buf is refused, and says so") {
  MemoryRegionTable table(1);
  alignas(8) std::array<std::byte, 32> bytes{};
  RegionAttributes attributes;
  attributes.domain = kDomain;
  attributes.base = bytes.data();
  attributes.length = bytes.size();
  attributes.dma_buf = 3;
  const auto made = table.add(attributes);
  REQUIRE_FALSE(made);
  CHECK(made.error() == RegisterError::no_dma_buf);
  CHECK(to_string(made.error()) == "a dma-buf cannot be registered, only host memory");
  CHECK(table.size() == 0);
}

TEST_CASE("an atomic on memory that is unaligned under an aligned address is refused") {
  alignas(8) std::array<std::byte, 32> bytes{};
  MemoryRegionTable table(1);
  const MemoryKeys keys =
      table.add({kDomain, bytes.data() + 1, 16, kEverything, 0x1000, {}}).value();
  std::uint64_t original = 0;
  CHECK(table.atomic_remote(kDomain, keys.remote, 0x1000, AtomicOperation::fetch_add, 1, 0,
                            original) == MemoryFault::misaligned);
  CHECK(std::all_of(bytes.begin(), bytes.end(), [](std::byte b) { return b == std::byte{}; }));
}

}  // namespace
}  // namespace softrnic::nic
