// SPDX-License-Identifier: BSD-3-Clause
// A memory gate over one array, for tests: key 1 reaches all of it, key 2 may only be read, every
// other key is bad. Addresses are offsets into the array.
#pragma once

#include <cstring>
#include <vector>

#include "transport/memory_gate.hpp"

namespace softrnic::transport::test {

class FlatMemory final : public MemoryGate {
 public:
  static constexpr std::uint32_t kKey = 1;
  static constexpr std::uint32_t kReadOnlyKey = 2;

  explicit FlatMemory(std::size_t size) : bytes(size) {}

  std::vector<std::byte> bytes;
  int atomics_executed = 0;
  int flushes = 0;

  MemoryFault check_local(ProtectionDomain, std::span<const Sge> sges, bool) override {
    for (const Sge& sge : sges) {
      if (const auto f = check(sge.local_key, sge.address, sge.length, false);
          f != MemoryFault::none) {
        return f;
      }
    }
    return MemoryFault::none;
  }

  MemoryFault gather(ProtectionDomain, std::span<const Sge> sges, std::uint64_t offset,
                     wire::MutableByteChain out) override {
    return walk(sges, offset, out.size(), [&](std::size_t done, std::byte* p, std::size_t n) {
      wire::copy(wire::ByteChain(wire::ByteView(p, n)), out.slice(done, n));
    });
  }

  MemoryFault scatter(ProtectionDomain, std::span<const Sge> sges, std::uint64_t offset,
                      wire::ByteChain in) override {
    return walk(sges, offset, in.size(), [&](std::size_t done, std::byte* p, std::size_t n) {
      in.copy_to(done, wire::ByteSpan(p, n));
    });
  }

  MemoryFault check_remote(Accessor, std::uint32_t key, std::uint64_t address, std::uint64_t length,
                           Access access) override {
    return length == 0 ? MemoryFault::none : check(key, address, length, access != kRemoteRead);
  }

  MemoryFault read_remote(Accessor pd, std::uint32_t key, std::uint64_t address,
                          wire::MutableByteChain out) override {
    const auto f = check_remote(pd, key, address, out.size(), kRemoteRead);
    if (f == MemoryFault::none) {
      wire::copy(wire::ByteChain(wire::ByteView(bytes.data() + address, out.size())), out);
    }
    return f;
  }

  MemoryFault write_remote(Accessor pd, std::uint32_t key, std::uint64_t address,
                           wire::ByteChain in) override {
    const auto f = check_remote(pd, key, address, in.size(), kRemoteWrite);
    if (f == MemoryFault::none) in.copy_to(0, wire::ByteSpan(bytes.data() + address, in.size()));
    return f;
  }

  MemoryFault atomic_remote(Accessor pd, std::uint32_t key, std::uint64_t address,
                            AtomicOperation operation, std::uint64_t swap_add,
                            std::uint64_t compare, std::uint64_t& original) override {
    if (address % 8 != 0) return MemoryFault::misaligned;
    const auto f = check_remote(pd, key, address, 8, kRemoteAtomic);
    if (f != MemoryFault::none) return f;
    std::memcpy(&original, bytes.data() + address, 8);
    std::uint64_t value = original;
    if (operation == AtomicOperation::fetch_add) value += swap_add;
    if (operation == AtomicOperation::compare_swap && original == compare) value = swap_add;
    std::memcpy(bytes.data() + address, &value, 8);
    ++atomics_executed;
    return MemoryFault::none;
  }

  std::uint64_t locate_remote(Accessor, std::uint32_t, std::uint64_t address,
                              std::uint64_t) override {
    return address;
  }

  MemoryFault atomic_write_remote(Accessor pd, std::uint32_t key, std::uint64_t address,
                                  std::span<const std::byte, 8> value) override {
    if (address % 8 != 0) return MemoryFault::misaligned;
    ++atomics_executed;
    return write_remote(pd, key, address, wire::ByteChain(wire::ByteView(value)));
  }

  MemoryFault flush_remote(Accessor, std::uint32_t key, std::uint64_t address, std::uint64_t length,
                           bool all, std::uint32_t) override {
    ++flushes;
    return check(key, all ? 0 : address, all ? 0 : length, false);
  }

  // Keys come and go with the NIC's table, which has its own tests.
  MemoryFault fast_register(ProtectionDomain, const FastRegistration&) override {
    return MemoryFault::wrong_kind;
  }
  MemoryFault bind_window(Accessor, const WindowBinding&) override {
    return MemoryFault::wrong_kind;
  }
  MemoryFault invalidate_local(Accessor, std::uint32_t) override { return MemoryFault::wrong_kind; }
  MemoryFault invalidate_remote(Accessor, std::uint32_t) override {
    return MemoryFault::wrong_kind;
  }

 private:
  MemoryFault check(std::uint32_t key, std::uint64_t address, std::uint64_t length, bool write) {
    if (key != kKey && key != kReadOnlyKey) return MemoryFault::bad_key;
    if (write && key == kReadOnlyKey) return MemoryFault::no_access;
    if (address > bytes.size() || length > bytes.size() - address) {
      return MemoryFault::out_of_bounds;
    }
    return MemoryFault::none;
  }

  template <class Move>
  MemoryFault walk(std::span<const Sge> sges, std::uint64_t offset, std::size_t size, Move move) {
    if (const auto f = check_local({}, sges, true); f != MemoryFault::none) return f;
    std::size_t done = 0;
    for (const Sge& sge : sges) {
      if (offset >= sge.length) {
        offset -= sge.length;
        continue;
      }
      const std::size_t n = std::min<std::size_t>(sge.length - offset, size - done);
      if (n > 0) move(done, bytes.data() + sge.address + offset, n);
      done += n;
      offset = 0;
    }
    return MemoryFault::none;
  }
};

}  // namespace softrnic::transport::test
