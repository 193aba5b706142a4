// SPDX-License-Identifier: BSD-3-Clause
// softrnic capture: every frame of a shared-memory segment into a pcapng file or a pipe, live.
#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <map>
#include <nlohmann/json.hpp>
#include <string>

#include "command_line.hpp"
#include "failure.hpp"
#include "interruption.hpp"
#include "link/capture_link.hpp"
#include "link/shm_mirror.hpp"
#include "nic/event_loop.hpp"
#include "subcommands.hpp"

namespace softrnic::tools {

namespace {

using link::Direction;
using link::MirrorNote;
using wire::Instant;

constexpr std::string_view kShm = "shm:";
// Frames taken between two looks at the clock and at Ctrl-C.
constexpr std::size_t kBurst = 256;
// The longest sleep, should a signal have come just before it.
constexpr int kLongestSleepMs = 100;

struct Options {
  std::string from;
  std::string output;
  std::string host;
  bool sent = true;         // with --host: what it sends
  bool received = true;     // and what it receives
  std::uint64_t count = 0;  // 0: until Ctrl-C
  double seconds = 0;       // 0: until Ctrl-C
  std::uint32_t snap = 0;   // 0: all
  bool json = false;
};

bool parse_options(int argc, char** argv, Options& options) {
  constexpr std::uint32_t kMostSnap = 65535;
  CommandLine line(
      "capture", "Usage: softrnic capture --from shm:NAME -o FILE [OPTIONS]",
      "Writes every frame that crosses a shared-memory segment to a pcapng file, until\n"
      "Ctrl-C. The programs on the segment need not know. Each of them is an interface\n"
      "of the file.",
      "  softrnic capture --from shm:lab -o lab.pcapng\n"
      "  softrnic capture --from shm:lab -o - | wireshark -k -i -\n"
      "  softrnic capture --from shm:lab --host a -o - | tshark -r -\n");
  line.text("from", "shm:NAME", options.from, "the segment");
  line.text("output,o", "FILE", options.output, "where to write it; -: to standard output");
  line.text("host", "NAME", options.host,
            "only what this host sends and receives, as it would capture it itself");
  line.option("direction", "WHICH", "with --host: sent, received or both (default)",
              [&options](const std::string& text) {
                if (text != "sent" && text != "received" && text != "both") {
                  fail_usage("--direction {}: must be sent, received or both", text);
                }
                options.sent = text != "received";
                options.received = text != "sent";
              });
  line.number("count,c", "N", options.count, 1, ~std::uint64_t{0} >> 1, "end after N frames");
  line.seconds("for", options.seconds, "end after so long (default: at Ctrl-C)");
  line.number("snap,s", "BYTES", options.snap, 1, kMostSnap, "keep so much of each frame");
  line.flag("json", options.json, "print one JSON object at the end instead of text");
  if (!line.parse(argc, argv)) return false;
  if (options.from.empty()) fail_usage("--from is missing: give shm:NAME");
  if (!options.from.starts_with(kShm)) {
    fail_usage(
        "--from {}: only a segment, shm:NAME, can be watched from outside; other links "
        "capture what is theirs with -w FILE",
        options.from);
  }
  if (options.host.empty() && !(options.sent && options.received)) {
    fail_usage("--direction says what of a host's frames is wanted: give --host NAME too");
  }
  if (options.output.empty()) fail_usage("-o is missing: name a file, or - for standard output");
  return true;
}

constexpr std::uint32_t kNoInterface = ~std::uint32_t{0};

class Recording {
 public:
  explicit Recording(const Options& options) : options_(options) {
    catch_interruptions();
    auto mirror = link::ShmMirror::open(options.from.substr(kShm.size()));
    if (!mirror) fail("{}", mirror.error().message);
    mirror_ = std::move(mirror).value();
    auto file = link::CaptureFile::create(options.output);
    if (!file) fail("{}", file.error().message);
    file_ = std::move(file).value();
    if (!options.host.empty()) interface_ = file_->add_interface(options.host, options.snap);
  }

  void run() {
    const Instant begin = nic::real_now();
    const auto duration =
        std::chrono::duration_cast<wire::Duration>(std::chrono::duration<double>(options_.seconds));
    const Instant end = options_.seconds > 0 ? begin + duration : wire::kNever;
    bool written = true;
    while (!interrupted() && !mirror_->gone() && written && !full()) {
      const Instant now = nic::real_now();
      if (now >= end) break;
      if (take(now) == kBurst) continue;
      written = file_->flush();
      sleep(now, end);
    }
    // A reader that has seen enough is no failure.
    if (!file_->close() && options_.output != "-") {
      throw Failure(kNotWritten,
                    fmt::format("{} is incomplete: it could not be written (is the disk full?)",
                                options_.output));
    }
  }

  void report() const {
    const std::uint64_t dropped = mirror_->dropped();
    if (options_.json) {
      const nlohmann::ordered_json root{{"segment", options_.from},
                                        {"file", options_.output},
                                        {"frames", frames_},
                                        {"bytes", bytes_},
                                        {"dropped", dropped}};
      fmt::print(report_stream(), "{}\n", root.dump(2));
      return;
    }
    fmt::print(report_stream(), "{}: {} frames, {} bytes, {} dropped\n", options_.from, frames_,
               bytes_, dropped);
  }

 private:
  struct Known {
    std::string host;
    std::uint32_t process = 0;
    std::uint32_t interface = kNoInterface;
  };

  std::FILE* report_stream() const { return options_.output == "-" ? stderr : stdout; }
  bool full() const { return options_.count != 0 && frames_ == options_.count; }

  std::size_t take(Instant now) {
    look_around();
    const std::size_t most =
        options_.count == 0
            ? kBurst
            : static_cast<std::size_t>(std::min<std::uint64_t>(kBurst, options_.count - frames_));
    return mirror_->take(now, most, [this](const MirrorNote& note, wire::ByteView frame) {
      if (options_.host.empty()) {
        write(note, interface_of(note.from), Direction::outbound, frame);
      } else if (known_[note.from].host == options_.host) {
        if (options_.sent) write(note, interface_, Direction::outbound, frame);
      } else if (options_.received && is_for(options_.host, note)) {
        write(note, interface_, Direction::inbound, frame);
      }
    });
  }

  // Who leaves stays known until another comes in its place: frames of its may still be waiting.
  void look_around() {
    for (const link::ShmMirror::Station& station : mirror_->stations()) {
      Known& known = known_[station.port];
      if (known.host == station.host && known.process == station.process) continue;
      known = {station.host, station.process, kNoInterface};
    }
  }

  std::uint32_t interface_of(std::size_t port) {
    Known& known = known_[port];
    if (known.interface != kNoInterface) return known.interface;
    std::string name = known.host.empty() ? fmt::format("port {}", port) : known.host;
    if (known.process != 0 && interfaces_.contains(name)) name += fmt::format("/{}", known.process);
    const auto [entry, is_new] = interfaces_.try_emplace(name, 0);
    if (is_new) entry->second = file_->add_interface(name, options_.snap);
    return known.interface = entry->second;
  }

  bool is_for(const std::string& host, const MirrorNote& note) {
    return std::any_of(known_.begin(), known_.end(), [&](const auto& entry) {
      return note.to[entry.first] && entry.second.host == host;
    });
  }

  void write(const MirrorNote& note, std::uint32_t interface, Direction direction,
             wire::ByteView frame) {
    file_->write(note.at, interface, direction, frame);
    ++frames_;
    bytes_ += frame.size();
  }

  void sleep(Instant now, Instant end) {
    const Instant wake = std::min(end, mirror_->next_deadline());
    const auto wait = wake == wire::kNever
                          ? std::chrono::milliseconds(kLongestSleepMs)
                          : std::chrono::ceil<std::chrono::milliseconds>(wake - now);
    pollfd entry{mirror_->descriptor(), POLLIN, 0};
    ::poll(&entry, 1, static_cast<int>(std::clamp<std::int64_t>(wait.count(), 0, kLongestSleepMs)));
  }

  const Options& options_;
  std::unique_ptr<link::ShmMirror> mirror_;
  std::shared_ptr<link::CaptureFile> file_;
  std::uint32_t interface_ = 0;  // with --host
  std::map<std::size_t, Known> known_;
  std::map<std::string, std::uint32_t> interfaces_;
  std::uint64_t frames_ = 0;
  std::uint64_t bytes_ = 0;
};

}  // namespace

int run_capture(int argc, char** argv) {
  Options options;
  if (!parse_options(argc, argv, options)) return kSuccess;
  Recording recording(options);
  recording.run();
  recording.report();
  return kSuccess;
}

}  // namespace softrnic::tools
