// SPDX-License-Identifier: BSD-3-Clause
#include <catch2/catch.hpp>

#include "command_line.hpp"
#include "device_options.hpp"
#include "failure.hpp"

using namespace softrnic;
using namespace softrnic::tools;

namespace {

// Parses `words`; the text of the complaint, or nothing.
std::string complaint_of(CommandLine& line, std::vector<std::string> words) {
  words.insert(words.begin(), "tool");
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  try {
    line.parse(static_cast<int>(arguments.size()), arguments.data());
    return "";
  } catch (const Failure& failure) {
    CHECK(failure.exit_status() == kUsageError);
    CHECK(std::string(failure.what()).find('\n') == std::string::npos);
    return failure.what();
  }
}

struct Tool {
  CommandLine line{"tool", "Usage: tool", "A tool.", ""};
  std::uint32_t port = 0;
  std::uint64_t size = 0;
  bool flag = false;
  double seconds = 0;
  std::vector<std::string> items;
  std::vector<std::string> words;

  Tool() {
    line.number("port,p", "PORT", port, 1, 65535, "");
    line.size("size,s", "SIZE", size, 0, 1 << 20, "");
    line.flag("flag,f", flag, "");
    line.seconds("time", seconds, "");
    line.repeated("item", "ITEM", "", [this](const std::string& item) { items.push_back(item); });
    line.words("WORD", 1, words);
  }
};

}  // namespace

TEST_CASE("numbers are read as strtoul reads them, and nothing else is") {
  CHECK(parse_number("0") == 0u);
  CHECK(parse_number("4096") == 4096u);
  CHECK(parse_number("0x10") == 16u);
  CHECK(parse_number("18446744073709551615") == 18446744073709551615u);
  for (const char* text : {"", "-1", "+1", " 1", "1 ", "1x", "0x", "x", "18446744073709551616"}) {
    INFO(text);
    CHECK_FALSE(parse_number(text));
  }
}

TEST_CASE("sizes take a suffix") {
  CHECK(parse_size("64k") == 65536u);
  CHECK(parse_size("1M") == 1048576u);
  CHECK(parse_size("2G") == 2147483648u);
  CHECK(parse_size("17") == 17u);
  for (const char* text : {"k", "1kk", "1 k", "18446744073709551615k", "1T"}) {
    INFO(text);
    CHECK_FALSE(parse_size(text));
  }
}

TEST_CASE("times are seconds with a fraction") {
  CHECK(parse_seconds("2.5") == 2.5);
  CHECK(parse_seconds("0") == 0.0);
  for (const char* text : {"", "-1", "nan", "inf", "1s", "1e300"}) {
    INFO(text);
    CHECK_FALSE(parse_seconds(text));
  }
}

TEST_CASE("options come short and long, attached and apart") {
  for (const auto& words : std::vector<std::vector<std::string>>{
           {"-p", "7"}, {"-p7"}, {"--port", "7"}, {"--port=7"}, {"-fp7"}, {"-p0x7"}}) {
    Tool tool;
    CHECK(complaint_of(tool.line, words) == "");
    CHECK(tool.port == 7);
  }
}

TEST_CASE("repeated options and words are kept in order") {
  Tool tool;
  CHECK(complaint_of(tool.line, {"--item", "a", "word", "--item=b", "-s", "2k", "--time", ".5"}) ==
        "");
  CHECK(tool.items == std::vector<std::string>{"a", "b"});
  CHECK(tool.words == std::vector<std::string>{"word"});
  CHECK(tool.size == 2048);
  CHECK(tool.seconds == 0.5);
}

TEST_CASE("repeated options of two names are taken in the order given") {
  Tool tool;
  tool.line.repeated("another", "ITEM", "",
                     [&](const std::string& item) { tool.items.push_back("another " + item); });
  CHECK(complaint_of(tool.line, {"--item", "a", "--another", "b", "--item=c", "--another=d"}) ==
        "");
  CHECK(tool.items == std::vector<std::string>{"a", "another b", "c", "another d"});
}

TEST_CASE("every complaint is one line that names the option") {
  const std::vector<std::pair<std::vector<std::string>, std::string>> cases{
      {{"-p", "x"}, "--port x: not a number"},
      {{"-p", "0"}, "--port 0: must be from 1 to 65535"},
      {{"-p", "65536"}, "--port 65536: must be from 1 to 65535"},
      {{"--size", "2M"}, "--size 2M: must be from 0 to 1048576"},
      {{"--time", "soon"}, "--time soon: not a time; give seconds, such as 2.5"},
      {{"a", "b"}, "'b' is one word too many; see softrnic tool --help"}};
  for (const auto& [words, expected] : cases) {
    Tool tool;
    CHECK(complaint_of(tool.line, words) == expected);
  }
  for (const auto& words :
       std::vector<std::vector<std::string>>{{"--nonsense"}, {"-z"}, {"-p"}, {"-p1", "-p2"}}) {
    Tool tool;
    const std::string complaint = complaint_of(tool.line, words);
    CHECK(complaint.find("softrnic tool --help") != std::string::npos);
  }
}

TEST_CASE("device options are understood") {
  DeviceOptions options;
  CommandLine line("tool", "", "", "");
  options.add_to(line);
  CHECK(
      complaint_of(line, {"--link",  "tap:x",      "--ip",    "10.0.0.1/24",
                          "--ip",    "fd00::1/64", "--mac",   "02:00:00:00:00:07",
                          "--vlan",  "100:3",      "--limit", "max_qp=1000",
                          "--fault", "drop 5%",    "--fault", "tx drop 3rd WRITE MIDDLE of QP 0x12",
                          "--seed",  "9",          "-w",      "x.pcapng"}) == "");
  options.complete();
  CHECK(options.link == "tap:x");
  REQUIRE(options.addresses.size() == 2);
  CHECK(options.addresses[0].to_string() == "10.0.0.1/24");
  CHECK(options.addresses[1].to_string() == "fd00::1/64");
  CHECK(options.mac->to_string() == "02:00:00:00:00:07");
  CHECK(options.vlan->id == 100);
  CHECK(options.vlan->priority == 3);
  CHECK(options.limits.queue_pairs == 1000);
  CHECK(options.faults.size() == 2);
  CHECK(options.seed == 9);
  CHECK(options.capture_path == "x.pcapng");
}

TEST_CASE("a seed is drawn when none is given") {
  DeviceOptions first;
  DeviceOptions second;
  first.complete();
  second.complete();
  CHECK(first.seed != 0);
  CHECK(first.seed != second.seed);
}

TEST_CASE("bad device options are refused in one line") {
  for (const auto& words : std::vector<std::vector<std::string>>{{"--ip", "10.0.0.256"},
                                                                 {"--ip", "10.0.0.1/33"},
                                                                 {"--ip", "fd00::1/129"},
                                                                 {"--ip", "0.0.0.0/24"},
                                                                 {"--ip", "224.0.0.1/24"},
                                                                 {"--ip", "host"},
                                                                 {"--mac", "02:00:00:00:00"},
                                                                 {"--mac", "01:00:00:00:00:01"},
                                                                 {"--mac", "00:00:00:00:00:00"},
                                                                 {"--vlan", "4095"},
                                                                 {"--vlan", "1:8"},
                                                                 {"--limit", "max_qp"},
                                                                 {"--limit", "max_qp=x"},
                                                                 {"--limit", "max_sge=33"},
                                                                 {"--limit", "=5"},
                                                                 {"--limit", "max_nothing=5"},
                                                                 {"--vlan", "x"},
                                                                 {"--fault", "explode"},
                                                                 {"--fault", "drop 101%"},
                                                                 {"--seed", "0"},
                                                                 {"--link-mtu", "10"}}) {
    DeviceOptions options;
    CommandLine line("tool", "", "", "");
    options.add_to(line);
    INFO(words[0] << " " << words[1]);
    const std::string complaint = complaint_of(line, words);
    CHECK(complaint.rfind(words[0], 0) == 0);
    CHECK(complaint.find(words[1]) != std::string::npos);
  }
}
