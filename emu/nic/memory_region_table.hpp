// SPDX-License-Identifier: BSD-3-Clause
// Memory regions and the one function through which bytes of them are read or written
// (IBTA vol. 1, 10.6).
//
// A key is an index and a key byte; keys are drawn from a seeded generator so that they can be
// neither guessed nor mistaken for one another, and are not reused soon. A region's local and
// remote key are the same number, as on hardware. An element of length zero names no memory and
// is allowed whatever its key. Not thread-safe.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "transport/memory_gate.hpp"
#include "wire/expected.hpp"

namespace softrnic::nic {

enum class RegisterError : std::uint8_t {
  bad_domain,
  bad_access,  // remote write or atomic without local write, or an unknown right
  bad_range,   // wraps round the address space, or no memory is given
  key_in_use,  // a wanted key's index is taken
  table_full,
};

struct MemoryKeys {
  std::uint32_t local = 0;
  std::uint32_t remote = 0;
};

struct RegionAttributes {
  transport::ProtectionDomain domain{};
  std::byte* base = nullptr;  // host memory, which must outlive the registration
  std::uint64_t length = 0;
  std::uint32_t access = 0;  // OR of transport::Access
  // Address by which work requests and peers name the first byte; `base` itself when not given.
  std::optional<std::uint64_t> virtual_address;
  // A particular key, for both uses, instead of a drawn one (a peer that stands in for another).
  std::optional<std::uint32_t> key;
};

class MemoryRegionTable final : public transport::MemoryGate {
 public:
  explicit MemoryRegionTable(std::uint64_t seed, std::uint32_t max_regions = 1u << 20);
  ~MemoryRegionTable() override;

  wire::Expected<MemoryKeys, RegisterError> add(const RegionAttributes& attributes);
  // False when the key names no region.
  bool remove(std::uint32_t local_key);
  std::size_t size() const;
  // Whether a region belongs to the domain.
  bool uses(transport::ProtectionDomain domain) const;

  transport::MemoryFault check_local(transport::ProtectionDomain pd,
                                     std::span<const transport::Sge> sges, bool write) override;
  transport::MemoryFault gather(transport::ProtectionDomain pd,
                                std::span<const transport::Sge> sges, std::uint64_t offset,
                                wire::MutableByteChain out) override;
  transport::MemoryFault scatter(transport::ProtectionDomain pd,
                                 std::span<const transport::Sge> sges, std::uint64_t offset,
                                 wire::ByteChain in) override;
  transport::MemoryFault check_remote(transport::ProtectionDomain pd, std::uint32_t remote_key,
                                      std::uint64_t address, std::uint64_t length,
                                      transport::Access access) override;
  transport::MemoryFault read_remote(transport::ProtectionDomain pd, std::uint32_t remote_key,
                                     std::uint64_t address, wire::MutableByteChain out) override;
  transport::MemoryFault write_remote(transport::ProtectionDomain pd, std::uint32_t remote_key,
                                      std::uint64_t address, wire::ByteChain in) override;
  transport::MemoryFault atomic_remote(transport::ProtectionDomain pd, std::uint32_t remote_key,
                                       std::uint64_t address, transport::AtomicOperation operation,
                                       std::uint64_t swap_add, std::uint64_t compare,
                                       std::uint64_t& original) override;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace softrnic::nic
