// SPDX-License-Identifier: BSD-3-Clause
// How long to wait for a sign of life from the other side, counted from the last one.
#pragma once

#include <cstdint>

#include "wire/instant.hpp"

namespace softrnic::tools {

class Patience {
 public:
  // `limit` wire::Duration::max(): for ever. `progress`: whatever grows with each sign.
  Patience(wire::Duration limit, std::uint64_t progress, wire::Instant now)
      : limit_(limit), progress_(progress), last_sign_(now) {}

  // Has a clock read only when there is something to note.
  template <class Clock>
  void note(std::uint64_t progress, Clock&& now) {
    if (progress == progress_) return;
    progress_ = progress;
    last_sign_ = now();
  }

  wire::Instant deadline() const {
    return limit_ == wire::Duration::max() ? wire::kNever : last_sign_ + limit_;
  }

 private:
  wire::Duration limit_;
  std::uint64_t progress_;
  wire::Instant last_sign_;
};

}  // namespace softrnic::tools
