// SPDX-License-Identifier: BSD-3-Clause
#include <catch2/catch.hpp>

#include "link/memory_link.hpp"
#include "replay/wire_replay.hpp"
#include "written_capture.hpp"

namespace softrnic::replay {
namespace {

using capture::test::Bytes;
using std::chrono::microseconds;
using std::chrono::milliseconds;
using test::send_frame;
using test::TimedFrame;
using test::WrittenCapture;
using Kind = PacingOptions::Kind;

constexpr wire::Instant kBegin{std::chrono::seconds(5)};

std::vector<TimedFrame> frames_every(wire::Duration gap, std::uint32_t count) {
  std::vector<TimedFrame> frames;
  for (std::uint32_t i = 0; i < count; ++i) frames.push_back({gap * i, send_frame(i), 0});
  return frames;
}

// A replay onto a wire in memory, and what the wire's other end saw.
struct Play {
  explicit Play(const std::string& path, const WireReplayOptions& options = {},
                std::uint32_t mtu = 1500)
      : wire(mtu, 4096),
        port(wire.attach("replay")),
        far(wire.attach("far")),
        clock(kBegin),
        source(std::move(FrameSource::open(path, {})).value()),
        replay(*port, source, clock, options) {}

  void run() {
    const auto why = replay.run([this](const WireReplayResult& so_far) {
      collect();
      return so_far.sent >= most;
    });
    INFO(why.value_or(""));
    CHECK_FALSE(why.has_value());
    collect();
  }

  void collect() {
    std::array<link::Frame*, 64> frames{};
    while (const std::size_t count = far->rx_burst(clock.now(), frames)) {
      for (std::size_t i = 0; i < count; ++i) {
        Bytes bytes(frames[i]->size());
        frames[i]->bytes().copy_to(0, bytes);
        seen.push_back(std::move(bytes));
      }
      far->rx_release(std::span(frames).first(count));
    }
  }

  link::MemoryWire wire;
  std::unique_ptr<link::Link> port;
  std::unique_ptr<link::Link> far;
  VirtualClock clock;
  FrameSource source;
  WireReplay replay;
  std::uint64_t most = ~std::uint64_t{0};
  std::vector<Bytes> seen;
};

TEST_CASE("the frames of a capture are sent as they are, at their times", "[wire_replay]") {
  const auto frames = frames_every(microseconds(50), 10);
  const WrittenCapture file(frames);
  Play play(file.path());
  play.run();
  REQUIRE(play.seen.size() == 10);
  for (std::size_t i = 0; i < 10; ++i) CHECK(play.seen[i] == frames[i].bytes);
  const WireReplayResult& result = play.replay.result();
  CHECK(result.sent == 10);
  CHECK(result.sent_bytes == 10 * frames[0].bytes.size());
  CHECK(result.dropped == 0);
  CHECK(result.duration == microseconds(450));
  CHECK(result.timing.frames() == 10);
  CHECK(result.timing.worst() == wire::Duration(0));
  CHECK(result.timing.late() == 0);
}

TEST_CASE("twice as fast takes half the time", "[wire_replay]") {
  const WrittenCapture file(frames_every(microseconds(50), 10));
  Play play(file.path(), {.pacing = {.kind = Kind::captured, .factor = 2}});
  play.run();
  CHECK(play.seen.size() == 10);
  CHECK(play.replay.result().duration == microseconds(225));
}

TEST_CASE("at full speed no time passes on a wire that takes all", "[wire_replay]") {
  const WrittenCapture file(frames_every(milliseconds(50), 1000));
  Play play(file.path(), {.pacing = {.kind = Kind::full}});
  play.run();
  CHECK(play.seen.size() == 1000);
  CHECK(play.replay.result().duration == wire::Duration(0));
  CHECK(play.replay.result().timing.frames() == 0);
}

TEST_CASE("a rate paces frames, through loops", "[wire_replay]") {
  const WrittenCapture file(frames_every(milliseconds(50), 10));
  Play play(file.path(), {.pacing = {.kind = Kind::packet_rate, .factor = 1e6}, .loops = 3});
  play.run();
  CHECK(play.seen.size() == 30);
  CHECK(play.replay.result().loops == 3);
  CHECK(play.replay.result().duration == microseconds(29));
}

TEST_CASE("an endless replay ends when it is told to", "[wire_replay]") {
  const WrittenCapture file(frames_every(microseconds(1), 10));
  Play play(file.path(), {.loops = 0});
  play.most = 1000;
  play.run();
  CHECK(play.replay.result().stopped);
  CHECK(play.replay.result().sent >= 1000);
  CHECK(play.replay.result().sent < 1100);
}

TEST_CASE("endless loops over nothing end", "[wire_replay]") {
  const WrittenCapture file(std::vector<TimedFrame>{});
  Play play(file.path(), {.loops = 0});
  play.run();
  CHECK(play.replay.result().sent == 0);
}

TEST_CASE("frames longer than the link's MTU are counted and not sent", "[wire_replay]") {
  auto frames = frames_every(microseconds(1), 3);
  frames[1].bytes = send_frame(1, 1024);
  const WrittenCapture file(frames);
  Play play(file.path(), {}, 1000);
  play.run();
  REQUIRE(play.seen.size() == 2);
  CHECK(play.seen[1] == frames[2].bytes);
  CHECK(play.replay.result().unsendable == 1);
  CHECK(play.replay.result().longest == frames[1].bytes.size());
  CHECK(play.replay.result().duration == microseconds(2));
}

TEST_CASE("what a full wire does not take counts as dropped or lost, never as sent twice",
          "[wire_replay]") {
  const WrittenCapture file(frames_every(microseconds(0), 6000));
  Play play(file.path());
  play.run();
  const WireReplayResult& result = play.replay.result();
  CHECK(result.sent + result.dropped == 6000);
  CHECK(play.seen.size() <= 6000);
}

// A wire whose other end answers every frame at once.
class Answering final : public link::Link {
 public:
  Answering(link::Link& inner, link::Link& far, Bytes answer)
      : inner_(inner), far_(far), answer_(std::move(answer)) {}

  const link::Capabilities& capabilities() const override { return inner_.capabilities(); }
  std::size_t tx_alloc(std::span<link::Frame*> out) override { return inner_.tx_alloc(out); }
  void tx_push(wire::Instant now, std::span<link::Frame* const> frames) override {
    inner_.tx_push(now, frames);
    for (std::size_t i = 0; i < frames.size(); ++i) {
      link::Frame* sent = nullptr;
      REQUIRE(far_.tx_alloc({&sent, 1}) == 1);
      wire::copy(wire::ByteView(answer_), sent->append(answer_.size()));
      far_.tx_push(now, {&sent, 1});
    }
  }
  void tx_cancel(std::span<link::Frame* const> frames) override { inner_.tx_cancel(frames); }
  std::size_t rx_burst(wire::Instant now, std::span<link::Frame*> out) override {
    const std::size_t count = inner_.rx_burst(now, out);
    for (std::size_t i = 0; i < count; ++i) {
      Bytes bytes(out[i]->size());
      out[i]->bytes().copy_to(0, bytes);
      CHECK(bytes == answer_);
    }
    return count;
  }
  void rx_release(std::span<link::Frame* const> frames) override { inner_.rx_release(frames); }
  int descriptor() const override { return -1; }
  const Statistics& statistics() const override { return inner_.statistics(); }

 private:
  link::Link& inner_;
  link::Link& far_;
  Bytes answer_;
};

TEST_CASE("answers are taken, for a while after the last frame too", "[wire_replay]") {
  const WrittenCapture file(frames_every(microseconds(50), 4));
  capture::test::Sample acknowledge;
  acknowledge.opcode = wire::Opcode::rc_acknowledge;
  acknowledge.from_alice = false;
  const Bytes answer = test::station_frame(acknowledge);

  link::MemoryWire wire;
  const auto port = wire.attach("replay");
  const auto far = wire.attach("far");
  Answering link(*port, *far, answer);
  VirtualClock clock(kBegin);
  FrameSource source = std::move(FrameSource::open(file.path(), {})).value();
  const bool listen = GENERATE(false, true);
  WireReplay replay(link, source, clock, {{}, 1, listen, milliseconds(1)});
  CHECK_FALSE(replay.run([](const WireReplayResult&) { return false; }).has_value());

  const WireReplayResult& result = replay.result();
  CHECK(result.sent == 4);
  CHECK(result.received == (listen ? 4 : 0));
  CHECK(result.received_bytes == (listen ? 4 * answer.size() : 0));
  CHECK(result.duration == microseconds(150));
  CHECK(clock.now() == kBegin + microseconds(150) + milliseconds(listen ? 1 : 0));
}

}  // namespace
}  // namespace softrnic::replay
