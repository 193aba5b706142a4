// SPDX-License-Identifier: BSD-3-Clause
// An analyzer that forgets says the same as one that keeps everything, and stays small.
#include <pcap/pcap.h>

#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <map>
#include <memory>
#include <random>
#include <tuple>

#include "generated_capture.hpp"
#include "sample_captures.hpp"
#include "unit/analysis/captured_talk.hpp"

namespace softrnic::analysis::test {
namespace {

using softrnic::test::GeneratedCapture;
using softrnic::test::GeneratedCaptureOptions;

AnalyzerOptions forgetting(std::uint32_t remembered) {
  AnalyzerOptions options;
  options.forgets = true;
  options.remembered = remembered;
  return options;
}

// Everything of a message that was known when it was let go, but for the order.
using Fate = std::tuple<std::uint32_t, std::uint32_t, std::uint32_t, MessageState, std::uint32_t,
                        std::uint32_t, std::uint32_t, std::uint32_t, bool>;
Fate fate_of(const Message& m) {
  return {m.stream,          m.first_frame, m.first_psn,     m.state, m.last_frame,
          m.completed_frame, m.repetitions, m.payload_bytes, m.whole};
}

// Both analyzers, fed alike.
class Both {
 public:
  explicit Both(std::uint32_t remembered) : forgets_(options(remembered)) {}

  void see(const Frame& frame) {
    const PacketRecord a = keeps_.on_packet(frame);
    PacketRecord b = forgets_.on_packet(frame);
    INFO("frame " << frame.number << ": " << frame.opcode->name);
    CHECK((a.message == kNone) == (b.message == kNone));
    if (a.message != kNone && b.message != kNone) {
      REQUIRE(fate_of(keeps_.message(a.message)) == fate_of(forgets_.message(b.message)));
      REQUIRE(keeps_.message(a.message).number == forgets_.message(b.message).number);
    }
    b.message = a.message;
    b.answered_in = a.answered_in;  // of a CM message that is gone
    const auto said = keeps_.findings(a);
    const auto said_too = forgets_.findings(b);
    INFO(text(said) << "but when it forgets:\n" << text(said_too));
    REQUIRE(std::equal(said.begin(), said.end(), said_too.begin(), said_too.end()));
    REQUIRE(is_the_same(a, b));
    findings_ += said.size();
  }

  void finish() {
    forgets_.finish();
    std::multimap<std::uint32_t, Fate> kept;
    for (std::uint32_t i = 0; i < keeps_.message_count(); ++i) {
      kept.emplace(keeps_.message(i).first_frame, fate_of(keeps_.message(i)));
    }
    REQUIRE(keeps_.message_count() == forgets_.message_count());
    REQUIRE(kept == gone_);
    REQUIRE(keeps_.stream_count() == forgets_.stream_count());
    for (std::uint32_t i = 0; i < keeps_.stream_count(); ++i) {
      for (std::size_t side : {0u, 1u}) {
        const StreamSide& a = keeps_.stream(i).sides[side];
        const StreamSide& b = forgets_.stream(i).sides[side];
        REQUIRE(a.retransmissions == b.retransmissions);
        REQUIRE(a.messages_complete == b.messages_complete);
        REQUIRE(a.bytes == b.bytes);
        REQUIRE(a.lost == b.lost);
      }
    }
  }

  std::size_t findings() const { return findings_; }

 private:
  AnalyzerOptions options(std::uint32_t remembered) {
    AnalyzerOptions options = forgetting(remembered);
    options.message_gone = [this](const Message& m) { gone_.emplace(m.first_frame, fate_of(m)); };
    return options;
  }

  static std::string text(std::span<const Finding> findings) {
    std::string all;
    for (const Finding& f : findings) {
      all += std::string(info(f.kind).name) + ": " + sentence(f) + " (" +
             std::to_string(f.related) + ")\n";
    }
    return all;
  }

  static bool is_the_same(const PacketRecord& a, const PacketRecord& b) {
    const auto all = [](const PacketRecord& r) {
      return std::tuple(r.time, r.frame, r.stream, r.message_offset, r.relative_psn,
                        r.previous_frame, r.answers, r.original, r.first_finding, r.bytes_in_flight,
                        r.packets_in_flight, r.outstanding_reads, r.finding_count, r.sender,
                        r.repetition, bool{r.repeats_payload}, bool{r.ends_message});
    };
    return all(a) == all(b);
  }

  std::multimap<std::uint32_t, Fate> gone_;
  Analyzer keeps_;
  Analyzer forgets_;
  std::size_t findings_ = 0;
};

std::size_t see_file(const std::filesystem::path& path, Both& both) {
  char error[PCAP_ERRBUF_SIZE];
  const std::unique_ptr<pcap_t, decltype(&pcap_close)> file(
      pcap_open_offline_with_tstamp_precision(path.c_str(), PCAP_TSTAMP_PRECISION_NANO, error),
      &pcap_close);
  REQUIRE(file != nullptr);
  std::size_t frames = 0;
  std::uint32_t number = 0;
  pcap_pkthdr* header = nullptr;
  const u_char* bytes = nullptr;
  while (pcap_next_ex(file.get(), &header, &bytes) == 1) {
    ++number;
    const wire::ByteView all(reinterpret_cast<const std::byte*>(bytes), header->caplen);
    const auto view = wire::PacketView::parse(wire::ByteChain(all));
    if (!view) continue;
    Frame frame;
    frame.number = number;
    frame.time = wire::Instant(std::chrono::seconds(header->ts.tv_sec) +
                               std::chrono::nanoseconds(header->ts.tv_usec));
    frame.version = view->version();
    frame.source = view->source();
    frame.destination = view->destination();
    if (frame.version == wire::RoceVersion::v2) frame.udp_source_port = view->udp().source_port;
    frame.ecn = view->ecn();
    frame.opcode = &view->opcode();
    frame.headers = view->headers();
    frame.payload_size = static_cast<std::uint32_t>(view->payload().size());
    frame.payload = all.subspan(view->payload_offset(), view->payload().size());
    frame.checksum = view->icrc();
    frame.icrc = view->icrc_ok() ? IcrcVerdict::good : IcrcVerdict::bad;
    both.see(frame);
    ++frames;
  }
  return frames;
}

TEST_CASE("the samples are analysed alike when forgetting", "[forgetting]") {
  std::size_t files = 0;
  std::size_t frames = 0;
  std::size_t findings = 0;
  for (const auto& entry : std::filesystem::directory_iterator(kSampleCaptures)) {
    if (entry.path().extension() != ".pcapng") continue;
    for (const std::uint32_t remembered : {64u, 1u << 17}) {
      INFO(entry.path() << ", " << remembered << " packets remembered");
      Both both(remembered);
      frames += see_file(entry.path(), both);
      both.finish();
      findings += both.findings();
    }
    ++files;
  }
  CHECK(files > 30);
  CHECK(frames > 500);
  CHECK(findings > 100);
}

TEST_CASE("generated captures are analysed alike when forgetting", "[forgetting]") {
  const char* chosen = std::getenv("SOFTRNIC_SEED");
  const std::uint64_t seed =
      chosen == nullptr ? std::random_device{}() : std::strtoull(chosen, nullptr, 0);
  std::cout << "forgetting: seed " << seed << "\n";
  for (std::uint64_t i = 0; i < 24; ++i) {
    std::mt19937_64 random(seed + i);
    GeneratedCaptureOptions options;
    options.seed = seed + i;
    options.connections = static_cast<std::uint32_t>(1 + random() % 40);
    options.window = static_cast<std::uint32_t>(1 + random() % 64);
    options.loss = random() % 3 == 0 ? 0 : static_cast<std::uint32_t>(random() % 30);
    options.bad_icrc = random() % 3 == 0 ? static_cast<std::uint32_t>(random() % 10) : 0;
    options.duplicated = random() % 3 == 0 ? static_cast<std::uint32_t>(random() % 10) : 0;
    GeneratedCapture capture(options);
    // Room for what was acknowledged and is sent again as the acknowledgement was lost.
    const std::uint32_t remembered = options.connections * options.window * 8;
    INFO("seed " << seed + i << ": " << options.connections << " connections, window "
                 << options.window << ", loss " << options.loss << ", bad ICRC " << options.bad_icrc
                 << ", duplicated " << options.duplicated);
    Both both(remembered);
    for (int frames = 0; frames < 30'000; ++frames) both.see(capture.next());
    both.finish();
    if (options.loss != 0) CHECK(both.findings() > 100);
  }
}

TEST_CASE("memory depends on the connections, not on the frames", "[forgetting]") {
  GeneratedCaptureOptions options;
  options.connections = GENERATE(1u, 100u);
  options.loss = 5;
  GeneratedCapture capture(options);
  Analyzer analyzer(forgetting(1 << 12));
  const auto push = [&](int frames) {
    for (int i = 0; i < frames; ++i) analyzer.on_packet(capture.next());
    return analyzer.memory();
  };
  const std::size_t before = push(100'000);
  const std::size_t after = push(400'000);
  CHECK(after < before * 5 / 4);
  CHECK(after < (std::size_t{5} << 20));
}

// The number space of a sender whose answers the capture does not show, and of hostile captures.
TEST_CASE("memory stays bounded where nothing is ever acknowledged and it forgets",
          "[forgetting]") {
  constexpr std::uint32_t kRemembered = 1 << 12;
  Analyzer analyzer(forgetting(kRemembered));
  Frame frame;
  frame.source = kAlice;
  frame.destination = kBob;
  const Opcode opcode = GENERATE(Opcode::rc_send_only, Opcode::rc_read_request,
                                 Opcode::uc_send_only, Opcode::ud_send_only);
  frame.opcode = &wire::info(opcode);
  frame.headers.bth.opcode = opcode;
  frame.headers.reth.dma_length = 256;
  frame.checksum = 1;
  const auto push = [&](std::uint32_t packets) {
    for (std::uint32_t i = 0; i < packets; ++i) {
      frame.time += 1us;
      ++frame.number;
      frame.headers.bth.destination_qpn = frame.number % 16;
      frame.headers.bth.psn = Psn(frame.number / 16);
      analyzer.on_packet(frame);
    }
    return analyzer.memory();
  };
  const std::size_t before = push(100'000);
  CHECK(push(200'000) <= before * 5 / 4);
  // Twice: what is remembered, and what waits besides.
  CHECK(before < std::size_t{2} * kRemembered * 512 + (1u << 20));
}

TEST_CASE("a message is told of once, when nothing can change it any more", "[forgetting]") {
  std::vector<Message> gone;
  AnalyzerOptions options = forgetting(16);
  options.message_gone = [&](const Message& message) { gone.push_back(message); };
  CapturedTalk talk(options);
  for (std::uint32_t i = 0; i < 100; ++i) {
    talk.send(i);
    talk.ack(i, i + 1);
  }
  CHECK(gone.size() > 60);
  CHECK(gone.size() < 100);
  talk.analyzer.finish();
  REQUIRE(gone.size() == 100);
  for (const Message& message : gone) CHECK(message.state == MessageState::complete);
  CHECK(talk.analyzer.message_count() == 100);
}

// Its acknowledgement was lost behind the capture, and much happened before the timer ran out.
TEST_CASE("a repetition of what was forgotten is one all the same", "[forgetting]") {
  CapturedTalk talk(forgetting(4));
  talk.fetch_add(10);
  talk.atomic_ack(10, 1, 5);
  for (std::uint32_t i = 11; i < 50; ++i) {
    talk.send(i);
    talk.ack(i, i - 9);
  }
  talk.wait(100ms);
  const Said again = talk.fetch_add(10);
  CHECK(again.has(FindingKind::retransmission_timeout));
  CHECK_FALSE(again.has(FindingKind::out_of_order));
  CHECK(again.record.repetition == 1);
  CHECK(again.record.original == 0);
  const Said answer = talk.atomic_ack(10, 40, 5);
  CHECK(answer.has(FindingKind::response_repeated));
  CHECK_FALSE(answer.has(FindingKind::ghost));
  const Said next = talk.send(11);
  CHECK(next.has(FindingKind::retransmission_timeout));
  CHECK(next.record.repeats_payload);
  CHECK(talk.analyzer.stream(0).sides[0].timeouts == 1);
  CHECK(talk.analyzer.stream(0).sides[0].messages == 40);
  CHECK(talk.analyzer.stream(0).sides[0].bytes == 39 * 64);
  // What was never sent is no repetition.
  CHECK_FALSE(talk.send(9).has(FindingKind::retransmission_timeout));
}

TEST_CASE("only the newest packet is found when forgetting", "[forgetting]") {
  CapturedTalk talk(forgetting(16));
  const Said first = talk.send(5);
  const Said gap = talk.send(9);
  CHECK(gap.has(FindingKind::psn_gap));
  CHECK(talk.analyzer.find(1) == nullptr);
  REQUIRE(talk.analyzer.find(2) != nullptr);
  CHECK(talk.analyzer.find(3) == nullptr);
  CHECK(talk.analyzer.findings(gap.record).size() == 1);
  talk.send(10);
  CHECK(talk.analyzer.findings(gap.record).empty());
}

}  // namespace
}  // namespace softrnic::analysis::test
