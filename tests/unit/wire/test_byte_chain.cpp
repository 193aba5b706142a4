// SPDX-License-Identifier: BSD-3-Clause
#include <catch2/catch.hpp>

#include "bytes.hpp"
#include "wire/byte_chain.hpp"

namespace softrnic::wire {
namespace {

using testing::Bytes;
using testing::Random;

// `bytes` in three pieces, some of which may be empty.
template <class Span>
auto split(Span bytes, std::size_t first, std::size_t second) {
  BasicByteChain<typename Span::element_type> chain;
  REQUIRE(chain.append(bytes.subspan(0, first)));
  REQUIRE(chain.append(bytes.subspan(first, second - first)));
  REQUIRE(chain.append(bytes.subspan(second)));
  return chain;
}

Bytes gather(const ByteChain& chain) {
  Bytes out;
  for (const ByteView& piece : chain.pieces()) out.insert(out.end(), piece.begin(), piece.end());
  REQUIRE(out.size() == chain.size());
  return out;
}

TEST_CASE("a chain holds three pieces, and none that is empty") {
  const Bytes bytes(4);
  ByteChain chain;
  REQUIRE(chain.empty());
  REQUIRE(chain.front().empty());
  REQUIRE(chain.append({}));
  REQUIRE(chain.pieces().empty());
  for (int i = 0; i < 3; ++i) REQUIRE(chain.append(ByteView(bytes)));
  REQUIRE_FALSE(chain.append(ByteView(bytes)));
  REQUIRE(chain.append({}));
  REQUIRE(chain.size() == 12);
  REQUIRE(chain.pieces().size() == 3);
}

TEST_CASE("slices are the bytes in the middle, clamped to the chain, however it is split") {
  const auto seed = Catch::rngSeed();
  INFO("seed " << seed);
  const Bytes bytes = Random(seed).bytes(9);
  const std::size_t n = bytes.size();
  for (std::size_t a = 0; a <= n; ++a) {
    for (std::size_t b = a; b <= n; ++b) {
      const ByteChain chain = split(ByteView(bytes), a, b);
      for (std::size_t offset = 0; offset <= n + 2; ++offset) {
        for (std::size_t length = 0; length <= n + 2; ++length) {
          INFO("split at " << a << " and " << b << ", slice " << offset << " + " << length);
          const std::size_t begin = std::min(offset, n);
          const std::size_t count = std::min(length, n - begin);
          const Bytes expected(bytes.begin() + begin, bytes.begin() + begin + count);
          const ByteChain slice = chain.slice(offset, length);
          REQUIRE(gather(slice) == expected);
          for (const ByteView& piece : slice.pieces()) REQUIRE_FALSE(piece.empty());
          Bytes copied(length);
          REQUIRE(chain.copy_to(offset, copied) == count);
          copied.resize(count);
          REQUIRE(copied == expected);
        }
      }
    }
  }
}

TEST_CASE("the pieces of a temporary chain outlive it") {
  const Bytes bytes = Random(1).bytes(9);
  const ByteChain chain = split(ByteView(bytes), 3, 5);
  Bytes gathered;
  for (const ByteView& piece : chain.slice(1, 7).pieces()) {
    gathered.insert(gathered.end(), piece.begin(), piece.end());
  }
  REQUIRE(gathered == Bytes(bytes.begin() + 1, bytes.begin() + 8));
  REQUIRE(chain.slice(4, 1).pieces().size() == 1);
  REQUIRE(chain.slice(9, 1).pieces().empty());
  REQUIRE(chain.slice(4, 1).pieces()[0].data() == bytes.data() + 4);
}

TEST_CASE("copy fills the lesser of both chains, across their seams") {
  const auto seed = Catch::rngSeed();
  INFO("seed " << seed);
  Random random(seed);
  for (int i = 0; i < 3000; ++i) {
    const Bytes from = random.bytes(random.below(12));
    Bytes to = random.bytes(random.below(12));
    const Bytes before = to;
    const std::size_t a = random.below(from.size() + 1);
    const std::size_t b = a + random.below(from.size() - a + 1);
    const std::size_t c = random.below(to.size() + 1);
    const std::size_t d = c + random.below(to.size() - c + 1);
    const std::size_t n = std::min(from.size(), to.size());
    REQUIRE(copy(split(ByteView(from), a, b), split(ByteSpan(to), c, d)) == n);
    REQUIRE(std::equal(from.begin(), from.begin() + n, to.begin()));
    REQUIRE(std::equal(before.begin() + n, before.end(), to.begin() + n));
  }
}

}  // namespace
}  // namespace softrnic::wire
