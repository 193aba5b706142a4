// SPDX-License-Identifier: BSD-3-Clause
// A port of an Ethernet segment in shared memory, between processes of one user: no daemon, no
// privilege (docs/shm.md).
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "link/link.hpp"

namespace softrnic::link {

struct ShmOptions {
  std::string segment;
  // Processes that give one host name are one NIC; empty: a NIC of its own.
  std::string host;
  std::uint32_t mtu = 0;  // of a new segment; 0: 4200, or what the segment has

  // "lab" or "lab,host=b". The error is one sentence.
  static wire::Expected<ShmOptions, OpenError> parse(std::string_view text);
};

wire::Expected<std::unique_ptr<Link>, OpenError> open_shm(const ShmOptions& options);

}  // namespace softrnic::link
