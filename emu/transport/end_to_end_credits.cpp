// SPDX-License-Identifier: BSD-3-Clause
#include "transport/end_to_end_credits.hpp"

namespace softrnic::transport {

void EndToEndCredits::take(wire::Syndrome acknowledgement) {
  const auto credits = wire::credit_count(acknowledgement.value());
  if (!credits) {
    limited_ = false;
    return;
  }
  // Codes are rounded down, so that a later one may seem to take back what was given before.
  const std::uint32_t limit = done_ + *credits;
  if (!limited_ || static_cast<std::int32_t>(limit - limit_) > 0) limit_ = limit;
  limited_ = true;
}

}  // namespace softrnic::transport
