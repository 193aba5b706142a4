// SPDX-License-Identifier: BSD-3-Clause
// What a subcommand asks of its NIC, where the limits the user gave (--limit) may leave no room for
// it: each throws a Failure that names the limit.
#pragma once

#include <cstdint>
#include <string_view>

#include "nic/nic.hpp"

namespace softrnic::tools {

transport::ProtectionDomain make_domain(nic::Nic& nic);
// `what` it is, for the complaint: "the message buffers".
nic::MemoryKeys register_memory(nic::Nic& nic, const nic::RegionAttributes& attributes,
                                std::string_view what);
nic::CompletionQueue* make_completion_queue(nic::Nic& nic, std::uint32_t depth);
transport::QueuePair* make_queue_pair(nic::Nic& nic, const nic::QueuePairInit& init);

// A queue pair's READs and atomics at once, as many as the limits leave of those wanted.
std::uint8_t responder_depth(const nic::Nic& nic, std::uint8_t wanted);
std::uint8_t initiator_depth(const nic::Nic& nic, std::uint8_t wanted);

}  // namespace softrnic::tools
