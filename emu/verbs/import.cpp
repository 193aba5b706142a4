// SPDX-License-Identifier: BSD-3-Clause
// Import of what another context of the same process made (ibv_import_device and its like): a
// second handle of the same object. What another process made stays that process's, since its
// memory is.
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <memory>

#include "verbs/context.hpp"
#include "verbs/device.hpp"
#include "verbs/device_memory.hpp"
#include "verbs/memory_region.hpp"
#include "verbs/protection_domain.hpp"

namespace softrnic::verbs {
namespace {

bool is_same_file(const struct stat& one, const struct stat& other) {
  return one.st_dev == other.st_dev && one.st_ino == other.st_ino;
}

// The context whose descriptor it is, or a duplicate of it; with a Hold.
Context* find_context(const Adapter& adapter, const struct stat& file) {
  if (!S_ISREG(file.st_mode)) return nullptr;
  for (Context* context : adapter.contexts) {
    struct stat its {};
    if (fstat(context->context.cmd_fd, &its) == 0 && is_same_file(its, file)) {
      return &context->root();
    }
  }
  return nullptr;
}

}  // namespace
}  // namespace softrnic::verbs

using namespace softrnic::verbs;

extern "C" {

ibv_context* ibv_import_device(int descriptor) {
  struct stat file {};
  if (fstat(descriptor, &file) != 0) return nullptr;
  const std::shared_ptr<Adapter> adapter = Adapter::current();
  if (adapter == nullptr) {
    errno = EOPNOTSUPP;
    return nullptr;
  }
  const Adapter::Hold hold(*adapter);
  Context* origin = find_context(*adapter, file);
  if (origin == nullptr) {
    errno = EOPNOTSUPP;
    return nullptr;
  }
  auto made = std::make_unique<Context>(adapter, origin, descriptor);
  if (!made->async_events.valid()) return nullptr;
  made->context.device = origin->context.device;
  ++origin->imports;
  adapter->contexts.insert(made.get());
  return made.release()->handle();
}

ibv_pd* ibv_import_pd(ibv_context* handle, std::uint32_t number) {
  Context& context = Context::of(handle);
  const Adapter::Hold hold(*context.adapter);
  const ProtectionDomain* found = context.find_shared(&Context::domains, number);
  if (found == nullptr) {
    errno = EINVAL;
    return nullptr;
  }
  auto made = std::make_unique<ProtectionDomain>();
  made->context = handle;
  made->handle = number;
  made->domain = found->domain;
  return made.release();
}

void ibv_unimport_pd(ibv_pd* pd) {
  ProtectionDomain& its = ProtectionDomain::of(pd);
  const Adapter::Hold hold(*Context::of(pd->context).adapter);
  delete &its;
}

ibv_mr* ibv_import_mr(ibv_pd* pd, std::uint32_t number) {
  Context& context = Context::of(pd->context);
  const Adapter::Hold hold(*context.adapter);
  const MemoryRegion* found = context.find_shared(&Context::regions, number);
  if (found == nullptr ||
      ProtectionDomain::of(found->pd).domain != ProtectionDomain::of(pd).domain) {
    errno = EINVAL;
    return nullptr;
  }
  auto made = std::make_unique<MemoryRegion>(*found);
  made->context = pd->context;
  made->pd = pd;
  made->addr = nullptr;  // the exporter's, as verbs have it
  return made.release();
}

void ibv_unimport_mr(ibv_mr* mr) {
  MemoryRegion& its = MemoryRegion::of(mr);
  const Adapter::Hold hold(*Context::of(mr->context).adapter);
  delete &its;
}

}  // extern "C"
