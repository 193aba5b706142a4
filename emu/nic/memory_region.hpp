// SPDX-License-Identifier: BSD-3-Clause
// One memory region, and the windows bound to parts of regions (IBTA vol. 1, 10.6.3, 10.6.7): what
// they are, and what their rules permit. The table (memory_region_table.hpp) keeps them.
#pragma once

#include <cstddef>
#include <cstdint>

#include "transport/memory_gate.hpp"

namespace softrnic::nic {

// A key is an index, which names the region or window, and a key byte.
constexpr std::uint32_t kKeyByteBits = 8;
constexpr std::uint32_t index_of(std::uint32_t key) {
  return key >> kKeyByteBits;
}

// Whether [first, first + length) runs over the end of the address space.
constexpr bool wraps(std::uint64_t first, std::uint64_t length) {
  return length > 0 && length - 1 > ~first;
}

struct MemoryRegion {
  enum class Kind : std::uint8_t {
    registered,  // valid from its registration to its end
    fast,        // made valid by requests, and invalidated
  };

  std::uint32_t key = 0;
  std::uint32_t access = 0;
  transport::ProtectionDomain domain{};
  std::byte* base = nullptr;
  std::uint64_t length = 0;
  std::uint64_t address = 0;  // by which the first byte is named
  Kind kind = Kind::registered;
  bool valid = true;          // false: free
  std::uint64_t room = 0;     // fast: longest length that may be registered
  std::uint32_t windows = 0;  // bound to it
  std::size_t place = 0;      // in the table's list

  bool is_on_demand() const { return (access & transport::kOnDemand) != 0; }
  bool holds(std::uint64_t first, std::uint64_t bytes) const;
  std::byte* at(std::uint64_t its_address) const {
    // On-demand regions may begin at the null pointer, to which nothing can be added.
    return reinterpret_cast<std::byte*>(reinterpret_cast<std::uintptr_t>(base) +
                                        (its_address - address));
  }
};

// Known rights, and writing by a peer only where the local side may write (10.6.3.1).
bool is_sound(std::uint32_t access);

// Numbered as ibv_mw_type; 2A and 2B are one to verbs, a device offers one of them.
enum class WindowType : std::uint8_t {
  type_1 = 1,   // any queue pair of its domain may use it, rebinding is allowed
  type_2a = 2,  // the queue pair it was bound on may, whatever its domain
  type_2b = 3,  // the same queue pair in the same domain
};

struct MemoryWindow {
  std::uint32_t key = 0;
  WindowType type{};
  transport::ProtectionDomain domain{};
  MemoryRegion* region = nullptr;  // null: free
  std::uint32_t qpn = 0;           // type 2: on which it was bound
  std::uint32_t access = 0;
  std::uint64_t first = 0;  // in the region's addresses
  std::uint64_t length = 0;
  std::size_t place = 0;  // in the table's list

  bool is_bound() const { return region != nullptr; }
  bool admits(const transport::Accessor& accessor) const;
  // The region's address for one of the window's, if [address, + bytes) lies in the window.
  bool translate(std::uint64_t address, std::uint64_t bytes, std::uint64_t& in_region) const;

  void bind(MemoryRegion& to, std::uint32_t on_qpn, const transport::WindowBinding& binding);
  void release();
};

// Whether the rules of 10.6.7.2 let `window` be bound so; `region` is null when its key names none.
transport::MemoryFault check_binding(const MemoryWindow& window, const MemoryRegion* region,
                                     const transport::Accessor& accessor,
                                     const transport::WindowBinding& binding);

}  // namespace softrnic::nic
