// SPDX-License-Identifier: BSD-3-Clause
// Whether long frames are copied to their receiver through our caches or past them.
//
// A buffer's lines were last read by the receiver, and a store through the caches first fetches the
// line from there. Where both processors share a cache that costs little, and the receiver then
// finds the frame in it. Between two sockets it costs five times a streamed store, which goes to
// memory. A process may be moved from one to the other at any time, so it is measured: a frame now
// and then is timed, and a few that agree decide. Threading: one thread.
#pragma once

#include <cstddef>
#include <cstdint>

#include "wire/instant.hpp"

namespace softrnic::link::shm {

class CopyChoice {
 public:
  enum class Way : std::uint8_t { through_caches, past_caches };
  struct Copy {
    Way way = Way::through_caches;
    bool timed = false;  // took() is to be told of it
  };

  // For the next long frame.
  Copy next();
  // A timed copy of `size` bytes, which went through the caches.
  void took(wire::Duration time, std::size_t size);

 private:
  Way way_ = Way::through_caches;
  std::uint32_t since_timed_ = 0;
  std::uint32_t against_ = 0;  // timed ones in a row that speak for the other way
};

}  // namespace softrnic::link::shm
