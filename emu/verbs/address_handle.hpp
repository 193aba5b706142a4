// SPDX-License-Identifier: BSD-3-Clause
// Address handles, and the addresses of queue pairs: ibv_ah_attr there and back.
#pragma once

#include <infiniband/verbs.h>

#include <cstdint>
#include <optional>

#include "nic/address_attributes.hpp"
#include "verbs/context.hpp"

namespace softrnic::verbs {

struct AddressHandle : ibv_ah {
  static AddressHandle& of(ibv_ah* ah) { return *static_cast<AddressHandle*>(ah); }
};

// None for what no RoCE device takes: no global route, another port than 1.
std::optional<nic::AddressAttributes> address_of(const ibv_ah_attr& attributes);
ibv_ah_attr attributes_of(const nic::AddressAttributes& address);

wire::Gid gid_of(const ibv_gid& gid);
ibv_gid gid_of(const wire::Gid& gid);

}  // namespace softrnic::verbs
