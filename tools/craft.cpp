// SPDX-License-Identifier: BSD-3-Clause
// softrnic craft: packets from a description to a file, a link or the screen; and back.
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <iterator>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "capture/capture_file.hpp"
#include "capture/whole_file.hpp"
#include "capture_progress.hpp"
#include "command_line.hpp"
#include "craft/crafter.hpp"
#include "craft/describer.hpp"
#include "craft/description_script.hpp"
#include "craft_list.hpp"
#include "craft_output.hpp"
#include "fabric/fault_file.hpp"
#include "fabric/script_json.hpp"
#include "fabric/script_toml.hpp"
#include "failure.hpp"
#include "input_kept.hpp"
#include "interruption.hpp"
#include "one_line.hpp"
#include "subcommands.hpp"
#include "wire/packet_view.hpp"

namespace softrnic::tools {
namespace {

using craft::Complaint;
using craft::Line;
using Json = nlohmann::ordered_json;

constexpr std::size_t kMostArguments = 100'000;
constexpr std::size_t kLongestText = std::size_t{256} << 20;
constexpr std::size_t kMagic = 4;  // bytes that a capture is known by
constexpr std::size_t kMostScript = std::size_t{64} << 20;

struct Options {
  std::vector<std::string> words;
  std::string file;
  std::string output;
  std::string link;
  std::string capture;
  bool at_once = false;
  bool list = false;
  bool json = false;
};

bool parse_options(int argc, char** argv, Options& options) {
  CommandLine line(
      "craft",
      "Usage: softrnic craft [OPTIONS] LINE...\n"
      "       softrnic craft [OPTIONS] --file FILE\n"
      "       softrnic craft --from CAPTURE [-o FILE] [--json]\n"
      "       softrnic craft --list [NAME]",
      "Makes RoCE packets of a short description, one a line (docs/craft.md), with lengths,\n"
      "checksums, ICRCs, PSNs and times filled in, or wrong as you say. Without -o or --to they "
      "are\n"
      "shown. --from is the way back: the description of a capture.",
      "  softrnic craft 'rc send_only qp=0x12 payload=\"hi\"'\n"
      "  softrnic craft -o write.pcapng 'from 10.0.0.1 to 10.0.0.2' 'rc write 3000' 'rc ack'\n"
      "  softrnic craft --to tap:rnic0 --file packets.txt\n"
      "  softrnic craft --from failure.pcap > failure.txt\n"
      "  softrnic craft --list write_only\n");
  line.text("file,f", "FILE", options.file,
            "the description: lines, or JSON or TOML by its name; -: lines of standard input");
  line.text("output,o", "FILE", options.output,
            "the capture to write (.pcap, else pcapng; -: standard output)");
  line.text("to", "LINK", options.link, "the link to send them on, each at its time");
  line.flag("fast", options.at_once, "with --to: one after the other, whatever their times");
  line.text("from", "CAPTURE", options.capture, "describe the packets of this capture instead");
  line.flag("list", options.list, "the packets, words and fields there are, or those of NAME");
  line.flag("json", options.json, "print one JSON object instead of text");
  line.words("LINE", kMostArguments, options.words);
  if (!line.parse(argc, argv)) return false;
  if (options.words.size() == 1 && options.words.front() == "-" && options.file.empty()) {
    options.file = "-";
    options.words.clear();
  }
  const bool described = !options.words.empty() || !options.file.empty();
  if (!options.list && !described && options.capture.empty()) {
    fail_usage("a description is missing, such as 'rc send_only'; see softrnic craft --help");
  }
  if (!options.list && described && !options.capture.empty()) {
    fail_usage("--from describes a capture: give it alone, and craft what it prints");
  }
  if (!options.capture.empty() && !options.link.empty()) {
    fail_usage("--from describes a capture and sends nothing: softrnic replay {} --to {} does",
               options.capture, options.link);
  }
  if (options.at_once && options.link.empty()) fail_usage("--fast: only with --to LINK");
  keep_input(options.capture, "--output", options.output);
  return true;
}

[[noreturn]] void complain(const Complaint& complaint) {
  throw Failure(kUsageError, complaint.to_string());
}

void print(std::string_view text) {
  if (std::fwrite(text.data(), 1, text.size(), stdout) != text.size()) {
    fail_output();
  }
}

// --- crafting ---

class Craft {
 public:
  explicit Craft(const Options& options)
      : options_(options), crafter_([this](const craft::CraftedFrame& f) { return on_frame(f); }) {
    if (!options.output.empty()) capture_.emplace(options.output);
    if (!options.link.empty()) traffic_.emplace(options.link, options.at_once);
  }

  void run() {
    if (!options_.file.empty()) run_file();
    int number = 0;
    for (const std::string& word : options_.words) {
      run_text(word,
               options_.words.size() == 1 ? "the line" : fmt::format("argument {}", ++number));
    }
    if (const auto wrong = crafter_.finish()) complain(*wrong);
    if (tally_.frames == 0 && !interrupted()) {
      fail_usage("the description has no packet: give a line such as 'rc send_only'");
    }
    if (interrupted()) throw Failure(kUsageError, "interrupted: nothing was written");
    if (capture_) capture_->commit(crafter_.link_type());
    report();
  }

 private:
  bool on_frame(const craft::CraftedFrame& frame) {
    tally_.on_frame(frame);
    if (capture_ && !capture_->on_frame(frame, crafter_.link_type())) return false;
    if (traffic_ && !traffic_->on_frame(frame)) return false;
    if (!capture_ && !traffic_) show(frame);
    return !interrupted();
  }

  void run_text(std::string_view text, const std::string& where) {
    const auto lines = craft::read_lines(text, where);
    if (!lines) complain(lines.error());
    run_lines(*lines);
  }

  void run_lines(const std::vector<Line>& lines) {
    for (const Line& line : lines) {
      if (const auto wrong = crafter_.on_line(line)) complain(*wrong);
    }
  }

  void run_file() {
    std::unique_ptr<std::FILE, int (*)(std::FILE*)> owned(nullptr, &std::fclose);
    std::FILE* file = stdin;
    if (options_.file != "-") {
      owned.reset(std::fopen(options_.file.c_str(), "rb"));
      file = owned.get();
      if (file == nullptr) {
        fail_usage("the description \"{}\" cannot be read: name a file that can", options_.file);
      }
    }
    const fabric::ScriptForm form = fabric::script_form_of(options_.file);
    if (form == fabric::ScriptForm::lines) return run_stream(file);
    std::string text;
    for (int c = std::fgetc(file); c != EOF; c = std::fgetc(file)) {
      if (c == 0) refuse_bytes(text);
      text.push_back(static_cast<char>(c));
      if (text.size() > kMostScript) fail_usage("a description in JSON or TOML has at most 64 MiB");
    }
    const auto root =
        form == fabric::ScriptForm::json ? fabric::read_json(text) : fabric::read_toml(text);
    if (!root) fail_usage("{}", root.error().to_string());
    const auto lines = craft::read_script(*root);
    if (!lines) complain(lines.error());
    run_lines(*lines);
  }

  // A description is text, in which no zero byte stands; in a capture one comes soon.
  [[noreturn]] void refuse_bytes(std::string_view beginning) const {
    constexpr std::string_view kCaptures[] = {
        "\x0a\x0d\x0d\x0a", "\xd4\xc3\xb2\xa1", "\xa1\xb2\xc3\xd4", "\x4d\x3c\xb2\xa1",
        "\xa1\xb2\x3c\x4d", "\x34\xcd\xb2\xa1", "\xa1\xb2\xcd\x34"};
    if (std::ranges::find(kCaptures, beginning.substr(0, kMagic)) != std::end(kCaptures)) {
      fail_usage("{} is a capture: softrnic craft --from {} describes it", options_.file,
                 options_.file);
    }
    fail_usage("{} is no text, there are zero bytes in it: a description is lines of text",
               options_.file);
  }

  // Line by line, so that an endless one is worked on as it comes.
  void run_stream(std::FILE* file) {
    std::string line;
    std::string beginning;
    std::uint64_t number = 1;
    const auto end_line = [&] {
      run_text(line, fmt::format("line {}", number++));
      line.clear();
    };
    for (int c = std::fgetc(file); c != EOF && !crafter_.stopped(); c = std::fgetc(file)) {
      if (c == 0) refuse_bytes(beginning);
      if (beginning.size() < kMagic) beginning.push_back(static_cast<char>(c));
      if (c == '\n') {
        end_line();
        continue;
      }
      line.push_back(static_cast<char>(c));
      if (line.size() > kLongestText) fail_usage("line {} is longer than 256 MiB", number);
    }
    if (std::ferror(file) != 0 && !interrupted()) {
      fail_usage("the description \"{}\" cannot be read to its end", options_.file);
    }
    if (!crafter_.stopped() && !interrupted()) end_line();
  }

  void show(const craft::CraftedFrame& frame) {
    const capture::Record record{0, frame.at, static_cast<std::uint32_t>(frame.wire_size),
                                 frame.bytes};
    const std::string line = describer_.describe(crafter_.link_type(), record).back().to_string();
    const auto packet = wire::PacketView::parse(wire::ByteChain(frame.bytes), {false});
    if (options_.json) {
      Json shown{{"time_ns", frame.at.time_since_epoch().count()},
                 {"bytes", frame.wire_size},
                 {"line", line},
                 {"icrc", packet ? Json(fmt::format("{:#010x}", packet->icrc())) : Json()},
                 {"frame", craft::to_hex(frame.bytes)}};
      packets_.push_back(std::move(shown));
      return;
    }
    std::string text =
        fmt::format("{}: {} bytes at {:.3f} us: {}\n", tally_.frames, frame.wire_size,
                    static_cast<double>(tally_.duration_ns()) / 1e3, line);
    print(text + hex_dump(frame.bytes));
  }

  void report() {
    const bool shown = !capture_ && !traffic_;
    if (options_.output == "-") return;
    if (options_.json) {
      Json report{{"file", options_.output.empty() ? Json() : Json(options_.output)},
                  {"link", options_.link.empty() ? Json() : Json(options_.link)},
                  {"frames", tally_.frames},
                  {"bytes", tally_.bytes},
                  {"duration_ns", tally_.duration_ns()}};
      if (traffic_) report["dropped"] = traffic_->dropped();
      if (shown) report["packets"] = std::move(packets_);
      return print(report.dump(2, ' ', true, Json::error_handler_t::replace) + "\n");
    }
    if (shown) return;
    print(fmt::format("{}: {} frame{}, {} bytes, in {:.3f} us{}\n",
                      one_line(capture_ ? options_.output : options_.link), tally_.frames,
                      tally_.frames == 1 ? "" : "s", tally_.bytes,
                      static_cast<double>(tally_.duration_ns()) / 1e3,
                      traffic_ && traffic_->dropped() != 0
                          ? fmt::format("; {} refused by the link", traffic_->dropped())
                          : ""));
  }

  const Options& options_;
  craft::Crafter crafter_;
  craft::Describer describer_;
  CraftTally tally_;
  std::optional<CraftedCapture> capture_;
  std::optional<CraftedTraffic> traffic_;
  Json packets_ = Json::array();
};

// --- describing ---

// As description_script reads it again.
Json json_of(const Line& line) {
  const std::string& first = line.words.front().text;
  if (first == "from" || first == "set" || first == "start" || first == "link") {
    return line.to_string();
  }
  std::string name;
  Json packet{{craft::kPacketKey, ""}};
  for (const craft::Word& word : line.words) {
    if (!word.value) {
      name += (name.empty() ? "" : " ") + word.to_string();
    } else if (word.text == "payload" && word.quoted) {
      packet["text"] = *word.value;
    } else {
      packet[word.text] = *word.value;
    }
  }
  packet[craft::kPacketKey] = name;
  return packet;
}

void describe(const Options& options) {
  auto file = capture::CaptureFile::open(options.capture);
  if (!file) throw Failure(kUsageError, file.error());
  auto out = capture::WholeFile::create(options.output.empty() ? "-" : options.output);
  if (!out) throw Failure(kUsageError, out.error());
  craft::Describer describer;
  CaptureProgress progress(*file);
  if (options.json) out->write("{\"packets\": [");
  bool any = false;
  while (!interrupted()) {
    const capture::Record* record = file->next();
    if (record == nullptr) break;
    progress.on_record(*record);
    for (const Line& line : describer.describe(file->link_type(), *record)) {
      const std::string text =
          options.json ? (any ? ",\n  " : "\n  ") +
                             json_of(line).dump(-1, ' ', true, Json::error_handler_t::replace)
                       : line.to_string() + "\n";
      any = true;
      if (!out->write(text)) break;
    }
  }
  if (options.json) out->write("\n]}\n");
  // What stands on standard output stands there; a file is written whole or not at all.
  const std::string damage = interrupted() ? "interrupted" : file->damage();
  if (damage.empty() || options.output.empty()) {
    if (const auto done = out->commit(); !done) throw Failure(kUsageError, done.error());
  }
  if (!damage.empty()) throw Failure(kUsageError, damage);
}

}  // namespace

int run_craft(int argc, char** argv) {
  Options options;
  if (!parse_options(argc, argv, options)) return kSuccess;
  if (options.list) {
    print(options.json ? craft_list_json(options.words) : craft_list_text(options.words));
    return kSuccess;
  }
  catch_interruptions();
  if (options.capture.empty()) {
    Craft(options).run();
  } else {
    describe(options);
  }
  return kSuccess;
}

}  // namespace softrnic::tools
