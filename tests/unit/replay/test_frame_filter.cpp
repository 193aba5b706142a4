// SPDX-License-Identifier: BSD-3-Clause
#include <catch2/catch.hpp>

#include "replay/frame_filter.hpp"
#include "unit/capture/sample_frame.hpp"

namespace softrnic::replay {
namespace {

using capture::test::frame;
using capture::test::Sample;

TEST_CASE("ranges of frames are read", "[frame_filter]") {
  using Ranges = std::vector<FrameRange>;
  CHECK(*parse_frame_ranges("7") == Ranges{{7, 7}});
  CHECK(*parse_frame_ranges("10-20") == Ranges{{10, 20}});
  CHECK(*parse_frame_ranges("30-") == Ranges{{30, 0xffffffff}});
  CHECK(*parse_frame_ranges("-5,9") == Ranges{{1, 5}, {9, 9}});
}

TEST_CASE("what is no range is refused by name", "[frame_filter]") {
  const std::string text = GENERATE("", "0", "-", "3-2", "1,,2", "x", "1-x", "4294967296", "1 ");
  CAPTURE(text);
  const auto ranges = parse_frame_ranges(text);
  REQUIRE_FALSE(ranges.has_value());
  CHECK(ranges.error().find("\"" + text + "\" is no range of frames") == 0);
}

TEST_CASE("frames pass by their number", "[frame_filter]") {
  const auto filter = FrameFilter::make({{2, 3}, {7, 7}}, "");
  REQUIRE(filter.has_value());
  const auto bytes = frame({});
  std::vector<std::uint32_t> passed;
  for (std::uint32_t number = 1; number < 10; ++number) {
    if (filter.value().passes(number, bytes)) passed.push_back(number);
  }
  CHECK(passed == std::vector<std::uint32_t>{2, 3, 7});
  CHECK_FALSE(filter.value().ends_before(7));
  CHECK(filter.value().ends_before(8));
}

TEST_CASE("frames pass by an expression", "[frame_filter]") {
  const auto filter = FrameFilter::make({}, "src host 10.0.0.1 and udp port 4791");
  REQUIRE(filter.has_value());
  CHECK(filter.value().passes(1, frame({})));
  Sample answer;
  answer.from_alice = false;
  CHECK_FALSE(filter.value().passes(1, frame(answer)));
  CHECK_FALSE(filter.value().ends_before(0xffffffff));
}

TEST_CASE("an expression that is none is refused", "[frame_filter]") {
  const auto filter = FrameFilter::make({}, "from alice");
  REQUIRE_FALSE(filter.has_value());
  CHECK(filter.error().find("\"from alice\" is no filter: ") == 0);
}

}  // namespace
}  // namespace softrnic::replay
