// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <random>

#include "dissector/latency_quantiles.hpp"

using softrnic::dissector::LatencyQuantiles;
using softrnic::wire::Duration;

TEST_CASE("quantiles of few durations are those durations") {
  LatencyQuantiles latency;
  CHECK(latency.at(0.5) == Duration(0));
  for (const int ns : {500, 100, 400, 200, 300}) latency.add(Duration(ns));
  CHECK(latency.count() == 5);
  CHECK(latency.smallest() == Duration(100));
  CHECK(latency.largest() == Duration(500));
  CHECK(latency.at(0) == Duration(100));
  CHECK(latency.at(0.2) == Duration(100));
  CHECK(latency.at(0.5) == Duration(300));
  CHECK(latency.at(0.9) == Duration(500));
  CHECK(latency.at(1) == Duration(500));
  latency.add(Duration(50));
  CHECK(latency.at(0.5) == Duration(200));
}

TEST_CASE("a duration that a clock set back makes negative counts as none") {
  LatencyQuantiles latency;
  latency.add(Duration(-5));
  CHECK(latency.smallest() == Duration(0));
  CHECK(latency.largest() == Duration(0));
}

TEST_CASE("quantiles of many durations are within 0.4 percent") {
  const unsigned seed = 20240611;
  INFO("seed " << seed);
  std::mt19937_64 random(seed);
  std::uniform_real_distribution<double> exponent(0, 43);  // 1 ns to 2.4 hours
  LatencyQuantiles latency;
  std::vector<std::int64_t> all;
  for (int i = 0; i < 100000; ++i) {
    all.push_back(static_cast<std::int64_t>(std::exp2(exponent(random))));
    latency.add(Duration(all.back()));
  }
  std::ranges::sort(all);
  CHECK(latency.smallest() == Duration(all.front()));
  CHECK(latency.largest() == Duration(all.back()));
  for (const double quantile : {0.0, 0.01, 0.1, 0.5, 0.9, 0.99, 0.999, 1.0}) {
    const auto rank =
        static_cast<std::size_t>(std::clamp(std::ceil(quantile * 100000), 1.0, 100000.0));
    const auto exact = static_cast<double>(all[rank - 1]);
    INFO("quantile " << quantile);
    CHECK(std::fabs(static_cast<double>(latency.at(quantile).count()) - exact) <= exact * 0.004);
  }
}

TEST_CASE("durations of the whole range have a bucket") {
  LatencyQuantiles latency;
  for (int i = 0; i < 5000; ++i) latency.add(Duration::max());
  CHECK(latency.at(0.5) == Duration::max());
  for (int i = 0; i < 20000; ++i) latency.add(Duration(0));
  CHECK(latency.at(0.5) == Duration(0));
}
