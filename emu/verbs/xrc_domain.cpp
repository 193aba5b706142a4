// SPDX-License-Identifier: BSD-3-Clause
#include "verbs/xrc_domain.hpp"

#include <fcntl.h>
#include <sys/stat.h>

#include <cerrno>
#include <memory>

namespace softrnic::verbs {
namespace {

transport::XrcDomain* find(const Adapter& adapter, const FileIdentity& file) {
  for (const auto& [domain, share] : adapter.xrc_domains) {
    if (share.file == file) return domain;
  }
  return nullptr;
}

}  // namespace

int let_go(Context& context, const XrcDomain& handle) {
  auto& domains = context.adapter->xrc_domains;
  XrcDomainShare& share = domains[handle.domain];
  if (share.handles > 1) {
    --share.handles;
    return 0;
  }
  if (const auto error = context.adapter->nic().destroy_xrc_domain(*handle.domain)) {
    return nic::error_number(*error);
  }
  domains.erase(handle.domain);
  return 0;
}

ibv_xrcd* open_xrcd(ibv_context* context, ibv_xrcd_init_attr* init) {
  constexpr std::uint32_t kNeeded = IBV_XRCD_INIT_ATTR_FD | IBV_XRCD_INIT_ATTR_OFLAGS;
  if ((init->comp_mask & ~kNeeded) != 0 || (init->comp_mask & kNeeded) != kNeeded) {
    errno = EINVAL;
    return nullptr;
  }
  std::optional<FileIdentity> file;
  if (init->fd != -1) {
    struct stat status {};
    if (fstat(init->fd, &status) != 0) return nullptr;
    file = FileIdentity{status.st_dev, status.st_ino};
  } else if ((init->oflags & O_CREAT) == 0) {
    // Nameless, so there is none to open.
    errno = EINVAL;
    return nullptr;
  }
  Context& its_context = Context::of(context);
  auto made = std::make_unique<XrcDomain>();
  Adapter::Hold hold(*its_context.adapter);
  transport::XrcDomain* domain = file ? find(*its_context.adapter, *file) : nullptr;
  if (domain == nullptr && (init->oflags & O_CREAT) == 0) {
    errno = ENOENT;
    return nullptr;
  }
  if (domain != nullptr && (init->oflags & O_EXCL) != 0) {
    errno = EINVAL;
    return nullptr;
  }
  if (domain == nullptr) {
    domain = &hold->create_xrc_domain();
    its_context.adapter->xrc_domains[domain].file = file;
  }
  ++its_context.adapter->xrc_domains[domain].handles;
  made->context = context;
  made->domain = domain;
  its_context.xrc_domains.insert(made.get());
  return made.release();
}

int close_xrcd(ibv_xrcd* xrcd) {
  XrcDomain& its = XrcDomain::of(xrcd);
  Context& context = Context::of(xrcd->context);
  const Adapter::Hold hold(*context.adapter);
  if (its.users > 0) return EBUSY;
  if (const int error = let_go(context, its)) return error;
  context.xrc_domains.erase(&its);
  delete &its;
  return 0;
}

}  // namespace softrnic::verbs
