// SPDX-License-Identifier: BSD-3-Clause
#include "nic/on_demand_memory.hpp"

#include <sys/mman.h>
#include <sys/uio.h>
#include <unistd.h>

#include <cstdint>

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23  // Linux 5.14; absent from the C library's header before 2.35
#endif

namespace softrnic::nic {
namespace {

using Transfer = ssize_t (*)(pid_t, const iovec*, unsigned long, const iovec*, unsigned long,
                             unsigned long);

bool transfer(Transfer call, void* here, const void* there, std::size_t size) {
  auto* ours = static_cast<std::byte*>(here);
  auto* theirs = static_cast<std::byte*>(const_cast<void*>(there));
  while (size > 0) {
    const iovec local{ours, size};
    const iovec remote{theirs, size};
    const ssize_t n = call(getpid(), &local, 1, &remote, 1, 0);
    if (n <= 0) return false;
    ours += n;
    theirs += n;
    size -= static_cast<std::size_t>(n);
  }
  return true;
}

}  // namespace

bool on_demand_is_possible() {
  const std::byte probe{42};
  std::byte copy{};
  return read_on_demand(&probe, {&copy, 1}) && copy == probe;
}

bool read_on_demand(const std::byte* from, std::span<std::byte> to) {
  return transfer(process_vm_readv, to.data(), from, to.size());
}

bool write_on_demand(std::byte* to, std::span<const std::byte> from) {
  return transfer(process_vm_writev, const_cast<std::byte*>(from.data()), to, from.size());
}

bool prepare_on_demand(std::byte* bytes, std::size_t size) {
  const auto page = static_cast<std::uintptr_t>(sysconf(_SC_PAGESIZE));
  const auto first = reinterpret_cast<std::uintptr_t>(bytes) & ~(page - 1);
  const auto end = reinterpret_cast<std::uintptr_t>(bytes) + size;
  return madvise(reinterpret_cast<void*>(first), end - first, MADV_POPULATE_WRITE) == 0;
}

}  // namespace softrnic::nic
