// SPDX-License-Identifier: BSD-3-Clause
// A link: whole frames in and out, in bursts. The one interface between a NIC and its wire.
//
// Backends (memory, shm, tap, packet, xdp, udp) and wrappers (capture; faults, in fabric/)
// implement it, so they stack freely. Not thread-safe: one thread at a time.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "link/frame.hpp"
#include "wire/expected.hpp"
#include "wire/instant.hpp"

namespace softrnic::link {

// Who the NIC behind a link is, where the link knows that (shm, udp): unless its owner knows
// better.
struct Identity {
  struct Address {
    wire::Gid ip;
    std::uint8_t prefix_length = 0;  // of an IPv4 address: 0 to 32
  };
  std::string host;
  wire::MacAddress mac;
  std::vector<Address> addresses;
};

// Queue pair numbers, first and last (IBTA vol. 1, 3.5.10: 0 and 1 are the special queue pairs',
// 0xffffff is multicast's).
struct QueuePairNumbers {
  std::uint32_t first = 2;
  std::uint32_t last = 0xfffffe;

  friend bool operator==(const QueuePairNumbers&, const QueuePairNumbers&) = default;
};

// Of a link whose packets the kernel writes the headers of (udp). It carries RoCE v2 alone, and
// only from and to the addresses of its identity, with IPv4 identification zero; frames are best
// built so, since the ICRC covers what will be sent.
struct KernelHeaders {
  std::uint16_t udp_source_port = 0;
};

struct Capabilities {
  std::string name;          // as the user gave it: "tap:rnic0"
  std::uint32_t mtu = 1500;  // bytes of network packet a frame may carry (no Ethernet header)
  // The interface's own address, when the link sits on one whose address the NIC should use or
  // avoid; zero when it has none.
  wire::MacAddress mac;
  std::optional<Identity> identity = {};
  // Those whose packets come here, where other processes have the rest.
  QueuePairNumbers numbers = {};
  std::optional<KernelHeaders> kernel_headers = {};
};

class Link {
 public:
  virtual ~Link() = default;
  Link() = default;
  Link(const Link&) = delete;
  Link& operator=(const Link&) = delete;

  virtual const Capabilities& capabilities() const = 0;

  // Lends up to out.size() empty frames; returns how many. Fewer means "no buffer free now".
  virtual std::size_t tx_alloc(std::span<Frame*> out) = 0;
  // Takes all the frames: sends what the wire accepts and counts what it does not as dropped (a
  // wire may lose frames; the transport recovers). The loan of each ends here.
  virtual void tx_push(wire::Instant now, std::span<Frame* const> frames) = 0;
  // From now on, where the link can, tx_push() waits for room, a second at most, instead of
  // dropping what the wire does not take at once: for senders whose frames nobody sends again.
  virtual void set_patient(bool patient) { (void)patient; }
  // Ends the loan of frames that were allocated and not sent.
  virtual void tx_cancel(std::span<Frame* const> frames) = 0;

  // Lends up to out.size() received frames; returns how many (0: nothing there now).
  virtual std::size_t rx_burst(wire::Instant now, std::span<Frame*> out) = 0;
  virtual void rx_release(std::span<Frame* const> frames) = 0;

  // When rx_burst or flush must be called again although no frame arrived (a delayed frame falls
  // due); kNever when not.
  virtual wire::Instant next_deadline() const { return wire::kNever; }
  // Sends what has fallen due by `now`.
  virtual void flush(wire::Instant now) { (void)now; }

  // The addresses of the NIC behind this link, told again whenever they change: what a link that
  // shares its interface with the kernel (xdp) must take for the NIC. Others take every frame.
  virtual void set_local_addresses(const wire::MacAddress& mac, std::span<const wire::Gid> ips) {
    (void)mac;
    (void)ips;
  }

  // Whether the interface under the link has been deleted: no frame will ever come again. Not for
  // the fast path; may ask the kernel.
  virtual bool gone() const { return false; }

  // Readable when a frame has arrived; -1 when the link has none (memory). A link may need to be
  // told that somebody is going to wait there: rx_burst() does it when it has found nothing for a
  // while, which next_deadline() tells, and prepare_wait() at once.
  virtual int descriptor() const = 0;
  // From now on a frame that arrives makes the descriptor readable, until rx_burst() takes one;
  // false when there is one to take already.
  virtual bool prepare_wait() { return true; }

  struct Statistics {
    std::uint64_t rx_frames = 0;
    std::uint64_t rx_bytes = 0;
    std::uint64_t rx_dropped = 0;  // too large, or no buffer
    std::uint64_t tx_frames = 0;
    std::uint64_t tx_bytes = 0;
    std::uint64_t tx_dropped = 0;  // refused by the wire
  };
  virtual const Statistics& statistics() const = 0;
};

// Why a link could not be opened: cause and mend in one sentence.
struct OpenError {
  std::string message;
};

// Opens "shm:NAME[,host=HOST]", "udp:ADDRESS", "tap:NAME", "packet:IFACE" or "xdp:IFACE". (A memory
// link is made by MemoryWire.) `mtu`: wanted frame size, used where the link can set it; 0 keeps
// what is there.
wire::Expected<std::unique_ptr<Link>, OpenError> open_link(std::string_view specification,
                                                           std::uint32_t mtu = 0);

}  // namespace softrnic::link
