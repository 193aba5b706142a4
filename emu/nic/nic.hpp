// SPDX-License-Identifier: BSD-3-Clause
// The emulated NIC: a link, the resources a verbs user knows (protection domains, memory regions,
// completion queues, queue pairs, address handles, GIDs), and the crank that turns it all.
//
// Sans-clock: the caller supplies `now` and turns the crank; nic::EventLoop (event_loop.hpp) does
// it in real time. Not thread-safe: one thread at a time.
//
// Every destination is taken as on-link: there is no gateway yet, so an address off the subnet is
// asked for on the link itself (path.hpp). Packets to one of the NIC's own addresses do not reach
// the link; they come back inside.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "link/link.hpp"
#include "nic/address_attributes.hpp"
#include "nic/completion_queue.hpp"
#include "nic/device_limits.hpp"
#include "nic/event_queue.hpp"
#include "nic/gid_table.hpp"
#include "nic/memory_region_table.hpp"
#include "nic/resource_error.hpp"
#include "transport/counters.hpp"
#include "transport/queue_pair.hpp"
#include "transport/xrc_domain.hpp"
#include "wire/address_vector.hpp"

namespace softrnic::nic {

struct NicConfig {
  // All zeros: a locally administered address drawn from the seed.
  wire::MacAddress mac;
  std::vector<InterfaceAddress> addresses;
  // Every frame leaves with this tag, and only frames with its id are taken, when given.
  std::optional<wire::VlanTag> vlan;
  // Source of keys, the MAC address, the IPv4 identification. Zero: drawn from the system.
  std::uint64_t seed = 0;
  // What is more than the NIC can do is taken as what it can; Nic::limits() tells.
  DeviceLimits limits;
  // The first queue pair's number; later ones count up. Zero: drawn from the seed.
  std::uint32_t first_qpn = 0x11;
  // Tell the link our addresses on the first turn (gratuitous ARP, unsolicited advertisement).
  bool announce = true;
};

struct CompletionQueueInit {
  std::uint32_t depth = 1;
};

struct QueuePairInit {
  transport::QueuePairType type = transport::QueuePairType::rc;
  // An XRC target needs none of these three, and an XRC initiator no receive completions.
  transport::ProtectionDomain domain{};
  CompletionQueue* send_completions = nullptr;
  CompletionQueue* receive_completions = nullptr;
  transport::QueuePairCapacity capacity;
  // Receives come from it; the capacity's are then of no matter.
  transport::SharedReceiveQueue* shared_receive_queue = nullptr;
  // XRC targets: whose shared receive queues their peers may name.
  transport::XrcDomain* xrc_domain = nullptr;
  // A particular number instead of the next free one.
  std::optional<std::uint32_t> qpn;
};

struct SharedReceiveQueueInit {
  transport::ProtectionDomain domain{};
  transport::SharedReceiveQueueCapacity capacity;
  // Both or neither: the XRC domain whose targets receive through it, and where that completes.
  transport::XrcDomain* xrc_domain = nullptr;
  CompletionQueue* completions = nullptr;
};

// What a queue pair is and was last told (IBTA vol. 1, 11.2.5.4).
struct QueuePairStatus {
  transport::QueuePairState state{};
  bool draining = false;  // SQD: not everything that was begun has completed
  transport::QueuePairAttributes attributes;
  std::optional<AddressAttributes> address;  // connected services, from RTR on
  transport::QueuePairType type{};
  transport::ProtectionDomain domain{};
  transport::QueuePairCapacity capacity;
};

class Nic {
 public:
  Nic(const NicConfig& config, std::unique_ptr<link::Link> link);
  ~Nic();
  Nic(const Nic&) = delete;
  Nic& operator=(const Nic&) = delete;

  const wire::MacAddress& mac() const;
  const GidTable& gids() const;
  link::Link& link();
  const DeviceLimits& limits() const;
  // Largest path MTU that the link carries and the limits allow: 256, 512, 1024, 2048 or 4096; 0
  // when not even 256.
  std::uint32_t active_mtu() const;
  const transport::Counters& counters() const;

  // What happened to its queues that no completion tells.
  EventQueue& events();

  transport::ProtectionDomain allocate_domain();
  // `busy` while a region, window, queue pair, shared receive queue or address handle is in it.
  std::optional<ResourceError> free_domain(transport::ProtectionDomain domain);
  MemoryRegionTable& memory();

  wire::Expected<CompletionQueue*, ResourceError> create_completion_queue(
      const CompletionQueueInit& init);
  // For a program that knows to stay within the limits: beyond them it ends the process.
  CompletionQueue& create_completion_queue(std::uint32_t depth);
  // `bad_capacity` when more completions wait in it than that, or for more than the NIC has.
  std::optional<ResourceError> resize_completion_queue(CompletionQueue& queue, std::uint32_t depth);
  // `busy` while a queue pair, or a shared receive queue of XRC, completes in it.
  std::optional<ResourceError> destroy_completion_queue(CompletionQueue& queue);

  // Posting to it, and arming its limit, need not go through the NIC.
  wire::Expected<transport::SharedReceiveQueue*, ResourceError> create_shared_receive_queue(
      const SharedReceiveQueueInit& init);
  // `bad_capacity` when more receives wait in it than that, or for more than the NIC has.
  std::optional<ResourceError> resize_shared_receive_queue(transport::SharedReceiveQueue& queue,
                                                           std::uint32_t requests);
  // `busy` while a queue pair receives through it. One of an XRC domain may go at any time; who
  // names it then is refused.
  std::optional<ResourceError> destroy_shared_receive_queue(transport::SharedReceiveQueue& queue);

  transport::XrcDomain& create_xrc_domain();
  // `busy` while a shared receive queue or a queue pair is in it.
  std::optional<ResourceError> destroy_xrc_domain(transport::XrcDomain& domain);

  // The new queue pair, in RESET. It lives until destroyed.
  wire::Expected<transport::QueuePair*, ResourceError> create_queue_pair(const QueuePairInit& init);
  // `busy` while a memory window of type 2A is bound on it, or while it is attached to a group.
  std::optional<ResourceError> destroy_queue_pair(std::uint32_t qpn);
  transport::QueuePair* find_queue_pair(std::uint32_t qpn);
  // The queue pair connected to queue pair `qpn` of that host; null when none is. Looks at each.
  transport::QueuePair* find_queue_pair_connected_to(const wire::Gid& host, std::uint32_t qpn);
  std::size_t queue_pairs() const;

  // Changes the state and all attributes that the transition takes. `address` is needed for a
  // connected service's INIT -> RTR, and its neighbour is resolved from then on; a change in SQD
  // takes another. UD queue pairs get the link's path MTU.
  std::optional<ResourceError> modify(std::uint32_t qpn, transport::QueuePairState to,
                                      const transport::QueuePairAttributes& attributes,
                                      const AddressAttributes* address = nullptr);
  // Changes the state and the attributes named, `address` among them where it is. A queue pair that
  // is reset takes its completions along.
  std::optional<ResourceError> modify(std::uint32_t qpn, transport::QueuePairState to,
                                      const transport::QueuePairAttributes& attributes,
                                      transport::AttributeMask named,
                                      const AddressAttributes* address = nullptr);
  std::optional<QueuePairStatus> query_queue_pair(std::uint32_t qpn) const;

  // Posting goes through the NIC, which then knows that there is something to send.
  std::optional<transport::PostError> post_send(std::uint32_t qpn,
                                                const transport::SendRequest& request);
  std::optional<transport::PostError> post_receive(std::uint32_t qpn,
                                                   const transport::ReceiveRequest& request);

  // A handle for UD sends; never zero.
  wire::Expected<std::uint32_t, ResourceError> create_address_handle(
      transport::ProtectionDomain domain, const AddressAttributes& attributes);
  std::optional<ResourceError> destroy_address_handle(std::uint32_t handle);

  // Whether a UD queue pair hears a multicast group: an IPv6 group, or an IPv4 one as mapped. The
  // network is told of groups that are new (multicast_membership.hpp). To send to a group, use an
  // address handle for it and the queue pair number 0xffffff; the NIC's own members get a copy.
  std::optional<ResourceError> attach_multicast(std::uint32_t qpn, const wire::Gid& group);
  std::optional<ResourceError> detach_multicast(std::uint32_t qpn, const wire::Gid& group);

  // Sends an ICMP or ICMPv6 echo request from our address of the same kind; false when we have
  // none, or the data does not fit the MTU, or the link takes nothing now. Replies arrive at the
  // callback during turn(), which it must not call: source, identifier, sequence, data.
  bool ping(wire::Instant now, const wire::Gid& destination, std::uint16_t identifier,
            std::uint16_t sequence, wire::ByteView data);
  using EchoCallback =
      std::function<void(wire::Instant, const wire::Gid& source, std::uint16_t identifier,
                         std::uint16_t sequence, wire::ByteView data)>;
  void on_echo_reply(EchoCallback callback);

  // A neighbour known beforehand (no ARP needed).
  void add_neighbor(const wire::Gid& address, const wire::MacAddress& mac);

  // One turn of the crank: receives a burst, handles due deadlines, transmits a burst. True when it
  // did anything; call again then. Bounded work.
  bool turn(wire::Instant now);
  // Only transmits a burst, of what was posted: who posts one request at a time need not look each
  // time whether something has come.
  bool transmit(wire::Instant now);
  // When turn() must be called although no frame has arrived; Instant::min() when at once.
  wire::Instant next_deadline() const;
  // Readable when frames have arrived; -1 when the link has none.
  int descriptor() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace softrnic::nic
