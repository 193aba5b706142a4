// SPDX-License-Identifier: BSD-3-Clause
// Protection domains, and the parent and thread domains built on them.
#pragma once

#include <infiniband/verbs.h>

#include <cstdint>

#include "transport/memory_gate.hpp"

namespace softrnic::verbs {

struct ProtectionDomain : ibv_pd {
  static ProtectionDomain& of(ibv_pd* pd) { return *static_cast<ProtectionDomain*>(pd); }

  // The NIC's; a parent domain's is that of the one it stands for.
  transport::ProtectionDomain domain{};
  ProtectionDomain* stands_for = nullptr;  // a parent domain
  struct ThreadDomain* thread_domain = nullptr;
  std::uint32_t parents = 0;  // parent domains that stand for it
};

// Requests of one thread need no other's lock: a promise that costs this NIC nothing to accept.
struct ThreadDomain : ibv_td {
  static ThreadDomain& of(ibv_td* td) { return *static_cast<ThreadDomain*>(td); }
  std::uint32_t parents = 0;
};

}  // namespace softrnic::verbs
