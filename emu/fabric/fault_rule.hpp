// SPDX-License-Identifier: BSD-3-Clause
// A fault rule: which frames, and what to do to them. Read from one line of text.
//
//   [tx|rx] ACTION [ARGUMENT] [WHICH] [PROBABILITY%] [FILTER...]
//
//   drop 5%                                  every frame, with probability 0.05, both ways
//   tx drop 3rd WRITE MIDDLE of QP 0x12      the third such frame sent to that queue pair
//   corrupt icrc every 100th                 the 100th, 200th, ... frame
//   delay 2ms 1% ; reorder 2% ; duplicate 2nd ACK ; mark-ecn every 10th WRITE
//
// ACTION: drop, duplicate, reorder [N] (held until N later frames passed, default 1), delay TIME
// (ns, us, ms, s), corrupt FIELD|icrc|payload (a random bit; the ICRC is left as it was), mark-ecn.
// FIELD is a header field's name, "psn" or "ipv4.checksum"; frames without it do not pass.
// WHICH: Nth (once), every Nth, first N, all (default). Counted over the frames that pass the
// filter, per direction. FILTER: an opcode by words of its name in any case ("WRITE MIDDLE",
// "READ RESPONSE", "SEND IMM"; three letters of a word are enough), "ACK", "NAK", "RNR", `of QP N`
// (destination queue pair), `psn N`. Numbers are decimal or 0x hexadecimal. The words "the",
// "frame" and "packet" may stand anywhere and mean nothing.
// tx and rx are seen from the NIC whose link is wrapped. Sans-I/O; randomness from a seed.
#pragma once

#include <bitset>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "wire/expected.hpp"
#include "wire/instant.hpp"
#include "wire/opcode.hpp"

namespace softrnic::fabric {

struct FaultRule {
  enum class Action : std::uint8_t { drop, duplicate, reorder, delay, corrupt, mark_ecn };
  enum class Way : std::uint8_t { both, tx, rx };
  enum class Which : std::uint8_t { all, nth, every_nth, first_n };

  std::string text;  // as the user wrote it
  Way way = Way::both;
  Action action = Action::drop;
  std::uint32_t displacement = 1;  // reorder: frames to let pass first
  wire::Duration delay{};          // delay
  std::string field;               // corrupt: "icrc", "payload", or a header field's name
  Which which = Which::all;
  std::uint64_t n = 0;
  double probability = 1.0;

  std::vector<std::string> opcode_words;  // all must appear in the opcode's name; upper case
  enum class Reply : std::uint8_t { any, ack, nak, rnr } reply = Reply::any;
  std::optional<std::uint32_t> destination_qpn;
  std::optional<std::uint32_t> psn;

  // The wire opcodes whose names have all the words (`reply` asks for acknowledgements); all of
  // them when there are no words.
  std::bitset<256> opcodes() const;
  // Whether a frame must be RoCE to pass: the rule asks for something only such a frame has.
  bool has_filter() const;

  // The rule, or one sentence saying which word is wrong and what would be right.
  static wire::Expected<FaultRule, std::string> parse(std::string_view text);
};

}  // namespace softrnic::fabric
