// SPDX-License-Identifier: BSD-3-Clause
// softrnic extcap: the segments of this user as interfaces of Wireshark (extcap(4)).
//
// Wireshark asks which interfaces there are, what they capture and what can be chosen, and then
// wants frames in a FIFO. The options are its own, and so the same in every such program.
#include <algorithm>
#include <cstdio>
#include <string>
#include <string_view>
#include <vector>

#include "failure.hpp"
#include "link/shm_listing.hpp"
#include "subcommands.hpp"

namespace softrnic::tools {

namespace {

// An interface: a segment, or a host on it ("shm:lab,host=a").
constexpr std::string_view kHost = ",host=";

struct Options {
  bool interfaces = false;
  bool link_types = false;
  bool configuration = false;
  bool capture = false;
  std::string interface;
  std::string fifo;
  std::string host;
  std::string direction;
  std::string snap;
};

// Not by Boost: what a newer Wireshark asks in addition must be passed over.
Options parse_options(int argc, char** argv) {
  Options options;
  const auto take = [&](std::string_view name, std::string_view value) {
    if (name == "--extcap-interface") options.interface = value;
    if (name == "--fifo") options.fifo = value;
    if (name == "--host") options.host = value;
    if (name == "--direction") options.direction = value;
    if (name == "--snap") options.snap = value;
  };
  for (int i = 1; i < argc; ++i) {
    const std::string_view word = argv[i];
    if (word == "--extcap-interfaces") options.interfaces = true;
    if (word == "--extcap-dlts") options.link_types = true;
    if (word == "--extcap-config") options.configuration = true;
    if (word == "--capture") options.capture = true;
    if (const std::size_t equals = word.find('='); equals != std::string_view::npos) {
      take(word.substr(0, equals), word.substr(equals + 1));
    } else if (i + 1 < argc) {
      take(word, argv[i + 1]);
    }
  }
  return options;
}

void print_interfaces() {
  fmt::print("extcap {{version={}}}{{display=softrnic}}\n", SOFTRNIC_VERSION);
  for (const link::ListedSegment& segment : link::list_segments()) {
    fmt::print("interface {{value=shm:{0}}}{{display=softrnic segment {0}}}\n", segment.name);
    for (const std::string& host : segment.hosts) {
      fmt::print("interface {{value=shm:{0}{1}{2}}}{{display=softrnic segment {0}, host {2}}}\n",
                 segment.name, kHost, host);
    }
  }
}

void print_link_types() {
  fmt::print("dlt {{number=1}}{{name=EN10MB}}{{display=Ethernet}}\n");
}

void print_hosts(const std::string& segment) {
  fmt::print(
      "arg {{number=0}}{{call=--host}}{{display=Host}}{{type=selector}}{{tooltip=all that crosses "
      "the segment, or what one host sends and receives}}\n"
      "value {{arg=0}}{{value=}}{{display=all}}{{default=true}}\n");
  const auto segments = link::list_segments();
  const auto found = std::find_if(segments.begin(), segments.end(),
                                  [&](const auto& s) { return "shm:" + s.name == segment; });
  if (found == segments.end()) return;
  for (const std::string& host : found->hosts) {
    fmt::print("value {{arg=0}}{{value={0}}}{{display={0}}}{{default=false}}\n", host);
  }
}

void print_configuration(const std::string& interface) {
  if (interface.find(kHost) == std::string::npos) print_hosts(interface);
  fmt::print(
      "arg {{number=1}}{{call=--direction}}{{display=Direction}}{{type=selector}}{{tooltip=of a "
      "host's frames}}\n"
      "value {{arg=1}}{{value=both}}{{display=sent and received}}{{default=true}}\n"
      "value {{arg=1}}{{value=sent}}{{display=sent}}{{default=false}}\n"
      "value {{arg=1}}{{value=received}}{{display=received}}{{default=false}}\n"
      "arg {{number=2}}{{call=--snap}}{{display=Bytes of each frame}}{{type=unsigned}}"
      "{{range=1,65535}}{{default=65535}}{{tooltip=keep so much of each frame}}\n");
}

// What is chosen for a host says nothing of a whole segment, where the dialog leaves it.
std::vector<std::string> capture_words(const Options& options) {
  const std::size_t comma = std::min(options.interface.find(kHost), options.interface.size());
  std::vector<std::string> words = {"capture", "--from", options.interface.substr(0, comma), "-o",
                                    options.fifo};
  std::string host = options.host;
  if (comma < options.interface.size()) host = options.interface.substr(comma + kHost.size());
  if (!host.empty()) {
    words.insert(words.end(), {"--host", host});
    if (!options.direction.empty()) words.insert(words.end(), {"--direction", options.direction});
  }
  if (!options.snap.empty()) words.insert(words.end(), {"--snap", options.snap});
  return words;
}

int capture(const Options& options) {
  if (options.interface.empty() || options.fifo.empty()) {
    fail_usage("a capture needs --extcap-interface and --fifo, which Wireshark gives");
  }
  std::vector<std::string> words = capture_words(options);
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  // Its report is of no use to Wireshark, which would show it as an error.
  if (std::freopen("/dev/null", "w", stdout) == nullptr) fail("cannot open /dev/null");
  return run_capture(static_cast<int>(words.size()), arguments.data());
}

void print_help() {
  fmt::print(
      "Usage: softrnic extcap --extcap-interfaces|--extcap-dlts|--extcap-config|--capture ...\n\n"
      "Called by Wireshark, which so shows every shared-memory segment and its hosts as\n"
      "interfaces. `softrnic wireshark install` tells Wireshark of it.\n\n"
      "Options:\n"
      "  --extcap-interfaces       the interfaces there are now\n"
      "  --extcap-interface NAME   of this one:\n"
      "  --extcap-dlts             what it captures\n"
      "  --extcap-config           what can be chosen\n"
      "  --capture --fifo FILE     its frames, as pcapng\n\n"
      "Examples:\n"
      "  softrnic extcap --extcap-interfaces\n"
      "  tshark -i shm:lab\n");
}

}  // namespace

int run_extcap(int argc, char** argv) {
  const Options options = parse_options(argc, argv);
  if (argc > 1 && (std::string_view(argv[1]) == "--help" || std::string_view(argv[1]) == "-h")) {
    print_help();
  } else if (options.interfaces) {
    print_interfaces();
  } else if (options.link_types) {
    print_link_types();
  } else if (options.configuration) {
    print_configuration(options.interface);
  } else if (options.capture) {
    return capture(options);
  } else {
    fail_usage("is for Wireshark to call; see softrnic extcap --help");
  }
  return kSuccess;
}

}  // namespace softrnic::tools
