// SPDX-License-Identifier: BSD-3-Clause
// Memory regions and windows.
//
// Registering makes the pages present, and fails where they cannot be had, as pinning does. They
// are not pinned: a program that unmaps memory which is still registered will fault when a peer
// uses it.
#pragma once

#include <infiniband/verbs.h>

#include <cstdint>
#include <memory>

#include "nic/memory_region_table.hpp"
#include "verbs/context.hpp"
#include "verbs/protection_domain.hpp"

namespace softrnic::verbs {

struct DeviceMemoryBlock;

struct MemoryRegion : ibv_mr {
  static MemoryRegion& of(ibv_mr* mr) { return *static_cast<MemoryRegion*>(mr); }

  std::shared_ptr<DeviceMemoryBlock> device_memory;  // whose it is a region of
};

// A region that programs know by `address`; null, with errno, when it cannot be had.
ibv_mr* add_region(ibv_pd* pd, const nic::RegionAttributes& attributes, void* address,
                   std::shared_ptr<DeviceMemoryBlock> device_memory = nullptr);

struct MemoryWindow : ibv_mw {
  static MemoryWindow& of(ibv_mw* mw) { return *static_cast<MemoryWindow*>(mw); }
};

// Whether a region of these rights could be pinned: 0, or EFAULT.
int make_present(void* address, std::size_t length, std::uint32_t access);

// What a request to bind the window asks for. Programs name local rights too, which a window has no
// use for and drivers leave out.
transport::WindowBinding binding_of(const ibv_mw& window, std::uint32_t new_key,
                                    const ibv_mw_bind_info& info);

// The next key of a window of type 1, whose key byte the library chooses with each bind.
constexpr std::uint32_t next_window_key(std::uint32_t key) {
  return (key & ~0xffu) | ((key + 1) & 0xffu);
}

}  // namespace softrnic::verbs
