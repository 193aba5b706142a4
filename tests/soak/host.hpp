// SPDX-License-Identifier: BSD-3-Clause
// A NIC with one side of every connection, and the account of its link.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "fabric/fault_link.hpp"
#include "observed_link.hpp"
#include "soak/endpoint.hpp"

namespace softrnic::soak {

class Host {
 public:
  // `faults` hit what the NIC sends.
  Host(std::uint32_t index, std::uint64_t seed, std::unique_ptr<link::Link> port,
       const std::vector<fabric::FaultRule>& faults);

  nic::Nic& nic() { return *nic_; }
  static wire::Gid address(std::uint32_t index, bool ipv6);

  void add(const Noise& noise, const ConnectionTerms& terms, Rendezvous& rendezvous);
  Endpoint& endpoint(std::size_t index) { return *endpoints_[index]; }

  // One round: users first, then a turn of the crank. True when the NIC did anything.
  bool step(wire::Instant now);
  bool done() const;
  // Takes the completions that are still there.
  void poll();

  std::uint64_t succeeded() const;
  std::uint64_t epochs() const;  // ended by exhausted retries
  std::uint64_t faults() const { return faults_; }
  std::string failure() const;
  // The endpoints that are not done, a line each.
  std::string what_is_left() const;
  // Gives everything back; what was not as it should be.
  std::string take_down();

 private:
  void hear(const transport::Completion& completion, bool sent);

  std::uint32_t index_;
  std::shared_ptr<test::LinkAccount> account_ = std::make_shared<test::LinkAccount>();
  std::uint64_t faults_ = 0;
  std::unique_ptr<nic::Nic> nic_;
  transport::ProtectionDomain domain_{};
  nic::CompletionQueue* sends_ = nullptr;
  nic::CompletionQueue* receives_ = nullptr;
  std::vector<std::unique_ptr<Endpoint>> endpoints_;
  std::unordered_map<std::uint32_t, Endpoint*> by_qpn_;
  std::string failure_;
};

}  // namespace softrnic::soak
