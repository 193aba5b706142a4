// SPDX-License-Identifier: BSD-3-Clause
// A fault rule: which frames, and what to do to them.
//
// Written as one line of text (fault_line.hpp; parse() below reads it) or as a table of a script
// (fault_file.hpp); docs/faults.md describes both. tx and rx are seen from the NIC whose link is
// wrapped. Counted choices count, in each direction by itself, the frames that pass the filter.
// Sans-I/O; randomness from a seed.
#pragma once

#include <bitset>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "fabric/field_value.hpp"
#include "wire/aeth.hpp"
#include "wire/expected.hpp"
#include "wire/instant.hpp"
#include "wire/opcode.hpp"

namespace softrnic::fabric {

struct FaultRule {
  enum class Action : std::uint8_t {
    drop,
    duplicate,
    reorder,
    delay,
    corrupt,   // a random bit of a field
    mark_ecn,  // congestion experienced
    rewrite,   // fields get values
    answer,    // a request gets an acknowledgement of the rule's, and is lost
    silence,   // from now on nothing passes
  };
  enum class Way : std::uint8_t { both, tx, rx };
  enum class Which : std::uint8_t { all, nth, every_nth, first_n, from_nth };
  // Whether the sums over what was changed are made right: ICRC, IPv4 and UDP checksum.
  enum class Sums : std::uint8_t { kept, repaired };

  std::string text;  // as the user wrote or named it; to_line() where he did neither
  Way way = Way::both;
  Action action = Action::drop;
  std::uint32_t displacement = 1;       // reorder: frames to let pass first
  wire::Duration delay{};               // delay; duplicate: of the copy; silence: its length, or 0
  std::string field;                    // corrupt: "icrc", "payload", or a header field's name
  std::vector<FieldValue> assignments;  // rewrite
  Sums sums = Sums::kept;               // corrupt, rewrite
  wire::Syndrome syndrome;              // answer
  std::optional<std::uint32_t> answer_qpn;  // answer: to whom, when the link cannot know
  bool delivers_request = false;            // answer: the request is not lost
  Way silenced = Way::both;                 // silence: what no longer passes

  Which which = Which::all;
  std::uint64_t n = 0;
  double probability = 1.0;

  std::vector<std::string> opcode_words;  // all must appear in the opcode's name; upper case
  enum class Reply : std::uint8_t { any, ack, nak, rnr } reply = Reply::any;
  std::optional<std::uint32_t> destination_qpn;
  std::optional<std::uint32_t> psn;
  std::optional<std::uint32_t> last_psn;  // the last of those that begin with `psn`; may wrap
  std::vector<FieldValue> conditions;     // fields that must have these values

  // The wire opcodes whose names have all the words (`reply` asks for acknowledgements; an answer,
  // for requests of a reliable service); all of them when there are no words.
  std::bitset<256> opcodes() const;
  // Whether a frame must be RoCE to pass: the rule asks for something only such a frame has.
  bool has_filter() const;

  // The rule in the short form: parse() of it gives this rule again, but for its text.
  std::string to_line() const;

  // The rule, or one sentence saying which word is wrong and what would be right.
  static wire::Expected<FaultRule, std::string> parse(std::string_view text);
};

std::string_view to_string(FaultRule::Action action);  // "drop", "mark-ecn"
std::string_view to_string(FaultRule::Way way);        // "both", "tx", "rx"

}  // namespace softrnic::fabric
