// SPDX-License-Identifier: BSD-3-Clause
// A process's place on a segment: taken, cleared up after, and given up.
//
// Also what the processes of a segment agree upon: which hosts there are, each with its MAC and IP
// addresses, and whose the blocks of a host's queue pair numbers are.
#pragma once

#include <sys/types.h>
#include <unistd.h>

#include <optional>
#include <string>
#include <vector>

#include "link/link.hpp"
#include "link/shm_segment.hpp"

namespace softrnic::link::shm {

struct PortOptions {
  std::string segment;
  std::uint32_t mtu = 0;  // 0: what the segment has
  PortRole role = PortRole::station;
  // Which NIC it is part of; empty: a new one, called host1, host2, ...
  std::string host;
};

class Port {
 public:
  static wire::Expected<Port, OpenError> attach(const PortOptions& options);
  // Leaves: what waits here goes back to its senders; what was sent stays with its receivers. The
  // last one takes the segment away.
  ~Port();
  Port(Port&& other) noexcept;
  Port& operator=(Port&&) = delete;

  Segment& segment() { return segment_; }
  const Segment& segment() const { return segment_; }
  std::size_t index() const { return index_; }
  std::uint32_t generation() const { return generation_; }
  std::size_t buffers() const { return buffers_; }
  PortRecord& record() { return segment_.record(index_); }
  PortArea& area() { return segment_.area(index_); }

  // The NIC it is part of.
  std::size_t host() const { return host_; }
  const Identity& identity() const { return identity_; }
  // A block of queue pair numbers that is this process's alone; none when the host's are all taken.
  std::optional<QueuePairNumbers> take_numbers();

  // Clears the ports of processes that have died. False when another is about to.
  bool clear_dead();

 private:
  explicit Port(Segment segment) : segment_(std::move(segment)), process_(::getpid()) {}

  std::string settle(const PortOptions& options);
  std::string find_place(PortRole role);
  void join_host(const std::string& name);
  void leave();
  void clear_dead_locked();

  Segment segment_;
  pid_t process_;
  bool attached_ = false;
  std::size_t index_ = kPorts;
  std::uint32_t generation_ = 0;
  std::size_t buffers_ = 0;
  std::size_t host_ = kHosts;
  Identity identity_;
};

// Everybody on a segment, for a person to read.
struct Resident {
  std::size_t port = 0;
  std::string host;  // empty: a mirror
  std::uint32_t process = 0;
};
std::vector<Resident> residents(const Segment& segment);

}  // namespace softrnic::link::shm
