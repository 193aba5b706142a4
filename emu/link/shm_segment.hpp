// SPDX-License-Identifier: BSD-3-Clause
// A segment's file: found or made, mapped, and the locks that tell who is alive.
//
// Locks are on the open file description (F_OFD_SETLK), one byte for the segment and one for each
// port, so that the kernel lets go of them however a process ends. A segment on which nobody holds
// a port is a leftover, and is made anew.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "link/shm_directory.hpp"
#include "link/shm_layout.hpp"

namespace softrnic::link::shm {

class Segment {
 public:
  // Opens the segment of that name, or makes it, with the segment's lock held. `mtu`: 0 takes what
  // the segment has, and kDefaultMtu for a new one.
  static wire::Expected<Segment, OpenError> open(std::string_view name, std::uint32_t mtu);

  const std::string& name() const { return name_; }
  std::uint32_t mtu() const { return mtu_; }

  Header& header() const;
  PortRecord& record(std::size_t port) const { return header().ports[port]; }
  PortArea& area(std::size_t port) const;
  // Where a buffer is; both numbers must be within bounds.
  std::byte* buffer(std::size_t port, std::size_t index) const;

  // The segment's lock, for whoever attaches, leaves or clears up. lock() waits a while for others,
  // who hold it for milliseconds.
  bool lock();
  bool try_lock();
  void unlock();

  // A port's lock: held by who lives there.
  bool claim(std::size_t port);
  // Whether another than we holds it.
  bool alive(std::size_t port) const;
  bool anybody_else() const;

  // Gives back all, even while the child of a fork has the file open too.
  void release_locks();

  // Makes sure that the port's memory is there, with as many of `most` buffers as there is room
  // for; 0 when there is not even room for the fewest.
  std::size_t reserve(std::size_t port, std::size_t most);

  // The descriptor that a port's sleeper waits on; invalid when it cannot be had.
  FileDescriptor open_bell(std::size_t port, bool create) const;

  // Takes the segment's files away, as the last one does; the lock must be held.
  void remove();
  // Whether the file is no longer under its name, so that nobody new can come.
  bool gone() const;

 private:
  class Mapping;
  Segment(Directory directory, FileDescriptor file, std::string name);

  // What the file is like: empty when it can be used, else why not. Sets `again` when it is a
  // leftover, which has been removed.
  std::string examine(std::uint32_t mtu, bool& again);
  std::string initialize(std::uint32_t mtu);
  std::string map();
  void remove_leftovers() const;

  Directory directory_;
  FileDescriptor file_;
  std::string name_;
  std::uint32_t mtu_ = 0;
  std::shared_ptr<Mapping> mapping_;
};

}  // namespace softrnic::link::shm
