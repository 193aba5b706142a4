// SPDX-License-Identifier: BSD-3-Clause
#include "fabric/fault_file.hpp"

#include <catch2/catch.hpp>
#include <string>

#include "fabric/splitmix64.hpp"

namespace softrnic::fabric {
namespace {

using namespace std::chrono_literals;
using Action = FaultRule::Action;
using Lines = std::vector<std::string>;

std::vector<FaultRule> read(const std::string& text, ScriptForm form = ScriptForm::toml) {
  INFO(text);
  auto rules = read_fault_file(text, form);
  if (!rules) FAIL(rules.error());
  return *rules;
}

std::string complaint(const std::string& text, ScriptForm form = ScriptForm::toml) {
  const auto rules = read_fault_file(text, form);
  const std::string error = rules ? "accepted: " + text : rules.error();
  CHECK(error.find('\n') == std::string::npos);
  return error;
}

Lines lines_of(const std::vector<FaultRule>& rules) {
  Lines lines;
  for (const FaultRule& rule : rules) lines.push_back(rule.to_line());
  return lines;
}

// The short form of one table.
std::string line(const std::string& table) {
  const auto rules = read("[[fault]]\n" + table);
  REQUIRE(rules.size() == 1);
  CHECK(rules[0].text == rules[0].to_line());
  return rules[0].to_line();
}

TEST_CASE("The name of a file says what is in it") {
  CHECK(script_form_of("a/b.toml") == ScriptForm::toml);
  CHECK(script_form_of("B.TOML") == ScriptForm::toml);
  CHECK(script_form_of("b.json") == ScriptForm::json);
  CHECK(script_form_of("toml") == ScriptForm::lines);
  CHECK(script_form_of("faults.txt") == ScriptForm::lines);
  CHECK(script_form_of("") == ScriptForm::lines);
}

TEST_CASE("Every key of a table, and what it is in the short form") {
  CHECK(line("do = 'drop'") == "drop");
  CHECK(line("do = 'drop'\nway = 'tx'\nnth = 3\npacket = 'write middle'\nqp = 0x12") ==
        "tx drop 3rd WRITE MIDDLE of QP 0x12");
  CHECK(line("do = 'drop'\nway = 'both'\nevery = 10\nprobability = 0.05") == "drop every 10th 5%");
  CHECK(line("do = 'drop'\nfirst = 2\nprobability = '0.5%'\npsn = 7") ==
        "drop first 2 0.5% psn 0x7");
  CHECK(line("do = 'drop'\nfrom = 2\npsn = '0xfffffe..5'\nprobability = 1") ==
        "drop from 2nd psn 0xfffffe..0x5");
  CHECK(line("do = 'drop'\nwhere = { ack_request = 1, 'ipv4.source' = '10.0.0.1' }") ==
        "drop ack_request=0x1 ipv4.source=10.0.0.1");
  CHECK(line("do = 'duplicate'") == "duplicate");
  CHECK(line("do = 'duplicate'\ntime = '2ms'") == "duplicate 2ms");
  CHECK(line("do = 'reorder'\nby = 4") == "reorder 4");
  CHECK(line("time = '30us'\ndo = 'delay'") == "delay 30us");  // in any order
  CHECK(line("do = 'corrupt'\nfield = 'msn'\nicrc = 'repair'") == "corrupt msn repair-icrc");
  CHECK(line("do = 'corrupt'\nfield = 'payload'\nicrc = 'keep'") == "corrupt payload");
  CHECK(line("do = 'mark-ecn'") == "mark-ecn");
  CHECK(line("do = 'rewrite'\nfields = { psn = '+1', msn = 5 }\npacket = 'ACK'") ==
        "rewrite msn 0x5 and psn +1 ACK");
  CHECK(line("do = 'rewrite'\nfields.psn = '-1'\nicrc = 'keep'") == "rewrite psn -1 keep-icrc");
  CHECK(line("do = 'answer'\nsyndrome = 'nak access'\nto_qp = 17\ndeliver = true") ==
        "answer nak access to QP 0x11 and deliver");
  CHECK(line("do = 'answer'\nsyndrome = 0x63\ndeliver = false") == "answer nak operational");
  CHECK(line("do = 'silence'\nsilenced = 'tx'\ntime = '2s'") == "silence tx 2s");
  CHECK(line("rule = 'tx drop 5%'") == "tx drop 5%");
}

TEST_CASE("A name is what reports and captures call the rule") {
  CHECK(read("[[fault]]\nname = 'the lost one'\ndo = 'drop'")[0].text == "the lost one");
  CHECK(read("[[fault]]\nname = 'x'\nrule = 'drop 5%'")[0].text == "x");
  CHECK(read("fault = ['DROP the 5%']")[0].text == "DROP the 5%");
}

TEST_CASE("Lines and tables stand in one array, and JSON says the same as TOML") {
  const Lines expected{"tx drop 3rd", "delay 2ms 1%", "rewrite psn +1"};
  CHECK(lines_of(read("fault = ['tx drop 3rd', 'delay 2ms 1%',\n"
                      "  { do = 'rewrite', fields = { psn = '+1' } }]  # a comment")) == expected);
  CHECK(lines_of(read(R"({"fault": ["tx drop 3rd", {"rule": "delay 2ms 1%"},
                          {"do": "rewrite", "fields": {"psn": "+1"}}]})",
                      ScriptForm::json)) == expected);
  CHECK(lines_of(read("# as before\ntx drop 3rd\r\n\n delay 2ms 1% # often\nrewrite psn +1",
                      ScriptForm::lines)) == expected);
  const auto json = read(R"({"fault": [{"do": "answer", "syndrome": "0x63", "nth": 2, "qp": "0x12",
                             "probability": 0.25, "deliver": true}]})",
                         ScriptForm::json);
  CHECK(lines_of(json) == Lines{"answer nak operational and deliver 2nd 25% of QP 0x12"});
  CHECK(read("").empty());
  CHECK(read("{}", ScriptForm::json).empty());
  CHECK(read("", ScriptForm::lines).empty());
}

TEST_CASE("What TOML's reader refuses comes out as one line with its place") {
  CHECK(complaint("[[fault]\ndo = 'drop'").starts_with("line 1, column 9: "));
  CHECK(complaint("[[fault]]\ndo = drop").starts_with("line 2, column 6: "));
  CHECK(complaint("[[fault]]\ndo = 'drop'\ndo = 'delay'").starts_with("line 3, column "));
  CHECK(complaint("[[fault]]\ndo = 'dr\nop'").starts_with("line 2, column "));
  CHECK(complaint("\xff\xfe").starts_with("line 1, column "));
}

TEST_CASE("What a rule refuses is said where it stands") {
  CHECK(complaint("[[fault]]\ndo = 'drop'\nnth = 0") ==
        "line 3, column 7: nth: frames are counted from 1, not 0");
  CHECK(complaint("[[fault]]\ndo = 'drop'\nnth = -1") ==
        "line 3, column 7: nth: frames are counted from 1, not -1");
  CHECK(complaint("[[fault]]\ndo = 'drop'\n[[fault]]\ndo = 'dorp'")
            .starts_with("line 4, column 6: do: \"dorp\" is no action: use drop, "));
  CHECK(complaint("[[fault]]\nnth = 3")
            .starts_with("line 1, column 1: a fault rule needs an action"));
  CHECK(
      complaint("[[fault]]\ndo = 'drop'\n  ordinal = 3")
          .starts_with("line 3, column 3: \"ordinal\" is no key of a fault: use do, name, way, "));
  CHECK(complaint("[[fault]]\ndo = 'drop'\nby = 3") ==
        "line 3, column 1: \"by\" goes with reorder, not with drop");
  CHECK(complaint("[[fault]]\ndo = 'drop'\ntime = '2s'") ==
        "line 3, column 1: \"time\" goes with duplicate, delay or silence, not with drop");
  CHECK(complaint("[[fault]]\ndo = 'drop'\nnth = 3\nevery = 2")
            .find(" is a second choice of frames") != std::string::npos);
  CHECK(complaint("fault = ['drop',\n 'WRTE']")
            .starts_with("line 2, column 2: \"WRTE\" is no action"));
  CHECK(
      complaint("[[fault]]\nrule = 'drop'\nnth = 2") ==
      "line 3, column 1: \"nth\" beside \"rule\": the line says it all; only name may stand there");
  CHECK(complaint("[[faults]]\ndo = 'drop'") ==
        "line 1, column 3: \"faults\" is no key of a fault script: use fault");
  CHECK(complaint("fault = 'drop'").starts_with("line 1, column 9: \"fault\" is an array: "));
  CHECK(complaint("[fault]\ndo = 'drop'").find("\"fault\" is an array") != std::string::npos);
  CHECK(complaint("fault = [3]").starts_with("line 1, column 10: a fault is a table, or a line"));

  const auto value = [](const std::string& text) { return complaint("[[fault]]\n" + text); };
  CHECK(value("do = 3").ends_with("do: needs an action such as \"drop\""));
  CHECK(value("do = 'drop'\nway = 'up'").ends_with("\"up\" is no direction: use tx, rx or both"));
  CHECK(value("do = 'drop'\nnth = '3rd'").ends_with("nth: needs a whole number"));
  CHECK(value("do = 'drop'\nnth = 3.5").ends_with("nth: needs a whole number"));
  CHECK(value("do = 'drop'\nprobability = 5").ends_with("needs a number from 0 to 1, or \"5%\""));
  CHECK(value("do = 'drop'\nprobability = nan").ends_with("needs a number from 0 to 1, or \"5%\""));
  CHECK(value("do = 'drop'\nqp = true").ends_with("qp: needs a number"));
  CHECK(
      value("do = 'drop'\nqp = -1").ends_with("qp needs a number from 0 to 0xffffff, not \"-1\""));
  CHECK(value("do = 'drop'\npacket = 'WRTE'").find("\"WRTE\" is no word") != std::string::npos);
  CHECK(value("do = 'drop'\nwhere = 3").ends_with("where: needs a table such as { psn = 5 }"));
  CHECK(
      value("do = 'drop'\nwhere = {psn = '+1'}").ends_with("compared with a number or an address"));
  CHECK(value("do = 'drop'\nname = ''").ends_with("name: needs a text of one line"));
  CHECK(value("do = 'drop'\nname = \"a\\nb\"").ends_with("name: needs a text of one line"));
  CHECK(value("do = 'rewrite'").ends_with("rewrite needs a field and its value: rewrite psn +1"));
  CHECK(value("do = 'rewrite'\nfields = {psn = -1}")
            .ends_with("fields: a step down is a text: psn = \"-1\""));
  CHECK(value("do = 'rewrite'\nfields = {psn = [1]}").ends_with("psn needs a number or a text"));
  CHECK(value("do = 'corrupt'\nfield = 'psn'\nicrc = 'fix'")
            .ends_with("needs \"keep\" or \"repair\""));
  CHECK(value("do = 'answer'").find("a syndrome is missing") != std::string::npos);
  CHECK(value("do = 'answer'\nsyndrome = 'ack 3 4'").ends_with("\"4\" is too much for a syndrome"));
  CHECK(value("do = 'answer'\nsyndrome = 'ack'\ndeliver = 1")
            .ends_with("deliver: needs true or false"));
  CHECK(value("do = 'delay'").ends_with("delay needs a time: 500us, 2ms or 1s"));
}

TEST_CASE("JSON's mistakes are named by line, its rules' by which fault") {
  const ScriptForm json = ScriptForm::json;
  CHECK(complaint("{\"fault\": [\n  {\"do\": \"drop\",}]}", json)
            .starts_with("line 2, column 17: syntax error"));
  CHECK(complaint("", json).starts_with("line 1, column 1: syntax error"));
  CHECK(complaint("[]", json) == "a fault script is a table with the key \"fault\"");
  CHECK(complaint("{\"fault\": [{\"do\": \"drop\"}, {\"do\": \"drop\", \"nth\": 0}]}", json) ==
        "fault 2: nth: frames are counted from 1, not 0");
  CHECK(complaint("{\"fault\": [\"WRTE\"]}", json).starts_with("fault 1: \"WRTE\" is no action"));
  CHECK(complaint("{\"fault\": [{\"do\": \"drop\", \"do\": \"delay\"}]}", json) ==
        "\"do\" stands twice");
  CHECK(complaint("{\"fault\": [null]}", json).starts_with("fault 1: a fault is a table, or"));
  CHECK(complaint("{\"fault\": [1e999]}", json) == "a number is too large");
}

TEST_CASE("Lines are named by their number, and a script in disguise is recognised") {
  CHECK(complaint("drop\n# none\n\ndorp 5%", ScriptForm::lines).starts_with("line 4: \"dorp\""));
  const std::string hint = "(a script in TOML or JSON has a name that ends in .toml or .json)";
  for (const std::string text : {"[[fault]]", "{\"fault\": []}", "fault = ['drop']"}) {
    CHECK(complaint(text, ScriptForm::lines).ends_with(hint));
  }
}

TEST_CASE("No depth of nesting ends the process") {
  const auto repeat = [](const std::string& text, int times) {
    std::string out;
    for (int i = 0; i < times; ++i) out += text;
    return out;
  };
  const int many = 200'000;
  CHECK(complaint(repeat("[", many), ScriptForm::json).find("nested more than") !=
        std::string::npos);
  CHECK(complaint(repeat("{\"fault\":", many), ScriptForm::json).find("nested more than") !=
        std::string::npos);
  CHECK(complaint("fault = " + repeat("[", many)).starts_with("line 1, column "));
  CHECK(complaint("fault = " + repeat("{a=", many)).starts_with("line 1, column "));
  CHECK(complaint("[[fault" + repeat(".a", many) + "]]") ==
        "more than 1000 dots; is it a fault script?");
  CHECK(complaint("a" + repeat(".a", 1000) + " = 1").find("nested more than 16 deep") !=
        std::string::npos);
  CHECK(
      complaint("fault = [[[[[[[[[[[[[[[[[[1]]]]]]]]]]]]]]]]]]").find("nested more than 16 deep") !=
      std::string::npos);
}

TEST_CASE("Scripts with bytes changed at random are read or refused, in one line") {
  const std::string toml =
      "fault = ['drop 5%']\n[[fault]]\nname = 'n'\ndo = 'rewrite'\nfields = {psn = '+1', msn = 5}\n"
      "where = { ack_request = 1 }\n[[fault]]\ndo = 'answer'\nsyndrome = 'rnr 12'\nto_qp = 0x11\n";
  const std::string json =
      R"({"fault": ["drop 5%", {"do": "rewrite", "fields": {"psn": "+1"}, "probability": 0.5}]})";
  SplitMix64 random(1);
  int accepted = 0;
  for (int i = 0; i < 4000; ++i) {
    const ScriptForm form = i % 2 == 0 ? ScriptForm::toml : ScriptForm::json;
    std::string text = form == ScriptForm::toml ? toml : json;
    for (std::uint64_t n = random.below(3) + 1; n > 0; --n) {
      text[random.below(text.size())] = static_cast<char>(random.below(256));
    }
    const auto rules = read_fault_file(text, form);
    accepted += rules.has_value();
    if (!rules) REQUIRE(rules.error().find('\n') == std::string::npos);
    if (rules) {
      for (const FaultRule& rule : *rules) REQUIRE(FaultRule::parse(rule.to_line()));
    }
  }
  CHECK(accepted > 0);
}

}  // namespace
}  // namespace softrnic::fabric
