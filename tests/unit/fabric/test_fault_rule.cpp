// SPDX-License-Identifier: BSD-3-Clause
#include <catch2/catch.hpp>
#include <set>
#include <string>

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
  const std::string actions = "drop, duplicate, reorder, delay, corrupt or mark-ecn";
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
      "first N and all";
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

}  // namespace
}  // namespace softrnic::fabric
