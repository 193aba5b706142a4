// SPDX-License-Identifier: BSD-3-Clause
// A wrapper that does to the frames of a link what fault rules say.
//
// Each frame is offered to the rules in order; the first that applies acts. Deterministic: same
// seed, same frames, same faults. Non-RoCE frames (ARP, ICMP) pass untouched unless a rule has no
// filter and the option says so.
//
// A delayed or reordered frame is held as a copy of the wrapper's own; next_deadline() and flush()
// let it go. A reordered frame that no other follows goes after kReorderTimeout. A frame that
// comes out of a fault carries "ACTION: RULE" as its note. An answer goes back to where its request
// came from: onto the link below, or to the NIC. Statistics and capabilities are those of the link
// below.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "fabric/fault_rule.hpp"
#include "fabric/fault_script.hpp"
#include "link/capture_link.hpp"
#include "link/link.hpp"

namespace softrnic::fabric {

// How long a reordered frame waits for others to pass it.
inline constexpr wire::Duration kReorderTimeout = std::chrono::milliseconds(1);
// Frames held at once in one direction; what would be one more passes as it is.
inline constexpr std::size_t kMaxHeldFrames = 16'384;

struct FaultOptions {
  std::uint64_t seed = 1;
  // Faults without a filter also hit frames that are not RoCE.
  bool all_traffic = false;
  // Who sends what goes to a queue pair, for rules that answer. May be empty.
  ConnectedQueuePair connected;
  // Told of each fault as it happens: the frame as it was before, and the note ("drop: rule
  // text"). A capture writes lost frames from here; see is_loss(). May be empty.
  std::function<void(wire::Instant, link::Direction, const wire::ByteChain&, std::string_view note)>
      on_fault;
};

// Whether a note says that its frame goes no further: it was dropped, fell into a silence, or was
// answered in the name of its destination.
bool is_loss(std::string_view note);

// Faults applied per rule so far, in rule order.
struct FaultCounts {
  std::vector<std::uint64_t> applied;
};

class FaultLink : public link::Link {
 public:
  virtual const FaultCounts& counts() const = 0;
};

std::unique_ptr<FaultLink> inject_faults(std::unique_ptr<link::Link> inner,
                                         std::vector<FaultRule> rules, FaultOptions options = {});

// The same with a capture, so placed that each fault is one comment in the file: frames sent are
// written as they leave the faults, received ones as they reach the NIC, and dropped ones as they
// were. `counts` belongs to the link.
struct CapturedFaults {
  std::unique_ptr<link::Link> link;
  const FaultCounts* counts = nullptr;
};
CapturedFaults inject_faults(std::unique_ptr<link::Link> inner, std::vector<FaultRule> rules,
                             FaultOptions options, std::shared_ptr<link::CaptureFile> file,
                             std::string_view interface_name);

}  // namespace softrnic::fabric
