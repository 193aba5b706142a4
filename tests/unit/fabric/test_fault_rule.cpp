// SPDX-License-Identifier: BSD-3-Clause
#include <catch2/catch.hpp>
#include <set>
#include <string>
#include <tuple>

#include "fabric/fault_rule.hpp"

namespace softrnic::fabric {
namespace {

using namespace std::chrono_literals;
using Action = FaultRule::Action;
using Reply = FaultRule::Reply;
using Way = FaultRule::Way;
using Which = FaultRule::Which;
using Words = std::vector<std::string>;

FaultRule parse(const std::string& text) {
  INFO(text);
  auto rule = FaultRule::parse(text);
  if (!rule) FAIL(rule.error());
  CHECK(rule->text == text);
  return *rule;
}

std::string complaint(const std::string& text) {
  const auto rule = FaultRule::parse(text);
  return rule ? "accepted: " + text : rule.error();
}

std::set<std::string> names(const std::string& text) {
  std::set<std::string> out;
  const auto opcodes = parse(text).opcodes();
  for (std::size_t i = 0; i < opcodes.size(); ++i) {
    if (opcodes[i]) out.emplace(wire::find_opcode(static_cast<std::uint8_t>(i))->name);
  }
  return out;
}

TEST_CASE("The shortest rule is an action for every frame, both ways") {
  const FaultRule rule = parse("drop");
  CHECK(rule.action == Action::drop);
  CHECK(rule.way == Way::both);
  CHECK(rule.which == Which::all);
  CHECK(rule.probability == 1.0);
  CHECK(rule.opcode_words.empty());
  CHECK(rule.reply == Reply::any);
  CHECK_FALSE(rule.destination_qpn);
  CHECK_FALSE(rule.psn);
  CHECK_FALSE(rule.has_filter());
}

TEST_CASE("Every action and its argument") {
  CHECK(parse("duplicate").action == Action::duplicate);
  CHECK(parse("mark-ecn").action == Action::mark_ecn);
  CHECK(parse("MARK-ECN").action == Action::mark_ecn);

  CHECK(parse("reorder").action == Action::reorder);
  CHECK(parse("reorder").displacement == 1);
  CHECK(parse("reorder 3").displacement == 3);
  CHECK(parse("reorder 2%").displacement == 1);
  CHECK(parse("reorder 2%").probability == Approx(0.02));
  CHECK(parse("reorder 3 2%").displacement == 3);
  CHECK(parse("reorder 3rd").which == Which::nth);

  CHECK(parse("delay 2ms").action == Action::delay);
  CHECK(parse("delay 2ms").delay == 2ms);
  CHECK(parse("delay 1.5ms").delay == 1500us);
  CHECK(parse("delay 300us").delay == 300us);
  CHECK(parse("delay 40ns").delay == 40ns);
  CHECK(parse("delay 1S").delay == 1s);

  CHECK(parse("corrupt icrc").action == Action::corrupt);
  CHECK(parse("corrupt ICRC").field == "icrc");
  CHECK(parse("corrupt payload").field == "payload");
  for (const std::string field :
       {"psn", "destination_qpn", "opcode", "bth.version", "virtual_address", "remote_key",
        "reth.dma_length", "syndrome", "aeth.msn", "queue_key", "source_port", "udp.checksum",
        "ipv4.checksum", "identification", "flow_label", "ipv6.source", "grh.hop_limit"}) {
    CHECK(parse("corrupt " + field).field == field);
  }
}

TEST_CASE("Direction, choice of frames, probability and filter") {
  const FaultRule rule = parse("tx drop 3rd WRITE MIDDLE of QP 0x12");
  CHECK(rule.way == Way::tx);
  CHECK(rule.which == Which::nth);
  CHECK(rule.n == 3);
  CHECK(rule.opcode_words == Words{"WRITE", "MIDDLE"});
  CHECK(rule.destination_qpn == 0x12u);
  CHECK(rule.has_filter());

  CHECK(parse("rx drop").way == Way::rx);
  CHECK(parse("drop 5%").probability == Approx(0.05));
  CHECK(parse("drop 0.1%").probability == Approx(0.001));
  CHECK(parse("drop 100%").probability == 1.0);
  CHECK(parse("drop 0%").probability == 0.0);
  CHECK(parse("drop all").which == Which::all);

  const FaultRule every = parse("corrupt icrc every 100th");
  CHECK(every.which == Which::every_nth);
  CHECK(every.n == 100);
  CHECK(parse("drop every 7").n == 7);
  const FaultRule first = parse("drop first 4 psn 9");
  CHECK(first.which == Which::first_n);
  CHECK(first.n == 4);
  CHECK(first.psn == 9u);
  for (const auto& [text, n] :
       {std::pair{"1st", 1u}, {"2nd", 2u}, {"11th", 11u}, {"1000th", 1000u}}) {
    CHECK(parse(std::string("drop ") + text).n == n);
  }
  CHECK(parse("drop QP 17").destination_qpn == 17u);
  CHECK(parse("drop of qp 0xffffff psn 0xFFFFFF").psn == 0xffffffu);
  // In any order.
  const FaultRule mixed = parse("drop UC psn 3 50% 2nd SEND");
  CHECK(mixed.which == Which::nth);
  CHECK(mixed.probability == 0.5);
  CHECK(mixed.opcode_words == Words{"UC", "SEND"});
}

TEST_CASE("Rules may be written as a person says them") {
  const FaultRule drop = parse("drop the 3rd WRITE MIDDLE of QP 0x12");
  CHECK(drop.n == 3);
  CHECK(drop.destination_qpn == 0x12u);
  const FaultRule corrupt = parse("corrupt the ICRC of every 100th packet");
  CHECK(corrupt.field == "icrc");
  CHECK(corrupt.which == Which::every_nth);
  CHECK(corrupt.n == 100);
  CHECK(parse("  tx\tdrop   the 2nd frame ").n == 2);
}

TEST_CASE("Opcode words choose by the names in the opcode table") {
  CHECK(names("drop RC WRITE MIDDLE") == std::set<std::string>{"RC RDMA WRITE Middle"});
  CHECK(names("drop rc send only imm") == std::set<std::string>{"RC SEND Only with Immediate"});
  CHECK(names("drop RC READ REQUEST") == std::set<std::string>{"RC RDMA READ Request"});
  CHECK(names("drop RC READ RESPONSE").size() == 4);
  CHECK(names("drop RC READ RESP FIRST") == std::set<std::string>{"RC RDMA READ response First"});
  CHECK(names("drop WRITE FIRST") == std::set<std::string>{"RC RDMA WRITE First",
                                                           "UC RDMA WRITE First",
                                                           "XRC RDMA WRITE First"});
  CHECK(names("drop CNP").size() == 1);
  CHECK(names("drop RC ACK") == std::set<std::string>{"RC Acknowledge"});
  CHECK(names("drop RC ATOMIC ACK") == std::set<std::string>{"RC ATOMIC Acknowledge"});
  CHECK(names("drop").size() > 60);

  CHECK(parse("drop ACK").reply == Reply::ack);
  CHECK(parse("drop nak").reply == Reply::nak);
  CHECK(parse("drop RNR").reply == Reply::rnr);
  CHECK(parse("drop RNR NAK").reply == Reply::rnr);
  CHECK(parse("drop NAK RNR").reply == Reply::rnr);
  CHECK(parse("duplicate 2nd ACK").n == 2);
}

TEST_CASE("Every wrong word is refused with what would be right") {
  const std::string actions =
      "drop, duplicate, reorder, delay, corrupt, rewrite, mark-ecn, answer or silence";
  CHECK(complaint("") == "a fault rule needs an action: " + actions);
  CHECK(complaint("tx") == "a fault rule needs an action: " + actions);
  CHECK(complaint("dorp 5%") == "\"dorp\" is no action: use " + actions);
  CHECK(complaint("5% drop") == "\"5%\" is no action: use " + actions);

  CHECK(complaint("delay") == "delay needs a time: 500us, 2ms or 1s");
  for (const std::string time : {"2", "2min", "ms", "-1ms", "0ms", "2h", "1e9s", "nans", "5000s"}) {
    CHECK(complaint("delay " + time) ==
          "\"" + time + "\" is no time to delay by: use 1ns to 3600s, such as 500us, 2ms or 1s");
  }
  CHECK(complaint("reorder 0") == "cannot hold a frame until 0 others have passed: use 1 to 10000");
  CHECK(complaint("reorder 10001") ==
        "cannot hold a frame until 10001 others have passed: use 1 to 10000");
  CHECK(complaint("corrupt") ==
        "corrupt needs what to corrupt: icrc, payload or a header field such as psn");
  for (const std::string field : {"5%", "colour", "bth.icrc", "udp.psn", "bth.", ".psn"}) {
    CHECK(complaint("corrupt " + field) ==
          "\"" + field +
              "\" cannot be corrupted: use icrc, payload or a header field such as psn, "
              "remote_key or ipv4.checksum");
  }

  for (const std::string percent : {"101%", "100.1%", "%", "-5%", "5%%", "x%", "1e1%", "inf%"}) {
    CHECK(complaint("drop " + percent) == "\"" + percent + "\" is no probability: use 0% to 100%");
  }
  CHECK(complaint("drop 5% 6%") == "\"6%\" is a second probability");
  CHECK(complaint("duplicate 3601s") ==
        "\"3601s\" is no time to delay by: use 1ns to 3600s, such as 500us, 2ms or 1s");
  CHECK(complaint("duplicate 2h ACK") ==
        "\"2h\" is no time to delay by: use 1ns to 3600s, such as 500us, 2ms or 1s");
  CHECK(complaint("duplicate 5") == "\"5\" chooses no frames: use 3rd, every 3rd, first 3 or 5%");
  CHECK(complaint("drop 5") == "\"5\" chooses no frames: use 3rd, every 3rd, first 3 or 5%");
  CHECK(complaint("drop 0th") == "frames are counted from 1, not 0");
  CHECK(complaint("drop every 0th") == "frames are counted from 1, not 0");
  CHECK(complaint("drop first 0") == "frames are counted from 1, not 0");
  CHECK(complaint("drop every") == "\"every\" needs a number: every 10th");
  CHECK(complaint("drop every WRITE") == "\"every\" needs a number: every 10th");
  CHECK(complaint("drop first WRITE") ==
        "\"first\" needs a number (first 3), or comes after the operation (WRITE FIRST)");
  const std::string second =
      " is a second choice of frames: a rule takes one of Nth, every Nth, "
      "first N, from Nth and all";
  CHECK(complaint("drop 3rd every 4th") == "\"every\"" + second);
  CHECK(complaint("drop first 2 3rd") == "\"3rd\"" + second);
  CHECK(complaint("drop 99999999999999999999th") ==
        "\"99999999999999999999th\" chooses no frames: use 3rd, every 3rd, first 3 or 5%");

  CHECK(complaint("drop of QP") == "qp needs a number from 0 to 0xffffff, not \"\"");
  CHECK(complaint("drop QP 0x1000000") ==
        "qp needs a number from 0 to 0xffffff, not \"0x1000000\"");
  CHECK(complaint("drop QP -1") == "qp needs a number from 0 to 0xffffff, not \"-1\"");
  CHECK(complaint("drop psn twelve") == "psn needs a number from 0 to 0xffffff, not \"twelve\"");
  CHECK(complaint("drop WRITE of") == "nothing follows \"of\": write of QP N");

  const std::string no_word =
      " is no word of a fault rule or of a packet's name, such as WRITE "
      "MIDDLE, READ RESPONSE or ACK";
  CHECK(complaint("drop WRTE") == "\"WRTE\"" + no_word);
  CHECK(complaint("drop WR") == "\"WR\"" + no_word);
  CHECK(complaint("drop tx") == "\"tx\"" + no_word);
  CHECK(complaint("drop WRITE RESPONSE") ==
        "no packet is called \"WRITE RESPONSE\": use words of one name, such as WRITE MIDDLE");
  CHECK(complaint("drop WRITE ACK") ==
        "no packet is called \"WRITE ACK\": use words of one name, such as WRITE MIDDLE");
  CHECK(complaint("drop ACK NAK") == "a packet cannot be both ACK and NAK: use one of them");
}

TEST_CASE("rewrite, answer, silence and a later duplicate have their arguments") {
  const FaultRule rewrite = parse("tx rewrite psn +1 and aeth.msn 0x10 every 3rd ACK");
  CHECK(rewrite.action == Action::rewrite);
  CHECK(rewrite.sums == FaultRule::Sums::repaired);
  REQUIRE(rewrite.assignments.size() == 2);
  CHECK(rewrite.assignments[0] == FieldValue{"psn", FieldValue::Kind::plus, 1, {}});
  CHECK(rewrite.assignments[1] == FieldValue{"aeth.msn", FieldValue::Kind::number, 16, {}});
  CHECK(rewrite.reply == Reply::ack);
  CHECK(parse("rewrite msn -2 keep-icrc").sums == FaultRule::Sums::kept);
  CHECK(parse("rewrite msn -2").assignments[0].kind == FieldValue::Kind::minus);
  CHECK(parse("rewrite ipv4.source 10.0.0.9").assignments[0].number == 0x0a000009);
  CHECK(parse("rewrite ipv6.source fd00::9").assignments[0].address[15] == 9);
  CHECK(parse("corrupt psn").sums == FaultRule::Sums::kept);
  CHECK(parse("corrupt psn 3rd repair-icrc").sums == FaultRule::Sums::repaired);

  const FaultRule answer = parse("rx answer rnr 12 first 2 SEND");
  CHECK(answer.action == Action::answer);
  CHECK(answer.syndrome == wire::Syndrome::rnr_nak(12));
  CHECK(answer.which == Which::first_n);
  CHECK_FALSE(answer.delivers_request);
  CHECK_FALSE(answer.answer_qpn);
  for (const auto& [words, raw] : {std::pair{"ack", 0x1f},
                                   {"ack 5", 0x05},
                                   {"nak sequence", 0x60},
                                   {"NAK invalid-request", 0x61},
                                   {"nak access", 0x62},
                                   {"nak operational", 0x63},
                                   {"nak 4", 0x64},
                                   {"rnr 0", 0x20},
                                   {"0xe0", 0xe0}}) {
    CHECK(parse(std::string("answer ") + words).syndrome.raw() == raw);
  }
  CHECK(parse("answer ack 3rd WRITE").n == 3);
  CHECK(parse("answer ack to QP 0x12 and deliver").answer_qpn == 0x12u);
  CHECK(parse("answer ack to QP 0x12 and deliver").delivers_request);
  CHECK(names("answer ack RC ONLY") ==
        std::set<std::string>{"RC RDMA WRITE Only", "RC RDMA WRITE Only with Immediate",
                              "RC SEND Only", "RC SEND Only with Immediate",
                              "RC SEND Only with Invalidate"});

  CHECK(parse("rx silence 2s 40th SEND").delay == 2s);
  CHECK(parse("silence").delay == 0s);
  CHECK(parse("rx silence tx from 3").silenced == Way::tx);
  CHECK(parse("rx silence tx from 3").which == Which::from_nth);
  CHECK(parse("duplicate 2ms 3rd").delay == 2ms);
  CHECK(parse("duplicate 3rd").delay == 0s);
}

TEST_CASE("A range of PSNs, and fields with a value, choose frames") {
  const FaultRule rule = parse("drop psn 0xfffffe..3 ack_request=1 remote_key=0x12");
  CHECK(rule.psn == 0xfffffeu);
  CHECK(rule.last_psn == 3u);
  REQUIRE(rule.conditions.size() == 2);
  CHECK(rule.conditions[0] == FieldValue{"ack_request", FieldValue::Kind::number, 1, {}});
  CHECK(rule.has_filter());
  CHECK(parse("drop psn=7").conditions[0].number == 7);
}

TEST_CASE("The line of a rule gives the rule again") {
  for (const std::string line :
       {"drop", "tx drop 3rd WRITE MIDDLE of QP 0x12", "rx duplicate 2ms every 5th 50%",
        "reorder 3 first 2 0.1% RC ACK", "delay 1500us from 4th RNR", "mark-ecn NAK",
        "corrupt payload", "corrupt aeth.msn repair-icrc 11th psn 0x1..0x4",
        "rewrite psn +1 and msn -1 and ipv4.source 10.0.0.9 and ipv6.source fd00::1 keep-icrc",
        "rx rewrite ipv6.destination ::ffff:a00:1 21st psn=0x7 ipv4.destination=10.0.0.1",
        "rx answer nak access to QP 0x11 and deliver 112th SEND", "answer rnr 31 1000th",
        "answer 0xff 102nd", "answer ack 3", "answer nak 9", "silence tx 40ns 3rd", "silence 2s"}) {
    const FaultRule once = parse(line);
    const std::string normal = once.to_line();
    INFO(normal);
    const FaultRule again = parse(normal);
    CHECK(again.to_line() == normal);
    CHECK(again.probability == Approx(once.probability));
    CHECK(std::tie(again.way, again.action, again.displacement, again.delay, again.field,
                   again.assignments, again.sums, again.answer_qpn, again.delivers_request,
                   again.silenced, again.which, again.n, again.opcode_words, again.reply,
                   again.destination_qpn, again.psn, again.last_psn, again.conditions) ==
          std::tie(once.way, once.action, once.displacement, once.delay, once.field,
                   once.assignments, once.sums, once.answer_qpn, once.delivers_request,
                   once.silenced, once.which, once.n, once.opcode_words, once.reply,
                   once.destination_qpn, once.psn, once.last_psn, once.conditions));
    CHECK(again.syndrome == once.syndrome);
  }
}

TEST_CASE("What an action cannot do is refused with what it can") {
  const std::string syndromes =
      "use ack, rnr 12 (a timer code), nak sequence, nak invalid-request, nak access, nak "
      "operational or a number such as 0x63";
  CHECK(complaint("answer") == "a syndrome is missing: " + syndromes);
  CHECK(complaint("answer yes") == "\"yes\" is no syndrome: " + syndromes);
  CHECK(complaint("answer 0x100") == "\"0x100\" is no syndrome: " + syndromes);
  CHECK(complaint("answer ack 32") == "\"ack 32\" is no syndrome: " + syndromes);
  CHECK(complaint("answer nak SEND") == "\"nak SEND\" says not which NAK: " + syndromes);
  for (const std::string rnr : {"answer rnr", "answer rnr 32", "answer rnr SEND"}) {
    CHECK(complaint(rnr) == "rnr needs the code of its timer, 0 to 31, such as rnr 12");
  }
  CHECK(complaint("answer ack UD SEND") ==
        "nothing called \"UD SEND\" can be answered: only requests of a reliable service are, "
        "such as SEND, WRITE or READ REQUEST");
  CHECK(complaint("answer ack READ RESPONSE").starts_with("nothing called \"READ RESPONSE\""));
  CHECK(complaint("answer ack to 5") == "whom to answer is written to QP N");
  CHECK(complaint("answer ack and drop") == "an answer may be given \"and deliver\"");

  CHECK(complaint("rewrite") == "rewrite needs a field and its value: rewrite psn +1");
  CHECK(complaint("rewrite psn") == "rewrite needs a field and its value: rewrite psn +1");
  CHECK(complaint("rewrite colour 5") ==
        "\"colour\" is no header field: use one such as psn, remote_key, aeth.syndrome or "
        "ipv4.time_to_live");
  CHECK(complaint("rewrite psn 0x1000000") ==
        "psn takes a number from 0 to 0xffffff, or a step such as +1 or -1, not \"0x1000000\"");
  CHECK(complaint("rewrite ack_request 2") ==
        "ack_request takes a number from 0 to 0x1, or a step such as +1 or -1, not \"2\"");
  CHECK(complaint("rewrite source 10.0.0") ==
        "source takes a number from 0 to 0xffffffffffffffff, or a step such as +1 or -1, or an "
        "address, not \"10.0.0\"");
  CHECK(complaint("rewrite psn 10.0.0.1").starts_with("psn takes a number"));
  CHECK(complaint("drop psn=+1") == "psn=+1: a field is compared with a number or an address");
  CHECK(complaint("drop =5").starts_with("\"\" is no header field"));
  CHECK(complaint("drop keep-icrc") ==
        "only corrupt and rewrite keep or repair the ICRC, not drop");
  CHECK(complaint("corrupt icrc repair-icrc") == "an ICRC cannot be both corrupted and repaired");
  CHECK(complaint("drop psn 5..x") == "psn needs a number from 0 to 0xffffff, not \"x\"");
  CHECK(complaint("drop psn ..5") == "psn needs a number from 0 to 0xffffff, not \"\"");
  CHECK(complaint("drop from WRITE") == "\"from\" needs a number: from 10th");
  CHECK(complaint("silence from 3 3rd").starts_with("\"3rd\" is a second choice"));
}

}  // namespace
}  // namespace softrnic::fabric
