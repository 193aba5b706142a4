// SPDX-License-Identifier: BSD-3-Clause
#include <catch2/catch.hpp>

#include "replay/frame_source.hpp"
#include "written_capture.hpp"

namespace softrnic::replay {
namespace {

using capture::test::Bytes;
using capture::test::packet;
using std::chrono::microseconds;
using test::send_frame;
using test::TimedFrame;
using test::WrittenCapture;

std::vector<TimedFrame> three_frames() {
  std::vector<TimedFrame> frames;
  for (std::uint32_t i = 0; i < 3; ++i) {
    frames.push_back({microseconds(10 * i), send_frame(100 + i, 8 * i), 0});
  }
  return frames;
}

FrameSource open(const std::string& path, FrameSourceOptions options = {}) {
  auto source = FrameSource::open(path, std::move(options));
  INFO((source ? std::string() : source.error()));
  REQUIRE(source.has_value());
  return std::move(source).value();
}

std::vector<Bytes> all_of(FrameSource& source) {
  std::vector<Bytes> frames;
  while (const SourceFrame* next = source.next()) {
    frames.emplace_back(next->bytes.begin(), next->bytes.end());
  }
  return frames;
}

TEST_CASE("frames come as they are, preloaded or read as it goes", "[frame_source]") {
  const auto frames = three_frames();
  const WrittenCapture file(frames);
  FrameSourceOptions options;
  options.preload = GENERATE(std::uint64_t{0}, std::uint64_t{1} << 20);
  FrameSource source = open(file.path(), options);
  CHECK(source.preloaded() == (options.preload != 0));
  for (int loop = 0; loop < 2; ++loop) {
    for (std::uint32_t i = 0; i < 3; ++i) {
      const SourceFrame* next = source.next();
      REQUIRE(next != nullptr);
      CHECK(next->number == i + 1);
      CHECK(next->at == wire::Instant(std::chrono::seconds(1000) + microseconds(10 * i)));
      CHECK(Bytes(next->bytes.begin(), next->bytes.end()) == frames[i].bytes);
    }
    CHECK(source.next() == nullptr);
    CHECK(source.damage().empty());
    CHECK(source.counts().read == 3);
    CHECK_FALSE(source.rewind().has_value());
  }
}

TEST_CASE("only the frames that were asked for come", "[frame_source]") {
  const auto frames = three_frames();
  const WrittenCapture file(frames);
  FrameSourceOptions options;
  options.ranges = {{2, 9}};
  options.filter = "udp[4:2] < 40";  // shorter than the third one is
  FrameSource source = open(file.path(), options);
  CHECK(all_of(source) == std::vector<Bytes>{frames[1].bytes});
  CHECK(source.counts().not_asked_for == 2);
}

TEST_CASE("frames that were cut are left out, or padded when asked", "[frame_source]") {
  auto frames = three_frames();
  const Bytes whole = frames[2].bytes;
  frames[2].wire_size = static_cast<std::uint32_t>(whole.size());
  frames[2].bytes.resize(64);
  const WrittenCapture file(frames);
  FrameSourceOptions options;
  options.pad = GENERATE(false, true);
  FrameSource source = open(file.path(), options);
  const auto sent = all_of(source);
  CHECK(source.counts().cut == 1);
  REQUIRE(sent.size() == (options.pad ? 3 : 2));
  if (!options.pad) return;
  Bytes padded = frames[2].bytes;
  padded.resize(whole.size());
  CHECK(sent[2] == padded);
}

TEST_CASE("frames without an Ethernet header get one, or are refused", "[frame_source]") {
  const Bytes inner = packet({});
  const WrittenCapture file({{microseconds(0), inner, 0}, {microseconds(1), Bytes(3), 0}},
                            capture::LinkType::raw_ip);
  const auto refused = FrameSource::open(file.path(), {});
  REQUIRE_FALSE(refused.has_value());
  CHECK(refused.error().find("--to-mac MAC") != std::string::npos);

  FrameSourceOptions options;
  const auto mac = [](const char* text) { return *wire::MacAddress::from_string(text); };
  options.addresses = {mac("02:00:00:00:00:02"), mac("02:00:00:00:00:01")};
  FrameSource source = open(file.path(), options);
  const auto sent = all_of(source);
  REQUIRE(sent.size() == 1);
  CHECK(source.counts().no_network == 1);
  const auto header = wire::EthernetHeader::parse(sent[0]);
  REQUIRE(header);
  CHECK(header->destination == options.addresses->destination);
  CHECK(header->source == options.addresses->source);
  CHECK(header->ethertype == wire::ethertype::kIpv4);
  CHECK(Bytes(sent[0].begin() + 14, sent[0].end()) == inner);
}

TEST_CASE("a damaged file tells so at its end", "[frame_source]") {
  const WrittenCapture whole(three_frames());
  capture::test::ScratchFile file;
  auto bytes = capture::test::Bytes();
  {
    std::ifstream in(whole.path(), std::ios::binary);
    for (const char c : std::vector<char>{std::istreambuf_iterator<char>(in), {}}) {
      bytes.push_back(static_cast<std::byte>(c));
    }
  }
  bytes.resize(bytes.size() - 7);
  file.write(bytes);
  FrameSourceOptions options;
  options.preload = GENERATE(std::uint64_t{0}, std::uint64_t{1} << 20);
  FrameSource source = open(file.path(), options);
  CHECK(all_of(source).size() == 2);
  CHECK_FALSE(source.damage().empty());
}

}  // namespace
}  // namespace softrnic::replay
