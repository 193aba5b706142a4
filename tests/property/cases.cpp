// SPDX-License-Identifier: BSD-3-Clause
#include "property/cases.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace softrnic::property {

namespace {

constexpr int kMaxShrinkRuns = 400;

// Sanitizers make a run several times slower; they look for other things than rare orders.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr std::uint64_t kSlowdown = 5;
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
constexpr std::uint64_t kSlowdown = 5;
#else
constexpr std::uint64_t kSlowdown = 1;
#endif
#else
constexpr std::uint64_t kSlowdown = 1;
#endif

// Tries the plan without each stretch of `list`, from half of it down to single elements.
template <class List>
void thin_out(Plan& plan, List& (*list_of)(Plan&), const std::function<bool(const Plan&)>& fails,
              int& runs) {
  for (std::size_t stretch = std::max<std::size_t>(list_of(plan).size() / 2, 1); stretch > 0;
       stretch /= 2) {
    for (std::size_t at = 0; at < list_of(plan).size() && runs < kMaxShrinkRuns;) {
      Plan smaller = plan;
      List& list = list_of(smaller);
      const std::size_t end = std::min(at + stretch, list.size());
      list.erase(list.begin() + static_cast<std::ptrdiff_t>(at),
                 list.begin() + static_cast<std::ptrdiff_t>(end));
      ++runs;
      if (fails(smaller)) {
        plan = std::move(smaller);
      } else {
        at += stretch;
      }
    }
  }
}

}  // namespace

CaseSelection& selection() {
  static CaseSelection the;
  return the;
}

void for_each_seed(std::uint64_t usual, const std::function<void(std::uint64_t)>& judge) {
  const CaseSelection& chosen = selection();
  if (chosen.only) return judge(*chosen.only);
  std::uint64_t count = chosen.seeds.value_or(std::max<std::uint64_t>(usual / kSlowdown, 1));
  if (chosen.all) count *= 10;
  for (std::uint64_t i = 0; i < count; ++i) judge(chosen.first + i);
}

Plan shrink(Plan plan, const std::function<bool(const Plan&)>& fails) {
  int runs = 0;
  thin_out<std::vector<Operation>>(
      plan, [](Plan& p) -> std::vector<Operation>& { return p.operations; }, fails, runs);
  for (std::size_t nic = 0; nic < plan.faults.size(); ++nic) {
    for (std::size_t i = 0; i < plan.faults[nic].size() && runs < kMaxShrinkRuns;) {
      Plan smaller = plan;
      smaller.faults[nic].erase(smaller.faults[nic].begin() + static_cast<std::ptrdiff_t>(i));
      ++runs;
      if (fails(smaller)) {
        plan = std::move(smaller);
      } else {
        ++i;
      }
    }
  }
  return plan;
}

std::string report(const Plan& plan, const std::string& failure,
                   const std::function<std::string(const Plan&)>& run) {
  const Plan smaller = shrink(plan, [&](const Plan& each) { return !run(each).empty(); });
  return fmt::format(
      "{}\nRun this case alone with --seed {}.\nThe case:\n{}\nA smaller one fails too, by: "
      "{}\n{}",
      failure, plan.seed, to_string(plan), run(smaller), to_string(smaller));
}

}  // namespace softrnic::property
