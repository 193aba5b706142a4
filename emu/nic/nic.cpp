// SPDX-License-Identifier: BSD-3-Clause
#include "nic/nic.hpp"

#include <algorithm>
#include <unordered_map>
#include <utility>

#include "nic/address_handle_table.hpp"
#include "nic/engine.hpp"
#include "nic/protection_domain_table.hpp"
#include "nic/queue_pair_table.hpp"
#include "nic/random_source.hpp"
#include "nic/shared_receive_queue_table.hpp"
#include "transport/queue_pair_transition.hpp"

namespace softrnic::nic {
namespace {

using transport::ProtectionDomain;
using transport::QueuePairState;
using transport::QueuePairType;

// The largest path MTU whose packets fit the link's: GRH or IPv6, UDP, BTH, RETH, ICRC (Linux's
// rule: 1500 -> 1024, 4200 -> 4096).
std::uint32_t path_mtu_of(std::uint32_t link_mtu, std::uint64_t most) {
  constexpr std::uint32_t kOverhead =
      wire::Grh::kSize + wire::UdpHeader::kSize + wire::Bth::kSize + wire::Reth::kSize + 4;
  for (const std::uint32_t mtu : {4096u, 2048u, 1024u, 512u, 256u}) {
    if (mtu <= most && mtu + kOverhead <= link_mtu) return mtu;
  }
  return 0;
}

// Apart from what random.next() gives, which would come out otherwise after a draw more.
constexpr std::uint64_t kMembershipSeed = 1;

wire::MacAddress mac_or_drawn(const wire::MacAddress& wanted, RandomSource& random) {
  if (wanted != wire::MacAddress{}) return wanted;
  wire::MacAddress mac;
  const std::uint64_t bits = random.next();
  for (std::size_t i = 0; i < mac.bytes.size(); ++i) {
    mac.bytes[i] = static_cast<std::uint8_t>(bits >> (8 * i));
  }
  mac.bytes[0] = static_cast<std::uint8_t>((mac.bytes[0] & ~1u) | 2u);  // one host's, made locally
  return mac;
}

InterfaceIdentity identity_on(const link::Link& link, const NicConfig& config,
                              RandomSource& random) {
  const wire::MacAddress mac = mac_or_drawn(config.mac, random);
  const link::Capabilities& capabilities = link.capabilities();
  if (!capabilities.kernel_headers) return {mac, config.vlan, config.addresses};
  std::vector<InterfaceAddress> addresses;
  if (capabilities.identity) {
    for (const auto& [ip, prefix_length] : capabilities.identity->addresses) {
      addresses.push_back({ip, prefix_length});
    }
  }
  return {mac, config.vlan, GidTable(addresses), capabilities.kernel_headers->udp_source_port};
}

// Within the numbers that are ours.
std::uint32_t first_qpn_or_drawn(std::uint32_t wanted, const link::QueuePairNumbers& numbers,
                                 RandomSource& random) {
  if (wanted == 0) wanted = static_cast<std::uint32_t>(random.next() & 0x7fffff);
  return numbers.first + (wanted - link::QueuePairNumbers{}.first) % (numbers.last - numbers.first);
}

// Half of the numbers at most, so that a free one is soon found.
DeviceLimits limits_on(const link::Link& link, const DeviceLimits& wanted) {
  DeviceLimits limits = wanted.kept_possible();
  const link::QueuePairNumbers& numbers = link.capabilities().numbers;
  limits.queue_pairs =
      std::min<std::uint64_t>(limits.queue_pairs, (numbers.last - numbers.first + 2) / 2);
  return limits;
}

MemoryLimits memory_limits(const DeviceLimits& limits) {
  return {
      .regions = limits.regions, .windows = limits.windows, .region_bytes = limits.region_bytes};
}

bool is_offered(QueuePairType type) {
  return service_of(type) != wire::Service::unknown;
}

bool has_send_queue(QueuePairType type) {
  return type != QueuePairType::xrc_target;
}

bool has_receive_queue(QueuePairType type) {
  return type != QueuePairType::xrc_target && type != QueuePairType::xrc_initiator;
}

// For a half that completes nothing here.
class NoCompletions final : public transport::CompletionSink {
 public:
  bool complete(const transport::Completion&) override { return true; }
};

transport::CompletionSink& sink_of(CompletionQueue* queue) {
  static NoCompletions none;
  if (queue == nullptr) return none;
  return *queue;
}

// What the type has no use for is left out.
QueuePairResources resources_of(const QueuePairInit& init) {
  QueuePairResources resources;
  if (has_send_queue(init.type)) resources.send_completions = init.send_completions;
  if (has_receive_queue(init.type)) {
    resources.receive_completions = init.receive_completions;
    resources.shared_receive_queue = init.shared_receive_queue;
  }
  if (init.type == QueuePairType::xrc_target) resources.xrc_domain = init.xrc_domain;
  return resources;
}

// The events of completion queues, which say besides that queue pairs must fail.
class OverrunWatch final : public transport::EventSink {
 public:
  explicit OverrunWatch(transport::EventSink& events) : events_(events) {}
  void raise(transport::AsyncEvent event, std::uint32_t number) override {
    seen_ = true;
    events_.raise(event, number);
  }
  bool seen() const { return seen_; }
  bool take() { return std::exchange(seen_, false); }

 private:
  transport::EventSink& events_;
  bool seen_ = false;
};

ResourceError resource_error(transport::ModifyError error) {
  switch (error) {
    case transport::ModifyError::illegal_transition:
    case transport::ModifyError::wrong_state:
    case transport::ModifyError::still_draining:
      return ResourceError::illegal_transition;
    default:
      return ResourceError::bad_attribute;
  }
}

// A change that a user asks for; without a mask, of all that the transition takes.
struct Change {
  QueuePairState to;
  const transport::QueuePairAttributes& attributes;
  std::optional<transport::AttributeMask> named;
  const AddressAttributes* address;

  bool has_address(const transport::QueuePairTransition& legal) const {
    if ((legal.takes() & transport::attribute::address) == 0) return false;
    if (named) return (*named & transport::attribute::address) != 0;
    return address != nullptr || (legal.required & transport::attribute::address) != 0;
  }
};

}  // namespace

struct Nic::Impl {
  Impl(const NicConfig& config, std::unique_ptr<link::Link> its_link);

  bool has(const CompletionQueue* queue) const { return completion_queues.contains(queue); }
  std::optional<ResourceError> check(const QueuePairInit& init) const;
  // Moves to ERR whoever completes in a queue that has overrun (10.10.3).
  void fail_overrun();
  std::optional<ResourceError> modify(std::uint32_t qpn, const Change& change);
  // The path a connected queue pair gets with its transition to RTR, or another in SQD.
  wire::Expected<Path, ResourceError> path_for(const QueuePairEntry& entry, const Change& change,
                                               std::uint32_t destination_qpn);

  std::unique_ptr<link::Link> link;
  DeviceLimits limits;
  RandomSource random;
  std::uint32_t active_mtu;
  InterfaceIdentity identity;
  transport::Counters counters;
  EventQueue events;
  OverrunWatch overruns{events};

  ProtectionDomainTable domains;
  MemoryRegionTable memory;
  std::unordered_map<const CompletionQueue*, std::unique_ptr<CompletionQueue>> completion_queues;
  std::uint32_t last_completion_queue = 0;  // its number
  SharedReceiveQueueTable shared_receive_queues;
  QueuePairTable queue_pairs;
  AddressHandleTable handles;
  MulticastGroupTable groups;

  QueuePairScheduler scheduler;
  NeighborTable neighbors;
  FrameSender frames;
  ResolutionQueue resolution;
  NeighborDiscovery discovery;
  MulticastMembership membership;
  EchoResponder echo;
  PacketReceiver packets;
  FrameReceiver receiver;
  PacketSender sender;
  Engine engine;
};

Nic::Impl::Impl(const NicConfig& config, std::unique_ptr<link::Link> its_link)
    : link(std::move(its_link)),
      limits(limits_on(*link, config.limits)),
      random(config.seed),
      active_mtu(path_mtu_of(link->capabilities().mtu, limits.path_mtu)),
      identity(identity_on(*link, config, random)),
      domains(limits.domains),
      memory(random.next(), memory_limits(limits)),
      shared_receive_queues(limits.shared_receive_queues),
      queue_pairs(link->capabilities().numbers,
                  first_qpn_or_drawn(config.first_qpn, link->capabilities().numbers, random),
                  static_cast<std::uint32_t>(limits.queue_pairs)),
      handles(limits.address_handles),
      groups(limits),
      frames(*link, static_cast<std::uint16_t>(random.next())),
      resolution(neighbors, frames, counters),
      discovery(identity, neighbors, frames),
      membership(identity, frames, random.mix(kMembershipSeed)),
      echo(identity, neighbors, frames, resolution, counters, link->capabilities().mtu),
      packets(identity, groups, queue_pairs, scheduler, counters),
      receiver({identity, groups, packets, discovery, membership, echo, counters},
               link->capabilities().mtu),
      sender(scheduler, handles, groups, neighbors, frames, resolution, counters, active_mtu,
             link->capabilities().numbers),
      engine({*link, receiver, frames, sender, scheduler, neighbors, discovery, membership,
              resolution},
             config.announce) {
  link->set_local_addresses(identity.mac(), identity.gids().addresses());
}

std::optional<ResourceError> Nic::Impl::check(const QueuePairInit& init) const {
  if (!is_offered(init.type)) return ResourceError::bad_service;
  if (init.type == QueuePairType::xrc_target) {
    if (!shared_receive_queues.contains(init.xrc_domain)) return ResourceError::bad_xrc_domain;
  } else if (!domains.contains(init.domain)) {
    return ResourceError::bad_domain;
  }
  if ((has_send_queue(init.type) && !has(init.send_completions)) ||
      (has_receive_queue(init.type) && !has(init.receive_completions))) {
    return ResourceError::bad_completion_queue;
  }
  if (init.shared_receive_queue != nullptr &&
      (!has_receive_queue(init.type) ||
       !shared_receive_queues.contains(init.shared_receive_queue) ||
       init.shared_receive_queue->completions() != nullptr)) {
    return ResourceError::bad_shared_receive_queue;
  }
  if (!limits.allow(init.capacity)) return ResourceError::bad_capacity;
  if (queue_pairs.full()) return ResourceError::table_full;
  if (!init.qpn) return std::nullopt;
  constexpr link::QueuePairNumbers kAll;
  if (*init.qpn < kAll.first || *init.qpn > kAll.last) {
    return ResourceError::bad_attribute;
  }
  if (queue_pairs.find(*init.qpn) != nullptr) return ResourceError::qpn_in_use;
  return std::nullopt;
}

void Nic::Impl::fail_overrun() {
  queue_pairs.for_each([this](QueuePairEntry& entry) {
    const QueuePairState state = entry.queue_pair.state();
    if (!entry.has_overrun() || state == QueuePairState::reset || state == QueuePairState::error) {
      return;
    }
    entry.queue_pair.modify(QueuePairState::error, {});
    events.raise(transport::AsyncEvent::queue_pair_fatal, entry.queue_pair.qpn());
    scheduler.touch(entry);
  });
}

std::optional<ResourceError> Nic::Impl::modify(std::uint32_t qpn, const Change& change) {
  QueuePairEntry* entry = queue_pairs.find(qpn);
  if (entry == nullptr) return ResourceError::no_such_queue_pair;
  transport::QueuePair& queue_pair = entry->queue_pair;
  const QueuePairState from = queue_pair.state();
  const auto legal = transport::transition(queue_pair.type(), from, change.to);
  if (!legal) return ResourceError::illegal_transition;

  transport::QueuePairAttributes wanted = change.attributes;
  // A datagram's limit is the link's, not the user's (IBTA vol. 1, 9.8.3.1).
  if (entry->is_datagram() && active_mtu != 0) wanted.path_mtu = active_mtu;
  if (change.to == QueuePairState::ready_to_receive && wanted.path_mtu > active_mtu) {
    return ResourceError::mtu_too_large;
  }
  if (!limits.allow(change.named.value_or(legal->takes()), wanted)) {
    return ResourceError::bad_attribute;
  }
  std::optional<Path> path;
  if (change.has_address(*legal)) {
    auto made = path_for(*entry, change, wanted.destination_qpn);
    if (!made) return made.error();
    path = *made;
  }
  const auto error = change.named ? queue_pair.modify(change.to, wanted, *change.named)
                                  : queue_pair.modify(change.to, wanted);
  if (error) return resource_error(*error);
  if (change.to == QueuePairState::reset) {
    entry->address.reset();
    // As if it were new: a program that starts afresh is not told of what it gave up, as drivers
    // do it.
    for (CompletionQueue* queue :
         {entry->resources.send_completions, entry->resources.receive_completions}) {
      if (queue != nullptr) queue->forget(qpn);
    }
  }
  if (path) {
    entry->address = *change.address;
    entry->path = *path;
    entry->path.refresh(engine.last_turn(), neighbors);
    scheduler.release(*entry);  // who waited for the old neighbour need not
  }
  scheduler.touch(*entry);
  return std::nullopt;
}

wire::Expected<Path, ResourceError> Nic::Impl::path_for(const QueuePairEntry& entry,
                                                        const Change& change,
                                                        std::uint32_t destination_qpn) {
  const AddressAttributes* const address = change.address;
  if (address == nullptr) return wire::Unexpected{ResourceError::bad_attribute};
  if (address->destination.is_multicast()) return wire::Unexpected{ResourceError::bad_destination};
  // The destination's number is settled at RTR.
  const bool to_rtr = change.to == QueuePairState::ready_to_receive;
  const std::uint32_t label = wire::flow_label_of_qpns(
      entry.queue_pair.qpn(),
      to_rtr ? destination_qpn : entry.queue_pair.attributes().destination_qpn);
  return Path::to(*address, identity, label);
}

Nic::Nic(const NicConfig& config, std::unique_ptr<link::Link> link)
    : impl_(std::make_unique<Impl>(config, std::move(link))) {}

Nic::~Nic() = default;

// ---------------------------------------------------------------- what it is

const wire::MacAddress& Nic::mac() const {
  return impl_->identity.mac();
}

const GidTable& Nic::gids() const {
  return impl_->identity.gids();
}

link::Link& Nic::link() {
  return *impl_->link;
}

const DeviceLimits& Nic::limits() const {
  return impl_->limits;
}

std::uint32_t Nic::active_mtu() const {
  return impl_->active_mtu;
}

const transport::Counters& Nic::counters() const {
  return impl_->counters;
}

EventQueue& Nic::events() {
  return impl_->events;
}

// ---------------------------------------------------------------- domains, memory, completions

ProtectionDomain Nic::allocate_domain() {
  return impl_->domains.allocate();
}

std::optional<ResourceError> Nic::free_domain(ProtectionDomain domain) {
  if (!impl_->domains.contains(domain)) return ResourceError::bad_domain;
  if (impl_->memory.uses(domain) || impl_->queue_pairs.uses(domain) ||
      impl_->shared_receive_queues.uses(domain) || impl_->handles.uses(domain)) {
    return ResourceError::busy;
  }
  impl_->domains.release(domain);
  return std::nullopt;
}

MemoryRegionTable& Nic::memory() {
  return impl_->memory;
}

wire::Expected<CompletionQueue*, ResourceError> Nic::create_completion_queue(
    const CompletionQueueInit& init) {
  auto& queues = impl_->completion_queues;
  if (init.depth > impl_->limits.completions) return wire::Unexpected{ResourceError::bad_capacity};
  if (queues.size() >= impl_->limits.completion_queues) {
    return wire::Unexpected{ResourceError::table_full};
  }
  auto queue = std::make_unique<CompletionQueue>(init.depth, ++impl_->last_completion_queue,
                                                 impl_->overruns, &impl_->engine.last_turn());
  CompletionQueue* made = queue.get();
  queues.emplace(made, std::move(queue));
  return made;
}

CompletionQueue& Nic::create_completion_queue(std::uint32_t depth) {
  return *create_completion_queue(CompletionQueueInit{depth}).value();
}

std::optional<ResourceError> Nic::resize_completion_queue(CompletionQueue& queue,
                                                          std::uint32_t depth) {
  if (!impl_->has(&queue)) return ResourceError::bad_completion_queue;
  if (depth > impl_->limits.completions || !queue.resize(depth)) {
    return ResourceError::bad_capacity;
  }
  return std::nullopt;
}

std::optional<ResourceError> Nic::destroy_completion_queue(CompletionQueue& queue) {
  if (!impl_->has(&queue)) return ResourceError::bad_completion_queue;
  if (impl_->queue_pairs.uses(queue) || impl_->shared_receive_queues.uses(queue)) {
    return ResourceError::busy;
  }
  impl_->events.forget(transport::EventObject::completion_queue, queue.number());
  impl_->completion_queues.erase(&queue);
  return std::nullopt;
}

// ---------------------------------------------------------------- shared receive queues

wire::Expected<transport::SharedReceiveQueue*, ResourceError> Nic::create_shared_receive_queue(
    const SharedReceiveQueueInit& init) {
  if (!impl_->domains.contains(init.domain)) return wire::Unexpected{ResourceError::bad_domain};
  if (!impl_->limits.allow(init.capacity)) return wire::Unexpected{ResourceError::bad_capacity};
  const bool extended = init.xrc_domain != nullptr;
  if (extended && !impl_->shared_receive_queues.contains(init.xrc_domain)) {
    return wire::Unexpected{ResourceError::bad_xrc_domain};
  }
  if (extended ? !impl_->has(init.completions) : init.completions != nullptr) {
    return wire::Unexpected{ResourceError::bad_completion_queue};
  }
  if (impl_->shared_receive_queues.full()) return wire::Unexpected{ResourceError::table_full};
  return &impl_->shared_receive_queues.add({.domain = init.domain,
                                            .capacity = init.capacity,
                                            .completions = init.completions,
                                            .events = impl_->events},
                                           init.xrc_domain);
}

std::optional<ResourceError> Nic::resize_shared_receive_queue(transport::SharedReceiveQueue& queue,
                                                              std::uint32_t requests) {
  if (!impl_->shared_receive_queues.contains(&queue)) {
    return ResourceError::bad_shared_receive_queue;
  }
  if (requests > impl_->limits.shared_requests || !queue.resize(requests)) {
    return ResourceError::bad_capacity;
  }
  return std::nullopt;
}

std::optional<ResourceError> Nic::destroy_shared_receive_queue(
    transport::SharedReceiveQueue& queue) {
  if (!impl_->shared_receive_queues.contains(&queue)) {
    return ResourceError::bad_shared_receive_queue;
  }
  if (impl_->queue_pairs.uses(queue)) return ResourceError::busy;
  impl_->events.forget(transport::EventObject::shared_receive_queue, queue.number());
  impl_->shared_receive_queues.remove(queue);
  return std::nullopt;
}

transport::XrcDomain& Nic::create_xrc_domain() {
  return impl_->shared_receive_queues.add_domain();
}

std::optional<ResourceError> Nic::destroy_xrc_domain(transport::XrcDomain& domain) {
  if (!impl_->shared_receive_queues.contains(&domain)) return ResourceError::bad_xrc_domain;
  if (!domain.empty() || impl_->queue_pairs.uses(domain)) return ResourceError::busy;
  impl_->shared_receive_queues.remove_domain(domain);
  return std::nullopt;
}

// ---------------------------------------------------------------- queue pairs

wire::Expected<transport::QueuePair*, ResourceError> Nic::create_queue_pair(
    const QueuePairInit& init) {
  if (const auto error = impl_->check(init)) return wire::Unexpected{*error};
  const QueuePairResources resources = resources_of(init);
  const transport::QueuePairContext context{
      .qpn = init.qpn ? *init.qpn : impl_->queue_pairs.next_number(),
      .type = init.type,
      .domain = init.type == QueuePairType::xrc_target ? ProtectionDomain{} : init.domain,
      .capacity = init.capacity,
      .memory = impl_->memory,
      .send_completions = sink_of(resources.send_completions),
      .receive_completions = sink_of(resources.receive_completions),
      .counters = impl_->counters,
      .events = impl_->events,
      .shared_receive_queue = resources.shared_receive_queue,
      .xrc_domain = resources.xrc_domain,
      .max_message = impl_->limits.message_bytes};
  QueuePairEntry& entry = impl_->queue_pairs.add(context, resources);
  impl_->scheduler.reserve(impl_->queue_pairs.size());
  return &entry.queue_pair;
}

std::optional<ResourceError> Nic::destroy_queue_pair(std::uint32_t qpn) {
  QueuePairEntry* entry = impl_->queue_pairs.find(qpn);
  if (entry == nullptr) return ResourceError::no_such_queue_pair;
  // A window of type 2A would serve whoever gets the number next (11.2.5.4).
  if (impl_->memory.has_window_of(qpn)) return ResourceError::busy;
  if (entry->attachments > 0) return ResourceError::busy;  // as Linux
  impl_->scheduler.forget(*entry);
  impl_->queue_pairs.remove(*entry);
  impl_->events.forget(transport::EventObject::queue_pair, qpn);
  return std::nullopt;
}

transport::QueuePair* Nic::find_queue_pair(std::uint32_t qpn) {
  QueuePairEntry* entry = impl_->queue_pairs.find(qpn);
  return entry == nullptr ? nullptr : &entry->queue_pair;
}

transport::QueuePair* Nic::find_queue_pair_connected_to(const wire::Gid& host, std::uint32_t qpn) {
  QueuePairEntry* entry = impl_->queue_pairs.find_connected_to(host, qpn);
  return entry == nullptr ? nullptr : &entry->queue_pair;
}

std::size_t Nic::queue_pairs() const {
  return impl_->queue_pairs.size();
}

std::optional<ResourceError> Nic::modify(std::uint32_t qpn, QueuePairState to,
                                         const transport::QueuePairAttributes& attributes,
                                         const AddressAttributes* address) {
  return impl_->modify(qpn, {to, attributes, std::nullopt, address});
}

std::optional<ResourceError> Nic::modify(std::uint32_t qpn, QueuePairState to,
                                         const transport::QueuePairAttributes& attributes,
                                         transport::AttributeMask named,
                                         const AddressAttributes* address) {
  return impl_->modify(qpn, {to, attributes, named, address});
}

std::optional<QueuePairStatus> Nic::query_queue_pair(std::uint32_t qpn) const {
  const QueuePairEntry* entry = impl_->queue_pairs.find(qpn);
  if (entry == nullptr) return std::nullopt;
  const transport::QueuePair& queue_pair = entry->queue_pair;
  return QueuePairStatus{.state = queue_pair.state(),
                         .draining = queue_pair.draining(),
                         .attributes = queue_pair.attributes(),
                         .address = entry->address,
                         .type = queue_pair.type(),
                         .domain = queue_pair.domain(),
                         .capacity = queue_pair.capacity()};
}

std::optional<transport::PostError> Nic::post_send(std::uint32_t qpn,
                                                   const transport::SendRequest& request) {
  QueuePairEntry* entry = impl_->queue_pairs.find(qpn);
  if (entry == nullptr) return transport::PostError::bad_state;
  if (entry->is_datagram()) {
    const AddressHandle* handle = impl_->handles.find(request.address_handle);
    if (handle == nullptr || handle->domain != entry->queue_pair.domain()) {
      return transport::PostError::bad_address_handle;
    }
  }
  const auto error = entry->queue_pair.post_send(request);
  if (!error) impl_->scheduler.touch(*entry);
  return error;
}

std::optional<transport::PostError> Nic::post_receive(std::uint32_t qpn,
                                                      const transport::ReceiveRequest& request) {
  QueuePairEntry* entry = impl_->queue_pairs.find(qpn);
  if (entry == nullptr) return transport::PostError::bad_state;
  const auto error = entry->queue_pair.post_receive(request);
  // The peer may be waiting to hear of it.
  if (!error && entry->queue_pair.attributes().advertise_credits) impl_->scheduler.touch(*entry);
  return error;
}

// ---------------------------------------------------------------- address handles, neighbours

wire::Expected<std::uint32_t, ResourceError> Nic::create_address_handle(
    ProtectionDomain domain, const AddressAttributes& attributes) {
  if (!impl_->domains.contains(domain)) return wire::Unexpected{ResourceError::bad_domain};
  auto path = Path::to(attributes, impl_->identity, 0);
  if (!path) return wire::Unexpected{path.error()};
  AddressHandle* handle = impl_->handles.add(domain, *path);
  if (handle == nullptr) return wire::Unexpected{ResourceError::table_full};
  handle->path.refresh(impl_->engine.last_turn(), impl_->neighbors);
  return handle->number;
}

std::optional<ResourceError> Nic::destroy_address_handle(std::uint32_t handle) {
  if (!impl_->handles.remove(handle)) return ResourceError::no_such_queue_pair;
  return std::nullopt;
}

std::optional<ResourceError> Nic::attach_multicast(std::uint32_t qpn, const wire::Gid& group) {
  QueuePairEntry* entry = impl_->queue_pairs.find(qpn);
  if (entry == nullptr) return ResourceError::no_such_queue_pair;
  const bool first = impl_->groups.members(group).empty();
  if (const auto error = impl_->groups.attach(group, *entry)) return error;
  if (first) impl_->membership.join(impl_->engine.last_turn(), group);
  return std::nullopt;
}

std::optional<ResourceError> Nic::detach_multicast(std::uint32_t qpn, const wire::Gid& group) {
  QueuePairEntry* entry = impl_->queue_pairs.find(qpn);
  if (entry == nullptr) return ResourceError::no_such_queue_pair;
  if (const auto error = impl_->groups.detach(group, *entry)) return error;
  if (impl_->groups.members(group).empty()) impl_->membership.leave(group);
  return std::nullopt;
}

bool Nic::ping(wire::Instant now, const wire::Gid& destination, std::uint16_t identifier,
               std::uint16_t sequence, wire::ByteView data) {
  return impl_->echo.request(now, destination, identifier, sequence, data);
}

void Nic::on_echo_reply(EchoCallback callback) {
  impl_->echo.on_reply(std::move(callback));
}

void Nic::add_neighbor(const wire::Gid& address, const wire::MacAddress& mac) {
  impl_->neighbors.learn(address, mac);
}

// ---------------------------------------------------------------- the crank

bool Nic::transmit(wire::Instant now) {
  const bool active = impl_->engine.transmit(now);
  if (impl_->overruns.seen()) return turn(now);
  return active;
}

bool Nic::turn(wire::Instant now) {
  const bool active = impl_->engine.turn(now);
  if (!impl_->overruns.take()) return active;
  impl_->fail_overrun();
  return true;
}

wire::Instant Nic::next_deadline() const {
  return impl_->overruns.seen() ? wire::Instant::min() : impl_->engine.next_deadline();
}

int Nic::descriptor() const {
  return impl_->link->descriptor();
}

}  // namespace softrnic::nic
