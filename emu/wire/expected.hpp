// SPDX-License-Identifier: BSD-3-Clause
// A value or the reason why there is none; the shape of C++23's std::expected, which the
// project's compilers do not have yet. Reading the wrong side ends the process (it is a bug).
#pragma once

#include <cstdlib>
#include <utility>
#include <variant>

namespace softrnic::wire {

template <class E>
struct Unexpected {
  E error;
};
template <class E>
Unexpected(E) -> Unexpected<E>;

template <class T, class E>
class [[nodiscard]] Expected {
 public:
  // Makes the value where it is to stay.
  template <class... Args>
  explicit Expected(std::in_place_t, Args&&... args)
      : state_(std::in_place_index<0>, std::forward<Args>(args)...) {}
  Expected(T value) : state_(std::in_place_index<0>, std::move(value)) {}  // NOLINT
  template <class F>
  Expected(Unexpected<F> u) : state_(std::in_place_index<1>, std::move(u.error)) {}  // NOLINT

  bool has_value() const { return state_.index() == 0; }
  explicit operator bool() const { return has_value(); }

  T& value() & { return checked<0>(state_); }
  const T& value() const& { return checked<0>(state_); }
  T&& value() && { return std::move(checked<0>(state_)); }
  const E& error() const { return checked<1>(state_); }

  T& operator*() & { return value(); }
  const T& operator*() const& { return value(); }
  T* operator->() { return &value(); }
  const T* operator->() const { return &value(); }

 private:
  template <std::size_t I, class V>
  static auto& checked(V& v) {
    if (v.index() != I) std::abort();
    return *std::get_if<I>(&v);
  }
  std::variant<T, E> state_;
};

}  // namespace softrnic::wire
