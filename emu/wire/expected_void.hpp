// SPDX-License-Identifier: BSD-3-Clause
// Expected without a value: done, or the reason why not.
#pragma once

#include <optional>

#include "wire/expected.hpp"

namespace softrnic::wire {

template <class E>
class [[nodiscard]] Expected<void, E> {
 public:
  Expected() = default;
  template <class F>
  Expected(Unexpected<F> u) : error_(std::move(u.error)) {}  // NOLINT

  bool has_value() const { return !error_.has_value(); }
  explicit operator bool() const { return has_value(); }
  const E& error() const {
    if (has_value()) std::abort();
    return *error_;
  }

 private:
  std::optional<E> error_;
};

}  // namespace softrnic::wire
