// SPDX-License-Identifier: BSD-3-Clause
#include "replay/recorded_memory.hpp"

#include <algorithm>
#include <cstring>

#include "replay/key_map.hpp"
#include "unit/replay/sample.hpp"

namespace softrnic::replay::test {

namespace {

// A connection of operations made by hand.
class MadeConnection {
 public:
  RecordedOperation& add(wire::Operation operation, std::uint32_t key, std::uint64_t address,
                         const std::vector<std::uint8_t>& bytes) {
    RecordedOperation made;
    made.operation = operation;
    made.remote_key = key;
    made.remote_address = address;
    made.length = static_cast<std::uint32_t>(bytes.size());
    if (!bytes.empty()) {
      made.payload = {*connection.store.append(std::as_bytes(std::span(bytes))), made.length};
    }
    made.has_response = made.is_read();
    connection.sides[0].operations.push_back(made);
    return connection.sides[0].operations.back();
  }
  void add_fetch(std::uint32_t key, std::uint64_t address, std::uint64_t add,
                 std::uint64_t original) {
    RecordedOperation& made =
        this->add(wire::Operation::fetch_add, key, address, std::vector<std::uint8_t>(8));
    made.swap_add = add;
    made.original = original;
    made.has_response = true;
  }

  RecordedConnection connection{};
};

std::vector<int> first(std::span<const std::byte> bytes, std::size_t n) {
  std::vector<int> values;
  for (std::size_t i = 0; i < n; ++i) values.push_back(std::to_integer<int>(bytes[i]));
  return values;
}

using Values = std::vector<int>;

}  // namespace

TEST_CASE("What is read before it is written was there at the beginning") {
  MadeConnection made;
  made.add(wire::Operation::write, 1, 0x1002, {9, 9});
  made.add(wire::Operation::read_request, 1, 0x1000, {1, 2, 9, 9, 5});
  made.add(wire::Operation::write, 1, 0x1000, {7});
  auto memory = RecordedMemory::of(made.connection, 0);
  REQUIRE(memory);
  REQUIRE(memory->size() == 5);
  CHECK(first(memory->initial(), 5) == Values{1, 2, 0, 0, 5});
  CHECK(first(memory->final_image(), 5) == Values{7, 2, 9, 9, 5});
}

TEST_CASE("Places far apart through one key are ranges of their own, near ones one") {
  MadeConnection made;
  made.add(wire::Operation::write, 1, 0x10003, {1});
  made.add(wire::Operation::write, 1, 0x7f0000000005, {2});
  made.add(wire::Operation::write, 1, 0x10100, {3});
  made.add(wire::Operation::write, 2, 0x10003, {4});
  auto memory = RecordedMemory::of(made.connection, 0);
  REQUIRE(memory);
  REQUIRE(memory->ranges().size() == 3);
  for (const RecordedRange& range : memory->ranges()) CHECK(range.offset % 8 == range.begin % 8);
  CHECK(memory->locate(1, 0x10100, 1) == memory->ranges()[0].offset + 0xfd);
  CHECK_FALSE(memory->locate(1, 0x10101, 1));
  CHECK_FALSE(memory->locate(3, 0x10100, 1));
}

TEST_CASE("Operations that name more than any memory are refused, and wrapping ones ignored") {
  MadeConnection wraps;
  wraps.add(wire::Operation::write, 1, ~std::uint64_t{0} - 1, {1, 2, 3});
  auto none = RecordedMemory::of(wraps.connection, 0);
  REQUIRE(none);
  CHECK(none->size() == 0);
  MadeConnection huge;
  for (std::uint32_t key = 0; key < 20; ++key) {
    huge.add(wire::Operation::read_request, key, 0, {}).length = 0x40000000;
  }
  CHECK_FALSE(RecordedMemory::of(huge.connection, 0));
}

TEST_CASE("Answers are compared where the memory is known") {
  MadeConnection made;
  made.add(wire::Operation::write, 1, 0, {1, 2});
  made.add(wire::Operation::read_request, 1, 0, {1, 2, 3, 4});
  // The captured host changed the third byte by itself before this one.
  made.add(wire::Operation::read_request, 1, 0, {1, 2, 8, 4});
  auto memory = RecordedMemory::of(made.connection, 0);
  REQUIRE(memory);
  const auto& operations = made.connection.sides[0].operations;
  const std::vector<std::byte> live{std::byte{1}, std::byte{0}, std::byte{0}, std::byte{4}};

  memory->rewind(false);
  memory->execute(operations[0]);
  AnswerCheck check = memory->check(operations[1], live);
  CHECK(check.compared == 2);
  CHECK(check.different == 1);
  CHECK(check.first == 1);

  memory->rewind(true);
  memory->execute(operations[0]);
  check = memory->check(operations[1], live);
  CHECK(check.compared == 4);
  CHECK(check.different == 2);
  check = memory->check(operations[2], live);
  CHECK(check.compared == 3);
  CHECK(check.different == 1);
  CHECK_FALSE(memory->change_before(operations[1]));
  CHECK(memory->change_before(operations[2]));
}

TEST_CASE("Atomics change what later operations find") {
  MadeConnection made;
  made.add_fetch(1, 0x20, 5, 100);
  made.add_fetch(1, 0x20, 5, 105);
  auto memory = RecordedMemory::of(made.connection, 0);
  REQUIRE(memory);
  std::uint64_t value = 0;
  std::memcpy(&value, memory->initial().data(), sizeof value);
  CHECK(value == 100);
  std::memcpy(&value, memory->final_image().data(), sizeof value);
  CHECK(value == 110);
}

TEST_CASE("A key map keeps relative offsets, and what it has no place for") {
  MadeConnection made;
  made.add(wire::Operation::write, 1, 0x10003, {1, 2, 3});
  made.add(wire::Operation::write, 2, 0x555, {4});
  auto memory = RecordedMemory::of(made.connection, 0);
  REQUIRE(memory);
  KeyMap map = KeyMap::into_region(*memory, 77, 0x9000);
  CHECK(map.place(1, 0x10004).key == 77);
  CHECK(map.place(1, 0x10004).address == 0x9000 + *memory->locate(1, 0x10004, 1));
  CHECK(map.place(2, 0x555).address == 0x9000 + *memory->locate(2, 0x555, 1));
  CHECK(map.place(3, 0x555).key == 3);
  CHECK(map.place(3, 0x555).address == 0x555);
  map.add(1, 0x10000, 0, {88, 0});
  CHECK(map.place(1, 0x10004).key == 88);
  CHECK(map.place(1, 0x10004).address == 4);
  CHECK(map.maps(1));
  CHECK_FALSE(map.maps(3));
}

}  // namespace softrnic::replay::test
