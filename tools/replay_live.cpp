// SPDX-License-Identifier: BSD-3-Clause
#include "replay_live.hpp"

#include <charconv>
#include <memory>

#include "capture_progress.hpp"
#include "failure.hpp"
#include "interruption.hpp"

namespace softrnic::tools {

namespace {

constexpr double kLeastSpeed = 1e-6;
constexpr double kMostSpeed = 1e6;

replay::ConnectionChoice parse_connection(const std::string& text) {
  const auto choice = replay::ConnectionChoice::from_string(text);
  if (choice) return *choice;
  fail_usage("--connection {}: give both ends, such as 10.0.0.1:0x11-10.0.0.2:0x12", text);
}

}  // namespace

replay::Pace parse_pace(const std::string& text) {
  if (text == "captured") return {};
  if (text == "fast") return {.fast = true, .speed = 1};
  double speed = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), speed);
  const std::string_view rest(end, static_cast<std::size_t>(text.data() + text.size() - end));
  if (error != std::errc{} || !(rest.empty() || rest == "x") || !(speed >= kLeastSpeed) ||
      speed > kMostSpeed) {
    fail_usage("--pace {}: give captured, fast, or how many times as fast as captured, such as 2x",
               text);
  }
  return {.fast = false, .speed = speed};
}

void LiveReplayOptions::add_to(CommandLine& line) {
  line.heading("To a live link");
  line.text("to", "LINK", device.link,
            "send to this link instead: shm:NAME, udp:ADDRESS, tap:NAME, packet:IFACE or "
            "xdp:IFACE; memory: to an emulated peer in this process");
  line.text("as", "MODE", mode_name,
            "what to be there: wire (default), the frames as they are; requester; or responder");
  line.number("stream", "N", stream, 0, 0xfffffffe,
              "which connection, by its number (default: the first reliable one)");
  line.option("connection", "ENDS",
              "which connection, by its ends, the requester's first: ADDR:QPN-ADDR:QPN",
              [this](const std::string& text) { connection.ends = parse_connection(text).ends; });
  line.option("pace", "PACE",
              "captured (default): with the gaps of the capture; fast: without; or how many times "
              "as fast as captured",
              [this](const std::string& text) { pace = parse_pace(text); });
  side.add_to(line);
  device.add_to(line);
}

// Each option in a mode that heeds it: what it says would not be done else, and nobody told.
void LiveReplayOptions::check_modes(const CommandLine& line) const {
  const bool wire = mode_name.empty() || mode_name == kWireMode;
  for (const CommandLine::Given& option : line.given()) {
    const auto stands_under = [&](auto... headings) {
      return ((option.heading == headings) || ...);
    };
    if (!live() && option.name != "json" && option.name != "verbose") {
      fail_usage("--{}: only for a replay onto a link: give --to LINK too", option.name);
    }
    const bool of_sides = stands_under(kPeerHeading, kOurEndHeading, kCloselyHeading) ||
                          option.name == "stream" || option.name == "connection";
    if (live() && wire && of_sides) {
      fail_usage("--{}: only with --as requester or --as responder", option.name);
    }
    if (!wire && stands_under(kWireHeading)) {
      fail_usage("--{}: only for frames as they are, without --as {}", option.name, mode_name);
    }
  }
  for (const auto& [name, mode] : {std::pair{"listen", "responder"}, {"patience", "requester"}}) {
    if (!wire && mode_name != mode && line.was_given(name)) {
      fail_usage("--{}: only with --as {}", name, mode);
    }
  }
  const int paces = static_cast<int>(line.was_given("pace")) +
                    static_cast<int>(line.was_given("rate")) +
                    static_cast<int>(line.was_given("pps"));
  if (paces > 1) fail_usage("--pace, --rate and --pps exclude each other: give one of them");
}

void LiveReplayOptions::complete(const CommandLine& line) {
  const bool known = mode_name == "requester" || mode_name == "responder";
  if (mode_name.empty() || mode_name == kWireMode || known) check_modes(line);
  if (!live()) return;
  if (stream != kNoStream) connection.stream = stream;
  if (device.link.empty() && !side.writes_files())
    fail_usage("--as {}: --to LINK is missing", mode_name);
  if (mode_name.empty()) mode_name = kWireMode;
  if (connection.stream && connection.ends) {
    fail_usage("--stream and --connection exclude each other");
  }
  if (mode_name != kWireMode) side.complete(*this);
  device.complete();
}

replay::OnRecord show_reading() {
  auto progress = std::make_shared<std::unique_ptr<CaptureProgress>>();
  return [progress](const capture::CaptureFile& file, const capture::Record& record) {
    if (record.number == 1) *progress = std::make_unique<CaptureProgress>(file);
    if (*progress) (*progress)->on_record(record);
    return !interrupted();
  };
}

}  // namespace softrnic::tools
