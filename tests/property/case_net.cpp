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
  config.limits.queue_pairs = 64;
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
  user.xrc_domain = &nic(index).create_xrc_domain();
  users_.push_back(user);
}

std::uint32_t CaseNet::receive_depth(std::uint32_t index, std::uint32_t qpn) {
  return nic(index).find_queue_pair(qpn)->receive_queue_depth();
}

transport::SharedReceiveQueue* CaseNet::create_shared(const Connection& connection,
                                                      const Side& side) {
  nic::SharedReceiveQueueInit init;
  init.domain = users_[side.nic].domain;
  init.capacity = {side.receive_depth, 4};
  if (connection.receiving == Receiving::extended) {
    init.xrc_domain = users_[side.nic].xrc_domain;
    init.completions = users_[side.nic].receives;
  }
  auto made = nic(side.nic).create_shared_receive_queue(init);
  if (made) return *made;
  failure_ = fmt::format("creating a shared receive queue: {}", nic::to_string(made.error()));
  return nullptr;
}

std::uint32_t CaseNet::create(const Side& side, transport::QueuePairType type,
                              transport::SharedReceiveQueue* shared) {
  nic::QueuePairInit init;
  init.type = type;
  init.domain = users_[side.nic].domain;
  init.send_completions = users_[side.nic].sends;
  init.receive_completions = users_[side.nic].receives;
  init.capacity = {side.send_depth, side.receive_depth, 4, 4, kMaxInline};
  init.shared_receive_queue = shared;
  init.xrc_domain = users_[side.nic].xrc_domain;
  auto made = nic(side.nic).create_queue_pair(init);
  if (!made) {
    failure_ = fmt::format("creating a queue pair: {}", nic::to_string(made.error()));
    return 0;
  }
  const std::uint32_t qpn = (*made)->qpn();
  transport::QueuePairAttributes attributes;
  attributes.remote_access = transport::kRemoteAccess;
  attributes.queue_key = 0x11111111;
  const auto error = nic(side.nic).modify(qpn, QueuePairState::init, attributes);
  if (error) failure_ = fmt::format("to INIT: {}", nic::to_string(*error));
  return qpn;
}

Ends CaseNet::create_pair(const Connection& connection) {
  Ends ends;
  const bool extended = connection.receiving == Receiving::extended;
  for (std::size_t i = 0; i < 2 && failure_.empty(); ++i) {
    const Side& side = connection.sides[i];
    if (connection.receiving != Receiving::own) ends.shared[i] = create_shared(connection, side);
    if (extended) {
      ends.senders[i] = create(side, transport::QueuePairType::xrc_initiator, nullptr);
      ends.receivers[i] = create(side, transport::QueuePairType::xrc_target, nullptr);
    } else {
      ends.senders[i] = ends.receivers[i] =
          create(side, transport::type_of(connection.service), ends.shared[i]);
    }
  }
  ends_.push_back(ends);
  return ends;
}

nic::AddressAttributes CaseNet::address(const Connection& connection, std::size_t side) {
  const std::uint32_t here = connection.sides[side].nic;
  const std::uint32_t there = connection.sides[1 - side].nic;
  nic::AddressAttributes address;
  address.gid_index = test::gid_index(nic(here), ip(here, connection.ipv6), connection.version);
  address.destination = ip(there, connection.ipv6);
  return address;
}

void CaseNet::connect_pair(const Connection& connection, const Ends& ends) {
  if (!failure_.empty()) return;
  for (const QueuePairState to :
       {QueuePairState::ready_to_receive, QueuePairState::ready_to_send}) {
    for (std::size_t i = 0; i < 2; ++i) {
      connect(connection, i, ends.senders[i], ends.receivers[1 - i], to);
      if (ends.receivers[i] == ends.senders[i]) continue;
      connect(connection, i, ends.receivers[i], ends.senders[1 - i], to);
    }
  }
}

void CaseNet::connect(const Connection& connection, std::size_t side, std::uint32_t qpn,
                      std::uint32_t peer, QueuePairState to) {
  const Side& here = connection.sides[side];
  const Side& there = connection.sides[1 - side];
  transport::QueuePairAttributes attributes = nic(here.nic).find_queue_pair(qpn)->attributes();
  attributes.path_mtu = connection.path_mtu;
  attributes.destination_qpn = peer;
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
  const nic::AddressAttributes where = address(connection, side);
  const bool needs_address = to == QueuePairState::ready_to_receive &&
                             connection.service != wire::Service::unreliable_datagram;
  const auto error = nic(here.nic).modify(qpn, to, attributes, needs_address ? &where : nullptr);
  if (error) {
    failure_ = fmt::format("to {}: {}", transport::to_string(to), nic::to_string(*error));
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
        return each.at >= from && ends_[connection].names(each.qpn);
      }));
  if (hits + overflows() >= tries) return {};
  return fmt::format("only {} faults hit the connection in its last {} tries", hits, tries);
}

std::string CaseNet::take_down() {
  for (std::size_t i = 0; i < ends_.size(); ++i) {
    for (std::size_t side = 0; side < 2; ++side) {
      transport::SharedReceiveQueue* queue = ends_[i].shared[side];
      if (queue == nullptr) continue;
      const std::uint32_t at = plan_.connections[i].sides[side].nic;
      if (nic(at).destroy_shared_receive_queue(*queue)) {
        return "a shared receive queue is still in use";
      }
    }
  }
  for (std::uint32_t i = 0; i < plan_.nics; ++i) {
    if (nic(i).destroy_xrc_domain(*users_[i].xrc_domain)) return "an XRC domain is still in use";
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
