// SPDX-License-Identifier: BSD-3-Clause
// Conversations: the requests of one requester to one responder's queue pair, and the answers
// that belong to them.
//
// A packet names only the queue pair it goes to, so requests and answers are two flows that must
// be found to belong together: by connection manager messages, by which requests' PSNs the answers
// acknowledge, and by the UDP source port that both ends of a queue pair share.
#pragma once

#include <optional>
#include <vector>

#include "offline_replay/connection_setup.hpp"
#include "offline_replay/frame_survey.hpp"

namespace softrnic::offline_replay {

struct Conversation {
  wire::RoceVersion version{};
  wire::Gid requester;
  wire::Gid responder;
  std::uint32_t responder_qpn = 0;
  std::optional<std::uint32_t> requester_qpn;  // none when no answer told it
  std::optional<wire::Psn> first_psn;          // when a connection manager message told it
  std::uint32_t path_mtu = 0;                  // of the two directions; see path_mtu_of()
  bool path_mtu_known = false;                 // a message in several packets shows it
  std::vector<const Packet*> requests;         // both in the capture's order
  std::vector<const Packet*> answers;
};

struct Conversations {
  std::vector<Conversation> list;        // in the order of their first requests
  std::vector<const Packet*> unclaimed;  // answers that belong to no captured request
};

// `packets` must outlive the result; only those of reliable connections are looked at.
Conversations find_conversations(const std::vector<Packet>& packets);

}  // namespace softrnic::offline_replay
