// SPDX-License-Identifier: BSD-3-Clause
#include "transport/responder_resources.hpp"

namespace softrnic::transport {

void ResponderResources::adapt(std::uint32_t depth) {
  while (ring_.size() > depth) ring_.pop();
  ring_.rebound(depth);
}

void ResponderResources::keep(const ResponderResource& resource) {
  if (ring_.size() == ring_.bound()) ring_.pop();
  ring_.push(resource);
}

const ResponderResource* ResponderResources::find(wire::Psn psn, bool is_read) const {
  for (std::uint32_t i = 0; i < ring_.size(); ++i) {
    const ResponderResource& resource = ring_[i];
    if (resource.is_read != is_read) continue;
    const std::int32_t offset = psn.since(resource.first_psn);
    if (offset >= 0 && offset < static_cast<std::int32_t>(resource.packets)) return &resource;
  }
  return nullptr;
}

}  // namespace softrnic::transport
