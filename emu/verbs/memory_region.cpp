// SPDX-License-Identifier: BSD-3-Clause
#include "verbs/memory_region.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <memory>

#include "verbs/device_memory.hpp"

// The kernel has it since 5.14; older headers do not.
#ifndef MADV_POPULATE_READ
#define MADV_POPULATE_READ 22
#define MADV_POPULATE_WRITE 23
#endif

namespace softrnic::verbs {
namespace {

using nic::RegisterError;

int error_number(RegisterError error) {
  switch (error) {
    case RegisterError::table_full:
      return ENOMEM;
    case RegisterError::windows_bound:
      return EBUSY;
    case RegisterError::no_on_demand:
    case RegisterError::no_dma_buf:
      return EOPNOTSUPP;
    default:
      return EINVAL;
  }
}

std::uintptr_t page_size() {
  static const auto size = static_cast<std::uintptr_t>(sysconf(_SC_PAGESIZE));
  return size;
}

// For kernels that cannot make pages present: whether all are mapped.
bool is_mapped(std::uintptr_t first, std::uintptr_t end) {
  std::array<unsigned char, 4096> present;
  const std::uintptr_t step = present.size() * page_size();
  for (; first < end; first += std::min(step, end - first)) {
    if (mincore(reinterpret_cast<void*>(first), std::min(step, end - first), present.data()) != 0) {
      return false;
    }
  }
  return true;
}

bool can_populate() {
  static const bool can = [] {
    static char page;
    const auto first = reinterpret_cast<std::uintptr_t>(&page) & ~(page_size() - 1);
    return madvise(reinterpret_cast<void*>(first), 1, MADV_POPULATE_READ) == 0;
  }();
  return can;
}

// The rights that programs may ask for, and that the NIC knows of.
constexpr unsigned kKnownAccess =
    IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ |
    IBV_ACCESS_REMOTE_ATOMIC | IBV_ACCESS_MW_BIND | IBV_ACCESS_ZERO_BASED | IBV_ACCESS_ON_DEMAND |
    IBV_ACCESS_HUGETLB | transport::kFlushGlobal | transport::kFlushPersistent |
    transport::kOptionalAccess;

ibv_mr* register_region(ibv_pd* pd, void* address, std::size_t length,
                        std::optional<std::uint64_t> named, unsigned access) {
  if ((access & ~kKnownAccess) != 0) {
    errno = EINVAL;
    return nullptr;
  }
  nic::RegionAttributes attributes;
  attributes.domain = ProtectionDomain::of(pd).domain;
  attributes.base = static_cast<std::byte*>(address);
  attributes.length = length;
  attributes.access = access;
  attributes.virtual_address = named;
  if (const int error = make_present(address, length, access)) {
    errno = error;
    return nullptr;
  }
  return add_region(pd, attributes, address);
}

}  // namespace

ibv_mr* add_region(ibv_pd* pd, const nic::RegionAttributes& attributes, void* address,
                   std::shared_ptr<DeviceMemoryBlock> device_memory) {
  Context& context = Context::of(pd->context);
  auto made = std::make_unique<MemoryRegion>();
  Adapter::Hold hold(*context.adapter);
  const auto keys = hold->memory().add(attributes);
  if (!keys) {
    errno = error_number(keys.error());
    return nullptr;
  }
  made->context = pd->context;
  made->pd = pd;
  made->addr = address;
  made->length = attributes.length;
  made->handle = context.next_handle();
  made->lkey = keys->local;
  made->rkey = keys->remote;
  made->device_memory = std::move(device_memory);
  if (made->device_memory != nullptr) ++made->device_memory->regions;
  context.regions.insert(made.get());
  return made.release();
}

transport::WindowBinding binding_of(const ibv_mw& window, std::uint32_t new_key,
                                    const ibv_mw_bind_info& info) {
  transport::WindowBinding binding;
  binding.window_key = window.rkey;
  binding.new_key = new_key;
  binding.region_key = info.mr == nullptr ? 0 : info.mr->lkey;
  binding.access = info.mw_access_flags & ~static_cast<unsigned>(IBV_ACCESS_LOCAL_WRITE);
  binding.address = info.addr;
  binding.length = info.length;
  return binding;
}

int make_present(void* address, std::size_t length, std::uint32_t access) {
  if (length == 0 || (access & IBV_ACCESS_ON_DEMAND) != 0) return 0;
  const auto base = reinterpret_cast<std::uintptr_t>(address);
  const std::uintptr_t first = base & ~(page_size() - 1);
  if (base + (length - 1) < base) return EFAULT;
  const std::uintptr_t last_page = (base + (length - 1)) & ~(page_size() - 1);
  const std::uintptr_t bytes = last_page - first + page_size();
  if (!can_populate()) return is_mapped(first, first + bytes) ? 0 : EFAULT;
  const bool writes = (access & IBV_ACCESS_LOCAL_WRITE) != 0;
  for (;;) {
    if (madvise(reinterpret_cast<void*>(first), bytes,
                writes ? MADV_POPULATE_WRITE : MADV_POPULATE_READ) == 0) {
      return 0;
    }
    if (errno != EAGAIN && errno != EINTR) return EFAULT;
  }
}

int advise_mr(ibv_pd* pd, ibv_advise_mr_advice advice, std::uint32_t flags, ibv_sge* list,
              std::uint32_t count) {
  constexpr std::uint32_t kFlush = 1;  // IBV_ADVISE_MR_FLAG_FLUSH
  const auto kind = static_cast<int>(advice);
  if (kind < 0 || kind > 2 || (flags & ~kFlush) != 0 || count == 0) return EINVAL;
  Context& context = Context::of(pd->context);
  const bool writes = advice == IBV_ADVISE_MR_ADVICE_PREFETCH_WRITE;
  Adapter::Hold hold(*context.adapter);
  for (std::uint32_t i = 0; i < count; ++i) {
    const transport::Sge sge{list[i].addr, list[i].length, list[i].lkey};
    const auto fault =
        hold->memory().check_local(ProtectionDomain::of(pd).domain, {&sge, 1}, writes);
    if (fault == transport::MemoryFault::bad_key) return EINVAL;
    if (fault == transport::MemoryFault::wrong_domain) return EPERM;
    if (fault != transport::MemoryFault::none) return EFAULT;
  }
  return 0;
}

// ------------------------------------------------------------------------------ windows

ibv_mw* alloc_mw(ibv_pd* pd, ibv_mw_type type) {
  // Type 2 of this NIC is 2B.
  if (type != IBV_MW_TYPE_1 && type != IBV_MW_TYPE_2) {
    errno = EINVAL;
    return nullptr;
  }
  Context& context = Context::of(pd->context);
  auto made = std::make_unique<MemoryWindow>();
  Adapter::Hold hold(*context.adapter);
  const auto key = hold->memory().allocate_window(
      ProtectionDomain::of(pd).domain,
      type == IBV_MW_TYPE_1 ? nic::WindowType::type_1 : nic::WindowType::type_2b);
  if (!key) {
    errno = error_number(key.error());
    return nullptr;
  }
  made->context = pd->context;
  made->pd = pd;
  made->rkey = *key;
  made->handle = context.next_handle();
  made->type = type;
  context.windows.insert(made.get());
  return made.release();
}

int dealloc_mw(ibv_mw* mw) {
  MemoryWindow& its = MemoryWindow::of(mw);
  Context& context = Context::of(mw->context);
  Adapter::Hold hold(*context.adapter);
  if (!hold->memory().remove_window(mw->rkey)) return EINVAL;
  context.windows.erase(&its);
  delete &its;
  return 0;
}

int bind_mw(ibv_qp* qp, ibv_mw* mw, ibv_mw_bind* bind) {
  if (mw->type != IBV_MW_TYPE_1) return EINVAL;
  ibv_send_wr request{};
  request.wr_id = bind->wr_id;
  request.send_flags = bind->send_flags;
  request.opcode = IBV_WR_BIND_MW;
  request.bind_mw.mw = mw;
  request.bind_mw.rkey = next_window_key(mw->rkey);
  request.bind_mw.bind_info = bind->bind_info;
  ibv_send_wr* bad = nullptr;
  const int error = post_send(qp, &request, &bad);
  if (error == 0) mw->rkey = request.bind_mw.rkey;
  return error;
}

}  // namespace softrnic::verbs

using namespace softrnic::verbs;
using namespace softrnic;

#undef ibv_reg_mr
#undef ibv_reg_mr_iova

extern "C" {

ibv_mr* ibv_reg_mr(ibv_pd* pd, void* address, std::size_t length, int access) {
  return register_region(pd, address, length, std::nullopt, static_cast<unsigned>(access));
}

ibv_mr* ibv_reg_mr_iova(ibv_pd* pd, void* address, std::size_t length, std::uint64_t iova,
                        int access) {
  return register_region(pd, address, length, iova, static_cast<unsigned>(access));
}

ibv_mr* ibv_reg_mr_iova2(ibv_pd* pd, void* address, std::size_t length, std::uint64_t iova,
                         unsigned access) {
  // What ibv_reg_mr() makes of a program whose rights are no constant: the address itself, which
  // for a zero-based region is zero.
  const bool plain = iova == reinterpret_cast<std::uintptr_t>(address);
  return register_region(pd, address, length,
                         plain ? std::nullopt : std::optional<std::uint64_t>(iova), access);
}

ibv_mr* ibv_reg_dmabuf_mr(ibv_pd*, std::uint64_t, std::size_t, std::uint64_t, int, int) {
  errno = EOPNOTSUPP;
  return nullptr;
}

int ibv_rereg_mr(ibv_mr* mr, int flags, ibv_pd* pd, void* address, std::size_t length, int access) {
  MemoryRegion& its = MemoryRegion::of(mr);
  Context& context = Context::of(mr->context);
  const auto changes = static_cast<unsigned>(flags);
  const bool moves = (changes & IBV_REREG_MR_CHANGE_TRANSLATION) != 0;
  const bool changes_domain = (changes & IBV_REREG_MR_CHANGE_PD) != 0;
  const bool changes_access = (changes & IBV_REREG_MR_CHANGE_ACCESS) != 0;
  if (changes == 0 || (changes & ~static_cast<unsigned>(IBV_REREG_MR_FLAGS_SUPPORTED)) != 0 ||
      (moves && (length == 0 || address == nullptr)) || (changes_domain && pd == nullptr) ||
      (changes_access && (static_cast<unsigned>(access) & ~kKnownAccess) != 0)) {
    errno = EINVAL;
    return IBV_REREG_MR_ERR_INPUT;
  }
  // The memory of a device stays where it is.
  if (moves && its.device_memory != nullptr) {
    errno = EOPNOTSUPP;
    return IBV_REREG_MR_ERR_INPUT;
  }
  const unsigned rights = changes_access ? static_cast<unsigned>(access) : 0;
  if (const int error = moves ? make_present(address, length, rights) : 0) {
    errno = error;
    return IBV_REREG_MR_ERR_INPUT;
  }
  nic::RegionAttributes attributes;
  if (changes_domain) attributes.domain = ProtectionDomain::of(pd).domain;
  attributes.base = static_cast<std::byte*>(address);
  attributes.length = length;
  attributes.access = rights;
  Adapter::Hold hold(*context.adapter);
  const auto keys = hold->memory().reregister(mr->lkey, changes, attributes);
  if (!keys) {
    errno = error_number(keys.error());
    return IBV_REREG_MR_ERR_INPUT;
  }
  if (moves) {
    its.addr = address;
    its.length = length;
  }
  if (changes_domain) its.pd = pd;
  its.lkey = keys->local;
  its.rkey = keys->remote;
  return 0;
}

int ibv_dereg_mr(ibv_mr* mr) {
  MemoryRegion& its = MemoryRegion::of(mr);
  Context& context = Context::of(mr->context);
  Adapter::Hold hold(*context.adapter);
  if (!hold->memory().remove(mr->lkey)) return EBUSY;
  if (its.device_memory != nullptr) --its.device_memory->regions;
  context.regions.erase(&its);
  delete &its;
  return 0;
}

}  // extern "C"
