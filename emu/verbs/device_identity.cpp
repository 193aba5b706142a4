// SPDX-License-Identifier: BSD-3-Clause
#include "verbs/device_identity.hpp"

#include "verbs/made_up_mac.hpp"

namespace softrnic::verbs {

wire::MacAddress mac_of(const Environment& environment, const link::Capabilities& link) {
  if (environment.mac) return *environment.mac;
  if (link.identity) return link.identity->mac;
  return made_up_mac(link.name, link.mac);
}

std::uint64_t guid_of(const wire::MacAddress& mac) {
  const wire::Gid gid = wire::Gid::link_local(mac);
  std::uint64_t guid = 0;
  for (std::size_t i = 8; i < gid.bytes.size(); ++i) guid = guid << 8 | gid.bytes[i];
  return guid;
}

}  // namespace softrnic::verbs
