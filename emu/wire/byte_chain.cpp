// SPDX-License-Identifier: BSD-3-Clause
#include "wire/byte_chain.hpp"

namespace softrnic::wire {

std::size_t copy(ByteChain from, MutableByteChain to) {
  std::size_t done = 0;
  for (const ByteSpan& piece : to.pieces()) {
    const std::size_t n = from.copy_to(done, piece);
    done += n;
    if (n < piece.size()) break;
  }
  return done;
}

}  // namespace softrnic::wire
