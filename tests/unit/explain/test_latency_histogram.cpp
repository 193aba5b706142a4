// SPDX-License-Identifier: BSD-3-Clause
#include "explain/latency_histogram.hpp"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <random>

using namespace softrnic::explain;

namespace {

constexpr double kShares[] = {0.0, 0.01, 0.5, 0.9, 0.99, 0.999, 1.0};

std::uint64_t exact(const std::vector<std::uint64_t>& sorted, double share) {
  const auto rank = static_cast<std::size_t>(
      std::max(1.0, std::ceil(share * static_cast<double>(sorted.size()))));
  return sorted[rank - 1];
}

// Spread over ten powers of ten.
std::vector<std::uint64_t> draw(std::uint64_t seed, std::size_t n) {
  std::mt19937_64 random(seed);
  std::vector<std::uint64_t> values;
  for (std::size_t i = 0; i < n; ++i) {
    const double exponent = static_cast<double>(random() % 10'000'000) / 1'000'000;
    values.push_back(static_cast<std::uint64_t>(std::pow(10.0, exponent)));
  }
  return values;
}

void check_quantiles(const LatencyHistogram& histogram, std::vector<std::uint64_t> values) {
  std::sort(values.begin(), values.end());
  for (const double share : kShares) {
    const auto wanted = static_cast<double>(exact(values, share));
    const auto told = static_cast<double>(histogram.quantile(share));
    INFO("share " << share << ": " << told << " for " << wanted);
    // The values are whole: half of one more, where that is much.
    const double least = histogram.error() <= 1.0 / 128 ? 0.5 : 32;
    CHECK(std::abs(told - wanted) <= wanted * histogram.error() + least);
  }
  CHECK(histogram.min() == values.front());
  CHECK(histogram.max() == values.back());
}

}  // namespace

TEST_CASE("a bucket's index and its lower bound agree, and buckets are narrow") {
  std::uint64_t value = 0;
  for (std::uint32_t index = 0; index < 3000; ++index) {
    const std::uint64_t low = LatencyHistogram::lower_bound_of(index);
    const std::uint64_t next = LatencyHistogram::lower_bound_of(index + 1);
    REQUIRE(low >= value);
    REQUIRE(LatencyHistogram::index_of(low) == index);
    REQUIRE(LatencyHistogram::index_of(next - 1) == index);
    REQUIRE((next - low - 1) * 64 <= low);
    value = low;
  }
  CHECK(LatencyHistogram::index_of(~std::uint64_t{0}) < 4096);
}

TEST_CASE("quantiles are within the error that is told") {
  HistogramAllowance plenty;
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    INFO("seed " << seed);
    LatencyHistogram histogram;
    const auto values = draw(seed, 1 + seed * 97);
    for (const std::uint64_t value : values) histogram.add(value, plenty);
    CHECK(histogram.error() <= 1.0 / 128);
    CHECK(histogram.samples() == values.size());
    check_quantiles(histogram, values);
  }
}

TEST_CASE("without an allowance buckets are joined, and the error says so") {
  HistogramAllowance none{0};
  LatencyHistogram histogram;
  const auto values = draw(7, 5000);
  for (const std::uint64_t value : values) histogram.add(value, none);
  CHECK(histogram.buckets().size() <= 40);  // ten powers of ten, a bucket to a power of two
  CHECK(histogram.error() > 1.0 / 128);
  CHECK(histogram.error() <= 0.5);
  CHECK(histogram.samples() == 5000);
  std::uint64_t counted = 0;
  for (const auto& bucket : histogram.buckets()) counted += bucket.count;
  CHECK(counted == 5000);
  check_quantiles(histogram, values);
}

TEST_CASE("merging is as if all had been counted in one") {
  HistogramAllowance plenty;
  HistogramAllowance none{0};
  LatencyHistogram fine;
  LatencyHistogram coarse;
  auto values = draw(1, 400);
  for (const std::uint64_t value : values) fine.add(value, plenty);
  const auto others = draw(2, 600);
  for (const std::uint64_t value : others) coarse.add(value, none);
  values.insert(values.end(), others.begin(), others.end());
  LatencyHistogram sum;
  sum.merge(fine, plenty);
  sum.merge(coarse, plenty);
  sum.merge(LatencyHistogram(), plenty);
  CHECK(sum.samples() == 1000);
  CHECK(sum.error() >= coarse.error());
  check_quantiles(sum, values);
}

TEST_CASE("a histogram of nothing tells nothing") {
  CHECK(LatencyHistogram().quantile(0.5) == 0);
  CHECK(LatencyHistogram().mean() == 0);
}
