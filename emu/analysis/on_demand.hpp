// SPDX-License-Identifier: BSD-3-Clause
// A value that takes memory from its first change on, and until then reads as a T{}: for what most
// connections never need.
#pragma once

#include <cstddef>
#include <memory>

namespace softrnic::analysis {

template <class T>
class OnDemand {
 public:
  const T& operator*() const { return value_ != nullptr ? *value_ : unchanged(); }
  const T* operator->() const { return &**this; }

  // To be changed; made when it is not there yet.
  T& change() {
    if (value_ == nullptr) value_ = std::make_unique<T>();
    return *value_;
  }
  // Null when it was never changed.
  T* if_changed() { return value_.get(); }

  std::size_t memory() const { return value_ != nullptr ? sizeof(T) : 0; }

 private:
  static const T& unchanged() {
    static const T value{};
    return value;
  }

  std::unique_ptr<T> value_;
};

}  // namespace softrnic::analysis
