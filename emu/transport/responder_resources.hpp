// SPDX-License-Identifier: BSD-3-Clause
// What a reliable responder keeps of the READs and atomics it has executed, to answer their
// duplicates: the newest, as many as a peer may have outstanding (IBTA vol. 1, 9.7.5.1.2: responder
// resources).
#pragma once

#include <cstdint>

#include "transport/growing_ring.hpp"
#include "transport/memory_gate.hpp"
#include "wire/psn.hpp"

namespace softrnic::transport {

struct ResponderResource {
  bool is_read = false;
  wire::Psn first_psn;
  std::uint32_t packets = 0;
  // READ: what was read, and on whose behalf.
  ProtectionDomain domain{};
  std::uint64_t address = 0;
  std::uint32_t remote_key = 0;
  std::uint32_t length = 0;
  std::uint64_t original = 0;  // atomic
};

class ResponderResources {
 public:
  // Empties them; from now on the newest `depth` are kept.
  void start(std::uint32_t depth) { ring_.start(depth); }
  // Keeps as many from now on; the oldest that are more are forgotten.
  void adapt(std::uint32_t depth);
  void clear() { ring_.clear(); }

  // Whether there is memory to keep another.
  bool make_room() { return ring_.size() == ring_.bound() || ring_.make_room(); }
  // The newest takes the oldest's place.
  void keep(const ResponderResource& resource);
  // The READ, or the atomic, whose PSNs hold `psn`; nullptr when it is not kept.
  const ResponderResource* find(wire::Psn psn, bool is_read) const;

 private:
  GrowingRing<ResponderResource> ring_;
};

}  // namespace softrnic::transport
