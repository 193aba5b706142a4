// SPDX-License-Identifier: BSD-3-Clause
// A NIC that stands in for a captured host: fed with captured requests in virtual time, its
// answers collected.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "link/memory_link.hpp"
#include "nic/nic.hpp"
#include "offline_replay/captured_memory.hpp"
#include "offline_replay/frame_survey.hpp"

namespace softrnic::offline_replay {

// What a queue pair of the captured host is primed with.
struct ResponderPriming {
  wire::RoceVersion version{};
  wire::Gid requester;
  std::uint32_t qpn = 0;
  std::uint32_t requester_qpn = 0;
  std::size_t domain = 0;
  wire::Psn expected_psn;
  std::uint32_t msn = 0;
  std::uint32_t path_mtu = 1024;
  std::uint16_t partition_key = wire::kDefaultPartitionKey;
  std::uint32_t remote_access = 0;
  std::uint8_t min_rnr_timer = 12;
  std::uint8_t traffic_class = 0;
};

// A frame the NIC sent.
struct EmulatedAnswer {
  wire::TransportHeaders headers;
  const wire::OpcodeInfo* opcode = nullptr;
  std::vector<std::byte> payload;
};

class EmulatedResponder {
 public:
  // `address`: the captured host's. `longest_message`: most bytes that any message to it has.
  // `captured_keys`: not to be used for memory of our own.
  EmulatedResponder(const wire::Gid& address, std::size_t domains, std::uint64_t longest_message,
                    const std::set<std::uint32_t>& captured_keys);

  // Why the host cannot be emulated, when it cannot.
  const std::optional<std::string>& refusal() const { return refusal_; }

  // Makes the queue pair, in place of an earlier one of that number; the reason when it cannot.
  std::optional<std::string> prime(const ResponderPriming& priming);
  // Opens the range through its key, in place of whatever that key's index opened before.
  std::optional<std::string> open(const MemoryRange& range);
  // The key opens nothing any more.
  void close(std::uint32_t key);
  std::optional<std::string> post_receive(std::uint32_t qpn, std::uint64_t length);

  // The captured packet arrives; returns what the NIC sent in answer.
  std::vector<EmulatedAnswer> feed(const Packet& request);
  // A WRITE or SEND First of one path MTU that no capture holds, so that the Middle which comes
  // next finds its message begun.
  std::vector<EmulatedAnswer> feed_opening(const ResponderPriming& priming, wire::Instant at,
                                           wire::Operation operation, std::uint64_t rest);

  const transport::Counters& counters() const { return nic_.counters(); }

 private:
  std::vector<EmulatedAnswer> deliver(wire::Instant at, wire::ByteView frame);
  void turn(wire::Instant now, std::vector<EmulatedAnswer>& answers);
  void collect(wire::Instant now, std::vector<EmulatedAnswer>& answers);
  std::optional<std::uint32_t> gid_index(wire::RoceVersion version) const;

  wire::Gid address_;
  link::MemoryWire wire_;
  nic::Nic nic_;
  std::unique_ptr<link::Link> far_;
  wire::Instant now_{};
  std::vector<transport::ProtectionDomain> domains_;
  nic::CompletionQueue* completions_ = nullptr;       // null: see refusal_
  std::map<std::uint32_t, std::uint32_t> open_keys_;  // by the key's index
  std::unique_ptr<SparseMemory> scratch_;
  std::uint64_t scratch_size_;
  std::optional<std::string> refusal_;
  std::vector<std::uint32_t> scratch_keys_;  // one for each domain
};

}  // namespace softrnic::offline_replay
