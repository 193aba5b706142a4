// SPDX-License-Identifier: BSD-3-Clause
// Memory regions and windows, and the one function through which bytes of them are read or
// written (IBTA vol. 1, 10.6).
//
// A key is an index and a key byte; keys are drawn from a seeded generator so that they can be
// neither guessed nor mistaken for one another, and are not reused soon: an index, whether a
// region's or a window's, comes back after 2^24 others. A region's local and remote key are the
// same number, as on hardware. An element of length zero names no memory and is allowed whatever
// its key. Not thread-safe.
//
// Two kinds of region: those registered at once, and those allocated for fast registration, which
// requests make valid and invalidate. A window gives peers a part of a region, with a key of its
// own, once a request has bound it.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>

#include "nic/memory_region.hpp"
#include "transport/memory_gate.hpp"
#include "wire/expected.hpp"

namespace softrnic::nic {

enum class RegisterError : std::uint8_t {
  bad_domain,
  bad_access,  // remote write or atomic without local write, or an unknown right
  bad_range,   // wraps round the address space, is longer than allowed, or no memory is given
  key_in_use,  // a wanted key's index is taken
  table_full,
  no_such_key,     // names no region or window, or not one of the right kind
  windows_bound,   // a window is bound to the region
  no_on_demand,    // this process may not look its own memory up
  no_dma_buf,      // only host memory can be registered
  unknown_change,  // none of the three changes of a re-registration, or none at all
};

// One clause, without a full stop.
std::string_view to_string(RegisterError error);

struct MemoryKeys {
  std::uint32_t local = 0;
  std::uint32_t remote = 0;
};

struct RegionAttributes {
  transport::ProtectionDomain domain{};
  // Host memory, which must outlive the registration; on-demand regions may name memory that is
  // not there, up to the whole address space (no base, length 2^64 - 1).
  std::byte* base = nullptr;
  std::uint64_t length = 0;
  std::uint32_t access = 0;  // OR of transport::Access
  // Address by which work requests and peers name the first byte. When not given, `base` itself,
  // or zero for a zero-based region.
  std::optional<std::uint64_t> virtual_address;
  // A particular key, for both uses, instead of a drawn one (a peer that stands in for another).
  std::optional<std::uint32_t> key;
  // The descriptor of a dma-buf to register instead of host memory. Refused: what it stands for is
  // a device's, and not this process's to read and write.
  std::optional<int> dma_buf{};
};

// What a re-registration changes (OR of bits), as ibv_rereg_mr numbers it.
enum RegionChange : std::uint32_t {
  kChangeTranslation = 1u << 0,  // base, length, virtual address
  kChangeDomain = 1u << 1,
  kChangeAccess = 1u << 2,
};

// What the table holds at most.
struct MemoryLimits {
  std::uint64_t regions = 1u << 20;
  std::uint64_t windows = 1u << 20;
  std::uint64_t region_bytes = ~std::uint64_t{0};
};

class MemoryRegionTable final : public transport::MemoryGate {
 public:
  explicit MemoryRegionTable(std::uint64_t seed, const MemoryLimits& limits = {});
  ~MemoryRegionTable() override;

  wire::Expected<MemoryKeys, RegisterError> add(const RegionAttributes& attributes);
  // A region for fast registration of up to `room` bytes; free until a request registers it.
  wire::Expected<MemoryKeys, RegisterError> allocate(transport::ProtectionDomain domain,
                                                     std::uint64_t room);
  // Changes what `changes` names to what `attributes` says. The region's keys are new afterwards
  // where its place is, and else stay, as programs expect of drivers; all is as before when it is
  // refused.
  wire::Expected<MemoryKeys, RegisterError> reregister(std::uint32_t local_key,
                                                       std::uint32_t changes,
                                                       const RegionAttributes& attributes);
  // False when the key names no region, or while a window is bound to it.
  bool remove(std::uint32_t local_key);
  std::size_t size() const;

  // A window, bound to nothing yet; gives its key.
  wire::Expected<std::uint32_t, RegisterError> allocate_window(transport::ProtectionDomain domain,
                                                               WindowType type);
  // Bound or not, by any key it has had. False when the key names no window.
  bool remove_window(std::uint32_t key);
  std::size_t windows() const;
  // Whether a window of type 2A, whose queue pair alone protects it, is bound on the queue pair.
  bool has_window_of(std::uint32_t qpn) const;

  // Whether a region or window belongs to the domain.
  bool uses(transport::ProtectionDomain domain) const;

  transport::MemoryFault check_local(transport::ProtectionDomain pd,
                                     std::span<const transport::Sge> sges, bool write) override;
  transport::MemoryFault gather(transport::ProtectionDomain pd,
                                std::span<const transport::Sge> sges, std::uint64_t offset,
                                wire::MutableByteChain out) override;
  transport::MemoryFault scatter(transport::ProtectionDomain pd,
                                 std::span<const transport::Sge> sges, std::uint64_t offset,
                                 wire::ByteChain in) override;
  transport::MemoryFault check_remote(transport::Accessor accessor, std::uint32_t remote_key,
                                      std::uint64_t address, std::uint64_t length,
                                      transport::Access access) override;
  transport::MemoryFault read_remote(transport::Accessor accessor, std::uint32_t remote_key,
                                     std::uint64_t address, wire::MutableByteChain out) override;
  transport::MemoryFault write_remote(transport::Accessor accessor, std::uint32_t remote_key,
                                      std::uint64_t address, wire::ByteChain in) override;
  std::uint64_t locate_remote(transport::Accessor accessor, std::uint32_t remote_key,
                              std::uint64_t address, std::uint64_t length) override;
  transport::MemoryFault atomic_remote(transport::Accessor accessor, std::uint32_t remote_key,
                                       std::uint64_t address, transport::AtomicOperation operation,
                                       std::uint64_t swap_add, std::uint64_t compare,
                                       std::uint64_t& original) override;
  transport::MemoryFault atomic_write_remote(transport::Accessor accessor, std::uint32_t remote_key,
                                             std::uint64_t address,
                                             std::span<const std::byte, 8> bytes) override;
  transport::MemoryFault flush_remote(transport::Accessor accessor, std::uint32_t remote_key,
                                      std::uint64_t address, std::uint64_t length, bool all,
                                      std::uint32_t access) override;

  transport::MemoryFault fast_register(transport::ProtectionDomain pd,
                                       const transport::FastRegistration& registration) override;
  transport::MemoryFault bind_window(transport::Accessor accessor,
                                     const transport::WindowBinding& binding) override;
  transport::MemoryFault invalidate_local(transport::Accessor accessor, std::uint32_t key) override;
  transport::MemoryFault invalidate_remote(transport::Accessor accessor,
                                           std::uint32_t remote_key) override;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace softrnic::nic
