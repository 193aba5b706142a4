// SPDX-License-Identifier: BSD-3-Clause
// The hosts of a segment: NIC identities, each shared by the processes that attach with its name.
//
// Addresses come from the names alone, so that the same names give the same addresses again; where
// two hosts would get the same one, the later gets the next. All of it under the segment's lock.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "link/link.hpp"
#include "link/shm_layout.hpp"

namespace softrnic::link::shm {

class HostTable {
 public:
  HostTable(Header& header, std::string_view segment) : header_(&header), segment_(segment) {}

  // The host of that name, made if there is none; kHosts when the table is full. An empty name:
  // the first of host1, host2, ... that is free.
  std::size_t join(std::string_view name);
  // Nobody lives there any more.
  void remove(std::size_t host);

  bool exists(std::size_t host) const;
  std::string name(std::size_t host) const;
  Identity identity(std::size_t host) const;

  // The next block of numbers that nobody has, for a port; and all of a port's back.
  std::optional<QueuePairNumbers> take_numbers(std::size_t host, std::size_t port);
  void give_back_numbers(std::size_t host, std::size_t port);

 private:
  HostRecord& record(std::size_t host) const { return header_->hosts[host]; }
  std::size_t find(std::string_view name) const;
  bool address_taken(std::uint32_t address) const;

  Header* header_;
  std::string segment_;
};

// 1 to 31 letters, digits, '.', '_' and '-'.
bool valid_host_name(std::string_view name);

}  // namespace softrnic::link::shm
