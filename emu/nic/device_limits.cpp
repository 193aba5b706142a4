// SPDX-License-Identifier: BSD-3-Clause
#include "nic/device_limits.hpp"

#include <algorithm>
#include <array>

#include "nic/queue_pair_table.hpp"
#include "transport/retry_policy.hpp"

namespace softrnic::nic {
namespace {

constexpr std::uint64_t kAny = ~std::uint64_t{0};
// Numbers and keys have 24 bits; with half of them left unused, one given up does not come back
// soon. Regions and windows share theirs.
constexpr std::uint64_t kHalfOfNumbers = link::QueuePairNumbers{}.last / 2;
constexpr std::uint64_t kQuarterOfKeys = 1u << 22;

using L = DeviceLimits;
constexpr std::array kNames = {
    DeviceLimitName{"max_mr_size", &L::region_bytes, kAny},
    DeviceLimitName{"max_qp", &L::queue_pairs, kHalfOfNumbers},
    DeviceLimitName{"max_qp_wr", &L::requests, 1u << 17},
    DeviceLimitName{"max_sge", &L::sges, 32},
    DeviceLimitName{"max_inline_data", &L::inline_bytes, 1u << 12},
    DeviceLimitName{"max_cq", &L::completion_queues, 1u << 23},
    DeviceLimitName{"max_cqe", &L::completions, 1u << 24},
    DeviceLimitName{"max_mr", &L::regions, kQuarterOfKeys},
    DeviceLimitName{"max_pd", &L::domains, 1u << 30},
    DeviceLimitName{"max_qp_rd_atom", &L::responder_depth, 128},
    DeviceLimitName{"max_qp_init_rd_atom", &L::initiator_depth, 128},
    DeviceLimitName{"max_mw", &L::windows, kQuarterOfKeys},
    DeviceLimitName{"max_mcast_grp", &L::multicast_groups, 1u << 20},
    DeviceLimitName{"max_mcast_qp_attach", &L::multicast_group_queue_pairs, 1u << 20},
    DeviceLimitName{"max_total_mcast_qp_attach", &L::multicast_attachments, 1u << 24},
    DeviceLimitName{"max_ah", &L::address_handles, 1u << 24},
    DeviceLimitName{"max_srq", &L::shared_receive_queues, 1u << 23},
    DeviceLimitName{"max_srq_wr", &L::shared_requests, 1u << 17},
    DeviceLimitName{"max_srq_sge", &L::shared_sges, 32},
    DeviceLimitName{"max_msg_sz", &L::message_bytes, transport::kMaxMessage},
    DeviceLimitName{"max_mtu", &L::path_mtu, 4096},
};

// Next below, if it is not one: the standard knows five (IBTA vol. 1, 5.2.3).
std::uint64_t path_mtu_within(std::uint64_t bytes) {
  std::uint64_t mtu = 4096;
  while (mtu > 256 && mtu > bytes) mtu /= 2;
  return mtu;
}

}  // namespace

DeviceLimits DeviceLimits::kept_possible() const {
  DeviceLimits possible = *this;
  for (const DeviceLimitName& limit : kNames) {
    possible.*limit.value = std::min(possible.*limit.value, limit.most);
  }
  possible.path_mtu = path_mtu_within(path_mtu);
  return possible;
}

bool DeviceLimits::allow(const transport::QueuePairCapacity& capacity) const {
  return capacity.send_requests <= requests && capacity.receive_requests <= requests &&
         capacity.send_sges <= sges && capacity.receive_sges <= sges &&
         capacity.inline_bytes <= inline_bytes;
}

bool DeviceLimits::allow(const transport::SharedReceiveQueueCapacity& capacity) const {
  return capacity.requests <= shared_requests && capacity.sges <= shared_sges;
}

bool DeviceLimits::allow(transport::AttributeMask named,
                         const transport::QueuePairAttributes& attributes) const {
  namespace attribute = transport::attribute;
  const bool serves = (named & attribute::max_dest_rd_atomic) != 0;
  const bool asks = (named & attribute::max_rd_atomic) != 0;
  return (!serves || attributes.max_dest_rd_atomic <= responder_depth) &&
         (!asks || attributes.max_rd_atomic <= initiator_depth);
}

std::span<const DeviceLimitName> device_limit_names() {
  return kNames;
}

const DeviceLimitName* find_device_limit(std::string_view name) {
  const auto found = std::find_if(kNames.begin(), kNames.end(),
                                  [name](const auto& limit) { return limit.name == name; });
  return found == kNames.end() ? nullptr : &*found;
}

}  // namespace softrnic::nic
