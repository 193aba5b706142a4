// SPDX-License-Identifier: BSD-3-Clause
#include "verbs/protection_domain.hpp"

#include <cerrno>
#include <memory>

#include "verbs/context.hpp"

namespace softrnic::verbs {

ibv_td* alloc_td(ibv_context* context, ibv_td_init_attr* init) {
  if (init->comp_mask != 0) {
    errno = EOPNOTSUPP;
    return nullptr;
  }
  auto td = std::make_unique<ThreadDomain>();
  td->context = context;
  return td.release();
}

int dealloc_td(ibv_td* td) {
  ThreadDomain& its = ThreadDomain::of(td);
  const Adapter::Hold hold(*Context::of(td->context).adapter);
  if (its.parents > 0) return EBUSY;
  delete &its;
  return 0;
}

ibv_pd* alloc_parent_domain(ibv_context* context, ibv_parent_domain_init_attr* init) {
  // Nothing here is laid down in memory that a program could choose.
  constexpr std::uint32_t kMasks = IBV_PARENT_DOMAIN_INIT_ATTR_PD_CONTEXT;
  if (init->pd == nullptr || init->pd->context != context ||
      (init->td != nullptr && init->td->context != context)) {
    errno = EINVAL;
    return nullptr;
  }
  if ((init->comp_mask & ~kMasks) != 0) {
    errno = EOPNOTSUPP;
    return nullptr;
  }
  ProtectionDomain& stands_for = ProtectionDomain::of(init->pd);
  if (stands_for.stands_for != nullptr) {
    errno = EINVAL;
    return nullptr;
  }
  Context& its_context = Context::of(context);
  auto pd = std::make_unique<ProtectionDomain>();
  const Adapter::Hold hold(*its_context.adapter);
  pd->context = context;
  pd->handle = init->pd->handle;
  pd->domain = stands_for.domain;
  pd->stands_for = &stands_for;
  ++stands_for.parents;
  if (init->td != nullptr) {
    pd->thread_domain = &ThreadDomain::of(init->td);
    ++pd->thread_domain->parents;
  }
  its_context.domains.insert(pd.get());
  return pd.release();
}

}  // namespace softrnic::verbs

using namespace softrnic::verbs;
using namespace softrnic;

extern "C" {

ibv_pd* ibv_alloc_pd(ibv_context* context) {
  Context& its_context = Context::of(context);
  auto pd = std::make_unique<ProtectionDomain>();
  Adapter::Hold hold(*its_context.adapter);
  pd->domain = hold->allocate_domain();
  if (pd->domain == transport::ProtectionDomain{}) {
    errno = ENOMEM;
    return nullptr;
  }
  pd->context = context;
  pd->handle = its_context.next_handle();
  its_context.domains.insert(pd.get());
  return pd.release();
}

int ibv_dealloc_pd(ibv_pd* pd) {
  ProtectionDomain& its = ProtectionDomain::of(pd);
  Context& context = Context::of(pd->context);
  Adapter::Hold hold(*context.adapter);
  if (its.parents > 0) return EBUSY;
  if (its.stands_for != nullptr) {
    --its.stands_for->parents;
    if (its.thread_domain != nullptr) --its.thread_domain->parents;
  } else if (const auto error = hold->free_domain(its.domain)) {
    return nic::error_number(*error);
  }
  context.domains.erase(&its);
  delete &its;
  return 0;
}

}  // extern "C"
