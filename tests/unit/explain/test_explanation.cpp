// SPDX-License-Identifier: BSD-3-Clause
#include "explain/explanation.hpp"

#include <nlohmann/json.hpp>

#include "explain/explanation_json.hpp"
#include "explain/explanation_text.hpp"
#include "explain/message_order.hpp"
#include "explained_talk.hpp"

using namespace softrnic;
using namespace softrnic::explain;
using namespace softrnic::explain::test;

TEST_CASE("latency runs from the first request packet to the answer that completes") {
  ExplainedTalk e;
  e.talk.write(100, 4);  // frames 1 to 4
  e.talk.wait(10us);
  e.talk.ack(103, 1);  // 14 us after frame 1
  const OperationAccount& write = e.only_operation();
  CHECK(write.operation == wire::Operation::write);
  CHECK(write.from == 0);
  CHECK(write.messages == 1);
  CHECK(write.completed() == 1);
  CHECK(write.bytes == 1024);
  CHECK(write.latency.samples() == 1);
  CHECK(write.latency.max() == 14'000);
}

TEST_CASE("one acknowledgement completes several messages, each with its own latency") {
  ExplainedTalk e;
  e.talk.send(100);
  e.talk.send(101);
  e.talk.send(102);
  e.talk.ack(102, 3);
  const OperationAccount& send = e.only_operation();
  CHECK(send.completed() == 3);
  CHECK(send.latency.min() == 1'000);
  CHECK(send.latency.max() == 3'000);
}

TEST_CASE("a READ is answered when its last response is here") {
  ExplainedTalk e;
  e.talk.read(100, 600);
  e.talk.answer(Opcode::rc_read_response_first, 100, 256, 1);
  e.talk.answer(Opcode::rc_read_response_middle, 101, 256, 1);
  e.talk.answer(Opcode::rc_read_response_last, 102, 88, 1);
  const OperationAccount& read = e.only_operation();
  CHECK(read.bytes == 600);
  CHECK(read.latency.max() == 3'000);
  CHECK(e.account().payload_bytes[1] == 600);
  CHECK(e.account().payload_bytes[0] == 0);
}

TEST_CASE("messages without an answer have no latency") {
  ExplainedTalk e;
  e.talk.send(100);
  CHECK(e.only_operation().unanswered() == 1);
  CHECK(e.only_operation().latency.samples() == 0);

  ExplainedTalk uc;
  uc.talk.request(Opcode::uc_send_only, 100, 64);
  CHECK(uc.only_operation().completed() == 1);
  CHECK(uc.only_operation().latency.samples() == 0);
}

TEST_CASE("a message whose beginning comes late is one, and its payload counts once") {
  ExplainedTalk e;
  e.talk.send(99);
  e.talk.request(Opcode::rc_write_middle, 101, 256);
  e.talk.request(Opcode::rc_write_last, 102, 256);
  e.talk.nak(100, 1);
  e.talk.write(100, 3);
  e.talk.ack(102, 2);
  const ConnectionAccount& account = e.account();
  REQUIRE(std::distance(account.operations.begin(), account.operations.end()) == 2);
  const OperationAccount& write = *std::next(account.operations.begin());
  CHECK(write.operation == wire::Operation::write);
  CHECK(write.messages == 1);
  CHECK(write.completed() == 1);
  CHECK(e.explanation.message_count() == 2);
  CHECK(e.explanation.stream(0).sides[0].bytes == 64 + 768);
}

TEST_CASE("the MSN tells whether the capture shows the beginning") {
  ExplainedTalk from_the_start;
  from_the_start.talk.send(100);
  from_the_start.talk.ack(100, 1);
  CHECK(from_the_start.account().beginning == Beginning::seen);

  ExplainedTalk late;
  late.talk.send(100);
  late.talk.ack(100, 17);
  CHECK(late.account().beginning == Beginning::late);

  ExplainedTalk inside;
  inside.talk.request(Opcode::rc_write_middle, 100, 256);
  CHECK(inside.account().beginning == Beginning::late);
}

TEST_CASE("a refused request ends the connection and is the worst moment") {
  ExplainedTalk e;
  e.talk.send(100);
  e.talk.wait(2s).send(100);  // a timeout of two seconds is not as bad
  e.talk.ack(100, 1);
  e.talk.write(101, 1);
  e.talk.nak(101, 1, wire::NakCode::remote_access_error);
  CHECK(e.account().ending == Ending::refused);
  REQUIRE(e.account().found->naks.size() == 1);
  CHECK(e.account().found->naks[0].syndrome == 0x62);
  const auto& moments = e.explanation.worst_moments().moments();
  REQUIRE(moments.size() == 2);
  CHECK(moments[0].kind == MomentKind::refused);
  CHECK(moments[0].frame == 5);
  CHECK(moments[0].related == 4);
  CHECK(moments[1].kind == MomentKind::loss);
  CHECK(what_happened(moments[0]).find("frame 4") != std::string::npos);
  CHECK(what_the_standard_says(moments[0]).find("9.7.4.1.5") != std::string::npos);
}

TEST_CASE("only the five worst moments are kept, the worst first") {
  WorstMoments worst;
  for (int i = 1; i <= 20; ++i) {
    Moment moment;
    moment.frame = static_cast<std::uint32_t>(i);
    moment.lost = wire::Duration((i * 7) % 20);
    worst.offer(moment);
  }
  REQUIRE(worst.moments().size() == 5);
  for (int i = 0; i < 5; ++i) {
    CHECK(worst.moments()[static_cast<std::size_t>(i)].lost == wire::Duration(19 - i));
  }
}

TEST_CASE("a broken rule is one moment, however often it is broken") {
  ExplainedTalk e;
  for (std::uint32_t psn = 100; psn < 110; ++psn) {
    e.talk.send(psn, 64, [](Frame& f) { f.icrc = analysis::IcrcVerdict::bad; });
  }
  e.finished();
  const auto& moments = e.explanation.worst_moments().moments();
  REQUIRE(moments.size() == 1);
  CHECK(moments[0].kind == MomentKind::broken_rule);
  CHECK(moments[0].frame == 1);
  CHECK(moments[0].times == 10);
  CHECK(e.explanation.faults() == 10);
}

TEST_CASE("an answer that takes many times what is usual is told") {
  ExplainedTalk e;
  std::uint32_t psn = 100;
  for (int i = 0; i < 100; ++i, ++psn) {
    e.talk.send(psn);
    e.talk.ack(psn, psn - 99);
  }
  e.talk.send(psn);
  e.talk.wait(500us);
  e.talk.ack(psn, psn - 99);
  const Moment& moment = e.worst();
  CHECK(moment.kind == MomentKind::slow_answer);
  CHECK(moment.frame == 201);
  CHECK(moment.related == 202);
  CHECK(moment.lost + moment.usual == 501us);
}

TEST_CASE("time that two losses share is lost once") {
  const auto at = [](int time) { return wire::Instant(wire::Duration(time)); };
  CoveredTime time;
  time.add(at(10), at(20));
  time.add(at(30), at(40));
  CHECK(time.total() == wire::Duration(20));
  time.add(at(35), at(50));
  CHECK(time.total() == wire::Duration(30));
  time.add(at(5), at(60));
  CHECK(time.total() == wire::Duration(55));
  for (int i = 100; i < 200; ++i) time.add(at(10 * i), at(10 * i + 1));
  CHECK(time.total() == wire::Duration(155));
}

TEST_CASE("credits are told by acknowledgements") {
  ExplainedTalk e;
  e.talk.send(100);
  e.talk.ack(100, 1, Syndrome::ack(0));
  e.talk.send(101);
  e.talk.ack(101, 2, Syndrome::ack(2));
  e.talk.send(102);
  e.talk.ack(102, 3);
  const CreditAccount& credits = e.account().credits;
  CHECK(credits.told == 2);
  CHECK(credits.none == 1);
  CHECK(credits.least == 0);
  CHECK(credits.most == *wire::credit_count(2));
}

TEST_CASE("a filter leaves only what it names") {
  const auto talk = [](ExplainedTalk& e) {
    e.talk.send(100);
    e.talk.ack(100, 1);
    e.talk.request(Opcode::rc_send_only, 7, 64, [](Frame& f) {
      f.headers.bth.destination_qpn = 0x99;
      f.udp_source_port = 1;
    });
    e.finished();
  };
  ExplainedTalk all;
  talk(all);
  CHECK(all.explanation.connections() == std::vector<std::uint32_t>{0, 1});

  ConnectionFilter filter;
  filter.qpns = {0x99};
  ExplainedTalk one(filter);
  talk(one);
  CHECK(one.explanation.connections() == std::vector<std::uint32_t>{1});
  CHECK(one.explanation.operations().front().messages == 1);

  ConnectionFilter by_address;
  by_address.addresses = {wire::Gid::from_ipv4(0x0a000009)};
  ExplainedTalk none(by_address);
  talk(none);
  CHECK(none.explanation.connections().empty());
}

TEST_CASE("messages are told in the order of their first frames") {
  std::vector<std::uint32_t> frames;
  MessageOrder order([&](const analysis::Message& m) { frames.push_back(m.first_frame); });
  ExplainedTalk e;
  e.explanation.add_listener(order);
  e.talk.read(100, 600);
  e.talk.send(103);
  e.talk.send(104);
  e.talk.ack(104, 3);
  e.finished();
  order.finish();
  CHECK(frames == std::vector<std::uint32_t>{1, 2, 3});
}

TEST_CASE("the JSON is well formed and holds what the accounts hold") {
  ExplainedTalk e;
  e.talk.send(100);
  e.talk.send(102);
  e.talk.nak(101, 1);
  e.talk.send(101);
  e.talk.send(102);
  e.talk.ack(102, 3);
  const auto json = nlohmann::json::parse(to_json(e.finished(), {.file = "a\"b"}));
  CHECK(json["file"] == "a\"b");
  CHECK(json["complete"] == true);
  CHECK(json["faults"] == 2);
  CHECK(json["findings"]["psn_gap"] == 1);
  CHECK(json["connection_count"] == 1);
  const auto& connection = json["connections"][0];
  CHECK(connection["ends"][0]["address"] == "10.0.0.1");
  CHECK(connection["ends"][1]["qpn"] == 0x12);
  CHECK(connection["losses"]["by_cause"]["nak"] == 1);
  CHECK(connection["first_fault"]["frame"] == 2);
  CHECK(connection["operations"][0]["latency_ns"]["samples"] == 3);
  CHECK(connection["directions"][0]["retransmitted_packets"] == 2);
  CHECK(connection["sequence"]["points"].size() == 6);
  CHECK(connection["ladder"].size() == 6);
  CHECK(connection["ladder"][2]["answer"] == "NAK: PSN sequence error");
  CHECK(json["worst_moments"][0]["cause"] == "nak");
  CHECK(json["losses"].size() == 1);
}

TEST_CASE("colours are there only when they are asked for") {
  ExplainedTalk e;
  e.talk.send(100);
  e.talk.ack(100, 1);
  const Explanation& explanation = e.finished();
  TextOptions options;
  options.file = "x";
  CHECK(to_text(explanation, options).find('\x1b') == std::string::npos);
  options.colour = true;
  CHECK(to_text(explanation, options).find('\x1b') != std::string::npos);
}
