// SPDX-License-Identifier: BSD-3-Clause
#include "link/shm_port.hpp"

#include <unistd.h>

#include "link/shm_host.hpp"
#include "link/shm_ring.hpp"
#include "link/shm_stations.hpp"

namespace softrnic::link::shm {

namespace {

PortState state_of(const PortRecord& record) {
  return static_cast<PortState>(record.state.load(std::memory_order_acquire));
}

bool is_station(const PortRecord& record) {
  return record.role.load(std::memory_order_relaxed) ==
         static_cast<std::uint32_t>(PortRole::station);
}

// Also those of processes that died before they were attached to theirs.
void remove_empty_hosts(Segment& segment) {
  std::array<bool, kHosts> lived_in{};
  for (const PortRecord& record : segment.header().ports) {
    const std::uint32_t host = record.host.load(std::memory_order_relaxed);
    if (state_of(record) == PortState::attached && host < kHosts) lived_in[host] = true;
  }
  HostTable hosts(segment.header(), segment.name());
  for (std::size_t host = 0; host < kHosts; ++host) {
    if (!lived_in[host] && hosts.exists(host)) hosts.remove(host);
  }
}

// The lock is held, and nobody lives there any more (or it is we who leave). May be done again from
// its beginning if whoever did it died.
void clear(Segment& segment, std::size_t port) {
  Header& header = segment.header();
  PortRecord& record = header.ports[port];
  record.state.store(static_cast<std::uint32_t>(PortState::leaving), std::memory_order_release);
  header.version.fetch_add(1, std::memory_order_acq_rel);
  record.waiting.store(0, std::memory_order_relaxed);

  RingReceiver ring(record, segment.area(port));
  for (std::size_t i = 0; i < kRing && ring.pop(); ++i) {
  }
  ring.publish();
  // What was in the ring and what was being read goes back to whoever lent it.
  for (std::size_t lender = 0; lender < kPorts; ++lender) {
    if (header.ports[lender].generation.load(std::memory_order_relaxed) == 0) continue;
    for (Word<std::uint32_t>& lent : segment.area(lender).lent) {
      std::uint32_t token = lent.load(std::memory_order_relaxed);
      if (token != 0 && borrower_of(token) == port) {
        lent.compare_exchange_strong(token, 0, std::memory_order_acq_rel);
      }
    }
  }

  StationTable(header).forget({.is_host = false, .index = port});
  HostTable hosts(header, segment.name());
  const std::uint32_t host = record.host.load(std::memory_order_relaxed);
  if (host < kHosts) hosts.give_back_numbers(host, port);
  record.state.store(static_cast<std::uint32_t>(PortState::free), std::memory_order_release);
  remove_empty_hosts(segment);
  header.version.fetch_add(1, std::memory_order_acq_rel);
}

}  // namespace

wire::Expected<Port, OpenError> Port::attach(const PortOptions& options) {
  if (!options.host.empty() && !valid_host_name(options.host)) {
    return wire::Unexpected{OpenError{"\"" + options.host + "\" cannot name a host: use 1 to " +
                                      std::to_string(kHostName - 1) +
                                      " letters, digits, '.', '_' and '-'"}};
  }
  auto segment = Segment::open(options.segment, options.mtu);
  if (!segment) return wire::Unexpected{segment.error()};
  Port port(std::move(segment).value());
  const std::string why = port.settle(options);
  port.segment_.unlock();
  if (!why.empty()) return wire::Unexpected{OpenError{"shm:" + options.segment + ": " + why}};
  return port;
}

std::string Port::settle(const PortOptions& options) {
  clear_dead_locked();
  if (std::string why = find_place(options.role); !why.empty()) {
    if (!segment_.anybody_else()) segment_.remove();
    return why;
  }
  if (options.role == PortRole::station) join_host(options.host);
  record().state.store(static_cast<std::uint32_t>(PortState::attached), std::memory_order_release);
  segment_.header().version.fetch_add(1, std::memory_order_acq_rel);
  attached_ = true;
  return {};
}

std::string Port::find_place(PortRole role) {
  std::size_t port = 0;
  while (port < kPorts &&
         (state_of(segment_.record(port)) != PortState::free || !segment_.claim(port))) {
    ++port;
  }
  if (port == kPorts) {
    return "it is full: " + std::to_string(kPorts) + " programs are on it; choose another name";
  }
  buffers_ = segment_.reserve(port, kMaxBuffers);
  if (buffers_ == 0) {
    return "there is no memory left for another program: make room in /dev/shm, or set "
           "SOFTRNIC_SHM_DIR";
  }
  index_ = port;
  PortRecord& own = record();
  // 24 bits of it are in the tokens of loans; 0 is for a port that was never used.
  generation_ = (own.generation.load(std::memory_order_relaxed) & 0xffffff) + 1;
  own.generation.store(generation_, std::memory_order_relaxed);
  own.role.store(static_cast<std::uint32_t>(role), std::memory_order_relaxed);
  own.host.store(kHosts, std::memory_order_relaxed);
  own.buffers.store(static_cast<std::uint32_t>(buffers_), std::memory_order_relaxed);
  own.process.store(static_cast<std::uint32_t>(process_), std::memory_order_relaxed);
  own.dropped.store(0, std::memory_order_relaxed);
  return {};
}

// There are as many hosts as ports, so that there is always one left.
void Port::join_host(const std::string& name) {
  HostTable hosts(segment_.header(), segment_.name());
  host_ = hosts.join(name);
  if (host_ == kHosts) return;
  record().host.store(static_cast<std::uint32_t>(host_), std::memory_order_relaxed);
  identity_ = hosts.identity(host_);
}

Port::Port(Port&& other) noexcept
    : segment_(std::move(other.segment_)),
      process_(other.process_),
      attached_(std::exchange(other.attached_, false)),
      index_(other.index_),
      generation_(other.generation_),
      buffers_(other.buffers_),
      host_(other.host_),
      identity_(std::move(other.identity_)) {}

Port::~Port() {
  // The child of a fork is not the one who lives here.
  if (attached_ && process_ == ::getpid()) leave();
}

void Port::leave() {
  if (!segment_.lock()) return segment_.release_locks();  // the next to come clears up
  clear(segment_, index_);
  if (!segment_.anybody_else() && !segment_.gone()) segment_.remove();
  segment_.release_locks();
}

std::optional<QueuePairNumbers> Port::take_numbers() {
  if (host_ == kHosts || !segment_.lock()) return std::nullopt;
  const auto numbers = HostTable(segment_.header(), segment_.name()).take_numbers(host_, index_);
  segment_.unlock();
  return numbers;
}

bool Port::clear_dead() {
  if (!segment_.try_lock()) return false;
  clear_dead_locked();
  segment_.unlock();
  return true;
}

void Port::clear_dead_locked() {
  for (std::size_t port = 0; port < kPorts; ++port) {
    if (port == index_ || state_of(segment_.record(port)) == PortState::free) continue;
    if (!segment_.alive(port)) clear(segment_, port);
  }
  if (index_ == kPorts) remove_empty_hosts(segment_);
}

std::vector<Resident> residents(const Segment& segment) {
  std::vector<Resident> all;
  const HostTable hosts(segment.header(), segment.name());
  for (std::size_t port = 0; port < kPorts; ++port) {
    const PortRecord& record = segment.record(port);
    if (state_of(record) != PortState::attached) continue;
    const std::uint32_t host = record.host.load(std::memory_order_relaxed);
    all.push_back({port, is_station(record) && host < kHosts ? hosts.name(host) : "",
                   record.process.load(std::memory_order_relaxed)});
  }
  return all;
}

}  // namespace softrnic::link::shm
