// SPDX-License-Identifier: BSD-3-Clause
#include "soak/host.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "virtual_net.hpp"

namespace softrnic::soak {

namespace {

constexpr std::uint32_t kCompletions = 1 << 14;

}  // namespace

wire::Gid Host::address(std::uint32_t index, bool ipv6) {
  return *wire::Gid::from_string((ipv6 ? "fd00::" : "10.0.0.") + std::to_string(index + 1));
}

Host::Host(std::uint32_t index, std::uint64_t seed, std::unique_ptr<link::Link> port,
           const std::vector<fabric::FaultRule>& faults)
    : index_(index) {
  fabric::FaultOptions options;
  options.seed = seed * 16 + index + 7;
  options.on_fault = [this](auto&&...) { ++faults_; };
  port = fabric::inject_faults(std::move(port), faults, options);
  port = std::make_unique<test::ObservedLink>(std::move(port), account_);
  nic::NicConfig config;
  config.seed = seed * 8 + index + 1;
  config.first_qpn = 0x11 + 0x1000 * index;
  for (const bool ipv6 : {false, true}) {
    config.addresses.push_back({address(index, ipv6), ipv6 ? std::uint8_t{64} : std::uint8_t{24}});
  }
  nic_ = std::make_unique<nic::Nic>(config, std::move(port));
  domain_ = nic_->allocate_domain();
  sends_ = &nic_->create_completion_queue(kCompletions);
  receives_ = &nic_->create_completion_queue(kCompletions);
}

void Host::add(const Noise& noise, const ConnectionTerms& terms, Rendezvous& rendezvous) {
  nic::QueuePairInit init;
  init.domain = domain_;
  init.send_completions = sends_;
  init.receive_completions = receives_;
  init.capacity = {terms.depths[index_], kReceives, kMaxPieces, kMaxPieces, kMaxInline};
  rendezvous.to[index_].gid_index =
      test::gid_index(*nic_, address(index_, terms.ipv6), terms.version);
  rendezvous.to[index_].destination = address(1 - index_, terms.ipv6);
  endpoints_.push_back(std::make_unique<Endpoint>(noise, *nic_, init, terms, rendezvous, index_));
  by_qpn_[endpoints_.back()->qpn()] = endpoints_.back().get();
}

void Host::hear(const transport::Completion& completion, bool sent) {
  const auto found = by_qpn_.find(completion.qpn);
  if (found == by_qpn_.end()) {
    failure_ = fmt::format("a completion names queue pair {:#x}", completion.qpn);
  } else if (sent) {
    found->second->on_send_completion(completion);
  } else {
    found->second->on_receive_completion(completion);
  }
}

void Host::poll() {
  std::array<transport::Completion, 64> burst;
  // Sends first: they tell of a broken connection before its receives come back flushed.
  while (const std::size_t n = sends_->poll(burst)) {
    for (std::size_t i = 0; i < n; ++i) hear(burst[i], true);
  }
  while (const std::size_t n = receives_->poll(burst)) {
    for (std::size_t i = 0; i < n; ++i) hear(burst[i], false);
  }
  if (sends_->overrun() || receives_->overrun()) failure_ = "a completion was lost";
}

bool Host::step(wire::Instant now) {
  for (const auto& each : endpoints_) each->step();
  const bool busy = nic_->turn(now);
  poll();
  return busy;
}

bool Host::done() const {
  return std::all_of(endpoints_.begin(), endpoints_.end(),
                     [](const auto& each) { return each->done(); });
}

std::uint64_t Host::succeeded() const {
  std::uint64_t sum = 0;
  for (const auto& each : endpoints_) sum += each->succeeded();
  return sum;
}

std::uint64_t Host::epochs() const {
  std::uint64_t sum = 0;
  for (const auto& each : endpoints_) sum += each->epochs();
  return sum;
}

std::string Host::failure() const {
  if (!failure_.empty()) return failure_;
  for (const auto& each : endpoints_) {
    if (!each->failure().empty()) return each->failure();
  }
  return {};
}

std::string Host::what_is_left() const {
  std::string text;
  for (const auto& each : endpoints_) {
    if (!each->done()) text += "\n  " + each->what_is_left();
  }
  return text;
}

std::string Host::take_down() {
  for (const auto& each : endpoints_) each->destroy();
  if (!failure().empty()) return failure();
  for (nic::CompletionQueue* queue : {sends_, receives_}) {
    if (queue->size() != 0) return "a completion nobody asked for";
    if (nic_->destroy_completion_queue(*queue)) return "a completion queue is still in use";
  }
  if (nic_->free_domain(domain_)) return "a protection domain is still in use";
  nic_.reset();
  return account_->lent == 0 ? "" : fmt::format("{} frames never came back", account_->lent);
}

}  // namespace softrnic::soak
