// SPDX-License-Identifier: BSD-3-Clause
// Options of `softrnic replay --as requester` and `--as responder`: who the live peer is, where
// its memory is, and how closely the capture is followed.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "nic/gid_table.hpp"
#include "replay/key_map.hpp"
#include "wire/ethernet.hpp"

namespace softrnic::tools {

class CommandLine;
struct LiveReplayOptions;

// --map: a captured key, from an address on if one is given, and where it is at the peer.
struct KeyMapping {
  std::uint32_t key = 0;
  std::optional<std::uint64_t> address;
  replay::RemotePlace live;
};

struct ReplaySideOptions {
  // The peer.
  std::string peer_host;  // of the exchange over TCP; empty: none
  std::uint16_t port = 18515;
  std::optional<std::uint32_t> peer_qpn;
  std::uint32_t peer_psn = 0;
  std::optional<wire::Gid> peer_gid;
  std::optional<wire::MacAddress> peer_mac;
  std::optional<std::uint32_t> peer_key;
  std::uint64_t peer_address = 0;
  std::vector<KeyMapping> mappings;
  bool captured_keys = false;

  // Ourselves.
  std::optional<std::uint32_t> gid_index;
  std::optional<std::uint32_t> qpn;
  std::optional<std::uint32_t> psn;
  std::optional<std::uint32_t> path_mtu;
  std::uint8_t ack_timeout = 14;
  std::uint8_t retry_count = 7;
  std::uint8_t rnr_retry = 7;

  // How closely.
  bool primed = false;
  bool keeps_refused = false;
  bool invalidates = false;
  bool faithful = false;
  bool no_diff = false;
  double patience = 1;
  double timeout = 15;
  std::string memory_path;
  std::string expect_memory_path;
  std::string expect_messages_path;

  bool writes_files() const {
    return !memory_path.empty() || !expect_memory_path.empty() || !expect_messages_path.empty();
  }

  void add_to(CommandLine& line);
  void complete(const LiveReplayOptions& all) const;
};

}  // namespace softrnic::tools
