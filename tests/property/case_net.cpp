// SPDX-License-Identifier: BSD-3-Clause
#include "property/case_net.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "wire/packet_view.hpp"

namespace softrnic::property {

namespace {

using transport::QueuePairState;

constexpr std::uint32_t kCompletions = 4096;

wire::Gid ip(std::uint32_t nic, bool ipv6) {
  return *wire::Gid::from_string((ipv6 ? "fd00::" : "10.0.0.") + std::to_string(nic + 1));
}

// The queue pair a frame is for; 0 when it is not for one.
std::uint32_t destination_qpn(const wire::ByteChain& frame) {
  const auto view = wire::PacketView::parse(frame);
  return view ? view->bth().destination_qpn : 0;
}

std::vector<fabric::FaultRule> parse_rules(const std::vector<std::string>& texts,
                                           std::string& failure) {
  std::vector<fabric::FaultRule> rules;
  for (const std::string& text : texts) {
    auto rule = fabric::FaultRule::parse(text);
    if (rule) {
      rules.push_back(*rule);
    } else {
      failure = rule.error();
    }
  }
  return rules;
}

}  // namespace

CaseNet::CaseNet(const Plan& plan, const std::string& capture) : plan_(plan) {
  net_ = std::make_unique<test::VirtualNet>(9000, plan.ring);
  net_->set_tick(std::chrono::nanoseconds(plan.tick_ns));
  if (!capture.empty()) {
    auto file = link::CaptureFile::create(capture);
    if (file) {
      capture_ = *file;
    } else {
      failure_ = file.error().message;
    }
  }
  for (std::uint32_t i = 0; i < plan.nics; ++i) add_nic(i, capture);
  if (!plan.arp) net_->introduce_all();
}

void CaseNet::add_nic(std::uint32_t index, const std::string& capture) {
  nic::NicConfig config;
  config.seed = plan_.seed * 8 + index + 1;
  config.first_qpn = 0x11 + 0x100 * index;  // a number names one queue pair in the whole net
  config.max_queue_pairs = 64;
  for (const bool ipv6 : {false, true})
    config.addresses.push_back({ip(index, ipv6), ipv6 ? std::uint8_t{64} : std::uint8_t{24}});

  const auto below = std::make_shared<test::LinkAccount>();
  const auto above = std::make_shared<test::LinkAccount>();
  accounts_.push_back(below);
  accounts_.push_back(above);
  below->on_frame = [this](wire::Instant, link::Direction direction, const wire::ByteChain&) {
    packets_ += direction == link::Direction::inbound;
  };
  fabric::FaultOptions options;
  options.seed = plan_.seed * 16 + index + 7;
  options.on_fault = [this](wire::Instant at, link::Direction, const wire::ByteChain& frame,
                            std::string_view) {
    disturbances_.push_back({at, destination_qpn(frame)});
  };
  net_->add(config, [&](std::unique_ptr<link::Link> port) -> std::unique_ptr<link::Link> {
    port = std::make_unique<test::ObservedLink>(std::move(port), below);
    if (capture_) port = link::capture(std::move(port), capture_, fmt::format("nic{}", index));
    if (index < plan_.faults.size() && !plan_.faults[index].empty()) {
      port = fabric::inject_faults(std::move(port), parse_rules(plan_.faults[index], failure_),
                                   options);
    }
    return std::make_unique<test::ObservedLink>(std::move(port), above);
  });
  (void)capture;

  User user;
  user.domain = nic(index).allocate_domain();
  user.sends = &nic(index).create_completion_queue(kCompletions);
  user.receives = &nic(index).create_completion_queue(kCompletions);
  users_.push_back(user);
}

std::uint32_t CaseNet::receive_depth(std::uint32_t index, std::uint32_t qpn) {
  return nic(index).find_queue_pair(qpn)->receive_queue_depth();
}

std::array<std::uint32_t, 2> CaseNet::create_pair(const Connection& connection) {
  std::array<std::uint32_t, 2> qpns{};
  for (std::size_t i = 0; i < 2; ++i) {
    const Side& side = connection.sides[i];
    nic::QueuePairInit init;
    init.type = transport::type_of(connection.service);
    init.domain = users_[side.nic].domain;
    init.send_completions = users_[side.nic].sends;
    init.receive_completions = users_[side.nic].receives;
    init.capacity = {side.send_depth, side.receive_depth, 4, 4, kMaxInline};
    auto made = nic(side.nic).create_queue_pair(init);
    if (!made) {
      failure_ = fmt::format("creating a queue pair: {}", nic::to_string(made.error()));
      return qpns;
    }
    qpns[i] = (*made)->qpn();
    transport::QueuePairAttributes attributes;
    attributes.remote_access = transport::kRemoteAccess;
    attributes.queue_key = 0x11111111;
    const auto error = nic(side.nic).modify(qpns[i], QueuePairState::init, attributes);
    if (error) failure_ = fmt::format("to INIT: {}", nic::to_string(*error));
  }
  pairs_.push_back(qpns);
  return qpns;
}

nic::AddressAttributes CaseNet::address(const Connection& connection, std::size_t side) {
  const std::uint32_t here = connection.sides[side].nic;
  const std::uint32_t there = connection.sides[1 - side].nic;
  nic::AddressAttributes address;
  address.gid_index = test::gid_index(nic(here), ip(here, connection.ipv6), connection.version);
  address.destination = ip(there, connection.ipv6);
  return address;
}

void CaseNet::connect_pair(const Connection& connection, const std::array<std::uint32_t, 2>& qpns) {
  for (const QueuePairState to :
       {QueuePairState::ready_to_receive, QueuePairState::ready_to_send}) {
    for (std::size_t i = 0; i < 2; ++i) {
      const Side& here = connection.sides[i];
      const Side& there = connection.sides[1 - i];
      transport::QueuePairAttributes attributes =
          nic(here.nic).find_queue_pair(qpns[i])->attributes();
      attributes.path_mtu = connection.path_mtu;
      attributes.destination_qpn = qpns[1 - i];
      attributes.receive_psn = wire::Psn(there.first_psn);
      attributes.send_psn = wire::Psn(here.first_psn);
      attributes.max_dest_rd_atomic = there.max_rd_atomic;
      attributes.max_rd_atomic = here.max_rd_atomic;
      attributes.min_rnr_timer = connection.rnr_timer;
      attributes.timeout = connection.timeout;
      attributes.retry_count = connection.retry_count;
      attributes.rnr_retry = connection.rnr_retry;
      attributes.selective_repeat = connection.selective_repeat;
      attributes.advertise_credits = connection.credits;
      attributes.honor_credits = connection.honors_credits;
      const nic::AddressAttributes where = address(connection, i);
      const bool needs_address = to == QueuePairState::ready_to_receive &&
                                 connection.service != wire::Service::unreliable_datagram;
      const auto error =
          nic(here.nic).modify(qpns[i], to, attributes, needs_address ? &where : nullptr);
      if (error) {
        failure_ = fmt::format("to {}: {}", transport::to_string(to), nic::to_string(*error));
      }
    }
  }
}

std::uint64_t CaseNet::overflows() const {
  std::uint64_t sum = 0;
  for (std::size_t i = 0; i < net_->size(); ++i) {
    const auto& statistics = (*net_)[i].link().statistics();
    sum += statistics.rx_dropped + statistics.tx_dropped;
  }
  return sum;
}

void CaseNet::cut(std::uint32_t nic) {
  accounts_[2 * nic]->cut = true;
  cut_at_ = net_->now();
}

std::string CaseNet::doubt_cut(const Connection& connection) const {
  const wire::Duration timeout =
      std::chrono::nanoseconds(4096) * (std::int64_t{1} << connection.timeout);
  const wire::Duration waited = net_->now() - *cut_at_;
  // The clock of the first try may have been running when the cable was cut, and a wait for a
  // receive may have come before it.
  const wire::Duration least = connection.retry_count * timeout;
  const wire::Duration most = 4 * (connection.retry_count + 1) * timeout +
                              2 * wire::rnr_timer(connection.rnr_timer) + 100 * net_->tick();
  if (waited >= least && waited <= most) return {};
  return fmt::format("it came {} ns after the cut, not between {} and {}", waited.count(),
                     least.count(), most.count());
}

std::string CaseNet::doubt_exhaustion(std::size_t connection) const {
  const Connection& c = plan_.connections[connection];
  if (cut_at_ && (c.sides[0].nic == 1 || c.sides[1].nic == 1)) return doubt_cut(c);
  const std::uint64_t tries = c.retry_count + std::uint64_t{1};
  // A try takes at most four times the timeout (9.9.2.1.1), and its frames the faults' delays.
  const wire::Duration try_time =
      4 * std::chrono::nanoseconds(4096) * (std::int64_t{1} << c.timeout) +
      std::chrono::milliseconds(6);
  const wire::Instant from = net_->now() - (static_cast<std::int64_t>(tries) + 1) * try_time;
  const auto hits = static_cast<std::uint64_t>(
      std::count_if(disturbances_.begin(), disturbances_.end(), [&](const Disturbance& each) {
        return each.at >= from &&
               (each.qpn == pairs_[connection][0] || each.qpn == pairs_[connection][1]);
      }));
  if (hits + overflows() >= tries) return {};
  return fmt::format("only {} faults hit the connection in its last {} tries", hits, tries);
}

std::string CaseNet::take_down() {
  for (std::uint32_t i = 0; i < plan_.nics; ++i) {
    for (nic::CompletionQueue* queue : {users_[i].sends, users_[i].receives}) {
      if (queue->size() != 0) return "a completion nobody asked for";
      if (nic(i).destroy_completion_queue(*queue)) return "a completion queue is still in use";
    }
    if (nic(i).free_domain(users_[i].domain)) return "a protection domain is still in use";
  }
  net_.reset();
  for (const auto& account : accounts_) {
    if (account->lent != 0) return fmt::format("{} frames were never given back", account->lent);
  }
  if (capture_ && !capture_->close()) return "the capture could not be written";
  return {};
}

}  // namespace softrnic::property
