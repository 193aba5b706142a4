// SPDX-License-Identifier: GPL-2.0-or-later
#include "dissector/direction.hpp"

#include <fmt/format.h>

namespace softrnic::dissector {

std::string side_name(const analysis::StreamSide& side) {
  if (side.qpn == analysis::kUnknownQpn) return side.address.to_string() + " QP ?";
  return fmt::format("{} QP 0x{:x}", side.address.to_string(), side.qpn);
}

}  // namespace softrnic::dissector
