// SPDX-License-Identifier: BSD-3-Clause
#include "verbs/device_memory.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "verbs/memory_region.hpp"

namespace softrnic::verbs {
namespace {

constexpr std::size_t kWord = 4;
// No less than what a region for atomics needs, no more than a page.
constexpr std::size_t kLeastAlignment = 64;
constexpr std::uint32_t kMostAlignmentLog = 12;

// 0, or why the range cannot be copied.
int check_range(const DeviceMemory& dm, std::uint64_t offset, std::size_t length) {
  const std::size_t whole = dm.block->length;
  if (offset > whole || length > whole - offset) return EFAULT;
  return offset % kWord == 0 && length % kWord == 0 ? 0 : EINVAL;
}

int copy_to(ibv_dm* dm, std::uint64_t offset, const void* host, std::size_t length) {
  const DeviceMemory& its = DeviceMemory::of(dm);
  if (const int error = check_range(its, offset, length)) return error;
  std::memcpy(its.block->bytes + offset, host, length);
  return 0;
}

int copy_from(void* host, ibv_dm* dm, std::uint64_t offset, std::size_t length) {
  const DeviceMemory& its = DeviceMemory::of(dm);
  if (const int error = check_range(its, offset, length)) return error;
  std::memcpy(host, its.block->bytes + offset, length);
  return 0;
}

DeviceMemory* make_handle(Context& context, std::uint32_t number,
                          std::shared_ptr<DeviceMemoryBlock> block) {
  auto made = std::make_unique<DeviceMemory>();
  made->context = context.handle();
  made->memcpy_to_dm = copy_to;
  made->memcpy_from_dm = copy_from;
  made->handle = number;
  made->block = std::move(block);
  return made.release();
}

}  // namespace

DeviceMemoryBlock::DeviceMemoryBlock(Adapter& its_adapter, std::size_t its_length,
                                     std::size_t alignment)
    : adapter(its_adapter), length(its_length) {
  const std::size_t room = (length + alignment - 1) / alignment * alignment;
  bytes = static_cast<std::byte*>(std::aligned_alloc(alignment, room));
  if (bytes == nullptr) return;
  // What another had in it is not for this one to read.
  std::memset(bytes, 0, room);
  adapter.device_memory += length;
}

DeviceMemoryBlock::~DeviceMemoryBlock() {
  if (bytes == nullptr) return;
  adapter.device_memory -= length;
  std::free(bytes);
}

DeviceMemory* handle_of(Context& context, const DeviceMemory& dm) {
  return make_handle(context, dm.handle, dm.block);
}

ibv_dm* alloc_dm(ibv_context* handle, ibv_alloc_dm_attr* attributes) {
  if (attributes->comp_mask != 0) {
    errno = EOPNOTSUPP;
    return nullptr;
  }
  if (attributes->length == 0 || attributes->length > kDeviceMemoryBytes ||
      attributes->log_align_req > kMostAlignmentLog) {
    errno = EINVAL;
    return nullptr;
  }
  Context& context = Context::of(handle);
  const Adapter::Hold hold(*context.adapter);
  if (attributes->length > kDeviceMemoryBytes - context.adapter->device_memory) {
    errno = ENOMEM;
    return nullptr;
  }
  const std::size_t alignment =
      std::max(kLeastAlignment, std::size_t{1} << attributes->log_align_req);
  auto block = std::make_shared<DeviceMemoryBlock>(*context.adapter, attributes->length, alignment);
  if (block->bytes == nullptr) {
    errno = ENOMEM;
    return nullptr;
  }
  DeviceMemory* made = make_handle(context, context.next_handle(), std::move(block));
  context.device_memories.insert(made);
  return made;
}

int free_dm(ibv_dm* dm) {
  DeviceMemory& its = DeviceMemory::of(dm);
  Context& context = Context::of(dm->context);
  const Adapter::Hold hold(*context.adapter);
  if (its.block->regions > 0) return EBUSY;
  context.device_memories.erase(&its);
  delete &its;
  return 0;
}

ibv_mr* reg_dm_mr(ibv_pd* pd, ibv_dm* dm, std::uint64_t offset, std::size_t length,
                  unsigned access) {
  constexpr unsigned kRights = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE |
                               IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC |
                               IBV_ACCESS_ZERO_BASED | transport::kOptionalAccess;
  const DeviceMemory& its = DeviceMemory::of(dm);
  const std::size_t whole = its.block->length;
  // It has no address in the program, so only zero can be its first.
  if ((access & IBV_ACCESS_ZERO_BASED) == 0 || (access & ~kRights) != 0 || offset > whole ||
      length > whole - offset) {
    errno = EINVAL;
    return nullptr;
  }
  nic::RegionAttributes attributes;
  attributes.domain = ProtectionDomain::of(pd).domain;
  attributes.base = its.block->bytes + offset;
  attributes.length = length;
  attributes.access = access;
  return add_region(pd, attributes, nullptr, its.block);
}

}  // namespace softrnic::verbs

using namespace softrnic::verbs;

extern "C" {

ibv_dm* ibv_import_dm(ibv_context* handle, std::uint32_t number) {
  Context& context = Context::of(handle);
  const Adapter::Hold hold(*context.adapter);
  const DeviceMemory* found = context.find_shared(&Context::device_memories, number);
  if (found == nullptr) {
    errno = EINVAL;
    return nullptr;
  }
  return handle_of(context, *found);
}

void ibv_unimport_dm(ibv_dm* dm) {
  DeviceMemory& its = DeviceMemory::of(dm);
  const Adapter::Hold hold(*Context::of(dm->context).adapter);
  delete &its;
}

}  // extern "C"
