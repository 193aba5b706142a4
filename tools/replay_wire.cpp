// SPDX-License-Identifier: BSD-3-Clause
#include "replay_wire.hpp"

#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <set>

#include "device.hpp"
#include "fabric/fault_link.hpp"
#include "failure.hpp"
#include "interruption.hpp"
#include "link/memory_link.hpp"
#include "replay_wire_report.hpp"

namespace softrnic::tools {

namespace {

constexpr int kAllSent = 0;
constexpr int kSomeNotSent = 1;
constexpr int kCouldNot = 2;

constexpr std::string_view kMemory = "memory";
constexpr double kMostRate = 1e13;

std::optional<double> parse_decimal(std::string_view text, std::string_view& rest) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{}) return {};
  rest = text.substr(static_cast<std::size_t>(end - text.data()));
  return value;
}

double take_multiple(std::string_view& text) {
  if (text.empty()) return 1;
  constexpr std::string_view kPrefixes = "kMGT";
  const std::size_t at = kPrefixes.find(text.front() == 'K' ? 'k' : text.front());
  if (at == std::string_view::npos) return 1;
  text.remove_prefix(1);
  double multiple = 1000;
  for (std::size_t i = 0; i < at; ++i) multiple *= 1000;
  return multiple;
}

bool is_rate(double value) {
  return value > 0 && value <= kMostRate;
}

std::unique_ptr<link::Link> open_or_could_not(const DeviceOptions& options) {
  try {
    return open_link(options);
  } catch (const Failure& failure) {
    throw Failure(kCouldNot, failure.what());
  }
}

// The link, with what is put around it; or a wire in memory with nobody on it.
class Wire {
 public:
  explicit Wire(const DeviceOptions& options) : options_(options) {
    if (options.link == kMemory) {
      memory_ =
          std::make_unique<link::MemoryWire>(options.link_mtu == 0 ? kMemoryMtu : options.link_mtu);
      link_ = memory_->attach(std::string(kMemory));
    } else {
      link_ = open_or_could_not(options);
    }
    bare_ = link_.get();
    wrap();
  }

  link::Link& link() { return *link_; }
  link::Link& bare() { return *bare_; }
  bool is_memory() const { return memory_ != nullptr; }

  void close_capture() {
    link_.reset();
    if (capture_ != nullptr && !capture_->close()) {
      throw Failure(kNotWritten,
                    fmt::format("{} is incomplete: it could not be written (is the disk full?)",
                                options_.capture_path));
    }
  }

 private:
  static constexpr std::uint32_t kMemoryMtu = 9000;

  void wrap() {
    if (!options_.capture_path.empty()) {
      auto file = link::CaptureFile::create(options_.capture_path);
      if (!file) throw Failure(kCouldNot, file.error().message);
      capture_ = std::move(file).value();
    }
    const std::string name = link_->capabilities().name;
    fabric::FaultOptions fault_options;
    fault_options.seed = options_.seed;
    if (!options_.faults.empty() && capture_) {
      link_ =
          fabric::inject_faults(std::move(link_), options_.faults, fault_options, capture_, name)
              .link;
    } else if (!options_.faults.empty()) {
      link_ = fabric::inject_faults(std::move(link_), options_.faults, fault_options);
    } else if (capture_) {
      link_ = link::capture(std::move(link_), capture_, name);
    }
  }

  const DeviceOptions& options_;
  std::unique_ptr<link::MemoryWire> memory_;  // outlives its port
  std::shared_ptr<link::CaptureFile> capture_;
  std::unique_ptr<link::Link> link_;
  link::Link* bare_ = nullptr;
};

// How far it is, on a terminal.
class Progress {
 public:
  explicit Progress(const replay::FrameSource& source)
      : source_(source), shown_on_(isatty(STDERR_FILENO) == 1) {}
  ~Progress() {
    if (shown_) fmt::print(stderr, "\r\x1b[K");
  }
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  void on_turn(const replay::WireReplayResult& so_far, wire::Instant now) {
    if (!shown_on_ || now < next_) return;
    next_ = now + std::chrono::milliseconds(200);
    if (!shown_ && so_far.sent == 0) return;
    shown_ = true;
    const double share = source_.progress();
    fmt::print(stderr, "\r\x1b[K{} frames, loop {}", so_far.sent, so_far.loops);
    if (share >= 0) fmt::print(stderr, ", {:.0f} % of it", share * 100);
    std::fflush(stderr);
  }

 private:
  const replay::FrameSource& source_;
  bool shown_on_;
  bool shown_ = false;
  wire::Instant next_{};
};

replay::FrameSource open_source(const LiveReplayOptions& live, const WireReplayArguments& arguments,
                                link::Link& link) {
  replay::FrameSourceOptions options = arguments.source;
  if (arguments.destination) {
    options.addresses = {*arguments.destination,
                         live.device.mac ? *live.device.mac : link.capabilities().mac};
  }
  auto source = replay::FrameSource::open(live.path, std::move(options));
  if (!source && interrupted()) throw Failure(kCouldNot, "interrupted before the first frame");
  if (!source) throw Failure(kCouldNot, source.error());
  return std::move(source).value();
}

// What a link that shares its interface with the kernel must know to hand us the answers: who the
// frames say they are from, as far as their beginning tells.
void announce_senders(replay::FrameSource& source, link::Link& link) {
  if (!source.preloaded()) return;
  constexpr int kLook = 4096;
  constexpr std::size_t kMostAddresses = 64;
  std::optional<wire::MacAddress> mac;
  std::set<wire::Gid> ips;
  for (int i = 0; i < kLook; ++i) {
    const replay::SourceFrame* frame = source.next();
    if (frame == nullptr) break;
    const auto packet = wire::PacketView::parse(wire::ByteChain(frame->bytes));
    if (!packet) continue;
    if (!mac) mac = packet->ethernet().source;
    if (packet->ethernet().source == *mac && ips.size() < kMostAddresses) {
      ips.insert(packet->source());
    }
  }
  source.rewind();
  if (mac) link.set_local_addresses(*mac, std::vector<wire::Gid>(ips.begin(), ips.end()));
}

replay::WireReplayOptions replay_options(const LiveReplayOptions& live,
                                         const WireReplayArguments& arguments) {
  using Kind = replay::PacingOptions::Kind;
  replay::WireReplayOptions options;
  options.pacing = {live.pace.fast ? Kind::full : Kind::captured, live.pace.speed};
  if (arguments.rate) options.pacing = *arguments.rate;
  options.loops = arguments.loops;
  options.listen = !live.device.capture_path.empty();
  options.linger = wire::Duration(static_cast<std::int64_t>(arguments.linger_seconds * 1e9));
  return options;
}

}  // namespace

std::optional<double> parse_bit_rate(std::string_view text) {
  auto value = parse_decimal(text, text);
  if (!value) return {};
  *value *= take_multiple(text);
  for (const std::string_view unit : {"bit/s", "bps", "bit"}) {
    if (text == unit) text = {};
  }
  if (!text.empty() || !is_rate(*value)) return {};
  return value;
}

void WireReplayArguments::add_to(CommandLine& line) {
  using Kind = replay::PacingOptions::Kind;
  line.heading(std::string(kWireHeading));
  line.option("rate", "RATE", "bits of frames a second instead of the capture's gaps: 10Gbit/s",
              [this](const std::string& text) {
                const auto value = parse_bit_rate(text);
                if (!value) fail_usage("--rate {}: give bits a second, such as 10Gbit/s", text);
                rate = {Kind::bit_rate, *value};
              });
  line.option("pps", "RATE", "frames a second instead: 250k", [this](const std::string& text) {
    std::string_view rest = text;
    auto value = parse_decimal(rest, rest);
    if (value) *value *= take_multiple(rest);
    if (!value || !rest.empty() || !is_rate(*value)) {
      fail_usage("--pps {}: give frames a second, such as 1000 or 250k", text);
    }
    rate = {Kind::packet_rate, *value};
  });
  line.number("loop", "N", loops, 0, ~std::uint64_t{0}, "so many times (0: until interrupted)");
  line.option("frames", "RANGES", "only these, by number: 10-20,30-",
              [this](const std::string& text) {
                const auto ranges = replay::parse_frame_ranges(text);
                if (!ranges) fail_usage("--frames: {}", ranges.error());
                source.ranges = *ranges;
              });
  line.text("filter", "EXPRESSION", source.filter,
            "only those that tcpdump would show with it: 'src host 10.0.0.1'");
  line.option("to-mac", "MAC",
              "give frames that were captured without one an Ethernet header to this address "
              "(from --mac, default: the interface's)",
              [this](const std::string& text) { destination = parse_mac_address(text); });
  line.flag("pad", source.pad, "send frames that a snap length cut, with zeros at their end");
  line.option("linger", "SECONDS", "how long -w goes on after the last frame (default 0.5)",
              [this](const std::string& text) {
                const auto seconds = parse_seconds(text);
                if (!seconds) fail_usage("--linger {}: give seconds, such as 2 or 0.1", text);
                linger_seconds = *seconds;
              });
}

int run_wire_replay(const LiveReplayOptions& live, const WireReplayArguments& arguments) {
  catch_interruptions();
  Wire wire(live.device);
  replay::FrameSource source = open_source(live, arguments, wire.link());
  const replay::WireReplayOptions options = replay_options(live, arguments);
  if (options.pacing.kind == replay::PacingOptions::Kind::full) wire.bare().set_patient(true);
  if (options.listen) announce_senders(source, wire.bare());

  std::unique_ptr<replay::ReplayClock> clock;
  if (wire.is_memory()) {
    clock = std::make_unique<replay::VirtualClock>(wire::Instant{});
  } else {
    clock = std::make_unique<replay::HostClock>();
  }
  replay::WireReplay replay(wire.link(), source, *clock, options);
  std::string why_not;
  {
    Progress progress(source);
    const auto stop = [&](const replay::WireReplayResult& so_far) {
      progress.on_turn(so_far, clock->now());
      return interrupted();
    };
    why_not = replay.run(stop).value_or("");
  }
  if (interrupted()) why_not = fmt::format("interrupted after {} frames", replay.result().sent);

  const link::Capabilities capabilities = wire.link().capabilities();
  const WireReplayReport report{.path = live.path,
                                .link = capabilities.name,
                                .capture_path = live.device.capture_path,
                                .padded = arguments.source.pad,
                                .mtu = capabilities.mtu,
                                .why_not = why_not,
                                .result = replay.result(),
                                .counts = source.counts()};
  fmt::print("{}", live.json ? wire_replay_json(report) : wire_replay_text(report));
  wire.close_capture();
  if (!why_not.empty()) throw Failure(kCouldNot, why_not);
  return report.all_sent() ? kAllSent : kSomeNotSent;
}

}  // namespace softrnic::tools
