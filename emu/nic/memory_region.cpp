// SPDX-License-Identifier: BSD-3-Clause
#include "nic/memory_region.hpp"

namespace softrnic::nic {

using transport::Accessor;
using transport::MemoryFault;
using transport::WindowBinding;

namespace {

constexpr std::uint32_t kChangedByPeer = transport::kRemoteWrite | transport::kRemoteAtomic;
constexpr std::uint32_t kWindowAccess = transport::kRemoteAccess | transport::kZeroBased;

// Offset and remaining room are compared instead of sums, so that nothing can overflow.
bool within(std::uint64_t start, std::uint64_t length, std::uint64_t first, std::uint64_t bytes) {
  if (first < start) return false;
  const std::uint64_t offset = first - start;
  return offset <= length && bytes <= length - offset;
}

}  // namespace

bool MemoryRegion::holds(std::uint64_t first, std::uint64_t bytes) const {
  return within(address, length, first, bytes);
}

bool is_sound(std::uint32_t access) {
  constexpr std::uint32_t kKnown = transport::kLocalWrite | transport::kRemoteAccess |
                                   transport::kBindWindow | transport::kZeroBased |
                                   transport::kOnDemand | transport::kHugePages |
                                   transport::kOptionalAccess;
  if ((access & ~kKnown) != 0) return false;
  return (access & kChangedByPeer) == 0 || (access & transport::kLocalWrite) != 0;
}

bool MemoryWindow::admits(const Accessor& accessor) const {
  switch (type) {
    case WindowType::type_1:
      return accessor.domain == domain;
    case WindowType::type_2a:
      return accessor.qpn == qpn;
    case WindowType::type_2b:
      return accessor.qpn == qpn && accessor.domain == domain;
  }
  return false;
}

bool MemoryWindow::translate(std::uint64_t address, std::uint64_t bytes,
                             std::uint64_t& in_region) const {
  const std::uint64_t start = (access & transport::kZeroBased) != 0 ? 0 : first;
  if (!within(start, length, address, bytes)) return false;
  in_region = first + (address - start);
  return true;
}

void MemoryWindow::bind(MemoryRegion& to, std::uint32_t on_qpn, const WindowBinding& binding) {
  release();
  region = &to;
  ++to.windows;
  qpn = type == WindowType::type_1 ? 0 : on_qpn;
  access = binding.access;
  first = binding.address;
  length = binding.length;
}

void MemoryWindow::release() {
  if (region != nullptr) --region->windows;
  region = nullptr;
  qpn = access = 0;
  first = length = 0;
}

MemoryFault check_binding(const MemoryWindow& window, const MemoryRegion* region,
                          const Accessor& accessor, const WindowBinding& binding) {
  if (index_of(binding.new_key) != index_of(window.key)) return MemoryFault::bad_key;
  if (window.domain != accessor.domain) return MemoryFault::wrong_domain;
  if (window.type == WindowType::type_1) {
    if ((binding.access & transport::kZeroBased) != 0) return MemoryFault::no_access;
    if (binding.length == 0) return MemoryFault::none;  // unbinds
  } else {
    // A window of type 2 is invalidated before it is bound again, never by binding.
    if (window.is_bound()) return MemoryFault::wrong_state;
    if (binding.length == 0) return MemoryFault::out_of_bounds;
  }
  if (region == nullptr) return MemoryFault::bad_key;
  if (!region->valid) return MemoryFault::wrong_state;
  if (region->domain != accessor.domain) return MemoryFault::wrong_domain;
  const bool bindable = (region->access & transport::kBindWindow) != 0 &&
                        (region->access & transport::kZeroBased) == 0;
  if (!bindable || (binding.access & ~kWindowAccess) != 0) return MemoryFault::no_access;
  // A peer may write only where the local side may; reading needs no right of the region's.
  const bool writes = (binding.access & kChangedByPeer) != 0;
  if (writes && (region->access & transport::kLocalWrite) == 0) return MemoryFault::no_access;
  return region->holds(binding.address, binding.length) ? MemoryFault::none
                                                        : MemoryFault::out_of_bounds;
}

}  // namespace softrnic::nic
