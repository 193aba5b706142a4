// SPDX-License-Identifier: BSD-3-Clause
// Filters of the fault language over the frames of a capture.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "edit/flat_frame.hpp"
#include "fabric/fault_script.hpp"

namespace softrnic::edit {

// A filter, "WRITE MIDDLE of QP 0x12", as a rule that drops what passes it; or what is wrong.
wire::Expected<fabric::FaultRule, std::string> read_filter(std::string_view text);

// Why a rule cannot be applied to a capture; nothing when it can.
std::optional<std::string> refuse_rule(const fabric::FaultRule& rule);

class FrameFilter {
 public:
  FrameFilter(const fabric::FaultRule& rule, std::uint64_t seed) : script_({rule}, seed, false) {}

  bool passes(wire::Instant now, const std::optional<wire::PacketView>& packet) {
    return script_.judge(now, link::Direction::inbound, packet).rule != nullptr;
  }

 private:
  fabric::FaultScript script_;
};

}  // namespace softrnic::edit
