// SPDX-License-Identifier: BSD-3-Clause
#include <catch2/catch.hpp>

#include "played_dialogue.hpp"
#include "replay/difference.hpp"

namespace softrnic::replay {
namespace {

using test::Play;
using test::PlayOptions;
using transport::SendOperation;

// Other hosts, other numbers: what a live dialogue differs in anyway.
PlayOptions live_options(std::vector<std::string> faults = {}) {
  PlayOptions options;
  options.requester = 7;
  options.responder = 9;
  options.idle_queue_pairs = 3;
  options.faults_at_responder = std::move(faults);
  return options;
}

std::string all_of(const DifferenceReport& report) {
  std::string text;
  for (const ConnectionDifference& connection : report.connections) {
    for (const auto* list : {&connection.differences, &connection.notes}) {
      for (const DialogueDifference& difference : *list) {
        text += std::string(difference.kind) + (difference.note ? " (note)" : "") + ": " +
                difference.sentence + "\n";
      }
    }
  }
  return text;
}

DifferenceReport compare(const Play& captured, const Play& live,
                         const DifferenceOptions& options = {}) {
  return compare_dialogues(captured.dialogue(), live.dialogue(), options);
}

const DialogueDifference& first_of(const DifferenceReport& report) {
  INFO(all_of(report));
  REQUIRE(report.connections.size() == 1);
  REQUIRE_FALSE(report.connections[0].differences.empty());
  return report.connections[0].differences[0];
}

TEST_CASE("the same dialogue between other hosts has no difference", "[difference]") {
  Play captured;
  captured.ask_all();
  Play live(live_options());
  live.ask_all();
  const DifferenceReport report = compare(captured, live);
  INFO(all_of(report));
  CHECK(report.empty());
  REQUIRE(report.connections.size() == 1);
  CHECK(report.connections[0].messages == 6);
  CHECK(report.connections[0].notes.empty());
  CHECK(report.connections[0].captured_ends.find("10.0.0.1 QP") == 0);
  CHECK(report.connections[0].live_ends.find("10.0.0.7 QP") == 0);
}

struct Misbehaviour {
  const char* rule;  // what the live responder does
  const char* kind;  // that the first difference is of
  std::uint32_t message;
  const char* words;  // of its sentence
};

TEST_CASE("a misbehaving peer's misbehaviour is the first difference", "[difference]") {
  const Misbehaviour m = GENERATE(values<Misbehaviour>({
      {"rx silence 1st WRITE", "timeout", 2, "was silent to the WRITE of message 2"},
      {"rx silence 1st WRITE", "timeout", 2, "and never answered"},
      {"rx silence 50ms 1st WRITE", "timeout", 2, "sent again once unasked and answered at last"},
      {"tx silence 1st READ RESPONSE", "timeout", 3, "was silent to the READ of message 3"},
      {"tx rewrite syndrome 0x62 2nd ACK", "refusal", 2,
       "refused the WRITE of message 2 with NAK remote access error; the captured one "
       "acknowledged it"},
      {"tx rewrite syndrome 0x61 2nd ACK", "refusal", 2, "with NAK invalid request"},
      {"tx rewrite syndrome 0x63 1st ACK", "refusal", 1, "with NAK remote operational error"},
      {"tx rewrite syndrome 0x2c 1st ACK", "rnr_nak", 1,
       "was not ready for the SEND of message 1 (RNR NAK, once)"},
      {"tx rewrite syndrome 0x60 2nd ACK", "sequence_nak", 2,
       "missed a packet at the WRITE of message 2"},
      {"tx rewrite msn +1 2nd ACK", "msn", 2,
       "answered the WRITE of message 2 with MSN 3, 1 more than it has completed"},
      {"tx rewrite msn -1 1st ACK", "msn", 1, "with MSN 0, 1 less than"},
      {"tx rewrite msn +4", "msn", 1, "with MSN 5, 4 more than"},
      {"tx corrupt payload 1st READ RESPONSE MIDDLE repair-icrc", "response_payload", 3,
       "answered the READ of message 3 with other bytes than the captured one: 1 of 700"},
      {"tx rewrite original 0x55 1st ATOMIC", "atomic_value", 4, "with the value 0x55"},
      {"tx rewrite psn +1 2nd ACK", "stray_answer", 2, "an acknowledgement of PSN +4"},
      {"tx rewrite psn +7 1st READ RESPONSE LAST", "stray_answer", 3,
       "sent RC RDMA READ response Last of PSN +13 at the READ of message 3"},
      {"tx rewrite psn +1 1st READ RESPONSE MIDDLE", "response_gap", 3,
       "left out responses to the READ of message 3"},
      {"tx drop 1st READ RESPONSE MIDDLE", "response_gap", 3,
       "left out responses to the READ of message 3"},
      {"tx drop 1st READ RESPONSE LAST", "timeout", 3, "was silent to the READ of message 3"},
      {"tx drop 2nd ACK", "timeout", 2, "was silent to the WRITE of message 2"},
      {"tx duplicate 2nd ACK", "repeated_answer", 2, "answered the WRITE of message 2 again"},
      {"tx duplicate 5ms 2nd ACK", "repeated_answer", 2, "answered the WRITE of message 2 again"},
      {"tx duplicate 1st READ RESPONSE FIRST", "repeated_answer", 3,
       "answered the READ of message 3 again"},
      {"tx delay 60ms 2nd ACK", "late", 2,
       "answered the WRITE of message 2 after 60.0 ms; the captured one after"},
      {"tx delay 90ms 2nd ACK", "timeout", 2, "was silent to the WRITE of message 2"},
      {"tx rewrite opcode 0x0d 1st READ RESPONSE LAST", "response_opcode", 3,
       "with RC RDMA READ response First; the captured one with RC RDMA READ response Last"},
      {"tx rewrite opcode 0x10 2nd ACK", "stray_answer", 2,
       "RC RDMA READ response Only of PSN +3 at the WRITE of message 2"},
      {"tx rewrite opcode 0x1f 2nd ACK", "malformed", 2,
       "the live responder sent a packet at the WRITE of message 2 that a receiver drops"},
      {"tx corrupt icrc 2nd ACK", "bad_icrc", 2,
       "sent an acknowledgement at the WRITE of message 2 with a wrong ICRC"},
      {"tx corrupt icrc 1st READ RESPONSE MIDDLE", "bad_icrc", 3,
       "sent RC RDMA READ response Middle at the READ of message 3 with a wrong ICRC"},
      {"rx drop 1st WRITE MIDDLE", "sequence_nak", 2,
       "missed a packet at the WRITE of message 2 (NAK PSN sequence error, once)"},
  }));
  CAPTURE(m.rule);
  Play captured;
  captured.ask_all();
  Play live(live_options({m.rule}));
  live.ask_all();
  const DifferenceReport report = compare(captured, live);
  INFO(all_of(report));
  const DialogueDifference& first = first_of(report);
  CHECK(first.kind == m.kind);
  CHECK(first.message == m.message);
  CHECK(first.sentence.find(m.words) != std::string::npos);
  CHECK(first.live_frame != 0);
}

TEST_CASE("a responder that segments otherwise is told so", "[difference]") {
  Play captured;
  captured.ask_all();
  PlayOptions options = live_options();
  options.path_mtu = 512;
  Play live(options);
  live.ask_all();
  const DifferenceReport report = compare(captured, live);
  const DialogueDifference& first = first_of(report);
  CHECK(first.kind == "response_sizes");
  CHECK(first.sentence.find("with 2 packets of up to 512 bytes; the captured one with 3 packets of "
                            "up to 256") != std::string::npos);
  INFO(all_of(report));
  CHECK(report.differences() == 1);
}

TEST_CASE("losses that only the captured dialogue met are notes", "[difference]") {
  const char* rule =
      GENERATE("rx drop 1st WRITE MIDDLE", "tx drop 2nd ACK", "tx drop 1st READ RESPONSE MIDDLE",
               "tx corrupt icrc 1st ACK", "tx rewrite syndrome 0x2c 1st ACK");
  PlayOptions options;
  options.faults_at_responder = {rule};
  Play captured(options);
  captured.ask_all();
  Play live(live_options());
  live.ask_all();
  const DifferenceReport report = compare(captured, live);
  INFO(rule << "\n" << all_of(report));
  CHECK(report.empty());
  REQUIRE(report.connections.size() == 1);
  CHECK_FALSE(report.connections[0].notes.empty());
}

TEST_CASE("misbehaviour that was captured too is no difference", "[difference]") {
  const char* rule =
      GENERATE("tx rewrite syndrome 0x62 2nd ACK", "tx drop 1st READ RESPONSE MIDDLE",
               "rx silence 1st WRITE", "tx rewrite msn +1 2nd ACK", "tx corrupt icrc 2nd ACK");
  PlayOptions options;
  options.faults_at_responder = {rule};
  Play captured(options);
  captured.ask_all();
  Play live(live_options({rule}));
  live.ask_all();
  const DifferenceReport report = compare(captured, live);
  INFO(rule << "\n" << all_of(report));
  CHECK(report.empty());
}

TEST_CASE("a refusal that the live responder does not repeat is a difference", "[difference]") {
  PlayOptions options;
  options.faults_at_responder = {"tx rewrite syndrome 0x62 2nd ACK"};
  Play captured(options);
  captured.ask(SendOperation::send, 64).ask(SendOperation::rdma_write, 700);
  Play live(live_options());
  live.ask(SendOperation::send, 64).ask(SendOperation::rdma_write, 700);
  const DifferenceReport report = compare(captured, live);
  const DialogueDifference& first = first_of(report);
  CHECK(first.kind == "accepted");
  CHECK(first.sentence ==
        "the live responder accepted the WRITE of message 2; the captured one refused it with NAK "
        "remote access error");
}

TEST_CASE("another syndrome names both", "[difference]") {
  PlayOptions options;
  options.faults_at_responder = {"tx rewrite syndrome 0x62 2nd ACK"};
  Play captured(options);
  captured.ask(SendOperation::send, 64).ask(SendOperation::rdma_write, 700);
  Play live(live_options({"tx rewrite syndrome 0x63 2nd ACK"}));
  live.ask(SendOperation::send, 64).ask(SendOperation::rdma_write, 700);
  const DifferenceReport report = compare(captured, live);
  CHECK(first_of(report).sentence ==
        "the live responder refused the WRITE of message 2 with NAK remote operational error; the "
        "captured one refused it with NAK remote access error");
  CHECK(report.differences() == 1);
}

TEST_CASE("messages that one of them lacks are told, and the rest compared", "[difference]") {
  Play captured;
  captured.ask(SendOperation::send, 64)
      .ask(SendOperation::send, 100)
      .ask(SendOperation::rdma_write, 700)
      .ask(SendOperation::rdma_read, 32);
  Play live(live_options());
  live.ask(SendOperation::send, 64)
      .ask(SendOperation::rdma_write, 700)
      .ask(SendOperation::rdma_read, 32);
  const DifferenceReport missing = compare(captured, live);
  CHECK(first_of(missing).kind == "message_missing");
  CHECK(first_of(missing).sentence ==
        "the live requester did not send the captured SEND of 100 bytes, message 2");
  CHECK(missing.connections[0].messages == 3);

  const DifferenceReport extra = compare(live, captured);
  CHECK(first_of(extra).kind == "message_extra");
  CHECK(first_of(extra).message == 2);
}

TEST_CASE("what the requester asks otherwise is told", "[difference]") {
  Play captured;
  Play live(live_options());
  const std::string expected = GENERATE("other_operation", "other_length", "request_payload", "");
  captured.ask(SendOperation::rdma_write, 64);
  captured.ask(SendOperation::rdma_write, 300);
  live.ask(SendOperation::rdma_write, 64);
  if (expected == "other_operation") live.ask(SendOperation::send, 300);
  if (expected == "other_length") live.ask(SendOperation::rdma_write, 301);
  if (expected == "request_payload") live.ask(SendOperation::rdma_write, 300, 1);
  if (expected.empty()) live.ask(SendOperation::rdma_write, 300);
  const DifferenceReport report = compare(captured, live);
  INFO(all_of(report));
  if (expected.empty()) {
    CHECK(report.empty());
  } else {
    CHECK(first_of(report).kind == expected);
    CHECK(first_of(report).message == 2);
  }
}

TEST_CASE("differences are in the order in which the live dialogue shows them", "[difference]") {
  Play captured;
  captured.ask_all();
  Play live(live_options({"tx corrupt payload 1st READ RESPONSE MIDDLE repair-icrc",
                          "tx rewrite msn +1 2nd ACK", "tx drop 3rd ACK"}));
  live.ask_all();
  const DifferenceReport report = compare(captured, live);
  INFO(all_of(report));
  REQUIRE(report.connections.size() == 1);
  std::vector<std::string> kinds;
  std::uint32_t last = 0;
  for (const DialogueDifference& difference : report.connections[0].differences) {
    kinds.emplace_back(difference.kind);
    CHECK(difference.order >= last);
    last = difference.order;
  }
  CHECK(kinds == std::vector<std::string>{"msn", "response_payload", "timeout"});
}

TEST_CASE("what was lost before the point of capture is no other message", "[difference]") {
  const char* rule = GENERATE("tx drop 2nd SEND", "tx drop 1st WRITE FIRST",
                              "tx drop 1st WRITE LAST", "tx drop 1st READ");
  const auto ask = [](Play& play) {
    for (const std::uint32_t length : {10, 20, 30, 40}) play.post(SendOperation::send, length);
    play.post(SendOperation::rdma_write, 700).post(SendOperation::rdma_read, 300, 8192);
    play.post(SendOperation::send, 50).settle();
  };
  PlayOptions options;
  options.faults_at_requester = {rule};
  Play lossy(options);
  ask(lossy);
  Play clean(live_options());
  ask(clean);
  const DifferenceReport report = compare(lossy, clean);
  INFO(rule << "\n" << all_of(report));
  CHECK(report.empty());
  CHECK(report.connections.at(0).messages == 7);
  const DifferenceReport back = compare(clean, lossy);
  INFO(all_of(back));
  for (const DialogueDifference& difference : back.connections.at(0).differences) {
    CHECK(std::string(difference.kind).find("message_") == std::string::npos);
    CHECK(std::string(difference.kind).find("other_") == std::string::npos);
    CHECK(difference.kind != "msn");
  }
}

TEST_CASE("lateness counts from the limit that is set", "[difference]") {
  Play captured;
  captured.ask_all();
  Play live(live_options({"tx delay 5ms 2nd ACK"}));
  live.ask_all();
  DifferenceOptions options;
  CHECK(compare(captured, live, options).empty());
  options.late = std::chrono::milliseconds(1);
  CHECK(first_of(compare(captured, live, options)).kind == "late");
  options.late = wire::Duration(0);
  CHECK(compare(captured, live, options).empty());
}

TEST_CASE("a connection that one of them lacks is a difference", "[difference]") {
  Play captured;
  captured.ask(SendOperation::send, 64);
  const Play nothing(live_options());
  const DifferenceReport missing = compare(captured, nothing);
  CHECK(first_of(missing).kind == "connection_missing");
  const DifferenceReport extra = compare(nothing, captured);
  CHECK(first_of(extra).kind == "connection_extra");
}

TEST_CASE("captures are compared by their files and a choice", "[difference]") {
  Play captured;
  captured.ask_all();
  Play live(live_options({"tx rewrite syndrome 0x62 2nd ACK"}));
  live.ask_all();
  const capture::test::ScratchFile captured_file("captured.pcapng");
  const capture::test::ScratchFile live_file("live.pcapng");
  captured.write(captured_file.path());
  live.write(live_file.path());
  CapturedConnection first{captured_file.path(), {}};
  if (GENERATE(false, true)) first.choice.stream = 0;
  const auto report = compare_captures(first, {live_file.path(), {}});
  REQUIRE(report.has_value());
  CHECK(first_of(report.value()).kind == "refusal");

  const auto missing = compare_captures(first, {live_file.directory() + "/none", {}});
  CHECK_FALSE(missing.has_value());
}

}  // namespace
}  // namespace softrnic::replay
