// SPDX-License-Identifier: BSD-3-Clause
#define CATCH_CONFIG_RUNNER
#include <catch2/catch.hpp>
#include <cstdlib>
#include <iostream>
#include <string>

#include "property/cases.hpp"

namespace {

using softrnic::property::CaseSelection;

// A number from the environment; false when it is set and is none.
bool read_number(const char* name, std::optional<std::uint64_t>& out) {
  const char* text = std::getenv(name);
  if (text == nullptr || *text == '\0') return true;
  char* end = nullptr;
  out = std::strtoull(text, &end, 0);
  if (*end == '\0') return true;
  std::cerr << name << " is \"" << text << "\", which is no number\n";
  return false;
}

}  // namespace

int main(int argc, char** argv) {
  using namespace Catch::clara;
  CaseSelection& chosen = softrnic::property::selection();
  std::uint64_t seed = 0;
  std::uint64_t seeds = 0;
  bool has_seed = false;
  bool has_seeds = false;
  Catch::Session session;
  session.cli(session.cli() |
              Opt([&](std::uint64_t n) { seed = n, has_seed = true; },
                  "N")["--seed"]("run the property tests for this seed alone") |
              Opt([&](std::uint64_t n) { seeds = n, has_seeds = true; },
                  "N")["--seeds"]("how many seeds each property test runs") |
              Opt(chosen.first, "N")["--first"]("the first of these seeds") |
              Opt(chosen.all)["--all"]("ten times as many seeds"));
  if (!read_number("SOFTRNIC_SEED", chosen.only) || !read_number("SOFTRNIC_SEEDS", chosen.seeds)) {
    return 2;
  }
  const int wrong = session.applyCommandLine(argc, argv);
  if (wrong != 0) return wrong;
  if (has_seed) chosen.only = seed;
  if (has_seeds) chosen.seeds = seeds;
  return session.run();
}
