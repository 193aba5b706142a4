// SPDX-License-Identifier: BSD-3-Clause
#include "limited_resources.hpp"

#include <algorithm>

#include "failure.hpp"

namespace softrnic::tools {

namespace {

// "the limit max_qp=0 leaves no room for one more queue pair: ...".
[[noreturn]] void fail_full(std::string_view limit, std::uint64_t value, std::string_view what) {
  fail("the limit {}={} leaves no room for {}: give a larger --limit {}=N", limit, value, what,
       limit);
}

void require_within(std::string_view limit, std::uint64_t most, std::uint64_t wanted,
                    std::string_view what, std::string_view mend) {
  if (wanted <= most) return;
  fail("{} needs {}, and the limit {}={} allows less: give {}--limit {}={}", what, wanted, limit,
       most, mend, limit, wanted);
}

}  // namespace

transport::ProtectionDomain make_domain(nic::Nic& nic) {
  const transport::ProtectionDomain domain = nic.allocate_domain();
  if (domain == transport::ProtectionDomain{}) {
    fail_full("max_pd", nic.limits().domains, "one more protection domain");
  }
  return domain;
}

nic::MemoryKeys register_memory(nic::Nic& nic, const nic::RegionAttributes& attributes,
                                std::string_view what) {
  const nic::DeviceLimits& limits = nic.limits();
  require_within("max_mr_size", limits.region_bytes, attributes.length, what, "smaller sizes, or ");
  const auto keys = nic.memory().add(attributes);
  if (keys) return *keys;
  switch (keys.error()) {
    case nic::RegisterError::table_full:
      fail_full("max_mr", limits.regions, what);
    case nic::RegisterError::key_in_use:
      fail("{} cannot have the key {:#x}, which is taken: choose another --key", what,
           attributes.key.value_or(0));
    default:
      fail("{} could not be registered: {}", what, nic::to_string(keys.error()));
  }
}

nic::CompletionQueue* make_completion_queue(nic::Nic& nic, std::uint32_t depth) {
  const nic::DeviceLimits& limits = nic.limits();
  require_within("max_cqe", limits.completions, depth, "the completion queue",
                 "a smaller --rx-depth, or ");
  const auto made = nic.create_completion_queue(nic::CompletionQueueInit{depth});
  if (made) return *made;
  if (made.error() == nic::ResourceError::table_full) {
    fail_full("max_cq", limits.completion_queues, "one more completion queue");
  }
  fail("no completion queue of {}: {}", depth, nic::to_string(made.error()));
}

transport::QueuePair* make_queue_pair(nic::Nic& nic, const nic::QueuePairInit& init) {
  const nic::DeviceLimits& limits = nic.limits();
  const transport::QueuePairCapacity& capacity = init.capacity;
  require_within("max_qp_wr", limits.requests,
                 std::max(capacity.send_requests, capacity.receive_requests), "the queue pair",
                 "a smaller --rx-depth, or ");
  require_within("max_sge", limits.sges, std::max(capacity.send_sges, capacity.receive_sges),
                 "the queue pair", "");
  require_within("max_inline_data", limits.inline_bytes, capacity.inline_bytes, "the queue pair",
                 "");
  const auto made = nic.create_queue_pair(init);
  if (made) return *made;
  if (made.error() == nic::ResourceError::table_full) {
    fail_full("max_qp", limits.queue_pairs, "one more queue pair");
  }
  fail("no queue pair: {}", nic::to_string(made.error()));
}

std::uint8_t responder_depth(const nic::Nic& nic, std::uint8_t wanted) {
  return static_cast<std::uint8_t>(std::min<std::uint64_t>(wanted, nic.limits().responder_depth));
}

std::uint8_t initiator_depth(const nic::Nic& nic, std::uint8_t wanted) {
  return static_cast<std::uint8_t>(std::min<std::uint64_t>(wanted, nic.limits().initiator_depth));
}

}  // namespace softrnic::tools
