// SPDX-License-Identifier: BSD-3-Clause
// softrnic replay --as requester, --as responder: one side of a captured connection against a live
// peer.
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <optional>
#include <string>

#include "capture/whole_file.hpp"
#include "difference_report.hpp"
#include "failure.hpp"
#include "interruption.hpp"
#include "limited_resources.hpp"
#include "nic/event_loop.hpp"
#include "out_of_band.hpp"
#include "payload_pattern.hpp"
#include "replay/difference.hpp"
#include "replay_live.hpp"
#include "replay_side_report.hpp"
#include "replay_stage.hpp"
#include "temporary_file.hpp"

namespace softrnic::tools {

namespace {

constexpr int kAlike = 0;
constexpr int kDiffers = 1;
constexpr int kCouldNot = 2;
constexpr std::size_t kDifferencesShown = 10;
// The peer may have missed our last acknowledgement and asks again: stay until it has been quiet.
constexpr wire::Duration kQuiet = std::chrono::milliseconds(300);
constexpr wire::Duration kLongestLinger = std::chrono::seconds(5);
constexpr wire::Duration kBetweenSigns = std::chrono::milliseconds(200);

wire::Duration seconds_or_ever(double seconds) {
  if (seconds == 0) return wire::Duration::max();
  return std::chrono::duration_cast<wire::Duration>(std::chrono::duration<double>(seconds));
}

// How far the replay is, on a terminal's standard error.
class ReplayProgress {
 public:
  ReplayProgress() : shown_on_(isatty(STDERR_FILENO) == 1) {}
  ~ReplayProgress() {
    if (shown_) fmt::print(stderr, "\r\x1b[K");
  }
  ReplayProgress(const ReplayProgress&) = delete;
  ReplayProgress& operator=(const ReplayProgress&) = delete;

  void show(std::uint32_t completed, std::size_t of) {
    if (!shown_on_ || ++calls_ % kCallsBetweenLooks != 0) return;
    const wire::Instant now = nic::real_now();
    if (now - last_ < kBetweenSigns) return;
    last_ = now;
    shown_ = true;
    fmt::print(stderr, "\r\x1b[K{} of {} operations", completed, of);
    std::fflush(stderr);
  }

 private:
  static constexpr std::uint32_t kCallsBetweenLooks = 64;
  bool shown_on_;
  bool shown_ = false;
  std::uint32_t calls_ = 0;
  wire::Instant last_{};
};

class SideRun {
 public:
  explicit SideRun(const LiveReplayOptions& options);
  int run();

 private:
  bool requester() const { return options_.mode_name == "requester"; }
  std::uint8_t side_number() const { return requester() ? 0 : 1; }
  void write_files();
  void print_layout(const replay::RecordedMemory& memory) const;
  std::uint32_t choose_our_gid(nic::Nic& nic) const;
  replay::SideReplayOptions side_options(nic::Nic& nic, std::uint64_t salt) const;
  replay::KeyMap key_map(const replay::RecordedMemory& memory) const;
  void set_stage();
  void meet_in_memory();
  void meet();
  void meet_as_client();
  void meet_as_server();
  void play();
  void linger();
  void compare();
  int report();
  void say(const std::string& text) const;

  const LiveReplayOptions& options_;
  replay::RecordedConnection connection_;
  std::unique_ptr<MemoryStage> memory_stage_;
  std::unique_ptr<ReplayStage> live_stage_;
  ReplayStage* stage_ = nullptr;
  std::unique_ptr<replay::SideReplay> side_;
  std::unique_ptr<replay::SideReplay> far_side_;
  std::unique_ptr<replay::RecordedConnection> far_connection_;
  SideReplayResult result_;
  DeviceOptions device_;
  std::optional<TemporaryFile> own_capture_;  // of the live frames, when the user wants none
  std::optional<replay::DifferenceReport> difference_;
};

replay::RecordedConnection read_connection(const LiveReplayOptions& options) {
  auto connection = replay::record_connection(options.path, options.connection, show_reading());
  if (!connection) throw Failure(kCouldNot, connection.error());
  return std::move(*connection);
}

SideRun::SideRun(const LiveReplayOptions& options)
    : options_(options), connection_(read_connection(options)) {
  device_ = options.device;
  result_.path = options.path;
  result_.mode = options.mode_name;
  result_.stream = connection_.chosen.stream.index;
}

void SideRun::say(const std::string& text) const {
  if (options_.json) return;
  fmt::print("{}", text);
  std::fflush(stdout);
}

// --- files for the peer ---

void write_whole(const std::string& path, const char* option, std::span<const std::byte> bytes) {
  auto file = capture::WholeFile::create(path);
  if (!file) throw Failure(kCouldNot, fmt::format("--{}: {}", option, file.error()));
  file->write(bytes);
  const auto done = file->commit();
  if (!done) throw Failure(kCouldNot, fmt::format("--{}: {}", option, done.error()));
}

void write_messages(const std::string& path, replay::RecordedConnection& connection,
                    std::uint8_t side) {
  auto file = capture::WholeFile::create(path);
  if (!file) throw Failure(kCouldNot, fmt::format("--expect-messages: {}", file.error()));
  for (const replay::RecordedOperation& operation : connection.sides[side].operations) {
    if (operation.operation == wire::Operation::send && operation.length != 0) {
      file->write(wire::ByteView(connection.bytes(operation.payload)));
    }
  }
  const auto done = file->commit();
  if (!done) throw Failure(kCouldNot, fmt::format("--expect-messages: {}", done.error()));
}

void SideRun::print_layout(const replay::RecordedMemory& memory) const {
  if (options_.json) {
    if (!options_.device.link.empty()) return;
    nlohmann::ordered_json json{{"file", options_.path},
                                {"as", options_.mode_name},
                                {"stream", result_.stream},
                                {"us", end_json(connection_.sides[side_number()])},
                                {"peer", end_json(connection_.sides[1 - side_number()])},
                                {"roce", roce_name(connection_)},
                                {"path_mtu", connection_.path_mtu},
                                {"memory", memory_json(memory)}};
    fmt::print("{}\n", json.dump(2, ' ', false, nlohmann::json::error_handler_t::replace));
    return;
  }
  fmt::print("  the peer's memory: {} bytes\n", memory.size());
  for (const replay::RecordedRange& range : memory.ranges()) {
    fmt::print("    offset {:#x}: captured key {:#x}, {:#x} to {:#x}{}\n", range.offset, range.key,
               range.begin, range.end, range.refused ? ", which the captured peer refused" : "");
  }
}

void SideRun::write_files() {
  const ReplaySideOptions& side = options_.side;
  if (!side.writes_files()) return;
  auto memory = replay::RecordedMemory::of(connection_, side_number());
  if (!memory) throw Failure(kCouldNot, memory.error());
  print_layout(*memory);
  if (!side.memory_path.empty()) write_whole(side.memory_path, "memory", memory->initial());
  if (!side.expect_memory_path.empty()) {
    // What of() leaves behind is the image after the last operation, from initial() on.
    if (!side.primed && side.memory_path.empty()) {
      memory->rewind(false);
      for (const auto& operation : connection_.sides[side_number()].operations) {
        memory->execute(operation);
      }
    }
    write_whole(side.expect_memory_path, "expect-memory", memory->final_image());
  }
  if (!side.expect_messages_path.empty()) {
    write_messages(side.expect_messages_path, connection_, side_number());
  }
}

// --- setting up ---

std::uint32_t SideRun::choose_our_gid(nic::Nic& nic) const {
  if (options_.side.gid_index) return choose_gid(nic.gids(), options_.side.gid_index);
  const replay::RecordedSide& us = connection_.sides[side_number()];
  const wire::RoceVersion version = connection_.chosen.stream.version;
  const auto entries = nic.gids().entries();
  // The captured address itself; else one of its family; else any of the capture's RoCE version.
  std::optional<std::uint32_t> best;
  int best_likeness = 0;
  for (std::uint32_t i = 0; i < entries.size(); ++i) {
    if (entries[i].version != version) continue;
    const bool same_family = entries[i].gid.is_ipv4_mapped() == us.address.is_ipv4_mapped();
    const int likeness = entries[i].gid == us.address     ? 4
                         : entries[i].gid.is_link_local() ? 1
                         : same_family                    ? 3
                                                          : 2;
    if (likeness <= best_likeness) continue;
    best = i;
    best_likeness = likeness;
  }
  return best ? *best : choose_gid(nic.gids(), {});
}

replay::SideReplayOptions SideRun::side_options(nic::Nic& nic, std::uint64_t salt) const {
  const ReplaySideOptions& from = options_.side;
  replay::SideReplayOptions to;
  to.gid_index = choose_our_gid(nic);
  to.path_mtu = from.path_mtu ? *from.path_mtu : connection_.path_mtu;
  if (!from.path_mtu) to.path_mtu = std::min(to.path_mtu, nic.active_mtu());
  to.qpn = from.qpn;
  to.psn = from.psn
               ? *from.psn
               : static_cast<std::uint32_t>(mix_key(options_.device.seed, salt)) & wire::Psn::kMask;
  to.ack_timeout = from.ack_timeout;
  to.retry_count = from.retry_count;
  to.rnr_retry = from.rnr_retry;
  to.pace = options_.pace;
  to.primed = from.primed || options_.in_memory();
  to.keeps_refused = from.keeps_refused;
  to.invalidates = from.invalidates;
  to.faithful = from.faithful;
  to.patience = requester() ? seconds_or_ever(from.patience) : wire::Duration::max();
  to.exposes_memory = true;
  return to;
}

replay::KeyMap SideRun::key_map(const replay::RecordedMemory& memory) const {
  const ReplaySideOptions& side = options_.side;
  replay::KeyMap map;
  if (side.peer_key) {
    map = replay::KeyMap::into_region(memory, *side.peer_key, side.peer_address);
  }
  for (const KeyMapping& mapping : side.mappings) {
    std::uint64_t begin = mapping.address.value_or(0);
    if (!mapping.address) {
      for (const replay::RecordedRange& range : memory.ranges()) {
        if (range.key == mapping.key) {
          begin = range.begin;
          break;
        }
      }
    }
    map.add(mapping.key, begin, 0, mapping.live);
  }
  for (const replay::RecordedRange& range : memory.ranges()) {
    if (requester() && !side.captured_keys && !options_.in_memory() && !map.maps(range.key)) {
      fail_usage(
          "the capture names memory by {} keys, {} bytes of it: give --peer-key and --peer-address "
          "of as much, as softrnic peer prints them, or --map, or --captured-keys",
          memory.ranges().size(), memory.size());
    }
  }
  return map;
}

void SideRun::set_stage() {
  if (!options_.side.no_diff && device_.capture_path.empty()) {
    own_capture_.emplace(".pcapng");
    device_.capture_path = own_capture_->path();
  }
  if (!options_.in_memory()) {
    live_stage_ = make_live_stage(device_);
    stage_ = live_stage_.get();
    return;
  }
  StageAddresses addresses{connection_.sides[side_number()].address,
                           connection_.sides[1 - side_number()].address};
  // A card that talks to itself in the capture is two here.
  if (addresses.ours == addresses.theirs) addresses.theirs.bytes[15] ^= 1;
  memory_stage_ =
      std::make_unique<MemoryStage>(device_, addresses, connection_.chosen.stream.first_time);
  stage_ = memory_stage_.get();
}

void require_no_error(const replay::SideReplay& side) {
  if (!side.error().empty()) throw Failure(kCouldNot, side.error());
}

// The other side of the same connection stands at the far end.
void SideRun::meet_in_memory() {
  far_connection_ = std::make_unique<replay::RecordedConnection>(read_connection(options_));
  nic::Nic& far = memory_stage_->far_nic();
  replay::SideReplayOptions options = side_options(far, 4);
  const wire::RoceVersion version = connection_.chosen.stream.version;
  const auto entries = far.gids().entries();
  for (std::uint32_t i = 0; i < entries.size(); ++i) {
    if (entries[i].version == version && !entries[i].gid.is_link_local()) options.gid_index = i;
  }
  options.qpn.reset();
  options.psn ^= 0x5a5a5a;
  options.patience = wire::Duration::max();
  far_side_ =
      std::make_unique<replay::SideReplay>(far, *far_connection_, 1 - side_number(), options);
  require_no_error(*far_side_);
  side_->connect(far_side_->local(), key_map(side_->memory()));
  far_side_->connect(side_->local(), {});
  require_no_error(*side_);
  require_no_error(*far_side_);
  memory_stage_->set_far_side(far_side_.get());
  far_side_->start(stage_->now());
}

std::string our_address(const replay::LiveEnd& end) {
  return describe(EndpointAddress{0, end.qpn, end.psn, end.gid, false});
}

void SideRun::meet_as_client() {
  nic::Nic& nic = stage_->nic();
  const replay::LiveEnd local = side_->local();
  const EndpointAddress us{0, local.qpn, local.psn, local.gid, false};
  const EndpointAddress peer = exchange_as_client(nic, options_.side.peer_host, options_.side.port,
                                                  us, seconds_or_ever(options_.side.timeout));
  say(fmt::format("  peer: {}\n", describe(peer)));
  side_->connect({peer.qpn, peer.psn, peer.gid}, key_map(side_->memory()));
}

void SideRun::meet_as_server() {
  nic::Nic& nic = stage_->nic();
  const replay::LiveEnd local = side_->local();
  const EndpointAddress us{0, local.qpn, local.psn, local.gid, false};
  const Socket listener = listen_on(options_.side.port);
  say(fmt::format("  waiting for the client on TCP port {}\n", options_.side.port));
  const Socket client = accept_client(nic, listener);
  const EndpointAddress peer = exchange_as_server(
      nic, client, us, seconds_or_ever(options_.side.timeout),
      [&](const EndpointAddress& remote) {
        if (remote.gid.is_zero()) {
          fail("the client sent no GID: start it with -g, which RoCE needs");
        }
        side_->connect({remote.qpn, remote.psn, remote.gid}, key_map(side_->memory()));
        side_->start(stage_->now());
      },
      [&] { side_->turn(stage_->now()); });
  say(fmt::format("  peer: {}\n", describe(peer)));
}

void SideRun::meet() {
  say(fmt::format("  us: {}\n", our_address(side_->local())));
  const ReplaySideOptions& side = options_.side;
  if (options_.in_memory()) {
    meet_in_memory();
  } else if (side.peer_qpn) {
    side_->connect({*side.peer_qpn, side.peer_psn, *side.peer_gid}, key_map(side_->memory()));
  } else if (requester()) {
    meet_as_client();
  } else {
    meet_as_server();
    require_no_error(*side_);
    return;
  }
  require_no_error(*side_);
  side_->start(stage_->now());
}

// --- playing ---

void SideRun::play() {
  const wire::Instant begin = stage_->now();
  ReplayProgress progress;
  const auto done = [&] {
    side_->turn(stage_->now());
    progress.show(side_->counts().completed, side_->operations().size());
    if (side_->trouble()) return true;
    return side_->finished() &&
           (side_->heard() >= side_->heard_in_capture() || side_->gave_up_hearing());
  };
  const bool alone = requester() && !options_.in_memory();
  const bool finished = stage_->run(
      done, [&] { return side_->next_deadline(); },
      alone && side_->operations().empty() ? wire::Duration(0)
                                           : seconds_or_ever(options_.side.timeout));
  result_.live_duration = stage_->now() - begin;
  result_.interrupted = !finished && interrupted();
  result_.timed_out = !finished && !result_.interrupted;
  const bool sent = side_->counts().completed == side_->operations().size();
  // The client leaves when it has what it wants; the acknowledgement of the last message may be
  // lost with it.
  const auto& trouble = side_->trouble();
  result_.left_early = !requester() && trouble &&
                       trouble->status == transport::CompletionStatus::retry_exceeded &&
                       trouble->operation + 1 == side_->operations().size() &&
                       side_->heard() >= side_->heard_in_capture();
  result_.completed =
      (sent && !trouble && (requester() || side_->heard() >= side_->heard_in_capture())) ||
      result_.left_early;
}

void SideRun::linger() {
  if (result_.interrupted || side_->trouble()) return;
  const wire::Instant latest = stage_->now() + kLongestLinger;
  std::uint64_t before = stage_->nic().counters().rcvd_pkts;
  while (stage_->now() < latest && !interrupted()) {
    stage_->run(
        [&] {
          side_->turn(stage_->now());
          return false;
        },
        [] { return wire::kNever; }, kQuiet);
    const std::uint64_t received = stage_->nic().counters().rcvd_pkts;
    if (received == before) return;
    before = received;
  }
}

// The captured dialogue and the live one side by side.
void SideRun::compare() {
  if (options_.side.no_diff || result_.interrupted) return;
  replay::ConnectionChoice choice;
  choice.stream = result_.stream;
  if (connection_.sides[0].qpn != analysis::kUnknownQpn &&
      connection_.sides[1].qpn != analysis::kUnknownQpn) {
    choice.ends = {replay::EndName{connection_.sides[0].address, connection_.sides[0].qpn},
                   replay::EndName{connection_.sides[1].address, connection_.sides[1].qpn}};
  }
  replay::DifferenceOptions options;
  // A peer that does not say what the captured one said is no peer to compare messages with.
  if (requester() && side_->gave_up_hearing()) options.only_asked_by = 0;
  auto report = replay::compare_captures({options_.path, choice}, {device_.capture_path, {}},
                                         options, show_reading());
  if (!report) throw Failure(kCouldNot, report.error());
  difference_ = std::move(*report);
}

int SideRun::report() {
  const DifferenceNames names{options_.path, own_capture_ ? "this replay" : device_.capture_path};
  if (options_.json) {
    auto json = side_replay_json(result_, connection_, side_number(), *side_);
    json["memory"] = memory_json(side_->memory());
    json["seed"] = options_.device.seed;
    if (difference_) {
      json["difference"] = nlohmann::ordered_json::parse(difference_json(*difference_, names));
    }
    fmt::print("{}\n", json.dump(2, ' ', false, nlohmann::json::error_handler_t::replace));
  } else {
    fmt::print("{}", side_replay_text(result_, connection_, side_number(), *side_));
    if (difference_) {
      fmt::print("{}",
                 difference_text(*difference_, names, options_.verbose ? 0 : kDifferencesShown));
    }
  }
  if (difference_ && !difference_->empty()) return kDiffers;
  if (!result_.completed || side_->counts().answers_different != 0) return kDiffers;
  return kAlike;
}

int SideRun::run() {
  const replay::RecordedSide& us = connection_.sides[side_number()];
  const replay::RecordedSide& peer = connection_.sides[1 - side_number()];
  say(fmt::format("{}: stream {}, as {} {} to {} {}\n", one_line(options_.path), result_.stream,
                  options_.mode_name, end_text(us), requester() ? "responder" : "requester",
                  end_text(peer)));
  write_files();
  if (options_.device.link.empty()) return kAlike;
  result_.captured_duration =
      connection_.chosen.stream.last_time - connection_.chosen.stream.first_time;
  set_stage();
  nic::Nic& nic = stage_->nic();
  if (options_.side.path_mtu && *options_.side.path_mtu > nic.active_mtu()) {
    fail("--mtu {}: the link carries a path MTU of {} at most", *options_.side.path_mtu,
         nic.active_mtu());
  }
  if (options_.side.peer_mac && options_.side.peer_gid) {
    nic.add_neighbor(*options_.side.peer_gid, *options_.side.peer_mac);
  }
  side_ =
      std::make_unique<replay::SideReplay>(nic, connection_, side_number(), side_options(nic, 3));
  require_no_error(*side_);
  say(fmt::format("  {}\n", stage_->describe()));
  meet();
  play();
  linger();
  stage_->close_capture();
  compare();
  return report();
}

}  // namespace

int run_side_replay(const LiveReplayOptions& options) {
  if (options.mode_name != "requester" && options.mode_name != "responder") {
    fail_usage("--as {}: must be wire, requester or responder", options.mode_name);
  }
  catch_interruptions();
  return SideRun(options).run();
}

}  // namespace softrnic::tools
