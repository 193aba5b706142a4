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
  misaligned,  // an atomic's address is not a multiple of eight
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
  virtual MemoryFault check_remote(ProtectionDomain pd, std::uint32_t remote_key,
                                   std::uint64_t address, std::uint64_t length, Access access) = 0;
  virtual MemoryFault read_remote(ProtectionDomain pd, std::uint32_t remote_key,
                                  std::uint64_t address, wire::MutableByteChain out) = 0;
  virtual MemoryFault write_remote(ProtectionDomain pd, std::uint32_t remote_key,
                                   std::uint64_t address, wire::ByteChain in) = 0;
  // Atomic against every other access through this gate and against the local processor's
  // atomics. `original` gets the value before, in the host's byte order.
  virtual MemoryFault atomic_remote(ProtectionDomain pd, std::uint32_t remote_key,
                                    std::uint64_t address, AtomicOperation operation,
                                    std::uint64_t swap_add, std::uint64_t compare,
                                    std::uint64_t& original) = 0;
};

}  // namespace softrnic::transport
