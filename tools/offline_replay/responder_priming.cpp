// SPDX-License-Identifier: BSD-3-Clause
#include "offline_replay/responder_priming.hpp"

#include <algorithm>
#include <array>

namespace softrnic::offline_replay {
namespace {

using transport::Access;
using wire::NakCode;
using wire::Operation;
using wire::Syndrome;

constexpr std::uint64_t kAtomicSize = 8;
constexpr std::uint8_t kUsualRnrTimer = 12;

// Rights that the queue pair withheld: an operation that it never executed and once called invalid.
std::uint32_t withheld_access(const RequestCourse& course) {
  std::uint32_t refused = 0;
  std::uint32_t executed = 0;
  for (const Step& step : course.steps) {
    const auto use = key_use(*step.request, 0);
    if (!use) continue;
    if (step.fate == Fate::executed) executed |= use->access;
    const bool misaligned = use->access == transport::kRemoteAtomic && use->address % 8 != 0;
    if (step.fate == Fate::refused && !misaligned &&
        syndrome_of(*step.verdict) == Syndrome::nak(NakCode::invalid_request)) {
      refused |= use->access;
    }
  }
  return refused & ~executed;
}

// The timer code in most RNR NAKs.
std::uint8_t rnr_timer_of(const Conversation& conversation) {
  std::array<std::uint32_t, 32> seen{};
  for (const Packet* answer : conversation.answers) {
    const Syndrome syndrome = syndrome_of(*answer);
    if (syndrome.is_rnr_nak()) ++seen[syndrome.value()];
  }
  const auto most = std::max_element(seen.begin(), seen.end());
  if (*most == 0) return kUsualRnrTimer;
  return static_cast<std::uint8_t>(most - seen.begin());
}

}  // namespace

std::optional<KeyUse> key_use(const Packet& request, std::size_t user) {
  const wire::Reth& reth = request.headers.reth;
  const wire::AtomicEth& atomic = request.headers.atomic_eth;
  switch (request.opcode->operation) {
    case Operation::write:
      if (!request.opcode->starts_message()) return std::nullopt;
      return KeyUse{user, reth.remote_key, reth.virtual_address, reth.dma_length,
                    Access::kRemoteWrite};
    case Operation::read_request:
      return KeyUse{user, reth.remote_key, reth.virtual_address, reth.dma_length,
                    Access::kRemoteRead};
    case Operation::compare_swap:
    case Operation::fetch_add:
      return KeyUse{user, atomic.remote_key, atomic.virtual_address, kAtomicSize,
                    Access::kRemoteAtomic};
    default:
      return std::nullopt;
  }
}

bool granted(const Step& step) {
  if (step.fate == Fate::executed) return true;
  return step.fate == Fate::refused &&
         syndrome_of(*step.verdict) != Syndrome::nak(NakCode::remote_access_error);
}

std::vector<MemoryChange> memory_changes(const RequestCourse& course) {
  std::vector<MemoryChange> changes;
  std::uint32_t key = 0;
  std::uint64_t address = 0;
  bool in_write = false;
  for (const Step& step : course.steps) {
    MemoryChange& change = changes.emplace_back();
    if (step.fate != Fate::executed) continue;
    const Packet& request = *step.request;
    if (const auto use = key_use(request, 0)) {
      key = use->key;
      address = use->address;
      in_write = use->access == transport::kRemoteWrite;
      if (use->access == transport::kRemoteAtomic) {
        change = {request.frame, key, address, use->length};
      }
    }
    if (!in_write || request.opcode->operation != Operation::write) continue;
    change = {request.frame, key, address, request.payload.size()};
    address += request.payload.size();
    if (request.opcode->ends_message()) in_write = false;
  }
  return changes;
}

ResponderPriming prime_responder(const Conversation& conversation, const RequestCourse& course,
                                 const Stretch& stretch, std::size_t domain) {
  constexpr std::uint32_t kAllAccess =
      Access::kRemoteWrite | Access::kRemoteRead | Access::kRemoteAtomic;
  const Packet& example =
      *(conversation.answers.empty() ? conversation.requests : conversation.answers).front();
  ResponderPriming priming;
  priming.version = conversation.version;
  priming.requester = conversation.requester;
  priming.qpn = conversation.responder_qpn;
  priming.requester_qpn = conversation.requester_qpn.value_or(0);
  priming.domain = domain;
  priming.expected_psn = stretch.in_message ? stretch.expected_psn - 1 : stretch.expected_psn;
  priming.msn = stretch.msn.value_or(0);
  priming.path_mtu = conversation.path_mtu;
  priming.partition_key = example.headers.bth.partition_key;
  priming.remote_access = kAllAccess & ~withheld_access(course);
  priming.min_rnr_timer = rnr_timer_of(conversation);
  priming.traffic_class = example.traffic_class;
  return priming;
}

}  // namespace softrnic::offline_replay
