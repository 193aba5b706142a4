// SPDX-License-Identifier: BSD-3-Clause
// Memory windows, fast registration, re-registration, and the rarer kinds of region.
#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <catch2/catch.hpp>
#include <cstring>
#include <set>
#include <vector>

#include "nic/memory_region_table.hpp"
#include "nic/on_demand_memory.hpp"

namespace softrnic::nic {
namespace {

using transport::Accessor;
using transport::AtomicOperation;
using transport::FastRegistration;
using transport::MemoryFault;
using transport::ProtectionDomain;
using transport::Sge;
using transport::WindowBinding;

constexpr ProtectionDomain kDomain{1};
constexpr ProtectionDomain kOtherDomain{2};
constexpr std::uint32_t kQpn = 0x11;
constexpr std::uint32_t kOtherQpn = 0x12;
constexpr std::uint32_t kRights =
    transport::kRemoteWrite | transport::kRemoteRead | transport::kRemoteAtomic;
constexpr std::uint64_t kBase = 0x10000;

// A region of 256 bytes at kBase to which windows may be bound, and a window of each type.
struct Windows {
  explicit Windows(std::uint32_t access = transport::kLocalWrite | transport::kBindWindow) {
    region = table.add({kDomain, bytes.data(), bytes.size(), access, kBase, {}}).value();
  }

  std::uint32_t window(WindowType type, ProtectionDomain domain = kDomain) {
    return table.allocate_window(domain, type).value();
  }
  WindowBinding binding(std::uint32_t window_key, std::uint64_t offset = 64,
                        std::uint64_t length = 64) const {
    return {.window_key = window_key,
            .new_key = (window_key & ~0xffu) | ((window_key + 1) & 0xff),
            .region_key = region.local,
            .access = kRights,
            .address = kBase + offset,
            .length = length};
  }
  // Binds on kQpn in kDomain and returns the new key.
  std::uint32_t bound(WindowType type) {
    const WindowBinding how = binding(window(type));
    REQUIRE(table.bind_window({kDomain, kQpn}, how) == MemoryFault::none);
    return how.new_key;
  }
  MemoryFault write(Accessor who, std::uint32_t key, std::uint64_t address, std::size_t n = 1) {
    const std::vector<std::byte> data(n, std::byte{0xee});
    return table.write_remote(who, key, address, wire::ByteChain(wire::ByteView(data)));
  }

  alignas(8) std::array<std::byte, 256> bytes{};
  MemoryRegionTable table{1};
  MemoryKeys region;
};

TEST_CASE("a window gives its range and nothing else", "[windows]") {
  for (const WindowType type : {WindowType::type_1, WindowType::type_2a, WindowType::type_2b}) {
    Windows w;
    const std::uint32_t key = w.bound(type);
    CHECK(w.write({kDomain, kQpn}, key, kBase + 64, 64) == MemoryFault::none);
    CHECK(w.bytes[63] == std::byte{0});
    CHECK(w.bytes[64] == std::byte{0xee});
    CHECK(w.bytes[127] == std::byte{0xee});
    CHECK(w.bytes[128] == std::byte{0});
    CHECK(w.write({kDomain, kQpn}, key, kBase + 63) == MemoryFault::out_of_bounds);
    CHECK(w.write({kDomain, kQpn}, key, kBase + 127, 2) == MemoryFault::out_of_bounds);
    CHECK(w.write({kDomain, kQpn}, key, kBase + 128) == MemoryFault::out_of_bounds);
    CHECK(w.write({kDomain, kQpn}, key, 0) == MemoryFault::out_of_bounds);
    CHECK(w.write({kDomain, kQpn}, key ^ 1, kBase + 64) == MemoryFault::bad_key);
    std::uint64_t original = 0;
    CHECK(w.table.atomic_remote({kDomain, kQpn}, key, kBase + 64, AtomicOperation::fetch_add, 1, 0,
                                original) == MemoryFault::none);
    CHECK(original == 0xeeeeeeeeeeeeeeeeu);
    CHECK(w.table.atomic_remote({kDomain, kQpn}, key, kBase + 60, AtomicOperation::fetch_add, 1, 0,
                                original) == MemoryFault::out_of_bounds);
    // A window is for peers: its key is no local key.
    const Sge sge{kBase + 64, 8, key};
    CHECK(w.table.check_local(kDomain, {&sge, 1}, false) == MemoryFault::bad_key);
    // The region itself grants peers nothing.
    CHECK(w.write({kDomain, kQpn}, w.region.remote, kBase + 64) == MemoryFault::no_access);
  }
}

TEST_CASE("who may use a window depends on its type", "[windows]") {
  Windows w;
  const std::uint32_t one = w.bound(WindowType::type_1);
  const std::uint32_t two_a = w.bound(WindowType::type_2a);
  const std::uint32_t two_b = w.bound(WindowType::type_2b);
  const auto fault = [&w](std::uint32_t key, Accessor who) {
    return w.write(who, key, kBase + 64);
  };
  CHECK(fault(one, {kDomain, kOtherQpn}) == MemoryFault::none);
  CHECK(fault(one, {kOtherDomain, kQpn}) == MemoryFault::wrong_domain);
  CHECK(fault(two_a, {kDomain, kOtherQpn}) == MemoryFault::wrong_domain);
  CHECK(fault(two_a, {kOtherDomain, kQpn}) == MemoryFault::none);
  CHECK(fault(two_b, {kDomain, kOtherQpn}) == MemoryFault::wrong_domain);
  CHECK(fault(two_b, {kOtherDomain, kQpn}) == MemoryFault::wrong_domain);
  CHECK(fault(two_b, {kDomain, kQpn}) == MemoryFault::none);
  CHECK(w.table.has_window_of(kQpn));
  CHECK_FALSE(w.table.has_window_of(kOtherQpn));
  REQUIRE(w.table.remove_window(two_a));
  CHECK_FALSE(w.table.has_window_of(kQpn));  // 2B and 1 do not hold the queue pair
}

TEST_CASE("a window grants the rights it was bound with", "[windows]") {
  for (const std::uint32_t granted :
       {std::uint32_t{transport::kRemoteRead}, std::uint32_t{transport::kRemoteWrite},
        std::uint32_t{transport::kRemoteAtomic}}) {
    Windows w;
    WindowBinding how = w.binding(w.window(WindowType::type_2b));
    how.access = granted;
    REQUIRE(w.table.bind_window({kDomain, kQpn}, how) == MemoryFault::none);
    for (const auto wanted :
         {transport::kRemoteRead, transport::kRemoteWrite, transport::kRemoteAtomic}) {
      CHECK(w.table.check_remote({kDomain, kQpn}, how.new_key, kBase + 64, 8, wanted) ==
            (wanted == granted ? MemoryFault::none : MemoryFault::no_access));
    }
  }
}

TEST_CASE("binding refuses what the rules forbid, and changes nothing then", "[windows]") {
  const auto fault = [](WindowType type, const std::function<void(Windows&, WindowBinding&)>& edit,
                        Accessor who = {kDomain, kQpn},
                        std::uint32_t region_access =
                            transport::kLocalWrite | transport::kBindWindow) {
    Windows w(region_access);
    const std::uint32_t key = w.window(type);
    WindowBinding how = w.binding(key);
    edit(w, how);
    const MemoryFault result = w.table.bind_window(who, how);
    if (result != MemoryFault::none) {
      CHECK(w.write({kDomain, kQpn}, how.new_key, kBase + 64) == MemoryFault::bad_key);
      // Its key is still the old one, and it can still be bound.
      CHECK(w.table.remove(w.region.local));
      CHECK(w.table.remove_window(key));
    }
    return result;
  };
  const auto as_is = [](Windows&, WindowBinding&) {};
  for (const WindowType type : {WindowType::type_1, WindowType::type_2a, WindowType::type_2b}) {
    CHECK(fault(type, as_is) == MemoryFault::none);
    CHECK(fault(type, as_is, {kOtherDomain, kQpn}) == MemoryFault::wrong_domain);
    CHECK(fault(type, as_is, {kDomain, kQpn}, transport::kLocalWrite) == MemoryFault::no_access);
    CHECK(fault(type, as_is, {kDomain, kQpn}, transport::kBindWindow) == MemoryFault::no_access);
    const auto edited = [&](auto edit) {
      return fault(type, [&edit](Windows&, WindowBinding& b) { edit(b); });
    };
    CHECK(edited([](auto& b) { b.region_key ^= 1; }) == MemoryFault::bad_key);
    CHECK(edited([](auto& b) { b.new_key ^= 0x100; }) == MemoryFault::bad_key);
    CHECK(edited([](auto& b) { b.address = kBase - 1; }) == MemoryFault::out_of_bounds);
    CHECK(edited([](auto& b) { b.length = 193; }) == MemoryFault::out_of_bounds);
    CHECK(edited([](auto& b) { b.length = ~std::uint64_t{0}; }) == MemoryFault::out_of_bounds);
    CHECK(edited([](auto& b) { b.access |= transport::kLocalWrite; }) == MemoryFault::no_access);
    CHECK(edited([](auto& b) { b.access |= transport::kBindWindow; }) == MemoryFault::no_access);
    // Only reading needs no local right of the region.
    CHECK(fault(
              type, [](Windows&, WindowBinding& b) { b.access = transport::kRemoteRead; },
              {kDomain, kQpn}, transport::kBindWindow) == MemoryFault::none);
  }
  CHECK(fault(WindowType::type_1, [](Windows&, WindowBinding& b) {
          b.access |= transport::kZeroBased;
        }) == MemoryFault::no_access);
  CHECK(fault(WindowType::type_2b, [](Windows&, WindowBinding& b) { b.length = 0; }) ==
        MemoryFault::out_of_bounds);
  CHECK(fault(WindowType::type_2b, [](Windows& w, WindowBinding& b) {
          b.region_key =
              w.table.add({kOtherDomain, w.bytes.data(), 256, transport::kBindWindow, kBase, {}})
                  .value()
                  .local;
          b.access = transport::kRemoteRead;
        }) == MemoryFault::wrong_domain);
  CHECK(fault(WindowType::type_2b, [](Windows& w, WindowBinding& b) {
          b.region_key = w.table
                             .add({kDomain,
                                   w.bytes.data(),
                                   256,
                                   transport::kBindWindow | transport::kZeroBased,
                                   {},
                                   {}})
                             .value()
                             .local;
          b.access = transport::kRemoteRead;
          b.address = 0;
        }) == MemoryFault::no_access);
  CHECK(fault(WindowType::type_2b, [](Windows& w, WindowBinding& b) {
          b.region_key = w.table.allocate(kDomain, 256)->local;  // free
        }) == MemoryFault::wrong_state);
}

TEST_CASE("a window of type 1 is bound again or to nothing, one of type 2 freed first",
          "[windows]") {
  Windows w;
  const std::uint32_t one = w.bound(WindowType::type_1);
  WindowBinding again = w.binding(one, 0, 32);
  REQUIRE(w.table.bind_window({kDomain, kOtherQpn}, again) == MemoryFault::none);
  CHECK(w.write({kDomain, kQpn}, one, kBase + 64) == MemoryFault::bad_key);  // the old key
  CHECK(w.write({kDomain, kQpn}, again.new_key, kBase + 64) == MemoryFault::out_of_bounds);
  CHECK(w.write({kDomain, kQpn}, again.new_key, kBase + 31) == MemoryFault::none);
  CHECK(w.table.invalidate_local({kDomain, kQpn}, again.new_key) == MemoryFault::wrong_kind);
  WindowBinding nothing = w.binding(again.new_key, 0, 0);
  nothing.region_key = 0;
  REQUIRE(w.table.bind_window({kDomain, kQpn}, nothing) == MemoryFault::none);
  CHECK(w.write({kDomain, kQpn}, nothing.new_key, kBase) == MemoryFault::bad_key);

  const std::uint32_t two = w.bound(WindowType::type_2b);
  CHECK(w.table.bind_window({kDomain, kQpn}, w.binding(two)) == MemoryFault::wrong_state);
  CHECK(w.table.invalidate_local({kDomain, kOtherQpn}, two) == MemoryFault::wrong_domain);
  CHECK(w.write({kDomain, kQpn}, two, kBase + 64) == MemoryFault::none);
  CHECK(w.table.invalidate_local({kDomain, kQpn}, two) == MemoryFault::none);
  CHECK(w.write({kDomain, kQpn}, two, kBase + 64) == MemoryFault::bad_key);
  CHECK(w.table.invalidate_local({kDomain, kQpn}, two) == MemoryFault::none);  // free already
  CHECK(w.table.bind_window({kDomain, kOtherQpn}, w.binding(two)) == MemoryFault::none);
}

TEST_CASE("a region stays while windows are bound to it", "[windows]") {
  Windows w;
  const std::uint32_t key = w.bound(WindowType::type_2b);
  const std::uint32_t other = w.bound(WindowType::type_1);
  RegionAttributes attributes;
  attributes.access = 0;
  CHECK_FALSE(w.table.remove(w.region.local));
  CHECK(w.table.reregister(w.region.local, kChangeAccess, attributes).error() ==
        RegisterError::windows_bound);
  REQUIRE(w.table.invalidate_local({kDomain, kQpn}, key) == MemoryFault::none);
  CHECK_FALSE(w.table.remove(w.region.local));
  REQUIRE(w.table.remove_window(other));  // bound or not
  CHECK(w.table.remove(w.region.local));
  CHECK(w.table.uses(kDomain));  // the free window
  CHECK(w.table.remove_window(key));
  CHECK_FALSE(w.table.remove_window(key));
  CHECK_FALSE(w.table.uses(kDomain));
}

TEST_CASE("a window is bound again and removed by any key it had", "[windows]") {
  Windows w;
  const std::uint32_t first = w.window(WindowType::type_2b);
  WindowBinding how = w.binding(first);
  REQUIRE(w.table.bind_window({kDomain, kQpn}, how) == MemoryFault::none);
  REQUIRE(w.table.invalidate_local({kDomain, kQpn}, how.new_key) == MemoryFault::none);
  ++how.new_key;
  REQUIRE(w.table.bind_window({kDomain, kQpn}, how) == MemoryFault::none);
  CHECK(w.write({kDomain, kQpn}, first, kBase + 64) == MemoryFault::bad_key);
  CHECK(w.write({kDomain, kQpn}, how.new_key, kBase + 64) == MemoryFault::none);
  CHECK(w.table.remove_window(first));
  CHECK(w.write({kDomain, kQpn}, how.new_key, kBase + 64) == MemoryFault::bad_key);
  CHECK(w.table.windows() == 0);
}

TEST_CASE("a zero-based window is addressed from zero", "[windows]") {
  Windows w;
  WindowBinding how = w.binding(w.window(WindowType::type_2a), 24, 16);
  how.access |= transport::kZeroBased;
  REQUIRE(w.table.bind_window({kDomain, kQpn}, how) == MemoryFault::none);
  CHECK(w.write({kDomain, kQpn}, how.new_key, kBase + 24) == MemoryFault::out_of_bounds);
  CHECK(w.write({kDomain, kQpn}, how.new_key, 15) == MemoryFault::none);
  CHECK(w.bytes[39] == std::byte{0xee});
  CHECK(w.write({kDomain, kQpn}, how.new_key, 15, 2) == MemoryFault::out_of_bounds);
}

TEST_CASE("keys of regions and windows come from one sequence that does not repeat", "[windows]") {
  MemoryRegionTable table(9);
  std::array<std::byte, 16> bytes{};
  std::set<std::uint32_t> indexes;
  for (int i = 0; i < 3000; ++i) {
    const auto region = table.add({kDomain, bytes.data(), bytes.size(), 0, {}, {}}).value();
    const auto fast = table.allocate(kDomain, 16).value();
    const auto window = table.allocate_window(kDomain, WindowType::type_1).value();
    for (const std::uint32_t key : {region.local, fast.local, window}) {
      REQUIRE(key >> 8 != 0);
      REQUIRE(indexes.insert(key >> 8).second);
    }
    REQUIRE(table.remove(region.local));
    REQUIRE(table.remove(fast.local));
    REQUIRE(table.remove_window(window));
  }
  CHECK(table.size() == 0);
  CHECK(table.windows() == 0);
}

TEST_CASE("windows have a limit of their own", "[windows]") {
  MemoryRegionTable table(1, {.regions = 2, .windows = 2});
  REQUIRE(table.allocate_window(kDomain, WindowType::type_1).has_value());
  REQUIRE(table.allocate_window(kDomain, WindowType::type_1).has_value());
  CHECK(table.allocate_window(kDomain, WindowType::type_1).error() == RegisterError::table_full);
  CHECK(table.allocate_window(ProtectionDomain{}, WindowType::type_1).error() ==
        RegisterError::bad_domain);
}

TEST_CASE("fast registration: free, valid, free, and every fault between", "[fast]") {
  MemoryRegionTable table(1);
  std::array<std::byte, 64> bytes{};
  const MemoryKeys keys = table.allocate(kDomain, 64).value();
  const auto host = reinterpret_cast<std::uintptr_t>(bytes.data());
  FastRegistration how{.key = keys.local ^ 0x5a,
                       .access = transport::kLocalWrite | transport::kRemoteWrite,
                       .address = kBase,
                       .host_address = host,
                       .length = 64};
  const auto reach = [&](std::uint32_t key) {
    return table.check_remote({kDomain, kQpn}, key, kBase, 64, transport::kRemoteWrite);
  };
  CHECK(reach(keys.local) == MemoryFault::bad_key);  // free

  const auto fault = [&](auto edit) {
    FastRegistration wrong = how;
    edit(wrong);
    return table.fast_register(kDomain, wrong);
  };
  CHECK(fault([](auto& f) { f.key ^= 0x100; }) == MemoryFault::bad_key);
  CHECK(fault([](auto& f) { f.length = 65; }) == MemoryFault::out_of_bounds);
  CHECK(fault([](auto& f) { f.address = ~std::uint64_t{0} - 3; }) == MemoryFault::out_of_bounds);
  CHECK(fault([](auto& f) { f.host_address = 0; }) == MemoryFault::out_of_bounds);
  CHECK(fault([](auto& f) { f.access = transport::kRemoteWrite; }) == MemoryFault::no_access);
  CHECK(table.fast_register(kOtherDomain, how) == MemoryFault::wrong_domain);
  CHECK(reach(how.key) == MemoryFault::bad_key);

  REQUIRE(table.fast_register(kDomain, how) == MemoryFault::none);
  CHECK(reach(how.key) == MemoryFault::none);
  CHECK(reach(keys.local) == MemoryFault::bad_key);  // the key byte has changed
  CHECK(table.fast_register(kDomain, how) == MemoryFault::wrong_state);

  CHECK(table.invalidate_local({kOtherDomain, kQpn}, how.key) == MemoryFault::wrong_domain);
  CHECK(table.invalidate_remote({kOtherDomain, kQpn}, how.key) == MemoryFault::wrong_domain);
  CHECK(table.invalidate_local({kDomain, kQpn}, how.key ^ 1) == MemoryFault::bad_key);
  CHECK(reach(how.key) == MemoryFault::none);
  CHECK(table.invalidate_local({kDomain, kQpn}, how.key) == MemoryFault::none);
  CHECK(reach(how.key) == MemoryFault::bad_key);
  CHECK(table.invalidate_local({kDomain, kQpn}, how.key) == MemoryFault::none);  // free already
  CHECK(table.invalidate_remote({kDomain, kQpn}, how.key) == MemoryFault::bad_key);

  how.key ^= 1;
  REQUIRE(table.fast_register(kDomain, how) == MemoryFault::none);
  CHECK(table.invalidate_remote({kDomain, kQpn}, how.key) == MemoryFault::none);
  CHECK(reach(how.key) == MemoryFault::bad_key);
  CHECK(table.remove(how.key));
}

TEST_CASE("an ordinary region is not invalidated, nor registered fast", "[fast]") {
  Windows w(transport::kLocalWrite | transport::kRemoteWrite);
  CHECK(w.table.invalidate_local({kDomain, kQpn}, w.region.local) == MemoryFault::wrong_kind);
  CHECK(w.table.invalidate_remote({kDomain, kQpn}, w.region.local) == MemoryFault::wrong_kind);
  FastRegistration how;
  how.key = w.region.local;
  CHECK(w.table.fast_register(kDomain, how) == MemoryFault::wrong_kind);
  CHECK(w.write({kDomain, kQpn}, w.region.remote, kBase) == MemoryFault::none);
}

TEST_CASE("a fast region with a window bound to it is not invalidated", "[fast]") {
  Windows w;
  const MemoryKeys keys = w.table.allocate(kDomain, 256).value();
  REQUIRE(w.table.fast_register(kDomain,
                                {keys.local, transport::kBindWindow | transport::kLocalWrite, kBase,
                                 reinterpret_cast<std::uintptr_t>(w.bytes.data()), 256}) ==
          MemoryFault::none);
  WindowBinding how = w.binding(w.window(WindowType::type_2b));
  how.region_key = keys.local;
  REQUIRE(w.table.bind_window({kDomain, kQpn}, how) == MemoryFault::none);
  CHECK(w.table.invalidate_local({kDomain, kQpn}, keys.local) == MemoryFault::wrong_state);
  CHECK(w.write({kDomain, kQpn}, how.new_key, kBase + 64) == MemoryFault::none);
  REQUIRE(w.table.invalidate_remote({kDomain, kQpn}, how.new_key) == MemoryFault::none);
  CHECK(w.table.invalidate_local({kDomain, kQpn}, keys.local) == MemoryFault::none);
}

TEST_CASE("re-registration changes what its flags name, and the key with the place",
          "[reregister]") {
  std::array<std::byte, 256> elsewhere{};
  RegionAttributes to;
  to.domain = kOtherDomain;
  to.base = elsewhere.data();
  to.length = 128;
  to.virtual_address = 0x5000;
  to.access = transport::kLocalWrite | transport::kRemoteWrite | transport::kRemoteRead;
  for (std::uint32_t changes = 1; changes < 8; ++changes) {
    INFO(changes);
    Windows w(transport::kLocalWrite | transport::kRemoteWrite);
    const auto keys = w.table.reregister(w.region.local, changes, to);
    REQUIRE(keys.has_value());
    CHECK(keys->local >> 8 == w.region.local >> 8);
    const bool moved = (changes & kChangeTranslation) != 0;
    CHECK((keys->local != w.region.local) == moved);
    CHECK(keys->remote == keys->local);
    if (moved) CHECK(w.write({kDomain, kQpn}, w.region.remote, kBase) == MemoryFault::bad_key);
    const ProtectionDomain domain = (changes & kChangeDomain) != 0 ? kOtherDomain : kDomain;
    CHECK(w.write({domain, kQpn}, keys->remote, moved ? 0x5000 : kBase, moved ? 128 : 256) ==
          MemoryFault::none);
    CHECK((moved ? elsewhere[127] : w.bytes[255]) == std::byte{0xee});
    CHECK(w.write({domain, kQpn}, keys->remote, moved ? 0x5080 : kBase + 256) ==
          MemoryFault::out_of_bounds);
    CHECK(w.table.check_remote({domain, kQpn}, keys->remote, moved ? 0x5000 : kBase, 1,
                               transport::kRemoteRead) ==
          ((changes & kChangeAccess) != 0 ? MemoryFault::none : MemoryFault::no_access));
    CHECK(w.table.uses(kOtherDomain) == (domain == kOtherDomain));
    elsewhere.fill({});
  }
}

TEST_CASE("a refused re-registration leaves the region as it was", "[reregister]") {
  Windows w(transport::kLocalWrite | transport::kRemoteWrite);
  RegionAttributes to;
  to.domain = kOtherDomain;
  to.base = w.bytes.data();
  to.length = 16;
  const auto error = [&](std::uint32_t changes, auto edit) {
    RegionAttributes wrong = to;
    edit(wrong);
    const auto result = w.table.reregister(w.region.local, changes, wrong);
    REQUIRE_FALSE(result.has_value());
    CHECK(w.write({kDomain, kQpn}, w.region.remote, kBase, 256) == MemoryFault::none);
    return result.error();
  };
  const auto same = [](RegionAttributes&) {};
  CHECK(error(0, same) == RegisterError::unknown_change);
  CHECK(error(8 | kChangeAccess, same) == RegisterError::unknown_change);
  CHECK(error(kChangeDomain, [](auto& a) { a.domain = {}; }) == RegisterError::bad_domain);
  CHECK(error(kChangeAccess, [](auto& a) { a.access = transport::kRemoteWrite; }) ==
        RegisterError::bad_access);
  CHECK(error(kChangeAccess, [](auto& a) { a.access = transport::kZeroBased; }) ==
        RegisterError::bad_access);
  CHECK(error(7, [](auto& a) { a.base = nullptr; }) == RegisterError::bad_range);
  CHECK(error(7, [](auto& a) { a.virtual_address = ~std::uint64_t{0} - 14; }) ==
        RegisterError::bad_range);
  CHECK(w.table.reregister(w.region.local ^ 1, kChangeDomain, to).error() ==
        RegisterError::no_such_key);
  const MemoryKeys fast = w.table.allocate(kDomain, 64).value();
  CHECK(w.table.reregister(fast.local, kChangeDomain, to).error() == RegisterError::no_such_key);
}

TEST_CASE("a zero-based region is addressed from zero", "[kinds]") {
  MemoryRegionTable table(1);
  std::array<std::byte, 64> bytes{};
  RegionAttributes attributes{
      kDomain,      bytes.data(),
      bytes.size(), transport::kLocalWrite | transport::kRemoteWrite | transport::kZeroBased,
      {},           {}};
  const MemoryKeys keys = table.add(attributes).value();
  const std::byte one{0x77};
  const auto write = [&](std::uint64_t address) {
    return table.write_remote(kDomain, keys.remote, address,
                              wire::ByteChain(wire::ByteView(&one, 1)));
  };
  CHECK(write(0) == MemoryFault::none);
  CHECK(write(63) == MemoryFault::none);
  CHECK(bytes[0] == one);
  CHECK(bytes[63] == one);
  CHECK(write(64) == MemoryFault::out_of_bounds);
  CHECK(write(reinterpret_cast<std::uintptr_t>(bytes.data())) == MemoryFault::out_of_bounds);
  const Sge sge{32, 1, keys.local};
  CHECK(table.scatter(kDomain, {&sge, 1}, 0, wire::ByteChain(wire::ByteView(&one, 1))) ==
        MemoryFault::none);
  CHECK(bytes[32] == one);
  attributes.virtual_address = 0x1000;
  CHECK(table.add(attributes).error() == RegisterError::bad_range);
}

TEST_CASE("relaxed ordering and other optional rights are accepted", "[kinds]") {
  MemoryRegionTable table(1);
  std::array<std::byte, 16> bytes{};
  for (const std::uint32_t access :
       {std::uint32_t{transport::kRelaxedOrdering}, transport::kOptionalAccess,
        std::uint32_t{transport::kHugePages}, std::uint32_t{transport::kFlushGlobal},
        std::uint32_t{transport::kFlushPersistent}}) {
    CHECK(table.add({kDomain, bytes.data(), bytes.size(), access, {}, {}}).has_value());
  }
}

// Two pages, the second of which nobody may touch.
struct Pages {
  Pages() {
    void* const at =
        mmap(nullptr, 2 * size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    REQUIRE(at != MAP_FAILED);
    bytes = static_cast<std::byte*>(at);
    REQUIRE(mprotect(bytes + size, size, PROT_NONE) == 0);
  }
  ~Pages() { munmap(bytes, 2 * size); }
  std::uint64_t address() const { return reinterpret_cast<std::uintptr_t>(bytes); }

  const std::size_t size = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  std::byte* bytes = nullptr;
};

TEST_CASE("the whole address space on demand: what is there is reached, what is not refused",
          "[kinds]") {
  if (!on_demand_is_possible()) {
    WARN("skipped: process_vm_readv is forbidden here");
    return;
  }
  MemoryRegionTable table(1);
  Pages pages;
  RegionAttributes everything;
  everything.domain = kDomain;
  everything.length = ~std::uint64_t{0};
  everything.access = transport::kOnDemand | transport::kLocalWrite | kRights;
  const MemoryKeys keys = table.add(everything).value();

  std::array<std::byte, 8> data;
  data.fill(std::byte{0x3c});
  const auto write = [&](std::uint64_t address, std::size_t n) {
    return table.write_remote(kDomain, keys.remote, address,
                              wire::ByteChain(wire::ByteView(data.data(), n)));
  };
  CHECK(write(pages.address() + 5, 8) == MemoryFault::none);
  CHECK(pages.bytes[5] == std::byte{0x3c});
  CHECK(pages.bytes[12] == std::byte{0x3c});
  CHECK(pages.bytes[13] == std::byte{0});
  CHECK(write(pages.address() + pages.size, 1) == MemoryFault::out_of_bounds);
  CHECK(write(pages.address() + pages.size - 4, 8) == MemoryFault::out_of_bounds);
  CHECK(write(8, 8) == MemoryFault::out_of_bounds);
  CHECK(write(~std::uint64_t{0} - 7, 8) == MemoryFault::out_of_bounds);
  CHECK(write(~std::uint64_t{0}, 8) == MemoryFault::out_of_bounds);

  std::array<std::byte, 8> got{};
  CHECK(table.read_remote(kDomain, keys.remote, pages.address() + 5, wire::ByteSpan(got)) ==
        MemoryFault::none);
  CHECK(got == data);
  CHECK(table.read_remote(kDomain, keys.remote, 0, wire::ByteSpan(got)) ==
        MemoryFault::out_of_bounds);

  std::uint64_t original = 0;
  const auto add = [&](std::uint64_t address) {
    return table.atomic_remote(kDomain, keys.remote, address, AtomicOperation::fetch_add, 1, 0,
                               original);
  };
  CHECK(add(pages.address() + 16) == MemoryFault::none);
  CHECK(add(pages.address() + 16) == MemoryFault::none);
  CHECK(original == 1);
  CHECK(add(pages.address() + pages.size) == MemoryFault::out_of_bounds);
  CHECK(add(8) == MemoryFault::out_of_bounds);
  CHECK(add(pages.address() + 17) == MemoryFault::misaligned);

  const Sge sges[2] = {{pages.address(), 4, keys.local}, {pages.address() + 8, 4, keys.local}};
  CHECK(table.gather(kDomain, sges, 0, wire::ByteSpan(got)) == MemoryFault::none);
  CHECK(got[4] == std::byte{0x3c});
  CHECK(table.scatter(kDomain, sges, 0, wire::ByteChain(wire::ByteView(data))) ==
        MemoryFault::none);
  CHECK(pages.bytes[3] == std::byte{0x3c});
  const Sge nowhere{64, 8, keys.local};
  CHECK(table.gather(kDomain, {&nowhere, 1}, 0, wire::ByteSpan(got)) == MemoryFault::out_of_bounds);
  // Without the flag it is no region.
  everything.access = transport::kLocalWrite;
  CHECK(table.add(everything).error() == RegisterError::bad_range);
}

TEST_CASE("an atomic write stores eight aligned bytes", "[placement]") {
  Windows w(transport::kLocalWrite | transport::kRemoteWrite | transport::kBindWindow);
  const std::array<std::byte, 8> value{std::byte{1}, std::byte{2}, std::byte{3}, std::byte{4},
                                       std::byte{5}, std::byte{6}, std::byte{7}, std::byte{8}};
  const auto store = [&](std::uint32_t key, std::uint64_t address) {
    return w.table.atomic_write_remote({kDomain, kQpn}, key, address, value);
  };
  CHECK(store(w.region.remote, kBase + 8) == MemoryFault::none);
  CHECK(std::equal(value.begin(), value.end(), w.bytes.begin() + 8));
  CHECK(w.bytes[7] == std::byte{0});
  CHECK(w.bytes[16] == std::byte{0});
  CHECK(store(w.region.remote, kBase + 9) == MemoryFault::misaligned);
  CHECK(store(w.region.remote, kBase + 249) == MemoryFault::out_of_bounds);
  CHECK(store(w.region.remote ^ 1, kBase) == MemoryFault::bad_key);
  CHECK(store(w.bound(WindowType::type_2b), kBase + 64) == MemoryFault::none);
  CHECK(store(w.bound(WindowType::type_2b), kBase) == MemoryFault::out_of_bounds);
  // An aligned address of memory that is not.
  const auto odd = w.table.add({kDomain,
                                w.bytes.data() + 1,
                                64,
                                transport::kLocalWrite | transport::kRemoteWrite,
                                kBase,
                                {}});
  CHECK(store(odd->remote, kBase) == MemoryFault::misaligned);
  const auto other = w.table.add(
      {kDomain, w.bytes.data(), 64, transport::kLocalWrite | transport::kRemoteAtomic, kBase, {}});
  CHECK(store(other->remote, kBase) == MemoryFault::no_access);
}

TEST_CASE("a flush reaches what its key reaches, with the rights for it", "[placement]") {
  constexpr std::uint32_t kBoth = transport::kFlushGlobal | transport::kFlushPersistent;
  Windows w(kBoth | transport::kBindWindow);
  const auto flush = [&w](std::uint32_t key, std::uint64_t address, std::uint64_t length, bool all,
                          std::uint32_t access) {
    return w.table.flush_remote({kDomain, kQpn}, key, address, length, all, access);
  };
  CHECK(flush(w.region.remote, kBase, 256, false, kBoth) == MemoryFault::none);
  CHECK(flush(w.region.remote, kBase + 256, 0, false, kBoth) == MemoryFault::none);
  CHECK(flush(w.region.remote, kBase, 257, false, kBoth) == MemoryFault::out_of_bounds);
  CHECK(flush(w.region.remote, 0, 0, true, kBoth) == MemoryFault::none);
  CHECK(flush(w.region.remote ^ 1, 0, 0, true, kBoth) == MemoryFault::bad_key);
  WindowBinding how = w.binding(w.window(WindowType::type_2b));
  how.access = transport::kFlushGlobal;
  REQUIRE(w.table.bind_window({kDomain, kQpn}, how) == MemoryFault::none);
  CHECK(flush(how.new_key, 0, 0, true, transport::kFlushGlobal) == MemoryFault::none);
  CHECK(flush(how.new_key, kBase + 64, 64, false, transport::kFlushGlobal) == MemoryFault::none);
  CHECK(flush(how.new_key, kBase, 8, false, transport::kFlushGlobal) == MemoryFault::out_of_bounds);
  CHECK(flush(how.new_key, 0, 0, true, kBoth) == MemoryFault::no_access);
}

TEST_CASE("a flush to persistence fails where there is no memory", "[placement]") {
  if (!on_demand_is_possible()) {
    WARN("skipped: process_vm_readv is forbidden here");
    return;
  }
  MemoryRegionTable table(1);
  Pages pages;
  const auto address = pages.address();
  const auto keys = table.add({kDomain,
                               pages.bytes,
                               2 * pages.size,
                               transport::kOnDemand | transport::kFlushPersistent,
                               {},
                               {}});
  REQUIRE(keys.has_value());
  const auto flush = [&](std::uint64_t length) {
    return table.flush_remote(kDomain, keys->remote, address + 100, length, false,
                              transport::kFlushPersistent);
  };
  CHECK(flush(8) == MemoryFault::none);
  REQUIRE(munmap(pages.bytes + pages.size, pages.size) == 0);
  CHECK(flush(pages.size) == MemoryFault::not_flushed);
}

TEST_CASE("an on-demand region may lose its memory", "[kinds]") {
  if (!on_demand_is_possible()) {
    WARN("skipped: process_vm_readv is forbidden here");
    return;
  }
  MemoryRegionTable table(1);
  Pages pages;
  const MemoryKeys keys =
      table
          .add({kDomain,
                pages.bytes,
                pages.size,
                transport::kOnDemand | transport::kLocalWrite | transport::kRemoteWrite,
                kBase,
                {}})
          .value();
  const std::byte one{1};
  const auto write = [&] {
    return table.write_remote(kDomain, keys.remote, kBase,
                              wire::ByteChain(wire::ByteView(&one, 1)));
  };
  CHECK(write() == MemoryFault::none);
  REQUIRE(mprotect(pages.bytes, pages.size, PROT_READ) == 0);
  CHECK(write() == MemoryFault::out_of_bounds);
}

}  // namespace
}  // namespace softrnic::nic
