// SPDX-License-Identifier: BSD-3-Clause
// The one gate between packets and registered memory.
//
// The transport never sees a pointer into user memory: it asks the gate, which checks key, owner,
// access and bounds each time (IBTA vol. 1, 10.6) and moves the bytes itself. Implemented by the
// NIC's memory region table. Nothing is moved unless the whole range passes.
#pragma once

#include <cstdint>
#include <span>

#include "wire/byte_chain.hpp"

namespace softrnic::transport {

// Names a protection domain. Zero is none.
enum class ProtectionDomain : std::uint32_t {};

// A set of access rights (OR of bits), as verbs number them.
enum Access : std::uint32_t {
  kLocalWrite = 1u << 0,
  kRemoteWrite = 1u << 1,
  kRemoteRead = 1u << 2,
  kRemoteAtomic = 1u << 3,
  kBindWindow = 1u << 4,       // memory windows may be bound to it
  kZeroBased = 1u << 5,        // its first byte has the address zero
  kOnDemand = 1u << 6,         // pages are looked for when they are used, not before
  kHugePages = 1u << 7,        // a hint
  kFlushGlobal = 1u << 8,      // FLUSH to global visibility
  kFlushPersistent = 1u << 9,  // FLUSH to persistence
  kRelaxedOrdering = 1u << 20,
};

// What verbs leave a device free to ignore, relaxed ordering among them.
inline constexpr std::uint32_t kOptionalAccess = 0x3ff00000;
// What makes a key of use to a peer.
inline constexpr std::uint32_t kRemoteAccess =
    kRemoteWrite | kRemoteRead | kRemoteAtomic | kFlushGlobal | kFlushPersistent;

// On whose behalf memory is accessed: a queue pair, for windows that are bound to one, and its
// domain. No queue pair has the number zero.
struct Accessor {
  // A domain alone does where no window bound to a queue pair is in play.
  Accessor(ProtectionDomain its_domain, std::uint32_t its_qpn = 0)  // NOLINT(*-explicit-*)
      : domain(its_domain), qpn(its_qpn) {}

  ProtectionDomain domain;
  std::uint32_t qpn;
};

// Scatter/gather element: a piece of local memory under a local key.
struct Sge {
  std::uint64_t address = 0;
  std::uint32_t length = 0;
  std::uint32_t local_key = 0;
};

enum class MemoryFault : std::uint8_t {
  none,
  bad_key,       // no such region, or its key byte is stale
  wrong_domain,  // the region belongs to another protection domain
  no_access,     // the region does not grant the access
  out_of_bounds,
  misaligned,   // an atomic's address is not a multiple of eight
  wrong_kind,   // the key's region or window is of a kind that does not take the operation
  wrong_state,  // a free key used, a valid one made valid, a region with windows invalidated
  not_flushed,  // the memory could not be made persistent
};

// Makes a region valid that was allocated for fast registration and is free (10.6.3.3).
struct FastRegistration {
  std::uint32_t key = 0;           // the region's, with a key byte of the user's choice
  std::uint32_t access = 0;        // OR of Access
  std::uint64_t address = 0;       // by which the first byte is named from now on
  std::uint64_t host_address = 0;  // where it is
  std::uint64_t length = 0;
};

// Binds a memory window to a part of a region (10.6.7).
struct WindowBinding {
  std::uint32_t window_key = 0;  // one that it has or had
  std::uint32_t new_key = 0;     // as it will be: only the key byte differs
  std::uint32_t region_key = 0;  // the region's local key
  std::uint32_t access = 0;      // remote rights, and kZeroBased
  std::uint64_t address = 0;     // the first byte, as the region names it
  std::uint64_t length = 0;      // zero: unbinds (type 1 only)
};

enum class AtomicOperation : std::uint8_t { compare_swap, fetch_add };

class MemoryGate {
 public:
  virtual ~MemoryGate() = default;

  // Checks a whole list without moving anything; `write`: it will be scattered into.
  virtual MemoryFault check_local(ProtectionDomain pd, std::span<const Sge> sges, bool write) = 0;
  // Copies bytes [offset, offset + out.size()) of the list into `out`. The list is long enough.
  virtual MemoryFault gather(ProtectionDomain pd, std::span<const Sge> sges, std::uint64_t offset,
                             wire::MutableByteChain out) = 0;
  // Copies `in` to the list at `offset`. The list is long enough.
  virtual MemoryFault scatter(ProtectionDomain pd, std::span<const Sge> sges, std::uint64_t offset,
                              wire::ByteChain in) = 0;

  // `access`: one of the remote rights. A zero length is always allowed, whatever the key
  // (IBTA vol. 1, 9.7.5.2.5 and 9.6.3).
  virtual MemoryFault check_remote(Accessor accessor, std::uint32_t remote_key,
                                   std::uint64_t address, std::uint64_t length, Access access) = 0;
  virtual MemoryFault read_remote(Accessor accessor, std::uint32_t remote_key,
                                  std::uint64_t address, wire::MutableByteChain out) = 0;
  virtual MemoryFault write_remote(Accessor accessor, std::uint32_t remote_key,
                                   std::uint64_t address, wire::ByteChain in) = 0;
  // Names the first byte of a range that write_remote() would take, alike for every key that
  // reaches it: two ranges are of the same bytes where their locations meet.
  virtual std::uint64_t locate_remote(Accessor accessor, std::uint32_t remote_key,
                                      std::uint64_t address, std::uint64_t length) = 0;
  // Atomic against every other access through this gate and against the local processor's
  // atomics. `original` gets the value before, in the host's byte order.
  virtual MemoryFault atomic_remote(Accessor accessor, std::uint32_t remote_key,
                                    std::uint64_t address, AtomicOperation operation,
                                    std::uint64_t swap_add, std::uint64_t compare,
                                    std::uint64_t& original) = 0;
  // Stores eight bytes as one, at an address that is a multiple of eight.
  virtual MemoryFault atomic_write_remote(Accessor accessor, std::uint32_t remote_key,
                                          std::uint64_t address,
                                          std::span<const std::byte, 8> bytes) = 0;
  // Makes what was placed in the range, or in all that the key reaches, visible to everybody or
  // persistent. `access`: one of the two flush rights, or both.
  virtual MemoryFault flush_remote(Accessor accessor, std::uint32_t remote_key,
                                   std::uint64_t address, std::uint64_t length, bool all,
                                   std::uint32_t access) = 0;

  // What requests do to keys. Nothing changes unless all is permitted.
  virtual MemoryFault fast_register(ProtectionDomain pd, const FastRegistration& registration) = 0;
  virtual MemoryFault bind_window(Accessor accessor, const WindowBinding& binding) = 0;
  // Makes a region for fast registration, or a window of type 2, free again (10.6.5). One that is
  // free already stays so.
  virtual MemoryFault invalidate_local(Accessor accessor, std::uint32_t key) = 0;
  // The same for a peer, whose key must name something that it could access.
  virtual MemoryFault invalidate_remote(Accessor accessor, std::uint32_t remote_key) = 0;
};

}  // namespace softrnic::transport
