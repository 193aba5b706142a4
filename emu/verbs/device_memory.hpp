// SPDX-License-Identifier: BSD-3-Clause
// Device memory (ibv_alloc_dm): memory of the NIC's own, which a program reaches by copying and
// peers through a region like any other. As on a card it is little, and copied in words of four
// bytes.
#pragma once

#include <infiniband/verbs.h>

#include <cstddef>
#include <cstdint>
#include <memory>

#include "verbs/context.hpp"

namespace softrnic::verbs {

// Of the NIC, for all that is opened in a process.
inline constexpr std::size_t kDeviceMemoryBytes = 256 * 1024;

// One piece of it, which several handles may name.
struct DeviceMemoryBlock {
  DeviceMemoryBlock(Adapter& its_adapter, std::size_t its_length, std::size_t alignment);
  ~DeviceMemoryBlock();
  DeviceMemoryBlock(const DeviceMemoryBlock&) = delete;
  DeviceMemoryBlock& operator=(const DeviceMemoryBlock&) = delete;

  Adapter& adapter;
  std::byte* bytes = nullptr;  // null: there was no memory
  std::size_t length = 0;
  std::uint32_t regions = 0;  // of it; with a Hold
};

struct DeviceMemory : ibv_dm {
  static DeviceMemory& of(ibv_dm* dm) { return *static_cast<DeviceMemory*>(dm); }

  std::shared_ptr<DeviceMemoryBlock> block;
};

// Another handle of the same memory.
DeviceMemory* handle_of(Context& context, const DeviceMemory& dm);

}  // namespace softrnic::verbs
