// SPDX-License-Identifier: BSD-3-Clause
// Shifts the PSNs of flows: of requests, of what answers them, and those with which CM messages say
// a flow is to begin.
//
// A flow is named by the queue pair its requests go to, as the capture numbers it.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "edit/number_map.hpp"

namespace softrnic::edit {

struct FlowName {
  wire::Gid responder;
  std::uint32_t qpn = 0;
  wire::Gid requester;  // of datagrams, whose flows have many senders; else zero
  std::uint32_t sender_qpn = 0;

  friend auto operator<=>(const FlowName&, const FlowName&) = default;
};

class PsnShift {
 public:
  explicit PsnShift(std::vector<NumberRule> rules) : rules_(std::move(rules)) {}

  bool empty() const { return rules_.empty(); }
  // What a PSN becomes. `begins`: it is the first of a new flow of that name. No value when the
  // flow is not known and the rules ask for it.
  std::optional<std::uint32_t> apply(const std::optional<FlowName>& flow, std::uint32_t psn,
                                     bool begins = false);

 private:
  std::vector<NumberRule> rules_;
  // Of flows whose first PSN is to become a certain one: what to add.
  std::map<FlowName, std::uint32_t> added_;
};

}  // namespace softrnic::edit
