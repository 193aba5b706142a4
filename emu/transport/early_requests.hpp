// SPDX-License-Identifier: BSD-3-Clause
// Requests that came before their turn: what a responder with selective repeat keeps of them until
// the gap before them is filled (docs/selective-repeat.md).
//
// A WRITE's payload is placed at once where its target is known, and only its headers are kept; of
// everything else the payload is kept too.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "transport/inbound_message.hpp"
#include "transport/packet.hpp"
#include "transport/retry_policy.hpp"
#include "wire/psn.hpp"

namespace softrnic::transport {

// Where a WRITE of several packets goes, so that each of them can be placed by its PSN alone.
struct WriteExtent {
  wire::Psn first_psn;
  std::uint32_t packets = 0;
  std::uint64_t address = 0;
  std::uint64_t length = 0;
  std::uint32_t remote_key = 0;

  bool holds(wire::Psn psn) const {
    const std::int32_t offset = psn.since(first_psn);
    return offset >= 0 && offset < static_cast<std::int32_t>(packets);
  }
};

class EarlyRequests {
 public:
  // PSNs from the expected one on that are kept.
  static constexpr std::uint32_t kWindow = kSelectiveWindow;

  // Room is made when it is first needed, and then kept; without memory for it nothing is kept.
  void enable(std::uint32_t path_mtu) { path_mtu_ = path_mtu; }
  bool enabled() const { return path_mtu_ != 0; }
  // Forgets all, and gives the room back.
  void disable();

  bool empty() const { return count_ == 0; }
  bool holds(wire::Psn psn) const { return count_ != 0 && slot(psn).kept && slot(psn).psn == psn; }
  // Packets kept without a gap up to and with `psn`, counted up to `most`.
  std::uint32_t run_up_to(wire::Psn psn, std::uint32_t most) const;

  // The WRITE that a packet which does not begin a message belongs to, when that is certain. `now`:
  // the WRITE in which `expected` lies, if there is one.
  std::optional<WriteExtent> extent_of(wire::Psn psn, wire::Psn expected,
                                       const std::optional<WriteExtent>& now) const;

  // False when there is no room for another packet.
  bool has_room();
  // Keeps a packet with its payload, if there is room for that.
  bool keep(const InboundPacket& packet);
  // Keeps a packet whose payload is already at `location`.
  void keep_placed(const InboundPacket& packet, const WriteExtent& extent, std::uint64_t location);
  // A packet as it came; the payload of a placed one has its size and says nothing.
  InboundPacket packet(wire::Psn psn) const;
  bool is_placed(wire::Psn psn) const { return slot(psn).placed; }
  void drop(wire::Psn psn);
  // What is kept of [from, end), which begins with what was expected when it was kept.
  void drop_range(wire::Psn from, wire::Psn end);

  // Of the bytes [location, location + size), the first run that a packet behind `psn` has placed.
  struct Run {
    std::uint64_t begin = 0;
    std::uint64_t end = 0;
  };
  std::optional<Run> placed_behind(wire::Psn psn, std::uint64_t location, std::uint64_t size) const;

 private:
  struct Slot {
    bool kept = false;
    bool placed = false;
    wire::Psn psn;
    std::uint32_t size = 0;  // of the payload
    std::uint64_t location = 0;
    WriteExtent extent;  // when placed
    wire::TransportHeaders headers;
    std::unique_ptr<std::byte[]> room;
  };

  Slot& slot(wire::Psn psn) { return slots_[psn.value() % kWindow]; }
  const Slot& slot(wire::Psn psn) const { return slots_[psn.value() % kWindow]; }
  Slot& take(const InboundPacket& packet);

  std::uint32_t path_mtu_ = 0;  // zero: disabled
  std::uint32_t count_ = 0;
  std::unique_ptr<Slot[]> slots_;  // kWindow of them
};

}  // namespace softrnic::transport
