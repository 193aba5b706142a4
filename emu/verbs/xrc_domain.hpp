// SPDX-License-Identifier: BSD-3-Clause
// XRC domains. One that was opened with a file is shared by whoever opens it with the same file, in
// this process.
#pragma once

#include <infiniband/verbs.h>

#include <cstdint>

#include "transport/xrc_domain.hpp"
#include "verbs/context.hpp"

namespace softrnic::verbs {

struct XrcDomain : ibv_xrcd {
  static XrcDomain& of(ibv_xrcd* xrcd) { return *static_cast<XrcDomain*>(xrcd); }

  transport::XrcDomain* domain = nullptr;
  std::uint32_t users = 0;  // queue pairs and shared receive queues made through this handle
};

// One handle less, with a Hold; the last takes the domain along. 0, or an errno.
int let_go(Context& context, const XrcDomain& handle);

}  // namespace softrnic::verbs
