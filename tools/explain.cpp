// SPDX-License-Identifier: BSD-3-Clause
// softrnic explain: what happened in a capture, in what order, and what to look at first.
#include "explain/explanation.hpp"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <iterator>
#include <limits>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "capture/capture_file.hpp"
#include "capture/packet_lookahead.hpp"
#include "capture/whole_file.hpp"
#include "capture_progress.hpp"
#include "command_line.hpp"
#include "explain/explanation_json.hpp"
#include "explain/explanation_text.hpp"
#include "explain/message_order.hpp"
#include "explain/message_row.hpp"
#include "explain/packet_row.hpp"
#include "explain/page.hpp"
#include "failure.hpp"
#include "input_kept.hpp"
#include "interruption.hpp"
#include "subcommands.hpp"

namespace softrnic::tools {
namespace {

using capture::WholeFile;
using explain::Explanation;

constexpr int kUnreadable = 2;
constexpr std::size_t kAll = std::numeric_limits<std::size_t>::max();
constexpr std::size_t kConnectionsOnTerminal = 10;
constexpr std::size_t kMessagesOnTerminal = 40;
constexpr std::size_t kLossesOnTerminal = 20;

struct Options {
  std::string path;
  std::string packets_csv;
  std::string messages_csv;
  std::string losses_csv;
  std::string html;
  bool json = false;
  bool messages = false;
  bool losses = false;
  bool all = false;
  explain::ConnectionFilter filter;

  // Of the files that go to standard output instead of the report.
  std::size_t on_standard_output() const {
    const std::string* files[] = {&packets_csv, &messages_csv, &losses_csv, &html};
    return static_cast<std::size_t>(std::count_if(std::begin(files), std::end(files),
                                                  [](const auto* file) { return *file == "-"; }));
  }
  bool limited() const { return !all && isatty(STDOUT_FILENO) == 1; }
};

wire::Gid parse_address(const std::string& text) {
  const auto address = wire::Gid::from_string(text);
  if (!address) fail_usage("--address {}: an IPv4 or IPv6 address is wanted, as 10.0.0.1", text);
  return *address;
}

std::uint32_t parse_number_below(const std::string& option, const std::string& text,
                                 std::uint64_t most) {
  const auto number = parse_number(text);
  if (!number || *number > most) {
    fail_usage("{} {}: a number of at most {} is wanted", option, text, most);
  }
  return static_cast<std::uint32_t>(*number);
}

bool parse_options(int argc, char** argv, Options& options) {
  CommandLine line(
      argv[0], fmt::format("Usage: softrnic {} FILE [OPTIONS]", argv[0]),
      "Explains a capture (pcap or pcapng; -: standard input): what each connection did, what was\n"
      "lost and why, how long operations took, and the five worst moments: what happened, what "
      "the\n"
      "standard says, what to look at. Exit status: 0, or 2 when the file cannot be read to its\n"
      "end.",
      "  softrnic explain failure.pcapng\n"
      "  softrnic explain failure.pcapng --stream 3 --losses\n"
      "  softrnic explain failure.pcapng --messages-csv messages.csv\n"
      "  softrnic explain failure.pcapng --html failure.html\n"
      "  softrnic explain failure.pcapng --json | jq '.worst_moments[0]'\n"
      "  tcpdump -i eth1 -w - udp port 4791 | softrnic explain -\n");
  std::vector<std::string> words;
  line.flag("json", options.json,
            "print one JSON object instead of text; with --messages one a line");
  line.flag("messages", options.messages,
            "list the messages instead: when, how long, what became of it");
  line.flag("losses", options.losses,
            "list every loss: its cause, its retransmission, the time lost");
  line.flag("all", options.all, "everything, where a terminal gets only the first lines");
  line.heading("Only some connections");
  line.repeated("stream", "N", "this connection, as numbered in the report", [&](const auto& text) {
    options.filter.connections.push_back(parse_number_below("--stream", text, 0xfffffffe));
  });
  line.repeated("address", "IP", "those with this address at an end",
                [&](const auto& text) { options.filter.addresses.push_back(parse_address(text)); });
  line.repeated("qpn", "N", "those with this queue pair number at an end", [&](const auto& text) {
    options.filter.qpns.push_back(parse_number_below("--qpn", text, 0xffffff));
  });
  line.heading("A page with plots");
  line.text("html", "FILE", options.html,
            "write one HTML file that needs no network (-: standard output)");
  line.heading("Tables for DuckDB, pandas and the like");
  line.text("packets-csv", "FILE", options.packets_csv,
            "a row for each RoCE packet (-: standard output)");
  line.text("messages-csv", "FILE", options.messages_csv, "a row for each message");
  line.text("losses-csv", "FILE", options.losses_csv, "a row for each loss");
  line.words("FILE", 1, words);
  if (!line.parse(argc, argv)) return false;
  if (words.empty()) {
    fail_usage("the capture to explain is missing; see softrnic {} --help", argv[0]);
  }
  options.path = words.front();
  if (options.on_standard_output() + options.messages > 1) {
    fail_usage("only one of the lists can go to standard output: name a file for the others");
  }
  if (options.json && options.on_standard_output() != 0) {
    fail_usage("--json prints the report to standard output, where a file is to go: name one");
  }
  const std::pair<std::string, std::string> outputs[] = {{"--html", options.html},
                                                         {"--packets-csv", options.packets_csv},
                                                         {"--messages-csv", options.messages_csv},
                                                         {"--losses-csv", options.losses_csv}};
  keep_apart(outputs);
  keep_input(options.path, "--html", options.html);
  keep_input(options.path, "--packets-csv", options.packets_csv);
  keep_input(options.path, "--messages-csv", options.messages_csv);
  keep_input(options.path, "--losses-csv", options.losses_csv);
  return true;
}

WholeFile open(const std::string& path) {
  auto file = WholeFile::create(path);
  if (!file) throw Failure(kUnreadable, file.error());
  return std::move(*file);
}

// A table that is written as the packets pass.
class CsvFile {
 public:
  CsvFile(const std::string& path, std::string_view header) : file_(open(path)) {
    file_.write(header);
  }
  std::string& row() {
    row_.clear();
    return row_;
  }
  // What fails is said at commit().
  void end_row() { file_.write(row_); }
  void commit() {
    if (auto done = file_.commit(); !done) throw Failure(kUnreadable, done.error());
  }

 private:
  WholeFile file_;
  std::string row_;
};

class PacketTable final : public explain::Listener {
 public:
  explicit PacketTable(const std::string& path) : file(path, explain::packet_csv_header()) {}
  void on_packet(const explain::SeenPacket& packet) override {
    add_packet_csv(file.row(), packet);
    file.end_row();
  }
  CsvFile file;
};

class LossTable final : public explain::Listener {
 public:
  explicit LossTable(const std::string& path) : file(path, explain::loss_csv_header()) {}
  void on_loss(const explain::Loss& loss, const analysis::Stream& /*stream*/) override {
    add_loss_csv(file.row(), loss);
    file.end_row();
  }
  CsvFile file;
};

void print(std::string_view text) {
  if (std::fwrite(text.data(), 1, text.size(), stdout) != text.size()) {
    fail_output();
  }
}

// The messages on standard output, as text or as lines of JSON.
class MessageList {
 public:
  MessageList(const Explanation& explanation, const Options& options)
      : explanation_(explanation),
        json_(options.json),
        most_(options.limited() && !options.json ? kMessagesOnTerminal : kAll) {}

  void add(const analysis::Message& message) {
    if (++count_ > most_) return;
    line_.clear();
    if (count_ == 1 && !json_) line_ += explain::message_text_header();
    const analysis::Stream& stream = explanation_.stream(message.stream);
    if (json_) {
      explain::add_message_json(line_, message, stream);
    } else {
      explain::add_message_text(line_, message, stream, explanation_.begin());
    }
    print(line_);
  }
  void finish() const {
    if (count_ > most_) print(fmt::format("and {} more (--all shows them)\n", count_ - most_));
    if (count_ == 0 && !json_) print("No messages\n");
  }

 private:
  const Explanation& explanation_;
  bool json_;
  std::size_t most_;
  std::size_t count_ = 0;
  std::string line_;
};

// All that is told as the capture is read.
class Run {
 public:
  Run(const Options& options, Explanation& explanation)
      : options_(options), explanation_(explanation), list_(explanation_, options) {
    if (!options.packets_csv.empty()) {
      packets_ = std::make_unique<PacketTable>(options.packets_csv);
      explanation_.add_listener(*packets_);
    }
    if (!options.losses_csv.empty()) {
      losses_ = std::make_unique<LossTable>(options.losses_csv);
      explanation_.add_listener(*losses_);
    }
    if (!options.messages_csv.empty()) {
      messages_ = std::make_unique<CsvFile>(options.messages_csv, explain::message_csv_header());
    }
    if (messages_ != nullptr || options.messages) explanation_.add_listener(order_);
  }

  void finish() {
    explanation_.finish();
    order_.finish();
    if (options_.messages) list_.finish();
  }

  // The tables are whole, even where the capture was not.
  void commit() {
    if (packets_) packets_->file.commit();
    if (losses_) losses_->file.commit();
    if (messages_) messages_->commit();
  }

 private:
  void take(const analysis::Message& message) {
    if (messages_ != nullptr) {
      explain::add_message_csv(messages_->row(), message, explanation_.stream(message.stream));
      messages_->end_row();
    }
    if (options_.messages) list_.add(message);
  }

  const Options& options_;
  Explanation& explanation_;
  MessageList list_;
  explain::MessageOrder order_{[this](const analysis::Message& message) { take(message); }};
  std::unique_ptr<PacketTable> packets_;
  std::unique_ptr<LossTable> losses_;
  std::unique_ptr<CsvFile> messages_;
};

// Why the file was not read to its end; empty when it was.
std::string read_all(capture::CaptureFile& file, Explanation& explanation) {
  CaptureProgress progress(file);
  capture::PacketLookahead ahead(explanation);
  while (!interrupted()) {
    const capture::Record* record = file.next();
    if (record == nullptr) break;
    ahead.on_record(file.link_type(), *record);
    progress.on_record(*record);
  }
  ahead.finish();
  // A signal may also have been what ended the reading.
  if (interrupted()) {
    return fmt::format("interrupted after frame {}", explanation.counts().frames);
  }
  return file.damage();
}

std::string numbers_text(const Explanation& explanation) {
  const std::uint32_t count = explanation.connection_count();
  if (count == 0) return "the capture has no connection";
  return count == 1 ? "the capture has one connection, 0"
                    : fmt::format("the capture has connections 0 to {}", count - 1);
}

// What was named on the command line and is nowhere in the capture ends the command.
void require_connections(const Explanation& explanation, const explain::ConnectionFilter& filter) {
  const auto found = [&](explain::ConnectionFilter one) {
    for (std::uint32_t i = 0; i < explanation.connection_count(); ++i) {
      if (explanation.account(i).used && one.takes(explanation.stream(i))) return true;
    }
    return false;
  };
  for (const std::uint32_t number : filter.connections) {
    if (!found({.connections = {number}, .addresses = {}, .qpns = {}})) {
      fail_usage("--stream {}: {}", number, numbers_text(explanation));
    }
  }
  for (const wire::Gid& address : filter.addresses) {
    if (!found({.connections = {}, .addresses = {address}, .qpns = {}})) {
      fail_usage("--address {}: no connection of the capture has it", address.to_string());
    }
  }
  for (const std::uint32_t qpn : filter.qpns) {
    if (!found({.connections = {}, .addresses = {}, .qpns = {qpn}})) {
      fail_usage("--qpn {:#x}: no connection of the capture has it", qpn);
    }
  }
  if (!filter.takes_all() && explanation.connections().empty()) {
    fail_usage("no connection of the capture is all that --stream, --address and --qpn say");
  }
}

// A page holds fewer connections than this; it chooses among those that matter most.
constexpr std::size_t kConnectionsOnPage = 800;

class PageFile {
 public:
  // Before the capture is read: what cannot be written is known at once.
  explicit PageFile(const std::string& path) : file_(open(path)) {}

  void write(const Explanation& explanation, const explain::JsonOptions& json) {
    const std::string text = to_json(explanation, json);
    file_.write(explain::page(nlohmann::ordered_json::parse(text)));
    if (auto done = file_.commit(); !done) throw Failure(kUnreadable, done.error());
  }

 private:
  WholeFile file_;
};

bool is_set(const char* name) {
  const char* value = std::getenv(name);
  return value != nullptr && *value != '\0';
}

// The terminal's own words for its character set, as the C library reads them.
bool takes_unicode() {
  for (const char* name : {"LC_ALL", "LC_CTYPE", "LANG"}) {
    if (!is_set(name)) continue;
    std::string value = std::getenv(name);
    std::transform(value.begin(), value.end(), value.begin(),
                   [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    return value.find("utf-8") != std::string::npos || value.find("utf8") != std::string::npos;
  }
  return false;
}

explain::TextOptions text_options(const Options& options, const std::string& why_not) {
  explain::TextOptions text;
  text.file = one_line(options.path);
  text.why_incomplete = why_not;
  const bool terminal = isatty(STDOUT_FILENO) == 1;
  text.colour = terminal && !is_set("NO_COLOR");
  text.unicode = !terminal || takes_unicode();
  winsize size{};
  constexpr std::size_t kNarrowest = 60;
  constexpr std::size_t kWidest = 120;
  if (terminal && ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col != 0) {
    text.width = std::clamp<std::size_t>(size.ws_col, kNarrowest, kWidest);
  }
  if (options.limited()) text.most_connections = kConnectionsOnTerminal;
  if (options.losses) text.most_losses = options.limited() ? kLossesOnTerminal : kAll;
  return text;
}

}  // namespace

int run_explain(int argc, char** argv) {
  Options options;
  if (!parse_options(argc, argv, options)) return kSuccess;
  catch_interruptions();
  auto file = capture::CaptureFile::open(options.path);
  if (!file && interrupted()) throw Failure(kUnreadable, "interrupted before the first frame");
  if (!file) throw Failure(kUnreadable, file.error());

  // Left to the end of the process: to free it piece by piece takes a good part of the time that
  // the reading takes.
  static auto& explanation = *new Explanation(options.filter);
  Run run(options, explanation);
  std::optional<PageFile> page;
  if (!options.html.empty()) page.emplace(options.html);
  const std::string why_not = read_all(*file, explanation);
  if (why_not.empty()) require_connections(explanation, options.filter);
  run.finish();
  const bool complete = why_not.empty();
  if (page) {
    page->write(
        explanation,
        {.file = options.path, .complete = complete, .most_connections = kConnectionsOnPage});
  }
  const bool report = !options.messages && options.on_standard_output() == 0;
  if (report && (complete || explanation.counts().frames != 0)) {
    if (options.json) {
      write_json(explanation, {.file = options.path, .complete = complete}, print);
    } else {
      write_text(explanation, text_options(options, why_not), print);
    }
  }
  run.commit();
  if (!complete) throw Failure(kUnreadable, why_not);
  return kSuccess;
}

}  // namespace softrnic::tools
