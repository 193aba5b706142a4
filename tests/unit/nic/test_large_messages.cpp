// SPDX-License-Identifier: BSD-3-Clause
// The largest requests there are: 32 elements on each side, and messages of 2 GiB.
#include <sys/mman.h>

#include <array>

#include "nic_world.hpp"

using namespace softrnic;
using namespace softrnic::nic;
using namespace softrnic::nic::test;
using transport::CompletionStatus;
using transport::SendOperation;
using transport::Sge;

namespace {

constexpr std::size_t kElements = 32;

// 2 GiB of addresses of which only what is written takes memory.
class SparseMemory {
 public:
  static constexpr std::size_t kSize = std::size_t{1} << 31;

  SparseMemory() {
    void* start = mmap(nullptr, kSize, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    REQUIRE(start != MAP_FAILED);
    bytes_ = static_cast<std::byte*>(start);
  }
  ~SparseMemory() { munmap(bytes_, kSize); }
  SparseMemory(const SparseMemory&) = delete;
  SparseMemory& operator=(const SparseMemory&) = delete;

  std::byte* bytes() const { return bytes_; }

 private:
  std::byte* bytes_ = nullptr;
};

struct Side {
  Side(NicWorld& world, std::uint8_t n, std::byte* base, std::size_t size) {
    e.nic = &world.add(n);
    e.domain = e.nic->allocate_domain();
    e.completions = &e.nic->create_completion_queue(16);
    QueuePairInit init;
    init.domain = e.domain;
    init.send_completions = init.receive_completions = e.completions;
    init.capacity = {4, 4, kElements, kElements};
    e.queue_pair = e.nic->create_queue_pair(init).value();
    RegionAttributes region;
    region.domain = e.domain;
    region.base = base;
    region.length = size;
    region.access = transport::kLocalWrite | transport::kRemoteWrite | transport::kRemoteRead;
    e.keys = e.nic->memory().add(region).value();
    address = reinterpret_cast<std::uintptr_t>(base);
  }

  // The memory in 32 elements of `sizes`, one behind the other.
  std::vector<Sge> elements(const std::vector<std::uint32_t>& sizes) const {
    std::vector<Sge> list;
    std::uint64_t at = address;
    for (const std::uint32_t size : sizes) {
      list.push_back({at, size, e.keys.local});
      at += size;
    }
    return list;
  }

  void expect_one(std::uint32_t bytes) {
    const auto done = e.poll();
    REQUIRE(done.size() == 1);
    CHECK(done[0].status == CompletionStatus::success);
    if (done[0].operation != transport::CompletionOperation::rdma_write &&
        done[0].operation != transport::CompletionOperation::send) {
      CHECK(done[0].byte_length == bytes);
    }
  }

  Endpoint e;
  std::uint64_t address = 0;
};

// 32 sizes, some of them zero, that add up to `total`.
std::vector<std::uint32_t> cut(std::uint32_t total, std::uint32_t seed) {
  std::vector<std::uint32_t> marks{0, total};
  const Bytes random = random_bytes(4 * (kElements - 1), seed);
  for (std::size_t i = 0; i + 1 < kElements; ++i) {
    std::uint32_t mark = 0;
    for (std::size_t k = 0; k < 4; ++k) {
      mark = mark << 8 | std::to_integer<std::uint32_t>(random[4 * i + k]);
    }
    // Every fourth repeats its neighbour: an element of no length.
    marks.push_back(i % 4 == 3 ? marks.back() : mark % (total + 1));
  }
  std::sort(marks.begin(), marks.end());
  std::vector<std::uint32_t> sizes;
  for (std::size_t i = 0; i + 1 < marks.size(); ++i) sizes.push_back(marks[i + 1] - marks[i]);
  return sizes;
}

constexpr std::uint32_t kLongest = std::uint32_t{1} << 31;
constexpr std::uint32_t kElement = kLongest / kElements;

// 32 times the same 64 MiB, so that the longest message fits into any machine.
std::vector<Sge> longest_list(const Side& side) {
  return std::vector<Sge>(kElements, Sge{side.address, kElement, side.e.keys.local});
}

}  // namespace

TEST_CASE("32 elements on each side, cut anyhow, move every byte to its place") {
  for (std::uint32_t seed = 1; seed <= 20; ++seed) {
    CAPTURE(seed);
    const std::uint32_t total = seed * 1777;
    Bytes from = random_bytes(total, seed);
    Bytes into(total);
    NicWorld world;
    Side a(world, 1, from.data(), from.size());
    Side b(world, 2, into.data(), into.size());
    connect(a.e, gid("10.0.0.1"), b.e, gid("10.0.0.2"), wire::RoceVersion::v2);

    const auto gathered = a.elements(cut(total, seed));
    const auto scattered = b.elements(cut(total, seed + 1000));
    REQUIRE(gathered.size() == kElements);
    REQUIRE_FALSE(b.e.nic->post_receive(b.e.qpn(), {1, scattered}));
    transport::SendRequest request;
    request.sges = gathered;
    REQUIRE_FALSE(a.e.nic->post_send(a.e.qpn(), request));
    world.settle();
    a.expect_one(total);
    b.expect_one(total);
    CHECK(into == from);

    // And a READ into 32 elements of what has changed meanwhile.
    std::reverse(from.begin(), from.end());
    request.operation = SendOperation::rdma_read;
    request.sges = scattered;
    request.remote_address = a.address;
    request.remote_key = a.e.keys.remote;
    REQUIRE_FALSE(b.e.nic->post_send(b.e.qpn(), request));
    world.settle();
    b.expect_one(total);
    CHECK(into == from);

    std::vector<Sge> too_many = gathered;
    too_many.push_back({a.address, 0, a.e.keys.local});
    request.sges = too_many;
    CHECK(a.e.nic->post_send(a.e.qpn(), request) == transport::PostError::too_many_sges);
  }
}

TEST_CASE("a SEND of 2 GiB, in 32 elements on each side") {
  Bytes from(kElement);
  Bytes into(kElement);
  // Another byte in each page is enough to tell one from the other.
  for (std::size_t at = 0; at < kElement; at += 4096) from[at] = static_cast<std::byte>(at / 4096);
  NicWorld world;
  Side a(world, 1, from.data(), from.size());
  Side b(world, 2, into.data(), into.size());
  connect(a.e, gid("10.0.0.1"), b.e, gid("10.0.0.2"), wire::RoceVersion::v2, 4096);
  REQUIRE_FALSE(b.e.nic->post_receive(b.e.qpn(), {1, longest_list(b)}));
  auto elements = longest_list(a);
  transport::SendRequest request;
  request.sges = elements;
  REQUIRE_FALSE(a.e.nic->post_send(a.e.qpn(), request));
  world.settle();
  a.expect_one(kLongest);
  b.expect_one(kLongest);
  CHECK(into == from);

  ++elements.back().length;
  request.sges = elements;
  CHECK(a.e.nic->post_send(a.e.qpn(), request) == transport::PostError::message_too_long);
}

TEST_CASE("a READ of 2 GiB into 32 elements, and a WRITE of as much is held to its bounds") {
  Bytes into(kElement);
  const SparseMemory from;
  const std::size_t last = SparseMemory::kSize - kElement;
  for (std::size_t at = 0; at < kElement; at += 1 << 20) {
    from.bytes()[last + at] = static_cast<std::byte>(1 + (at >> 20));
  }
  NicWorld world;
  Side a(world, 1, into.data(), into.size());
  Side b(world, 2, from.bytes(), SparseMemory::kSize);
  connect(a.e, gid("10.0.0.1"), b.e, gid("10.0.0.2"), wire::RoceVersion::v2, 4096);
  const auto elements = longest_list(a);
  transport::SendRequest request;
  request.sges = elements;
  request.operation = SendOperation::rdma_read;
  request.remote_address = b.address;
  request.remote_key = b.e.keys.remote;
  REQUIRE_FALSE(a.e.nic->post_send(a.e.qpn(), request));
  world.settle();
  a.expect_one(kLongest);
  CHECK(std::equal(into.begin(), into.end(), from.bytes() + last));

  request.operation = SendOperation::rdma_write;
  request.remote_address = b.address + 1;  // the last byte lies behind the region
  REQUIRE_FALSE(a.e.nic->post_send(a.e.qpn(), request));
  world.settle();
  const auto done = a.e.poll();
  REQUIRE(done.size() == 1);
  CHECK(done[0].status == CompletionStatus::remote_access_error);
  CHECK(from.bytes()[1] == std::byte{});
}
