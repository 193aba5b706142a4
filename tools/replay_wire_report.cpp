// SPDX-License-Identifier: BSD-3-Clause
#include "replay_wire_report.hpp"

#include <fmt/format.h>

#include <array>
#include <nlohmann/json.hpp>

#include "one_line.hpp"

namespace softrnic::tools {

namespace {

using replay::TimingError;

constexpr double kNanoseconds = 1e9;

struct Share {
  const char* title;
  const char* key;
  double share;
};
constexpr std::array kShares{Share{"50 %", "p50_ns", 0.5}, Share{"90 %", "p90_ns", 0.9},
                             Share{"99 %", "p99_ns", 0.99}, Share{"99.9 %", "p999_ns", 0.999}};

std::string show_time(wire::Duration duration) {
  const auto ns = static_cast<double>(duration.count());
  if (ns < 1e3) return fmt::format("{} ns", duration.count());
  if (ns < 1e6) return fmt::format("{:.1f} us", ns / 1e3);
  if (ns < 1e9) return fmt::format("{:.3f} ms", ns / 1e6);
  return fmt::format("{:.3f} s", ns / 1e9);
}

std::string show_bytes(std::uint64_t bytes) {
  const auto b = static_cast<double>(bytes);
  if (b < 1e3) return fmt::format("{} bytes", bytes);
  if (b < 1e6) return fmt::format("{:.1f} kB", b / 1e3);
  if (b < 1e9) return fmt::format("{:.1f} MB", b / 1e6);
  return fmt::format("{:.2f} GB", b / 1e9);
}

std::string frames(std::uint64_t count) {
  return fmt::format("{} frame{}", count, count == 1 ? "" : "s");
}

// Nothing where no time passed.
double a_second(std::uint64_t count, wire::Duration duration) {
  if (duration.count() <= 0) return 0;
  return static_cast<double>(count) / static_cast<double>(duration.count()) * kNanoseconds;
}

std::string timing_text(const TimingError& timing) {
  if (timing.gaps() == 0) return {};
  std::string text =
      fmt::format("timing: {} gap{}, |error|", timing.gaps(), timing.gaps() == 1 ? "" : "s");
  for (const Share& share : kShares) {
    text += fmt::format(" {} {},", share.title, show_time(timing.percentile(share.share)));
  }
  text +=
      fmt::format(" most {}; {} late by more than {}, at most {}\n", show_time(timing.worst()),
                  frames(timing.late()), show_time(TimingError::kLate), show_time(timing.latest()));
  return text;
}

}  // namespace

bool WireReplayReport::all_sent() const {
  return why_not.empty() && result.dropped == 0 && result.unsendable == 0 &&
         (counts.cut == 0 || padded) && counts.no_network == 0;
}

std::string show_bit_rate(double bits_per_second) {
  if (bits_per_second >= 1e9) return fmt::format("{:.3f} Gbit/s", bits_per_second / 1e9);
  if (bits_per_second >= 1e6) return fmt::format("{:.1f} Mbit/s", bits_per_second / 1e6);
  return fmt::format("{:.1f} kbit/s", bits_per_second / 1e3);
}

std::string wire_replay_text(const WireReplayReport& report) {
  const replay::WireReplayResult& result = report.result;
  const replay::FrameSourceCounts& counts = report.counts;
  std::string text =
      fmt::format("{}: {} sent to {}, {}, in {}", one_line(report.path), frames(result.sent),
                  report.link, show_bytes(result.sent_bytes), show_time(result.duration));
  if (result.duration.count() > 0) {
    text += fmt::format(": {:.0f} frames/s, {}", a_second(result.sent, result.duration),
                        show_bit_rate(a_second(8 * result.sent_bytes, result.duration)));
  }
  if (result.loops > 1) text += fmt::format("; {} loops", result.loops);
  text += '\n';
  text += timing_text(result.timing);
  if (result.dropped != 0) {
    text += fmt::format("dropped by the link: {}\n", frames(result.dropped));
  }
  if (result.unsendable != 0) {
    text += fmt::format(
        "not sent: {} too large for the link's MTU of {} (the largest has {} bytes), or too small "
        "to be one\n",
        frames(result.unsendable), report.mtu, result.longest);
  }
  if (counts.cut != 0) {
    text += report.padded ? fmt::format("padded with zeros: {} that a snap length had cut\n",
                                        frames(counts.cut))
                          : fmt::format(
                                "not sent: {} that a snap length had cut (--pad sends them with "
                                "zeros at their end)\n",
                                frames(counts.cut));
  }
  if (counts.no_network != 0) {
    text += fmt::format("not sent: {} of no network protocol\n", frames(counts.no_network));
  }
  if (!report.capture_path.empty()) {
    text += fmt::format("came back: {}, {}; all in {}\n", frames(result.received),
                        show_bytes(result.received_bytes), one_line(report.capture_path));
  }
  return text;
}

std::string wire_replay_json(const WireReplayReport& report) {
  const replay::WireReplayResult& result = report.result;
  nlohmann::ordered_json json;
  json["file"] = report.path;
  json["link"] = report.link;
  json["as"] = "wire";
  json["complete"] = report.why_not.empty();
  json["loops"] = result.loops;
  json["sent"] = result.sent;
  json["sent_bytes"] = result.sent_bytes;
  json["dropped"] = result.dropped;
  json["too_large"] = result.unsendable;
  json["frames_cut"] = report.counts.cut;
  json["padded"] = report.padded;
  json["no_network"] = report.counts.no_network;
  json["not_asked_for"] = report.counts.not_asked_for;
  json["duration_ns"] = result.duration.count();
  json["frames_per_second"] = a_second(result.sent, result.duration);
  json["bits_per_second"] = a_second(8 * result.sent_bytes, result.duration);
  const TimingError& timing = result.timing;
  if (timing.gaps() == 0) {
    json["timing"] = nullptr;
  } else {
    nlohmann::ordered_json& error = json["timing"];
    error["gaps"] = timing.gaps();
    for (const Share& share : kShares) error[share.key] = timing.percentile(share.share).count();
    error["max_ns"] = timing.worst().count();
    error["mean_ns"] = timing.mean().count();
    error["late"] = timing.late();
    error["late_means_ns"] = TimingError::kLate.count();
    error["latest_ns"] = timing.latest().count();
  }
  json["received"] = result.received;
  json["received_bytes"] = result.received_bytes;
  json["capture"] = nullptr;
  if (!report.capture_path.empty()) json["capture"] = report.capture_path;
  return json.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
}

}  // namespace softrnic::tools
