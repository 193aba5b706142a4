// SPDX-License-Identifier: BSD-3-Clause
#include "analysis/finding.hpp"

#include <catch2/catch.hpp>
#include <set>
#include <string>

#include "analysis/message.hpp"
#include "analysis/stream.hpp"

namespace softrnic::analysis {
namespace {

TEST_CASE("every finding has a name of its own, a title and a lesson", "[finding]") {
  std::set<std::string_view> names;
  std::set<std::string_view> titles;
  for (const FindingInfo& row : all_findings()) {
    INFO(row.name);
    CHECK(&info(row.kind) == &row);
    CHECK(names.insert(row.name).second);
    CHECK(titles.insert(row.title).second);
    CHECK(row.name.find_first_not_of("abcdefghijklmnopqrstuvwxyz_") == std::string_view::npos);
    CHECK(row.meaning.size() > 40);
    CHECK(row.meaning.back() == '.');
  }
  CHECK(names.size() == kFindingKinds);
}

TEST_CASE("a sentence begins with a capital and ends without a full stop", "[finding]") {
  for (const FindingInfo& row : all_findings()) {
    for (const Finding& finding : {Finding{row.kind, 0, 0, 0}, Finding{row.kind, 7, 1, 1},
                                   Finding{row.kind, 7, ~0ull, ~0ull}}) {
      const std::string text = sentence(finding);
      INFO(row.name << ": " << text);
      REQUIRE(!text.empty());
      CHECK((std::isupper(static_cast<unsigned char>(text[0])) ||
             std::isdigit(static_cast<unsigned char>(text[0]))));
      CHECK(text.back() != '.');
    }
  }
}

TEST_CASE("sentences carry the figures", "[finding]") {
  CHECK(sentence({FindingKind::psn_gap, 0, 4097, 3}) ==
        "3 packets are missing before this one: PSN 4097 was expected");
  CHECK(sentence({FindingKind::psn_gap, 0, 4097, 1}) ==
        "1 packet is missing before this one: PSN 4097 was expected");
  CHECK(sentence({FindingKind::retransmission_timeout, 3, 1, 67'108'864}) ==
        "Sent again (repetition 1) after a timeout, 67.11 ms after the original (frame 3)");
  CHECK(sentence({FindingKind::rnr_nak, 5, 640'000, 2}) ==
        "No receive is posted for the request in frame 5: try again after 640 us (RNR NAK 2 in a "
        "row)");
}

TEST_CASE("what exhaustion looks like is said where it may be", "[finding]") {
  CHECK(sentence({FindingKind::rnr_nak, 5, 640'000, 3}) ==
        "No receive is posted for the request in frame 5: try again after 640 us (RNR NAK 3 in a "
        "row: a sender with rnr_retry 2 gives up now)");
  CHECK(sentence({FindingKind::rnr_nak, 5, 640'000, 8}).find("gives up") == std::string::npos);
  CHECK(sentence({FindingKind::unanswered, 1, 3, 0}) ==
        "Sent 4 times now, and nothing came back: a sender with retry_count 3 gives up after this "
        "one");
}

TEST_CASE("severities, states and pairings have their names", "[finding]") {
  CHECK(to_string(Severity::chat) == "chat");
  CHECK(to_string(Severity::note) == "note");
  CHECK(to_string(Severity::warning) == "warning");
  CHECK(to_string(Severity::error) == "error");
  CHECK(to_string(MessageState::open) == "open");
  CHECK(to_string(MessageState::complete) == "complete");
  CHECK(to_string(MessageState::refused) == "refused");
  CHECK(to_string(MessageState::abandoned) == "abandoned");
  CHECK(to_string(PairedBy::nothing) == "nothing");
  CHECK(to_string(PairedBy::cm) == "cm");
  CHECK(to_string(PairedBy::user) == "user");
  CHECK(to_string(PairedBy::answer) == "answer");
  CHECK(to_string(PairedBy::guess) == "guess");
  CHECK(to_string(PairedBy::deth) == "deth");
}

}  // namespace
}  // namespace softrnic::analysis
