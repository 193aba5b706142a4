// SPDX-License-Identifier: BSD-3-Clause
#include <catch2/catch.hpp>

#include "played_dialogue.hpp"
#include "replay/side_by_side.hpp"

namespace softrnic::replay {
namespace {

using test::Play;
using test::PlayOptions;

PlayOptions misbehaving(const char* rule) {
  PlayOptions options;
  options.requester = 7;
  options.responder = 9;
  options.idle_queue_pairs = 2;
  options.faults_at_responder = {rule};
  return options;
}

std::string marks_of(const std::vector<SideBySideRow>& rows) {
  std::string marks;
  for (const SideBySideRow& row : rows) marks += row.mark;
  return marks;
}

std::size_t count(const std::vector<SideBySideRow>& rows, char mark) {
  const std::string marks = marks_of(rows);
  return static_cast<std::size_t>(std::count(marks.begin(), marks.end(), mark));
}

TEST_CASE("packets of the same dialogue stand beside each other", "[side_by_side]") {
  Play captured;
  captured.ask_all();
  Play live(misbehaving("tx drop 1000th ACK"));
  live.ask_all();
  const Dialogue a = captured.dialogue();
  const Dialogue b = live.dialogue();
  const auto rows = lay_side_by_side(a, 0, b, 0);
  CHECK(rows.size() == a.connections()[0].packets.size());
  CHECK(count(rows, ' ') == rows.size());
  for (const SideBySideRow& row : rows) CHECK(row.captured == row.live);
}

TEST_CASE("what one dialogue lacks stands alone, in its place", "[side_by_side]") {
  Play captured;
  captured.ask_all();
  Play live(misbehaving("tx drop 2nd ACK"));
  live.ask_all();
  const Dialogue a = captured.dialogue();
  const Dialogue b = live.dialogue();
  const auto rows = lay_side_by_side(a, 0, b, 0);
  // The WRITE's three packets again; the acknowledgement of the repetition is the captured one's
  // counterpart.
  INFO(marks_of(rows));
  CHECK(count(rows, '<') == 0);
  CHECK(count(rows, '|') == 0);
  CHECK(count(rows, '>') == b.connections()[0].packets.size() - a.connections()[0].packets.size());
  CHECK(count(rows, '>') >= 3);
  const auto back = lay_side_by_side(b, 0, a, 0);
  CHECK(count(back, '<') == count(rows, '>'));
  CHECK(count(back, '>') == 0);
}

TEST_CASE("packets that are unlike are marked", "[side_by_side]") {
  Play captured;
  captured.ask_all();
  Play live(misbehaving("tx corrupt payload 1st READ RESPONSE MIDDLE repair-icrc"));
  live.ask_all();
  const Dialogue a = captured.dialogue();
  const Dialogue b = live.dialogue();
  const auto rows = lay_side_by_side(a, 0, b, 0);
  CHECK(count(rows, '|') == 1);
  const std::string text = side_by_side_text(a, 0, b, 0, 140, 1);
  INFO(text);
  CHECK(text.find(" | ") != std::string::npos);
  CHECK(text.find("READ response Middle +5 len 256") != std::string::npos);
  CHECK(text.find("packets alike") != std::string::npos);
  // A header, what was left out at both ends, and three rows.
  CHECK(std::count(text.begin(), text.end(), '\n') == 6);
}

TEST_CASE("a table is no wider than it is to be, down to what can be read", "[side_by_side]") {
  Play captured;
  captured.ask_all();
  const Dialogue a = captured.dialogue();
  const std::size_t width = GENERATE(std::size_t{0}, std::size_t{60}, std::size_t{200});
  const std::string text = side_by_side_text(a, 0, a, 0, width, 1000);
  std::size_t begin = 0;
  while (begin < text.size()) {
    const std::size_t end = text.find('\n', begin);
    CHECK(end - begin <= std::max<std::size_t>(width, 51));
    begin = end + 1;
  }
}

}  // namespace
}  // namespace softrnic::replay
