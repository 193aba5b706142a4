// SPDX-License-Identifier: BSD-3-Clause
#include "nic/memory_region_table.hpp"

#include <algorithm>
#include <cstring>
#include <vector>

#include "nic/number_map.hpp"
#include "nic/random_source.hpp"

namespace softrnic::nic {
namespace {

using transport::Access;
using transport::AtomicOperation;
using transport::MemoryFault;
using transport::ProtectionDomain;
using transport::Sge;

constexpr std::uint32_t kKeyByteBits = 8;
constexpr std::uint32_t kAllAccess = transport::kLocalWrite | transport::kRemoteWrite |
                                     transport::kRemoteRead | transport::kRemoteAtomic;
// Reading local memory needs no right (IBTA vol. 1, 10.6.3.1).
constexpr std::uint32_t kLocalRead = 0;
constexpr std::uint64_t kAtomicSize = 8;

std::uint32_t index_of(std::uint32_t key) {
  return key >> kKeyByteBits;
}

struct Region {
  std::uint32_t key = 0;
  std::uint32_t access = 0;
  ProtectionDomain domain{};
  std::byte* base = nullptr;
  std::uint64_t length = 0;
  std::uint64_t address = 0;  // virtual address of the first byte
  std::size_t place = 0;      // in the table's list
};

// Where a permitted access lands, or why it is refused.
struct Grant {
  MemoryFault fault = MemoryFault::none;
  std::byte* bytes = nullptr;
};

Grant refuse(MemoryFault fault) {
  return {fault, nullptr};
}

bool wraps(std::uint64_t first, std::uint64_t length) {
  return length > 0 && length - 1 > ~first;
}

// Offset and remaining room are compared instead of sums, so that nothing can overflow.
bool within(const Region& region, std::uint64_t address, std::uint64_t length) {
  if (address < region.address) return false;
  const std::uint64_t offset = address - region.address;
  return offset <= region.length && length <= region.length - offset;
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

void copy_out(const std::byte* from, const wire::MutableByteChain& to) {
  for (const auto& piece : to.pieces()) {
    std::memcpy(piece.data(), from, piece.size());
    from += piece.size();
  }
}

void copy_in(std::byte* to, const wire::ByteChain& from) {
  for (const auto& piece : from.pieces()) {
    std::memcpy(to, piece.data(), piece.size());
    to += piece.size();
  }
}

}  // namespace

struct MemoryRegionTable::Impl {
  Impl(std::uint64_t seed, std::uint32_t limit) : random(seed), indexes(random), max(limit) {}

  Grant grant(ProtectionDomain pd, std::uint32_t key, std::uint64_t address, std::uint64_t length,
              std::uint32_t access) const;
  std::uint32_t draw_key();

  // Calls visit(bytes, offset in the copied range, length) for each piece of the list that
  // [offset, offset + length) covers; first checks them all, so that nothing moves in vain.
  template <class Visit>
  MemoryFault for_each_piece(ProtectionDomain pd, std::span<const Sge> sges, std::uint64_t offset,
                             std::uint64_t length, std::uint32_t access, Visit visit) const;

  RandomSource random;
  NumberSequence indexes;
  std::uint32_t max;
  NumberMap<Region> by_index;
  std::vector<std::unique_ptr<Region>> regions;
};

Grant MemoryRegionTable::Impl::grant(ProtectionDomain pd, std::uint32_t key, std::uint64_t address,
                                     std::uint64_t length, std::uint32_t access) const {
  const Region* region = by_index.find(index_of(key));
  if (region == nullptr || region->key != key) return refuse(MemoryFault::bad_key);
  if (region->domain != pd) return refuse(MemoryFault::wrong_domain);
  if ((region->access & access) != access) return refuse(MemoryFault::no_access);
  if (!within(*region, address, length)) return refuse(MemoryFault::out_of_bounds);
  return {MemoryFault::none, region->base + (address - region->address)};
}

std::uint32_t MemoryRegionTable::Impl::draw_key() {
  // Index 0 stays unused: programs take a zero key for "none".
  std::uint32_t index = 0;
  do {
    index = indexes.next();
  } while (index == 0 || by_index.find(index) != nullptr);
  const auto key_byte = static_cast<std::uint32_t>(random.next() & 0xff);
  return index << kKeyByteBits | key_byte;
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
      step(element.bytes + skip, done, n);
      done += n;
      skip = 0;
    }
    return done == length ? MemoryFault::none : MemoryFault::out_of_bounds;
  };
  const MemoryFault fault = walk([](std::byte*, std::uint64_t, std::uint64_t) {});
  return fault == MemoryFault::none ? walk(visit) : fault;
}

MemoryRegionTable::MemoryRegionTable(std::uint64_t seed, std::uint32_t max_regions)
    : impl_(std::make_unique<Impl>(seed, std::min(max_regions, NumberSequence::kCount / 2))) {}

MemoryRegionTable::~MemoryRegionTable() = default;

wire::Expected<MemoryKeys, RegisterError> MemoryRegionTable::add(
    const RegionAttributes& attributes) {
  const auto host = reinterpret_cast<std::uintptr_t>(attributes.base);
  const std::uint64_t address = attributes.virtual_address.value_or(host);
  const std::uint32_t access = attributes.access;
  if (attributes.domain == ProtectionDomain{}) return wire::Unexpected{RegisterError::bad_domain};
  if ((access & ~kAllAccess) != 0) return wire::Unexpected{RegisterError::bad_access};
  const bool changed_by_remote =
      (access & (transport::kRemoteWrite | transport::kRemoteAtomic)) != 0;
  if (changed_by_remote && (access & transport::kLocalWrite) == 0) {
    return wire::Unexpected{RegisterError::bad_access};
  }
  if (wraps(address, attributes.length) || wraps(host, attributes.length) ||
      (attributes.base == nullptr && attributes.length > 0)) {
    return wire::Unexpected{RegisterError::bad_range};
  }
  if (attributes.key && impl_->by_index.find(index_of(*attributes.key)) != nullptr) {
    return wire::Unexpected{RegisterError::key_in_use};
  }
  if (size() >= impl_->max) return wire::Unexpected{RegisterError::table_full};

  auto region = std::make_unique<Region>();
  region->key = attributes.key ? *attributes.key : impl_->draw_key();
  region->access = access;
  region->domain = attributes.domain;
  region->base = attributes.base;
  region->length = attributes.length;
  region->address = address;
  region->place = impl_->regions.size();
  impl_->by_index.insert(index_of(region->key), region.get());
  const MemoryKeys keys{region->key, region->key};
  impl_->regions.push_back(std::move(region));
  return keys;
}

bool MemoryRegionTable::remove(std::uint32_t local_key) {
  const Region* region = impl_->by_index.find(index_of(local_key));
  if (region == nullptr || region->key != local_key) return false;
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
  return std::any_of(impl_->regions.begin(), impl_->regions.end(),
                     [domain](const auto& region) { return region->domain == domain; });
}

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
  return impl_->for_each_piece(pd, sges, offset, out.size(), kLocalRead,
                               [&out](const std::byte* bytes, std::uint64_t at, std::uint64_t n) {
                                 copy_out(bytes, out.slice(at, n));
                               });
}

MemoryFault MemoryRegionTable::scatter(ProtectionDomain pd, std::span<const Sge> sges,
                                       std::uint64_t offset, wire::ByteChain in) {
  return impl_->for_each_piece(pd, sges, offset, in.size(), transport::kLocalWrite,
                               [&in](std::byte* bytes, std::uint64_t at, std::uint64_t n) {
                                 copy_in(bytes, in.slice(at, n));
                               });
}

MemoryFault MemoryRegionTable::check_remote(ProtectionDomain pd, std::uint32_t remote_key,
                                            std::uint64_t address, std::uint64_t length,
                                            Access access) {
  if (length == 0) return MemoryFault::none;
  const MemoryFault fault = impl_->grant(pd, remote_key, address, length, access).fault;
  if (fault != MemoryFault::none) return fault;
  const bool misaligned = access == transport::kRemoteAtomic && address % kAtomicSize != 0;
  return misaligned ? MemoryFault::misaligned : MemoryFault::none;
}

MemoryFault MemoryRegionTable::read_remote(ProtectionDomain pd, std::uint32_t remote_key,
                                           std::uint64_t address, wire::MutableByteChain out) {
  if (out.empty()) return MemoryFault::none;
  const Grant source = impl_->grant(pd, remote_key, address, out.size(), transport::kRemoteRead);
  if (source.fault == MemoryFault::none) copy_out(source.bytes, out);
  return source.fault;
}

MemoryFault MemoryRegionTable::write_remote(ProtectionDomain pd, std::uint32_t remote_key,
                                            std::uint64_t address, wire::ByteChain in) {
  if (in.empty()) return MemoryFault::none;
  const Grant target = impl_->grant(pd, remote_key, address, in.size(), transport::kRemoteWrite);
  if (target.fault == MemoryFault::none) copy_in(target.bytes, in);
  return target.fault;
}

MemoryFault MemoryRegionTable::atomic_remote(ProtectionDomain pd, std::uint32_t remote_key,
                                             std::uint64_t address, AtomicOperation operation,
                                             std::uint64_t swap_add, std::uint64_t compare,
                                             std::uint64_t& original) {
  const Grant target = impl_->grant(pd, remote_key, address, kAtomicSize, transport::kRemoteAtomic);
  if (target.fault != MemoryFault::none) return target.fault;
  // A region may give an aligned virtual address to unaligned memory, on which the processor's
  // atomics do not hold.
  const bool aligned = address % kAtomicSize == 0 &&
                       reinterpret_cast<std::uintptr_t>(target.bytes) % kAtomicSize == 0;
  if (!aligned) return MemoryFault::misaligned;
  original = apply(reinterpret_cast<std::uint64_t*>(target.bytes), operation, swap_add, compare);
  return MemoryFault::none;
}

}  // namespace softrnic::nic
