// SPDX-License-Identifier: BSD-3-Clause
#include "verbs/xrc_domain.hpp"

#include <fcntl.h>
#include <sys/stat.h>

#include <cerrno>
#include <map>
#include <memory>

namespace softrnic::verbs {
namespace {

// Device and inode of the file that names it.
using FileIdentity = std::pair<dev_t, ino_t>;

struct Shared {
  std::optional<FileIdentity> file;
  std::uint32_t handles = 0;
};

// Of the process's one adapter, with a Hold.
std::map<transport::XrcDomain*, Shared>& open_domains() {
  static std::map<transport::XrcDomain*, Shared> domains;
  return domains;
}

transport::XrcDomain* find(const FileIdentity& file) {
  for (auto& [domain, shared] : open_domains()) {
    if (shared.file == file) return domain;
  }
  return nullptr;
}

}  // namespace

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
  transport::XrcDomain* domain = file ? find(*file) : nullptr;
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
    open_domains()[domain].file = file;
  }
  ++open_domains()[domain].handles;
  made->context = context;
  made->domain = domain;
  its_context.xrc_domains.insert(made.get());
  return made.release();
}

int close_xrcd(ibv_xrcd* xrcd) {
  XrcDomain& its = XrcDomain::of(xrcd);
  Context& context = Context::of(xrcd->context);
  Adapter::Hold hold(*context.adapter);
  if (its.users > 0) return EBUSY;
  Shared& shared = open_domains()[its.domain];
  if (shared.handles == 1) {
    if (const auto error = hold->destroy_xrc_domain(*its.domain)) return nic::error_number(*error);
    open_domains().erase(its.domain);
  } else {
    --shared.handles;
  }
  context.xrc_domains.erase(&its);
  delete &its;
  return 0;
}

}  // namespace softrnic::verbs
