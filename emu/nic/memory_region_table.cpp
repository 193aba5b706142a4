// SPDX-License-Identifier: BSD-3-Clause
#include "nic/memory_region_table.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>
#include <vector>

#include "nic/number_map.hpp"
#include "nic/on_demand_memory.hpp"
#include "nic/random_source.hpp"

namespace softrnic::nic {
namespace {

using transport::Access;
using transport::Accessor;
using transport::AtomicOperation;
using transport::FastRegistration;
using transport::MemoryFault;
using transport::ProtectionDomain;
using transport::Sge;
using transport::WindowBinding;

// Reading local memory needs no right (IBTA vol. 1, 10.6.3.1).
constexpr std::uint32_t kLocalRead = 0;
constexpr std::uint64_t kAtomicSize = 8;

// Where a permitted access lands, or why it is refused.
struct Grant {
  MemoryFault fault = MemoryFault::none;
  std::byte* bytes = nullptr;
  bool on_demand = false;
};

Grant refuse(MemoryFault fault) {
  return {fault, nullptr};
}

std::uint64_t apply(std::uint64_t* target, AtomicOperation operation, std::uint64_t swap_add,
                    std::uint64_t compare) {
  if (operation == AtomicOperation::fetch_add) {
    return __atomic_fetch_add(target, swap_add, __ATOMIC_SEQ_CST);
  }
  std::uint64_t original = compare;
  // Fails by leaving the value it found in `original`.
  __atomic_compare_exchange_n(target, &original, swap_add, false, __ATOMIC_SEQ_CST,
                              __ATOMIC_SEQ_CST);
  return original;
}

MemoryFault copy_out(const Grant& from, std::uint64_t offset, const wire::MutableByteChain& to) {
  const std::byte* bytes = from.bytes + offset;
  for (const auto& piece : to.pieces()) {
    if (!from.on_demand) {
      std::memcpy(piece.data(), bytes, piece.size());
    } else if (!read_on_demand(bytes, piece)) {
      return MemoryFault::out_of_bounds;
    }
    bytes += piece.size();
  }
  return MemoryFault::none;
}

MemoryFault copy_in(const Grant& to, std::uint64_t offset, const wire::ByteChain& from) {
  std::byte* bytes = to.bytes + offset;
  for (const auto& piece : from.pieces()) {
    if (!to.on_demand) {
      std::memcpy(bytes, piece.data(), piece.size());
    } else if (!write_on_demand(bytes, piece)) {
      return MemoryFault::out_of_bounds;
    }
    bytes += piece.size();
  }
  return MemoryFault::none;
}

// What a mapped file holds is on its medium afterwards; other memory has no medium, and the kernel
// does nothing.
bool make_persistent(std::byte* bytes, std::uint64_t length) {
  const auto page = static_cast<std::uintptr_t>(sysconf(_SC_PAGESIZE));
  const auto start = reinterpret_cast<std::uintptr_t>(bytes);
  const std::uintptr_t first = start & ~(page - 1);
  return msync(reinterpret_cast<void*>(first), length + (start - first), MS_SYNC) == 0;
}

}  // namespace

std::string_view to_string(RegisterError error) {
  switch (error) {
    case RegisterError::bad_domain:
      return "no such protection domain";
    case RegisterError::bad_access:
      return "an unknown right, or remote writing without local writing";
    case RegisterError::bad_range:
      return "the range wraps round the address space, is longer than allowed, or names no memory";
    case RegisterError::key_in_use:
      return "the key is taken";
    case RegisterError::table_full:
      return "the table is full";
    case RegisterError::no_such_key:
      return "the key names nothing of this kind";
    case RegisterError::windows_bound:
      return "a memory window is bound to the region";
    case RegisterError::no_on_demand:
      return "on-demand regions need process_vm_readv, which this system forbids";
    case RegisterError::no_dma_buf:
      return "a dma-buf cannot be registered, only host memory";
    case RegisterError::unknown_change:
      return "a re-registration changes translation, domain or access";
  }
  return "unknown error";
}

struct MemoryRegionTable::Impl {
  Impl(std::uint64_t seed, const MemoryLimits& its_limits)
      : random(seed), indexes(random), limits(its_limits) {}

  Grant grant(ProtectionDomain pd, std::uint32_t key, std::uint64_t address, std::uint64_t length,
              std::uint32_t access) const;
  // The same by a remote key, which may be a window's.
  Grant grant_remote(const Accessor& accessor, std::uint32_t key, std::uint64_t address,
                     std::uint64_t length, std::uint32_t access) const;
  Grant grant_by_window(const Accessor& accessor, std::uint32_t key, std::uint64_t address,
                        std::uint64_t length, std::uint32_t access) const;
  // Eight bytes at once: aligned, and present.
  Grant grant_word(const Accessor& accessor, std::uint32_t key, std::uint64_t address,
                   Access access) const;

  MemoryRegion* find_region(std::uint32_t key) const {
    MemoryRegion* region = by_index.find(index_of(key));
    return region != nullptr && region->key == key ? region : nullptr;
  }
  MemoryWindow* find_window(std::uint32_t key) const {
    MemoryWindow* window = windows_by_index.find(index_of(key));
    return window != nullptr && window->key == key ? window : nullptr;
  }
  // By any key it had: its holder need not know which one the last binding gave it.
  MemoryWindow* find_own_window(std::uint32_t key) const {
    return windows_by_index.find(index_of(key));
  }
  bool is_taken(std::uint32_t index) const {
    return by_index.find(index) != nullptr || windows_by_index.find(index) != nullptr;
  }
  std::uint32_t draw_key();
  std::uint32_t with_other_key_byte(std::uint32_t key);
  MemoryKeys insert(std::unique_ptr<MemoryRegion> region);

  MemoryFault invalidate_region(const Accessor& accessor, MemoryRegion& region, bool remote);
  MemoryFault invalidate_window(const Accessor& accessor, MemoryWindow& window, bool remote);
  MemoryFault invalidate(const Accessor& accessor, std::uint32_t key, bool remote);
  void release(MemoryWindow& window);

  // Calls visit(grant, offset in the granted bytes, offset in the copied range, length) for each
  // piece of the list that [offset, offset + length) covers; first checks them all, so that
  // nothing moves in vain.
  template <class Visit>
  MemoryFault for_each_piece(ProtectionDomain pd, std::span<const Sge> sges, std::uint64_t offset,
                             std::uint64_t length, std::uint32_t access, Visit visit) const;

  RandomSource random;
  NumberSequence indexes;
  MemoryLimits limits;
  NumberMap<MemoryRegion> by_index;
  std::vector<std::unique_ptr<MemoryRegion>> regions;
  NumberMap<MemoryWindow> windows_by_index;
  std::vector<std::unique_ptr<MemoryWindow>> windows;
  std::size_t bound_of_type_2a = 0;
};

Grant MemoryRegionTable::Impl::grant(ProtectionDomain pd, std::uint32_t key, std::uint64_t address,
                                     std::uint64_t length, std::uint32_t access) const {
  const MemoryRegion* region = by_index.find(index_of(key));
  if (region == nullptr || region->key != key || !region->valid) {
    return refuse(MemoryFault::bad_key);
  }
  if (region->domain != pd) return refuse(MemoryFault::wrong_domain);
  if ((region->access & access) != access) return refuse(MemoryFault::no_access);
  if (!region->holds(address, length)) return refuse(MemoryFault::out_of_bounds);
  return {MemoryFault::none, region->at(address), region->is_on_demand()};
}

Grant MemoryRegionTable::Impl::grant_remote(const Accessor& accessor, std::uint32_t key,
                                            std::uint64_t address, std::uint64_t length,
                                            std::uint32_t access) const {
  const Grant by_region = grant(accessor.domain, key, address, length, access);
  if (by_region.fault != MemoryFault::bad_key || windows.empty()) return by_region;
  return grant_by_window(accessor, key, address, length, access);
}

Grant MemoryRegionTable::Impl::grant_by_window(const Accessor& accessor, std::uint32_t key,
                                               std::uint64_t address, std::uint64_t length,
                                               std::uint32_t access) const {
  const MemoryWindow* window = find_window(key);
  if (window == nullptr || !window->is_bound()) return refuse(MemoryFault::bad_key);
  if (!window->admits(accessor)) return refuse(MemoryFault::wrong_domain);
  if ((window->access & access) != access) return refuse(MemoryFault::no_access);
  std::uint64_t in_region = 0;
  if (!window->translate(address, length, in_region)) return refuse(MemoryFault::out_of_bounds);
  return {MemoryFault::none, window->region->at(in_region), window->region->is_on_demand()};
}

Grant MemoryRegionTable::Impl::grant_word(const Accessor& accessor, std::uint32_t key,
                                          std::uint64_t address, Access access) const {
  const Grant target = grant_remote(accessor, key, address, kAtomicSize, access);
  if (target.fault != MemoryFault::none) return target;
  // A region may give an aligned virtual address to unaligned memory, on which the processor's
  // atomics do not hold.
  const bool aligned = address % kAtomicSize == 0 &&
                       reinterpret_cast<std::uintptr_t>(target.bytes) % kAtomicSize == 0;
  if (!aligned) return refuse(MemoryFault::misaligned);
  if (target.on_demand && !prepare_on_demand(target.bytes, kAtomicSize)) {
    return refuse(MemoryFault::out_of_bounds);
  }
  return target;
}

std::uint32_t MemoryRegionTable::Impl::draw_key() {
  // Index 0 stays unused: programs take a zero key for "none".
  std::uint32_t index = 0;
  do {
    index = indexes.next();
  } while (index == 0 || is_taken(index));
  const auto key_byte = static_cast<std::uint32_t>(random.next() & 0xff);
  return index << kKeyByteBits | key_byte;
}

std::uint32_t MemoryRegionTable::Impl::with_other_key_byte(std::uint32_t key) {
  const auto step = static_cast<std::uint32_t>(1 + random.next() % 255);
  return (key & ~0xffu) | ((key + step) & 0xff);
}

MemoryKeys MemoryRegionTable::Impl::insert(std::unique_ptr<MemoryRegion> region) {
  const MemoryKeys keys{region->key, region->key};
  region->place = regions.size();
  by_index.insert(index_of(region->key), region.get());
  regions.push_back(std::move(region));
  return keys;
}

template <class Visit>
MemoryFault MemoryRegionTable::Impl::for_each_piece(ProtectionDomain pd, std::span<const Sge> sges,
                                                    std::uint64_t offset, std::uint64_t length,
                                                    std::uint32_t access, Visit visit) const {
  const auto walk = [&](auto&& step) {
    std::uint64_t skip = offset;
    std::uint64_t done = 0;
    for (const Sge& sge : sges) {
      if (done == length) break;
      if (skip >= sge.length) {
        skip -= sge.length;
        continue;
      }
      const std::uint64_t n = std::min(length - done, sge.length - skip);
      // The element as a whole must be permitted, not just the part that is moved now.
      const Grant element = grant(pd, sge.local_key, sge.address, sge.length, access);
      if (element.fault != MemoryFault::none) return element.fault;
      const MemoryFault fault = step(element, skip, done, n);
      if (fault != MemoryFault::none) return fault;
      done += n;
      skip = 0;
    }
    return done == length ? MemoryFault::none : MemoryFault::out_of_bounds;
  };
  const MemoryFault fault = walk(
      [](const Grant&, std::uint64_t, std::uint64_t, std::uint64_t) { return MemoryFault::none; });
  return fault == MemoryFault::none ? walk(visit) : fault;
}

// ---------------------------------------------------------------- regions

MemoryRegionTable::MemoryRegionTable(std::uint64_t seed, const MemoryLimits& limits)
    : impl_(std::make_unique<Impl>(seed, limits)) {
  // Of the numbers half are left unused, so that one given up does not come back soon.
  constexpr std::uint64_t kMost = NumberSequence::kCount / 4;
  impl_->limits.regions = std::min(impl_->limits.regions, kMost);
  impl_->limits.windows = std::min(impl_->limits.windows, kMost);
}

MemoryRegionTable::~MemoryRegionTable() = default;

namespace {

// Sets what the attributes say of the place, or says what is wrong with it.
std::optional<RegisterError> set_translation(MemoryRegion& region,
                                             const RegionAttributes& attributes) {
  if (attributes.dma_buf) return RegisterError::no_dma_buf;
  const auto host = reinterpret_cast<std::uintptr_t>(attributes.base);
  const bool zero_based = (region.access & transport::kZeroBased) != 0;
  const std::uint64_t address = attributes.virtual_address.value_or(zero_based ? 0 : host);
  const bool nowhere = attributes.base == nullptr && attributes.length > 0;
  if (wraps(address, attributes.length) || wraps(host, attributes.length) ||
      (nowhere && !region.is_on_demand()) || (zero_based && address != 0)) {
    return RegisterError::bad_range;
  }
  region.base = attributes.base;
  region.length = attributes.length;
  region.address = address;
  return std::nullopt;
}

std::optional<RegisterError> set_access(MemoryRegion& region, std::uint32_t access) {
  if (!is_sound(access)) return RegisterError::bad_access;
  if ((access & transport::kOnDemand) != 0 && !on_demand_is_possible()) {
    return RegisterError::no_on_demand;
  }
  region.access = access;
  return std::nullopt;
}

}  // namespace

wire::Expected<MemoryKeys, RegisterError> MemoryRegionTable::add(
    const RegionAttributes& attributes) {
  if (attributes.domain == ProtectionDomain{}) return wire::Unexpected{RegisterError::bad_domain};
  MemoryRegion region;
  region.domain = attributes.domain;
  if (const auto error = set_access(region, attributes.access)) return wire::Unexpected{*error};
  if (const auto error = set_translation(region, attributes)) return wire::Unexpected{*error};
  if (region.length > impl_->limits.region_bytes) return wire::Unexpected{RegisterError::bad_range};
  if (attributes.key && impl_->is_taken(index_of(*attributes.key))) {
    return wire::Unexpected{RegisterError::key_in_use};
  }
  if (size() >= impl_->limits.regions) return wire::Unexpected{RegisterError::table_full};
  region.key = attributes.key ? *attributes.key : impl_->draw_key();
  return impl_->insert(std::make_unique<MemoryRegion>(region));
}

wire::Expected<MemoryKeys, RegisterError> MemoryRegionTable::allocate(ProtectionDomain domain,
                                                                      std::uint64_t room) {
  if (domain == ProtectionDomain{}) return wire::Unexpected{RegisterError::bad_domain};
  if (room > impl_->limits.region_bytes) return wire::Unexpected{RegisterError::bad_range};
  if (size() >= impl_->limits.regions) return wire::Unexpected{RegisterError::table_full};
  MemoryRegion region;
  region.domain = domain;
  region.kind = MemoryRegion::Kind::fast;
  region.valid = false;
  region.room = room;
  region.key = impl_->draw_key();
  return impl_->insert(std::make_unique<MemoryRegion>(region));
}

wire::Expected<MemoryKeys, RegisterError> MemoryRegionTable::reregister(
    std::uint32_t local_key, std::uint32_t changes, const RegionAttributes& attributes) {
  MemoryRegion* region = impl_->find_region(local_key);
  if (region == nullptr || region->kind != MemoryRegion::Kind::registered) {
    return wire::Unexpected{RegisterError::no_such_key};
  }
  constexpr std::uint32_t kChanges = kChangeTranslation | kChangeDomain | kChangeAccess;
  if (changes == 0 || (changes & ~kChanges) != 0) {
    return wire::Unexpected{RegisterError::unknown_change};
  }
  if (region->windows > 0) return wire::Unexpected{RegisterError::windows_bound};

  MemoryRegion changed = *region;
  if ((changes & kChangeDomain) != 0) {
    if (attributes.domain == ProtectionDomain{}) return wire::Unexpected{RegisterError::bad_domain};
    changed.domain = attributes.domain;
  }
  if ((changes & kChangeAccess) != 0) {
    if (const auto error = set_access(changed, attributes.access)) return wire::Unexpected{*error};
    // What a place means follows from these rights, so they change only together with it.
    constexpr std::uint32_t kOfPlace = transport::kZeroBased | transport::kOnDemand;
    const bool place_stays = (changes & kChangeTranslation) == 0;
    if (place_stays && ((changed.access ^ region->access) & kOfPlace) != 0) {
      return wire::Unexpected{RegisterError::bad_access};
    }
  }
  if ((changes & kChangeTranslation) != 0) {
    if (const auto error = set_translation(changed, attributes)) return wire::Unexpected{*error};
    if (changed.length > impl_->limits.region_bytes) {
      return wire::Unexpected{RegisterError::bad_range};
    }
  }
  // Peers that know the old key know nothing of the new place.
  if ((changes & kChangeTranslation) != 0) {
    changed.key = impl_->with_other_key_byte(region->key);
  }
  *region = changed;
  return MemoryKeys{changed.key, changed.key};
}

bool MemoryRegionTable::remove(std::uint32_t local_key) {
  const MemoryRegion* region = impl_->find_region(local_key);
  if (region == nullptr || region->windows > 0) return false;
  impl_->by_index.erase(index_of(local_key));
  auto& regions = impl_->regions;
  const std::size_t place = region->place;
  std::swap(regions[place], regions.back());
  regions[place]->place = place;
  regions.pop_back();
  return true;
}

std::size_t MemoryRegionTable::size() const {
  return impl_->regions.size();
}

bool MemoryRegionTable::uses(ProtectionDomain domain) const {
  const auto is_its = [domain](const auto& each) { return each->domain == domain; };
  return std::any_of(impl_->regions.begin(), impl_->regions.end(), is_its) ||
         std::any_of(impl_->windows.begin(), impl_->windows.end(), is_its);
}

// ---------------------------------------------------------------- windows

wire::Expected<std::uint32_t, RegisterError> MemoryRegionTable::allocate_window(
    ProtectionDomain domain, WindowType type) {
  if (domain == ProtectionDomain{}) return wire::Unexpected{RegisterError::bad_domain};
  if (windows() >= impl_->limits.windows) return wire::Unexpected{RegisterError::table_full};
  auto window = std::make_unique<MemoryWindow>();
  window->key = impl_->draw_key();
  window->type = type;
  window->domain = domain;
  window->place = impl_->windows.size();
  const std::uint32_t key = window->key;
  impl_->windows_by_index.insert(index_of(key), window.get());
  impl_->windows.push_back(std::move(window));
  return key;
}

bool MemoryRegionTable::remove_window(std::uint32_t key) {
  MemoryWindow* window = impl_->find_own_window(key);
  if (window == nullptr) return false;
  impl_->release(*window);
  impl_->windows_by_index.erase(index_of(key));
  auto& windows = impl_->windows;
  const std::size_t place = window->place;
  std::swap(windows[place], windows.back());
  windows[place]->place = place;
  windows.pop_back();
  return true;
}

std::size_t MemoryRegionTable::windows() const {
  return impl_->windows.size();
}

bool MemoryRegionTable::has_window_of(std::uint32_t qpn) const {
  if (impl_->bound_of_type_2a == 0) return false;
  return std::any_of(impl_->windows.begin(), impl_->windows.end(), [qpn](const auto& window) {
    return window->is_bound() && window->type == WindowType::type_2a && window->qpn == qpn;
  });
}

void MemoryRegionTable::Impl::release(MemoryWindow& window) {
  if (window.is_bound() && window.type == WindowType::type_2a) --bound_of_type_2a;
  window.release();
}

MemoryFault MemoryRegionTable::bind_window(Accessor accessor, const WindowBinding& binding) {
  MemoryWindow* window = impl_->find_own_window(binding.window_key);
  if (window == nullptr) return MemoryFault::bad_key;
  MemoryRegion* region = impl_->find_region(binding.region_key);
  const MemoryFault fault = check_binding(*window, region, accessor, binding);
  if (fault != MemoryFault::none) return fault;
  window->key = binding.new_key;
  if (binding.length == 0) {
    impl_->release(*window);
  } else {
    window->bind(*region, accessor.qpn, binding);
    impl_->bound_of_type_2a += window->type == WindowType::type_2a;
  }
  return MemoryFault::none;
}

// ---------------------------------------------------------------- registration by requests

MemoryFault MemoryRegionTable::fast_register(ProtectionDomain pd,
                                             const FastRegistration& registration) {
  MemoryRegion* region = impl_->by_index.find(index_of(registration.key));
  if (region == nullptr) return MemoryFault::bad_key;
  if (region->kind != MemoryRegion::Kind::fast) return MemoryFault::wrong_kind;
  if (region->domain != pd) return MemoryFault::wrong_domain;
  if (region->valid) return MemoryFault::wrong_state;
  if (registration.length > region->room) return MemoryFault::out_of_bounds;
  MemoryRegion changed = *region;
  RegionAttributes attributes;
  attributes.base = reinterpret_cast<std::byte*>(registration.host_address);
  attributes.length = registration.length;
  attributes.virtual_address = registration.address;
  if (set_access(changed, registration.access)) return MemoryFault::no_access;
  if (set_translation(changed, attributes)) return MemoryFault::out_of_bounds;
  changed.key = registration.key;
  changed.valid = true;
  *region = changed;
  return MemoryFault::none;
}

MemoryFault MemoryRegionTable::Impl::invalidate_region(const Accessor& accessor,
                                                       MemoryRegion& region, bool remote) {
  if (region.kind != MemoryRegion::Kind::fast) return MemoryFault::wrong_kind;
  if (region.domain != accessor.domain) return MemoryFault::wrong_domain;
  if (region.windows > 0) return MemoryFault::wrong_state;
  if (remote) {
    if (!region.valid) return MemoryFault::bad_key;
    if ((region.access & transport::kRemoteAccess) == 0) return MemoryFault::no_access;
  }
  region.valid = false;
  return MemoryFault::none;
}

MemoryFault MemoryRegionTable::Impl::invalidate_window(const Accessor& accessor,
                                                       MemoryWindow& window, bool remote) {
  // A window of type 1 is unbound by binding it to nothing (o10-37.2.26).
  if (window.type == WindowType::type_1) return MemoryFault::wrong_kind;
  if (window.is_bound() && !window.admits(accessor)) return MemoryFault::wrong_domain;
  if (!window.is_bound() && window.domain != accessor.domain) return MemoryFault::wrong_domain;
  if (remote && !window.is_bound()) return MemoryFault::bad_key;
  release(window);
  return MemoryFault::none;
}

MemoryFault MemoryRegionTable::Impl::invalidate(const Accessor& accessor, std::uint32_t key,
                                                bool remote) {
  if (MemoryRegion* region = find_region(key)) return invalidate_region(accessor, *region, remote);
  if (MemoryWindow* window = find_window(key)) return invalidate_window(accessor, *window, remote);
  return MemoryFault::bad_key;
}

MemoryFault MemoryRegionTable::invalidate_local(Accessor accessor, std::uint32_t key) {
  return impl_->invalidate(accessor, key, false);
}

MemoryFault MemoryRegionTable::invalidate_remote(Accessor accessor, std::uint32_t remote_key) {
  return impl_->invalidate(accessor, remote_key, true);
}

// ---------------------------------------------------------------- access

MemoryFault MemoryRegionTable::check_local(ProtectionDomain pd, std::span<const Sge> sges,
                                           bool write) {
  const std::uint32_t access = write ? std::uint32_t{transport::kLocalWrite} : kLocalRead;
  for (const Sge& sge : sges) {
    if (sge.length == 0) continue;
    const Grant element = impl_->grant(pd, sge.local_key, sge.address, sge.length, access);
    if (element.fault != MemoryFault::none) return element.fault;
  }
  return MemoryFault::none;
}

MemoryFault MemoryRegionTable::gather(ProtectionDomain pd, std::span<const Sge> sges,
                                      std::uint64_t offset, wire::MutableByteChain out) {
  return impl_->for_each_piece(
      pd, sges, offset, out.size(), kLocalRead,
      [&out](const Grant& from, std::uint64_t skip, std::uint64_t at, std::uint64_t n) {
        return copy_out(from, skip, out.slice(at, n));
      });
}

MemoryFault MemoryRegionTable::scatter(ProtectionDomain pd, std::span<const Sge> sges,
                                       std::uint64_t offset, wire::ByteChain in) {
  return impl_->for_each_piece(
      pd, sges, offset, in.size(), transport::kLocalWrite,
      [&in](const Grant& to, std::uint64_t skip, std::uint64_t at, std::uint64_t n) {
        return copy_in(to, skip, in.slice(at, n));
      });
}

MemoryFault MemoryRegionTable::check_remote(Accessor accessor, std::uint32_t remote_key,
                                            std::uint64_t address, std::uint64_t length,
                                            Access access) {
  if (length == 0) return MemoryFault::none;
  const MemoryFault fault =
      impl_->grant_remote(accessor, remote_key, address, length, access).fault;
  if (fault != MemoryFault::none) return fault;
  const bool misaligned = access == transport::kRemoteAtomic && address % kAtomicSize != 0;
  return misaligned ? MemoryFault::misaligned : MemoryFault::none;
}

MemoryFault MemoryRegionTable::read_remote(Accessor accessor, std::uint32_t remote_key,
                                           std::uint64_t address, wire::MutableByteChain out) {
  if (out.empty()) return MemoryFault::none;
  const Grant source =
      impl_->grant_remote(accessor, remote_key, address, out.size(), transport::kRemoteRead);
  return source.fault == MemoryFault::none ? copy_out(source, 0, out) : source.fault;
}

MemoryFault MemoryRegionTable::write_remote(Accessor accessor, std::uint32_t remote_key,
                                            std::uint64_t address, wire::ByteChain in) {
  if (in.empty()) return MemoryFault::none;
  const Grant target =
      impl_->grant_remote(accessor, remote_key, address, in.size(), transport::kRemoteWrite);
  return target.fault == MemoryFault::none ? copy_in(target, 0, in) : target.fault;
}

std::uint64_t MemoryRegionTable::locate_remote(Accessor accessor, std::uint32_t remote_key,
                                               std::uint64_t address, std::uint64_t length) {
  const Grant target =
      impl_->grant_remote(accessor, remote_key, address, length, transport::kRemoteWrite);
  return reinterpret_cast<std::uintptr_t>(target.bytes);
}

MemoryFault MemoryRegionTable::atomic_remote(Accessor accessor, std::uint32_t remote_key,
                                             std::uint64_t address, AtomicOperation operation,
                                             std::uint64_t swap_add, std::uint64_t compare,
                                             std::uint64_t& original) {
  const Grant target = impl_->grant_word(accessor, remote_key, address, transport::kRemoteAtomic);
  if (target.fault != MemoryFault::none) return target.fault;
  original = apply(reinterpret_cast<std::uint64_t*>(target.bytes), operation, swap_add, compare);
  return MemoryFault::none;
}

MemoryFault MemoryRegionTable::atomic_write_remote(Accessor accessor, std::uint32_t remote_key,
                                                   std::uint64_t address,
                                                   std::span<const std::byte, 8> bytes) {
  const Grant target = impl_->grant_word(accessor, remote_key, address, transport::kRemoteWrite);
  if (target.fault != MemoryFault::none) return target.fault;
  std::uint64_t value = 0;
  std::memcpy(&value, bytes.data(), sizeof value);
  __atomic_store_n(reinterpret_cast<std::uint64_t*>(target.bytes), value, __ATOMIC_RELEASE);
  return MemoryFault::none;
}

MemoryFault MemoryRegionTable::flush_remote(Accessor accessor, std::uint32_t remote_key,
                                            std::uint64_t address, std::uint64_t length, bool all,
                                            std::uint32_t access) {
  if (all) {
    // All that the key reaches, wherever the request says that begins.
    if (const MemoryRegion* region = impl_->find_region(remote_key)) {
      address = region->address;
      length = region->length;
    } else if (const MemoryWindow* window = impl_->find_window(remote_key)) {
      address = (window->access & transport::kZeroBased) != 0 ? 0 : window->first;
      length = window->length;
    }
  }
  const Grant target = impl_->grant_remote(accessor, remote_key, address, length, access);
  if (target.fault != MemoryFault::none) return target.fault;
  std::atomic_thread_fence(std::memory_order_seq_cst);
  if ((access & transport::kFlushPersistent) != 0 && length > 0 &&
      !make_persistent(target.bytes, length)) {
    return MemoryFault::not_flushed;
  }
  return MemoryFault::none;
}

}  // namespace softrnic::nic
