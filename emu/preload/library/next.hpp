// SPDX-License-Identifier: BSD-3-Clause
// The function of a name that would have been called had this library not been there: the C
// library's, or that of a library preloaded after this one.
#pragma once

#include <dlfcn.h>

#include <atomic>

namespace softrnic::preload {

template <class Function>
class Next {
 public:
  constexpr explicit Next(const char* name) : name_(name) {}

  Function* get() {
    void* function = function_.load(std::memory_order_relaxed);
    if (function == nullptr) function = find();
    return reinterpret_cast<Function*>(function);
  }

  // Looked up at the beginning, so that nobody has to in a signal handler or a child of vfork().
  void* find() {
    void* function = ::dlsym(RTLD_NEXT, name_);
    function_.store(function, std::memory_order_relaxed);
    return function;
  }

 private:
  const char* name_;
  std::atomic<void*> function_{nullptr};
};

}  // namespace softrnic::preload
