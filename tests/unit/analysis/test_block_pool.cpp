// SPDX-License-Identifier: BSD-3-Clause
#include "analysis/block_pool.hpp"

#include <catch2/catch.hpp>
#include <cstdint>
#include <cstring>
#include <random>
#include <vector>

using namespace softrnic::analysis;

namespace {

struct Block {
  unsigned char* data = nullptr;
  std::size_t size = 0;
  unsigned char value = 0;

  bool intact() const {
    for (std::size_t i = 0; i < size; ++i) {
      if (data[i] != value) return false;
    }
    return true;
  }
};

Block make(std::size_t size, unsigned char value) {
  Block block{static_cast<unsigned char*>(BlockPool::allocate(size)), size, value};
  std::memset(block.data, value, size);
  return block;
}

}  // namespace

TEST_CASE("blocks of every size hold what is written, whatever comes and goes beside them") {
  const auto seed = GENERATE(1u, 2u, 3u);
  CAPTURE(seed);
  std::mt19937 random(seed);
  std::vector<Block> blocks;
  for (unsigned i = 0; i < 20'000; ++i) {
    if (random() % 5 < 3) {
      const std::size_t most = std::size_t{1} << random() % 16;
      blocks.push_back(make(1 + random() % most, static_cast<unsigned char>(random())));
      REQUIRE(reinterpret_cast<std::uintptr_t>(blocks.back().data) % 16 == 0);
    } else if (!blocks.empty()) {
      std::swap(blocks[random() % blocks.size()], blocks.back());
      REQUIRE(blocks.back().intact());
      BlockPool::release(blocks.back().data);
      blocks.pop_back();
    }
  }
  for (const Block& block : blocks) {
    REQUIRE(block.intact());
    BlockPool::release(block.data);
  }
}

TEST_CASE("sizes about those that blocks are cut to, and larger than any of them") {
  std::vector<Block> blocks;
  unsigned char value = 0;
  for (std::size_t power = 16; power <= std::size_t{4} << 20; power *= 2) {
    for (const std::size_t size :
         {power - 1, power, power + 1, power + power / 4, power + power / 4 + 1}) {
      blocks.push_back(make(size, ++value));
    }
  }
  for (const Block& block : blocks) {
    CAPTURE(block.size);
    CHECK(block.intact());
    BlockPool::release(block.data);
  }
}

TEST_CASE("arrays begin with zeros, also where something was before") {
  for (int i = 0; i < 3; ++i) {
    const PoolArray<std::uint32_t> array = make_pooled_array<std::uint32_t>(100);
    for (unsigned k = 0; k < 100; ++k) {
      REQUIRE(array[k] == 0);
      array[k] = 0xffffffff;
    }
  }
}

TEST_CASE("a pooled value is destroyed with its pointer") {
  struct Counted {
    Counted() { ++alive(); }
    ~Counted() { --alive(); }
    static int& alive() {
      static int count = 0;
      return count;
    }
  };
  {
    const PoolPointer<Counted> one = make_pooled<Counted>();
    CHECK(Counted::alive() == 1);
  }
  CHECK(Counted::alive() == 0);
}
