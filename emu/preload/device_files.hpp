// SPDX-License-Identifier: BSD-3-Clause
// The files by which the kernel shows an RDMA device, as a table: what is at a path, what is in it.
// Laid out as sysfs has it for rxe (Documentation/ABI/stable/sysfs-class-infiniband), with what
// programs read of other devices besides. Pure: it opens nothing and allocates nothing.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "preload/identity.hpp"
#include "preload/text.hpp"

namespace softrnic::preload {

enum class FileKind : std::uint8_t {
  none,
  elsewhere,  // a path that leads out of the device's folders
  directory,
  text,
  device,  // a character device
};

enum class Directory : std::uint8_t {
  infiniband,         // /sys/class/infiniband
  infiniband_verbs,   // /sys/class/infiniband_verbs
  infiniband_mad,     // /sys/class/infiniband_mad
  device_nodes,       // /dev/infiniband
  device,             // /sys/class/infiniband/softrnic0
  ports,              // and in it
  port,               // ports/1
  gids,               // ports/1/gids
  gid_attributes,     // ports/1/gid_attrs
  gid_types,          // ports/1/gid_attrs/types
  gid_interfaces,     // ports/1/gid_attrs/ndevs
  partition_keys,     // ports/1/pkeys
  counters,           // ports/1/counters
  hardware_counters,  // ports/1/hw_counters
  parent,             // device, the device under the device
  interfaces,         // device/net
  interface,          // device/net/tap1
  uverbs,             // /sys/class/infiniband_verbs/uverbs0
  outside,            // above any of them
};

// A place in the tree; what find() gave is good for all else.
struct Place {
  FileKind kind = FileKind::none;
  // Why there is nothing (ENOENT, ENOTDIR); else 0.
  int error = 0;
  Directory directory = Directory::outside;  // itself, or what a file is in
  std::uint16_t row = 0;                     // of a file: in the table of files
  std::size_t number = 0;                    // of a file: which of the row's
};

// Numbers of a character device.
inline constexpr unsigned kMajor = 231;  // IB_UVERBS_MAJOR
inline constexpr unsigned kMinor = 192;  // IB_UVERBS_BASE_MINOR

// Whether a path can be one of ours: all that any other path costs.
inline bool may_be_ours(const char* path) {
  constexpr std::string_view kClass = "/sys/class/infiniband";
  constexpr std::string_view kNodes = "/dev/infiniband";
  if (path == nullptr || path[0] != '/') return false;
  const std::string_view wanted = path[1] == 's' ? kClass : kNodes;
  std::size_t i = 1;
  while (i < wanted.size() && path[i] == wanted[i]) ++i;
  if (i < wanted.size()) return false;
  return path[i] == '\0' || path[i] == '/' || (path[i] == '_' && path[1] == 's');
}

// Where the numbers come from: by a counter's name (transport/counters.hpp).
using CounterValue = std::uint64_t (*)(std::string_view name);

class DeviceFiles {
 public:
  DeviceFiles(const Identity& identity, CounterValue counter)
      : identity_(&identity), counter_(counter) {}

  // An absolute path, with ".", ".." and doubled slashes wherever they are.
  Place find(std::string_view path) const;
  // A path from a directory.
  Place find(Directory from, std::string_view path) const;

  // What is in a text file.
  void write(const Place& place, FileText& out) const;

  // The n-th of a directory, from 0; kind none: there is no such.
  struct Entry {
    Place place;
    BoundedText<64> name;
  };
  Entry entry(Directory directory, std::size_t n) const;

  // The path of a place, without detours.
  void path_of(const Place& place, PathText& out) const;

 private:
  Place step(Directory from, std::string_view name) const;
  bool exists(Directory directory) const;
  BoundedText<64> name_of(Directory directory) const;
  std::size_t count_of(std::uint16_t row) const;
  BoundedText<64> name_of(std::uint16_t row, std::size_t number) const;
  void append_path(Directory directory, PathText& out) const;

  const Identity* identity_;
  CounterValue counter_;
};

}  // namespace softrnic::preload
