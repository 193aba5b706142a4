// SPDX-License-Identifier: BSD-3-Clause
#include <catch2/catch.hpp>
#include <map>
#include <random>

#include "nic/deadline_queue.hpp"
#include "nic/intrusive_list.hpp"

namespace softrnic::nic {
namespace {

wire::Instant at(std::int64_t ns) {
  return wire::Instant(wire::Duration(ns));
}

TEST_CASE("the deadline queue agrees with a sorted list over random changes") {
  const auto seed = Catch::rngSeed();
  INFO("seed " << seed);
  std::mt19937 random(seed);
  std::vector<Timed> items(200);
  std::map<Timed*, wire::Instant> model;
  DeadlineQueue queue;
  for (int step = 0; step < 50000; ++step) {
    Timed& item = items[random() % items.size()];
    const auto when = at(static_cast<std::int64_t>(random() % 1000));
    switch (random() % 4) {
      case 0:
        queue.remove(item);
        model.erase(&item);
        break;
      case 1: {
        Timed* due = queue.pop_due(when);
        const auto earliest =
            std::min_element(model.begin(), model.end(),
                             [](const auto& a, const auto& b) { return a.second < b.second; });
        if (earliest == model.end() || earliest->second > when) {
          REQUIRE(due == nullptr);
        } else {
          REQUIRE(due != nullptr);
          REQUIRE(model.at(due) == earliest->second);
          REQUIRE_FALSE(due->has_deadline());
          model.erase(due);
        }
        break;
      }
      default:
        queue.set(item, when);
        model[&item] = when;
    }
    REQUIRE(queue.size() == model.size());
    wire::Instant earliest = wire::kNever;
    for (const auto& [unused, deadline] : model) earliest = std::min(earliest, deadline);
    REQUIRE(queue.next() == earliest);
  }
}

TEST_CASE("a hundred thousand deadlines come out in order, each once") {
  constexpr std::size_t kItems = 100'000;
  std::mt19937 random(1);
  std::vector<Timed> items(kItems);
  std::vector<wire::Instant> deadlines(kItems);
  DeadlineQueue queue;
  for (std::size_t i = 0; i < kItems; ++i) {
    // Set twice: the first must leave no trace.
    queue.set(items[i], at(static_cast<std::int64_t>(random())));
    deadlines[i] = at(static_cast<std::int64_t>(random()));
    queue.set(items[i], deadlines[i]);
  }
  REQUIRE(queue.size() == kItems);
  std::sort(deadlines.begin(), deadlines.end());
  std::size_t wrong = 0;
  for (const wire::Instant deadline : deadlines) {
    if (queue.next() != deadline || queue.pop_due(deadline) == nullptr) ++wrong;
  }
  CHECK(wrong == 0);
  CHECK(queue.next() == wire::kNever);
  CHECK(queue.pop_due(wire::kNever) == nullptr);
}

TEST_CASE("an item never set can be taken out") {
  DeadlineQueue queue;
  Timed item;
  queue.remove(item);
  CHECK(queue.size() == 0);
}

struct Numbered : ListNode {
  int number = 0;
};

TEST_CASE("an intrusive list keeps order and lets go of any member") {
  IntrusiveList<Numbered> list;
  std::array<Numbered, 5> items;
  for (int i = 0; i < 5; ++i) items[static_cast<std::size_t>(i)].number = i;
  CHECK(list.empty());
  CHECK(list.pop_front() == nullptr);
  for (int i : {1, 2, 3, 4}) list.push_back(items[static_cast<std::size_t>(i)]);
  list.push_front(items[0]);
  IntrusiveList<Numbered>::remove(items[2]);
  std::vector<int> seen;
  list.for_each([&seen](Numbered& item) {
    seen.push_back(item.number);
    if (item.number == 3) IntrusiveList<Numbered>::remove(item);
  });
  CHECK(seen == std::vector<int>{0, 1, 3, 4});
  CHECK(list.pop_front() == &items[0]);
  CHECK(list.pop_front() == &items[1]);
  CHECK(list.pop_front() == &items[4]);
  CHECK(list.empty());
}

}  // namespace
}  // namespace softrnic::nic
