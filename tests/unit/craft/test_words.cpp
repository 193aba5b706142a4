// SPDX-License-Identifier: BSD-3-Clause
#include <catch2/catch.hpp>

#include "craft/payload_text.hpp"
#include "craft/time_text.hpp"
#include "craft/words.hpp"

using namespace softrnic;
using craft::read_lines;

namespace {

std::vector<craft::Word> words_of(std::string_view text) {
  const auto lines = read_lines(text, "line 1");
  REQUIRE(lines);
  REQUIRE(lines->size() == 1);
  return lines->front().words;
}

craft::Bytes bytes_of(std::string_view text, bool quoted = false,
                      std::optional<std::size_t> size = {}) {
  auto bytes = craft::read_payload(text, quoted, size);
  REQUIRE(bytes);
  return *bytes;
}

}  // namespace

TEST_CASE("words stand between blanks and know their columns", "[craft]") {
  const auto words = words_of("  rc send_only\tpsn=5 payload='two words' ");
  REQUIRE(words.size() == 4);
  CHECK(words[0].text == "rc");
  CHECK(words[0].column == 3);
  CHECK(words[2].text == "psn");
  CHECK(words[2].value == "5");
  CHECK(words[2].column == 16);
  CHECK(words[3].value == "two words");
  CHECK(words[3].quoted);
}

TEST_CASE("a semicolon ends a line, a hash all of it", "[craft]") {
  const auto lines = read_lines("rc ack; cnp # rc nak", "argument 2");
  REQUIRE(lines);
  REQUIRE(lines->size() == 2);
  CHECK((*lines)[1].words.size() == 1);
  CHECK((*lines)[1].where == "argument 2");
  CHECK(read_lines(" # nothing", "")->empty());
  CHECK(words_of("payload='a;b#c'").front().value == "a;b#c");
}

TEST_CASE("what is quoted reads as the same bytes", "[craft]") {
  std::string all;
  for (int byte = 0; byte < 256; ++byte) all += static_cast<char>(byte);
  CHECK(words_of("payload=" + craft::quoted(all)).front().value == all);
}

TEST_CASE("an open quote and a wrong escape are pointed at", "[craft]") {
  const auto open = read_lines("rc send_only payload='x", "line 7");
  REQUIRE_FALSE(open);
  CHECK(open.error().to_string() == "line 7, column 22: the quote ' is not closed");
  const auto escape = read_lines("payload=\"a\\q\"", "line 1");
  REQUIRE_FALSE(escape);
  CHECK(escape.error().column == 11);
  CHECK_FALSE(read_lines("payload=\"\\x1", "line 1"));
  CHECK_FALSE(read_lines("payload=\"\\", "line 1"));
}

TEST_CASE("payloads: digits, text, patterns", "[craft]") {
  CHECK(bytes_of("00ff") == craft::Bytes{std::byte{0}, std::byte{0xff}});
  CHECK(bytes_of("hi") == bytes_of("hi", true));
  CHECK(bytes_of("beef").size() == 2);
  CHECK(bytes_of("beef", true).size() == 4);
  CHECK(bytes_of("text:beef").size() == 4);
  CHECK(bytes_of("00ff", false, 5) ==
        craft::Bytes{std::byte{0}, std::byte{0xff}, std::byte{0}, std::byte{0xff}, std::byte{0}});
  CHECK(bytes_of("pattern:254", false, 3) ==
        craft::Bytes{std::byte{254}, std::byte{255}, std::byte{0}});
  CHECK(bytes_of("fill:ab", false, 2) == craft::Bytes(2, std::byte{0xab}));
  CHECK(bytes_of("zeros", false, 9) == craft::Bytes(9));
  CHECK(bytes_of("random:1", false, 64) == bytes_of("random:1", false, 64));
  CHECK(bytes_of("random:1", false, 64) != bytes_of("random:2", false, 64));
  CHECK_FALSE(craft::read_payload("fill:abcd", false, 2));
  CHECK_FALSE(craft::read_payload("file:/nowhere/at/all", false, {}));
  CHECK_FALSE(craft::read_payload("pattern", false, craft::kMostPayload + 1));
}

TEST_CASE("the shortest text of a payload reads as the same payload", "[craft]") {
  for (const craft::Bytes& bytes :
       {craft::counting_pattern(70), craft::counting_pattern(300, 17), craft::Bytes(12),
        craft::Bytes(12, std::byte{7}), bytes_of("two words", true), bytes_of("00ff00aa"),
        bytes_of("00"), bytes_of("a\nb\tc\"d\\", true)}) {
    const std::string text = craft::payload_text(bytes);
    const auto words = words_of("payload=" + text);
    CAPTURE(text);
    CHECK(bytes_of(*words.front().value, words.front().quoted, bytes.size()) == bytes);
  }
}

TEST_CASE("times are exact to the nanosecond", "[craft]") {
  using craft::read_time;
  CHECK(read_time("1.5ms") == wire::Duration(1'500'000));
  CHECK(read_time("0.000000001s") == wire::Duration(1));
  CHECK(read_time("7ns") == wire::Duration(7));
  for (const char* wrong : {"", "5", "ms", "1.5.2ms", "0.5ns", "1.0000000001s", "-1s", "1h",
                            "99999999999999999999s", ".5s"}) {
    CAPTURE(wrong);
    CHECK_FALSE(read_time(wrong));
  }
  for (const std::int64_t count :
       {std::int64_t{0}, std::int64_t{1}, std::int64_t{999}, std::int64_t{1'000},
        std::int64_t{1'234'567}, std::int64_t{67'108'864'000}, std::int64_t{4'300'000'000}}) {
    CHECK(read_time(craft::time_text(wire::Duration(count))) == wire::Duration(count));
  }
  const wire::Instant at(wire::Duration(1'767'225'600'123'456'789));
  CHECK(craft::instant_text(at) == "1767225600.123456789");
  CHECK(craft::read_instant(craft::instant_text(at)) == at);
  CHECK_FALSE(craft::read_instant("99999999999.0"));
}

TEST_CASE("a near word is proposed, a far one not", "[craft]") {
  CHECK(craft::closest("snd_only", {"send_only", "write_only"}) == "send_only");
  CHECK(craft::closest("xyz", {"send_only", "write_only"}).empty());
}
