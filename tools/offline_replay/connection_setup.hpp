// SPDX-License-Identifier: BSD-3-Clause
// What connection manager messages on QP1 tell of the connections that follow them: who speaks
// with whom, and from which PSN on (IBTA vol. 1, 12.6.5 and 12.6.8: REQ and REP).
#pragma once

#include <cstdint>
#include <vector>

#include "offline_replay/frame_survey.hpp"

namespace softrnic::offline_replay {

struct ConnectionEnd {
  wire::Gid address;
  std::uint32_t qpn = 0;
  wire::Psn expected_psn;  // the first it expects: what the other end starts with
};

struct ConnectionSetup {
  std::uint32_t frame = 0;  // of the REP
  ConnectionEnd active;     // sent the REQ
  ConnectionEnd passive;    // answered with the REP
  std::uint32_t path_mtu = 0;
};

// REQs and the REPs that answer them, in the order of the REPs.
std::vector<ConnectionSetup> connection_setups(const std::vector<Packet>& packets);

}  // namespace softrnic::offline_replay
