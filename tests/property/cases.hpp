// SPDX-License-Identifier: BSD-3-Clause
// Which seeds the property tests run: one after another from a first, or a single one again.
//
//   test_property --seed N       only the case of seed N         (or SOFTRNIC_SEED=N)
//   test_property --seeds N      N seeds for each property       (or SOFTRNIC_SEEDS=N)
//   test_property --first N      beginning with seed N
//   test_property --all          ten times as many as usual
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "property/plan.hpp"

namespace softrnic::property {

struct CaseSelection {
  std::optional<std::uint64_t> only;
  std::optional<std::uint64_t> seeds;
  std::uint64_t first = 1;
  bool all = false;
};
CaseSelection& selection();

// Calls `judge` for each seed, of which there are `usual` unless the user said otherwise.
void for_each_seed(std::uint64_t usual, const std::function<void(std::uint64_t seed)>& judge);

// A smaller plan that fails too: operations and faults are taken out as long as that holds.
Plan shrink(Plan plan, const std::function<bool(const Plan&)>& fails);

// All a person needs to see of a failure.
std::string report(const Plan& plan, const std::string& failure,
                   const std::function<std::string(const Plan&)>& run);

}  // namespace softrnic::property
