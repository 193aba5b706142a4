// SPDX-License-Identifier: BSD-3-Clause
#include "fabric/fault_link.hpp"

#include <catch2/catch.hpp>
#include <cmath>
#include <map>
#include <string>

#include "fabric/splitmix64.hpp"
#include "link/memory_link.hpp"
#include "unit/fabric/roce_frame.hpp"
#include "unit/link/exchange.hpp"
#include "unit/link/temporary_file.hpp"
#include "wire/frame.hpp"

namespace softrnic::fabric {
namespace {

using namespace std::chrono_literals;
using link::Direction;
using link::Frame;
using link::MemoryWire;
using link::test::flat;
using link::test::Frames;
using link::test::receive;
using link::test::send;
using test::build;
using test::Bytes;
using wire::Instant;
using wire::Opcode;

struct Fault {
  Instant at;
  Direction direction;
  Bytes frame;
  std::string note;
};

// A NIC behind faults at one end of a wire, and a plain peer at the other.
struct Bench {
  MemoryWire wire{4200, 4096};
  std::unique_ptr<link::Link> peer;
  std::unique_ptr<FaultLink> nic;
  std::vector<Fault> faults;

  explicit Bench(const std::vector<std::string>& rules, std::uint64_t seed = 1,
                 bool all_traffic = false)
      : peer(wire.attach("peer")) {
    std::vector<FaultRule> parsed;
    for (const std::string& text : rules) {
      auto rule = FaultRule::parse(text);
      if (!rule) FAIL(rule.error());
      parsed.push_back(*rule);
    }
    FaultOptions options;
    options.seed = seed;
    options.all_traffic = all_traffic;
    options.on_fault = [this](Instant at, Direction direction, const wire::ByteChain& frame,
                              std::string_view note) {
      faults.push_back({at, direction, flat(frame), std::string(note)});
    };
    nic = inject_faults(wire.attach("nic"), std::move(parsed), std::move(options));
  }
};

constexpr Instant at(wire::Duration d) {
  return Instant(d);
}

Bytes numbered(std::uint32_t psn) {
  return build({.psn = psn});
}

// The PSNs of frames, in order.
std::vector<std::uint32_t> psns(const Frames& frames) {
  std::vector<std::uint32_t> out;
  for (const Bytes& frame : frames) out.push_back(test::view(frame).bth().psn.value());
  return out;
}
using Psns = std::vector<std::uint32_t>;

// Which of `count` frames a rule drops, counting from 1.
Psns dropped(const std::string& rule, std::uint32_t count, std::uint64_t seed = 1) {
  Bench bench({rule}, seed);
  for (std::uint32_t i = 1; i <= count; ++i) send(*bench.nic, numbered(i));
  receive(*bench.peer);
  Psns out;
  for (const Fault& fault : bench.faults) out.push_back(test::view(fault.frame).bth().psn.value());
  CHECK(bench.nic->counts().applied == std::vector<std::uint64_t>{out.size()});
  return out;
}

TEST_CASE("Without rules every frame passes as it is, both ways") {
  Bench bench({});
  const Bytes frame = numbered(1);
  send(*bench.nic, frame);
  CHECK(receive(*bench.peer) == Frames{frame});
  send(*bench.peer, frame);
  CHECK(receive(*bench.nic) == Frames{frame});
  CHECK(bench.nic->next_deadline() == wire::kNever);
  CHECK(bench.nic->capabilities().name == "nic");
  CHECK(bench.nic->statistics().tx_frames == 1);
  CHECK(bench.faults.empty());
}

TEST_CASE("Nth, every Nth, first N and all choose as they say") {
  CHECK(dropped("drop 3rd", 10) == Psns{3});
  CHECK(dropped("drop every 4th", 13) == Psns{4, 8, 12});
  CHECK(dropped("drop first 3", 10) == Psns{1, 2, 3});
  CHECK(dropped("drop all", 4) == Psns{1, 2, 3, 4});
  CHECK(dropped("drop psn 6", 10) == Psns{6});
  CHECK(dropped("rx drop", 4) == Psns{});
  CHECK(dropped("drop 0%", 1000) == Psns{});
}

TEST_CASE("A rule counts only what passes its filter, in each direction by itself") {
  Bench bench({"drop 2nd WRITE MIDDLE of QP 0x12"});
  const Bytes middle = numbered(1);
  const Bytes last = build({.opcode = Opcode::rc_write_last});
  const Bytes other_qp = build({.destination_qpn = 0x13});
  for (const Bytes& frame : {last, middle, other_qp, last}) send(*bench.nic, frame);
  for (const Bytes& frame : {middle, middle, middle}) send(*bench.peer, frame);
  for (const Bytes& frame : {middle, middle}) send(*bench.nic, frame);
  CHECK(receive(*bench.peer) == Frames{last, middle, other_qp, last, middle});
  CHECK(receive(*bench.nic) == Frames{middle, middle});
  REQUIRE(bench.faults.size() == 2);
  for (const Fault& fault : bench.faults) {
    CHECK(fault.frame == middle);
    CHECK(fault.note == "drop: drop 2nd WRITE MIDDLE of QP 0x12");
  }
}

TEST_CASE("ACK, NAK and RNR are told apart by the syndrome") {
  const Bytes ack = build({.opcode = Opcode::rc_acknowledge, .syndrome = wire::Syndrome::ack()});
  const Bytes nak = build({.opcode = Opcode::rc_acknowledge,
                           .syndrome = wire::Syndrome::nak(wire::NakCode::psn_sequence_error)});
  const Bytes rnr =
      build({.opcode = Opcode::rc_acknowledge, .syndrome = wire::Syndrome::rnr_nak(12)});
  const Bytes response = build({.opcode = Opcode::rc_read_response_only});
  const std::map<std::string, Frames> left{{"drop ACK", {nak, rnr, response}},
                                           {"drop NAK", {ack, rnr, response}},
                                           {"drop RNR", {ack, nak, response}},
                                           {"drop ACKNOWLEDGE", {response}}};
  for (const auto& [rule, expected] : left) {
    INFO(rule);
    Bench bench({rule});
    for (const Bytes& frame : {ack, nak, rnr, response}) send(*bench.nic, frame);
    CHECK(receive(*bench.peer) == expected);
  }
}

TEST_CASE("The first rule that applies acts, and only it") {
  Bench bench({"drop 2nd", "duplicate 2nd", "drop psn 4"});
  for (std::uint32_t i = 1; i <= 4; ++i) send(*bench.nic, numbered(i));
  // The duplicate's "2nd" counts what the first rule left: frames 1 and 3.
  CHECK(psns(receive(*bench.peer)) == Psns{1, 3, 3});
  CHECK(bench.nic->counts().applied == std::vector<std::uint64_t>{1, 1, 1});
}

TEST_CASE("A duplicate follows its frame and says what it is") {
  Bench bench({"duplicate 2nd"});
  for (std::uint32_t i = 1; i <= 3; ++i) send(*bench.nic, numbered(i));
  for (std::uint32_t i = 1; i <= 3; ++i) send(*bench.peer, numbered(i));
  CHECK(psns(receive(*bench.peer)) == Psns{1, 2, 2, 3});
  std::array<Frame*, 8> frames{};
  REQUIRE(bench.nic->rx_burst({}, frames) == 4);
  CHECK(frames[1]->note.empty());
  CHECK(frames[2]->note == "duplicate: duplicate 2nd");
  CHECK(flat(frames[1]->bytes()) == flat(frames[2]->bytes()));
  bench.nic->rx_release({frames.data(), 4});
}

TEST_CASE("A reordered frame waits for others to pass it") {
  Bench one({"reorder 2nd"});
  for (std::uint32_t i = 1; i <= 4; ++i) send(*one.nic, numbered(i));
  CHECK(psns(receive(*one.peer)) == Psns{1, 3, 2, 4});

  Bench three({"rx reorder 3 2nd"});
  for (std::uint32_t i = 1; i <= 6; ++i) send(*three.peer, numbered(i));
  CHECK(psns(receive(*three.nic)) == Psns{1, 3, 4, 5, 2, 6});

  // Frames that are held themselves let nobody pass.
  Bench both({"reorder 1 first 2"});
  for (std::uint32_t i = 1; i <= 4; ++i) send(*both.nic, numbered(i));
  CHECK(psns(receive(*both.peer)) == Psns{3, 1, 2, 4});
}

TEST_CASE("A reordered frame that nobody follows goes after its timeout") {
  Bench bench({"tx reorder 1st"});
  send(*bench.nic, numbered(1), at(10ms));
  CHECK(receive(*bench.peer).empty());
  CHECK(bench.nic->next_deadline() == at(10ms) + kReorderTimeout);
  bench.nic->flush(at(10ms) + kReorderTimeout - 1ns);
  CHECK(receive(*bench.peer).empty());
  bench.nic->flush(at(10ms) + kReorderTimeout);
  CHECK(psns(receive(*bench.peer)) == Psns{1});
  CHECK(bench.nic->next_deadline() == wire::kNever);
}

TEST_CASE("A delayed frame comes when its time has come, in both directions") {
  Bench bench({"delay 5ms 1st", "delay 2ms 1st"});
  for (std::uint32_t i = 1; i <= 3; ++i) send(*bench.nic, numbered(i), at(1ms));
  CHECK(psns(receive(*bench.peer)) == Psns{3});
  CHECK(bench.nic->next_deadline() == at(3ms));
  bench.nic->flush(at(3ms));
  CHECK(psns(receive(*bench.peer)) == Psns{2});
  // Traffic alone also lets due frames go, and before what is sent after them.
  send(*bench.nic, numbered(4), at(7ms));
  CHECK(psns(receive(*bench.peer)) == Psns{1, 4});

  for (std::uint32_t i = 1; i <= 3; ++i) send(*bench.peer, numbered(i), at(10ms));
  CHECK(psns(receive(*bench.nic, at(10ms))) == Psns{3});
  CHECK(bench.nic->next_deadline() == at(12ms));
  CHECK(psns(receive(*bench.nic, at(12ms))) == Psns{2});
  bench.nic->flush(at(15ms));  // it is there now, and asks to be fetched
  CHECK(bench.nic->next_deadline() == at(15ms));
  CHECK(psns(receive(*bench.nic, at(16ms))) == Psns{1});
  CHECK(bench.nic->next_deadline() == wire::kNever);
}

TEST_CASE("corrupt flips one bit of what it names and leaves the ICRC as it was") {
  struct Case {
    std::string field;
    Opcode opcode;
    wire::NetworkLayer layer;
    std::size_t first_bit;
    std::size_t bits;
  };
  using wire::NetworkLayer;
  // Ethernet 14, IPv4 20 or IPv6 or GRH 40, UDP 8, BTH 12.
  const std::vector<Case> cases{
      {"psn", Opcode::rc_send_only, NetworkLayer::ipv4, (14 + 20 + 8 + 9) * 8, 24},
      {"psn", Opcode::rc_send_only, NetworkLayer::ipv6, (14 + 40 + 8 + 9) * 8, 24},
      {"psn", Opcode::rc_send_only, NetworkLayer::grh, (14 + 40 + 9) * 8, 24},
      {"ack_request", Opcode::uc_send_only, NetworkLayer::ipv4, (14 + 20 + 8 + 8) * 8, 1},
      {"remote_key", Opcode::rc_write_only, NetworkLayer::ipv4, (14 + 20 + 8 + 12 + 8) * 8, 32},
      {"immdt.immediate", Opcode::rc_write_only_immediate, NetworkLayer::ipv4,
       (14 + 20 + 8 + 12 + 16) * 8, 32},
      {"source_qpn", Opcode::ud_send_only, NetworkLayer::ipv6, (14 + 40 + 8 + 12 + 5) * 8, 24},
      {"msn", Opcode::rc_acknowledge, NetworkLayer::ipv4, (14 + 20 + 8 + 12 + 1) * 8, 24},
      {"source_port", Opcode::rc_send_only, NetworkLayer::ipv4, (14 + 20) * 8, 16},
      {"identification", Opcode::rc_send_only, NetworkLayer::ipv4, (14 + 4) * 8, 16},
      {"ipv6.destination", Opcode::rc_send_only, NetworkLayer::ipv6, (14 + 24) * 8, 128},
      {"grh.source", Opcode::rc_send_only, NetworkLayer::grh, (14 + 8) * 8, 128},
      {"payload", Opcode::rc_send_only, NetworkLayer::ipv4, (14 + 20 + 8 + 12) * 8, 64 * 8},
      {"icrc", Opcode::rc_send_only, NetworkLayer::ipv4, (14 + 20 + 8 + 12 + 64) * 8, 32},
  };
  for (const Case& c : cases) {
    INFO(c.field);
    const Bytes original = build({.opcode = c.opcode, .layer = c.layer});
    Bench bench({"corrupt " + c.field});
    std::vector<bool> hit(c.bits);
    for (int i = 0; i < 2000; ++i) {
      send(*bench.nic, original);
      const Frames got = receive(*bench.peer);
      REQUIRE(got.size() == 1);
      REQUIRE(got[0].size() == original.size());
      std::size_t flips = 0;
      for (std::size_t bit = 0; bit < original.size() * 8; ++bit) {
        const std::byte mask = std::byte{0x80} >> (bit % 8);
        if (((got[0][bit / 8] ^ original[bit / 8]) & mask) == std::byte{0}) continue;
        ++flips;
        REQUIRE(bit >= c.first_bit);
        REQUIRE(bit < c.first_bit + c.bits);
        hit[bit - c.first_bit] = true;
      }
      REQUIRE(flips == 1);
    }
    // Every bit has its turn (for the payload's 512, all but a few).
    const auto never = std::count(hit.begin(), hit.end(), false);
    CHECK(never <= static_cast<std::ptrdiff_t>(c.bits / 16));
    CHECK(bench.faults.front().frame == original);
    CHECK(bench.faults.front().note.starts_with("corrupt " + c.field + " bit "));
    CHECK(bench.faults.front().note.ends_with(": corrupt " + c.field));
  }
}

TEST_CASE("corrupt counts only frames that have the field") {
  Bench bench({"corrupt remote_key 2nd"});
  const Bytes without = numbered(1);
  const Bytes with = build({.opcode = Opcode::rc_read_request});
  const Bytes empty = build({.opcode = Opcode::rc_send_only, .payload = 0});
  for (const Bytes& frame : {without, with, without, without, with}) send(*bench.nic, frame);
  const Frames got = receive(*bench.peer);
  REQUIRE(got.size() == 5);
  for (int i = 0; i < 4; ++i) CHECK(test::view(got[i]).icrc_ok());
  CHECK_FALSE(test::view(got[4]).icrc_ok());

  Bench payload({"corrupt payload"});
  send(*payload.nic, empty);
  CHECK(receive(*payload.peer) == Frames{empty});
}

TEST_CASE("mark-ecn sets congestion experienced and leaves a valid frame") {
  using wire::NetworkLayer;
  for (const NetworkLayer layer : {NetworkLayer::ipv4, NetworkLayer::ipv6, NetworkLayer::grh}) {
    Bench bench({"mark-ecn"});
    const Bytes original = build({.layer = layer});
    send(*bench.nic, original);
    const Frames got = receive(*bench.peer);
    REQUIRE(got.size() == 1);
    const wire::PacketView packet = test::view(got[0]);  // checks the IPv4 checksum
    CHECK(packet.traffic_class() == 0x63);
    CHECK(packet.icrc_ok());
    Bytes again(got[0].size());
    CHECK(wire::serialize(packet, again) == again.size());
    CHECK(again == got[0]);
    CHECK(packet.payload().size() == 64);
  }
}

TEST_CASE("rewrite puts values into fields, and by default makes every sum right") {
  using wire::NetworkLayer;
  for (const NetworkLayer layer : {NetworkLayer::ipv4, NetworkLayer::ipv6, NetworkLayer::grh}) {
    Bench bench({"rewrite psn -9 and destination_qpn 0xabcdef and ack_request 1 2nd"});
    for (const std::uint32_t psn : {1u, 2u}) send(*bench.nic, build({.psn = psn, .layer = layer}));
    const Frames got = receive(*bench.peer);
    REQUIRE(got.size() == 2);
    CHECK(got[0] == build({.psn = 1, .layer = layer}));
    const wire::PacketView packet = test::view(got[1]);
    CHECK(packet.bth().psn.value() == 0xfffff9);
    CHECK(packet.bth().destination_qpn == 0xabcdef);
    CHECK(packet.bth().ack_request);
    CHECK(packet.icrc_ok());
    CHECK(packet.payload().size() == 64);
    CHECK(bench.faults.at(0).note == "rewrite: " + bench.faults.at(0).note.substr(9));
  }
}

TEST_CASE("rewrite reaches addresses, and leaves alone a checksum it was told to write") {
  Bench bench({"rewrite ipv4.source 10.0.0.77 and time_to_live 3 1st",
               "rewrite ipv4.checksum 0x1234 1st", "rewrite udp.checksum 0x4321 1st",
               "rewrite psn 5 keep-icrc 1st"});
  for (int i = 0; i < 4; ++i) send(*bench.nic, numbered(1));
  const Frames got = receive(*bench.peer);
  REQUIRE(got.size() == 4);
  const wire::PacketView packet = test::view(got[0]);  // checks the IPv4 checksum
  CHECK(packet.ipv4().time_to_live == 3);
  CHECK(packet.source() == *wire::Gid::from_string("10.0.0.77"));
  CHECK(packet.icrc_ok());
  CHECK(wire::PacketView::parse(wire::ByteView(got[1])).error() == wire::ParseError::bad_ip_header);
  CHECK(test::view(got[2]).udp().checksum == 0x4321);
  CHECK(test::view(got[2]).icrc_ok());
  CHECK(test::view(got[3]).bth().psn.value() == 5);
  CHECK_FALSE(test::view(got[3]).icrc_ok());

  Bench six({"rewrite destination fd00::77"});
  send(*six.nic, build({.layer = wire::NetworkLayer::ipv6}));
  send(*six.nic, build({}));  // has no field of that size
  const Frames v6 = receive(*six.peer);
  REQUIRE(v6.size() == 2);
  CHECK(test::view(v6[0]).destination() == *wire::Gid::from_string("fd00::77"));
  CHECK(test::view(v6[0]).icrc_ok());
  CHECK(v6[1] == build({}));
}

TEST_CASE("A rewritten opcode does not move the ICRC") {
  Bench bench({"rewrite opcode 0x06"});  // WRITE First has an RETH, WRITE Middle has not
  send(*bench.nic, numbered(1));
  const Frames got = receive(*bench.peer);
  const wire::PacketView packet = test::view(got.at(0));
  CHECK(packet.bth().opcode == Opcode::rc_write_first);
  CHECK(packet.icrc_ok());
  CHECK(packet.payload().size() == 64 - wire::Reth::kSize);
}

TEST_CASE("corrupt with a repaired ICRC damages the field alone") {
  Bench bench({"corrupt payload repair-icrc 1st", "corrupt msn repair-icrc 1st"});
  send(*bench.nic, numbered(1));
  send(*bench.nic, build({.opcode = Opcode::rc_acknowledge}));
  const Frames got = receive(*bench.peer);
  REQUIRE(got.size() == 2);
  CHECK(got[0] != numbered(1));
  CHECK(test::view(got[0]).icrc_ok());
  CHECK(test::view(got[1]).icrc_ok());
  CHECK(test::view(got[1]).headers().aeth.msn != 0);
}

TEST_CASE("A range of PSNs and the values of fields choose frames") {
  CHECK(dropped("drop psn 3..5", 8) == Psns{3, 4, 5});
  CHECK(dropped("drop psn 7..2", 8) == Psns{1, 2, 7, 8});  // wraps
  CHECK(dropped("drop from 6th", 8) == Psns{6, 7, 8});
  CHECK(dropped("drop psn=4", 8) == Psns{4});
  CHECK(dropped("drop ipv4.source=10.0.0.1 psn=4", 8) == Psns{4});
  CHECK(dropped("drop ipv4.source=10.0.0.2", 8) == Psns{});
  CHECK(dropped("drop remote_key=0", 8) == Psns{});  // has no such field
}

TEST_CASE("answer acknowledges a request in the name of its destination") {
  using wire::NetworkLayer;
  for (const NetworkLayer layer : {NetworkLayer::ipv4, NetworkLayer::ipv6, NetworkLayer::grh}) {
    Bench bench({"answer rnr 12 to QP 0x77 2nd SEND"});
    const Bytes first = build({.opcode = Opcode::rc_send_only, .psn = 1, .layer = layer});
    const Bytes second = build({.opcode = Opcode::rc_send_only, .psn = 2, .layer = layer});
    // Received requests: the answer goes out, and the request does not come in.
    for (const Bytes& frame : {first, second}) send(*bench.peer, frame);
    CHECK(receive(*bench.nic) == Frames{first});
    Frames answers = receive(*bench.peer);
    // Sent requests: the answer comes in, and the request does not go out.
    Bench other({"answer rnr 12 to QP 0x77 2nd SEND"});
    for (const Bytes& frame : {first, second}) send(*other.nic, frame);
    CHECK(other.nic->next_deadline() <= Instant{});
    for (Bytes& frame : receive(*other.nic)) answers.push_back(std::move(frame));
    CHECK(receive(*other.peer) == Frames{first});

    REQUIRE(answers.size() == 2);
    for (const Bytes& frame : answers) {
      const wire::PacketView answer = test::view(frame);
      const wire::PacketView request = test::view(second);
      CHECK(answer.bth().opcode == Opcode::rc_acknowledge);
      CHECK(answer.headers().aeth.syndrome == wire::Syndrome::rnr_nak(12));
      CHECK(answer.bth().destination_qpn == 0x77);
      CHECK(answer.bth().psn == request.bth().psn);
      CHECK(answer.source() == request.destination());
      CHECK(answer.destination() == request.source());
      CHECK(answer.ethernet().source == request.ethernet().destination);
      CHECK(answer.ethernet().destination == request.ethernet().source);
      CHECK(answer.version() == request.version());
      CHECK(answer.icrc_ok());
      CHECK(answer.size() == frame.size());
    }
    REQUIRE(bench.faults.size() == 1);
    CHECK(bench.faults[0].note == "drop and answer: answer rnr 12 to QP 0x77 2nd SEND");
    CHECK(is_loss(bench.faults[0].note));
  }
}

TEST_CASE("An answer may let its request pass, and counts messages on from what was seen") {
  Bench bench({"rx answer ack to QP 0x77 and deliver from 2nd"});
  const Bytes request = build({.opcode = Opcode::rc_write_only});
  const Bytes middle = build({.opcode = Opcode::rc_write_middle});
  const Bytes ack = build({.opcode = Opcode::rc_acknowledge, .destination_qpn = 0x77, .msn = 41});
  send(*bench.nic, ack);
  CHECK(receive(*bench.peer) == Frames{ack});
  for (const Bytes& frame : {request, request, middle, request}) send(*bench.peer, frame);
  CHECK(receive(*bench.nic) == Frames{request, request, middle, request});
  std::vector<std::uint32_t> counts;
  for (const Bytes& frame : receive(*bench.peer)) {
    counts.push_back(test::view(frame).headers().aeth.msn);
  }
  CHECK(counts == std::vector<std::uint32_t>{42, 42, 43});
  CHECK(bench.faults.at(0).note.starts_with("answer: "));
  CHECK_FALSE(is_loss(bench.faults.at(0).note));
}

TEST_CASE("Whom to answer is asked of the owner of the link; without it nothing is answered") {
  MemoryWire wire;
  const auto peer = wire.attach("peer");
  FaultOptions options;
  options.connected = [](Direction direction, const wire::Gid& destination,
                         std::uint32_t qpn) -> std::optional<std::uint32_t> {
    CHECK(direction == Direction::inbound);
    CHECK(destination == *wire::Gid::from_string("10.0.0.2"));
    return qpn == 0x12 ? std::optional<std::uint32_t>(0x34) : std::nullopt;
  };
  auto nic = inject_faults(wire.attach("nic"), {*FaultRule::parse("answer nak access")},
                           std::move(options));
  const Bytes known = build({.opcode = Opcode::rc_send_only, .destination_qpn = 0x12});
  const Bytes unknown = build({.opcode = Opcode::rc_send_only, .destination_qpn = 0x13});
  for (const Bytes& frame : {unknown, known}) send(*peer, frame);
  CHECK(receive(*nic) == Frames{unknown});
  const Frames answers = receive(*peer);
  REQUIRE(answers.size() == 1);
  CHECK(test::view(answers[0]).bth().destination_qpn == 0x34);
  CHECK(test::view(answers[0]).headers().aeth.syndrome.raw() == 0x62);

  Bench alone({"answer nak access"});
  send(*alone.peer, known);
  CHECK(receive(*alone.nic) == Frames{known});
  CHECK(alone.nic->counts().applied == std::vector<std::uint64_t>{0});
}

TEST_CASE("In a silence nothing passes, for its time or for ever") {
  const Bytes arp =
      link::test::ethernet(wire::MacAddress::broadcast(), link::test::station(1), 60, 0);
  Bench bench({"duplicate 1st psn 9", "rx silence 2ms 2nd"});
  for (std::uint32_t i = 1; i <= 3; ++i) send(*bench.peer, numbered(i), at(1ms));
  CHECK(psns(receive(*bench.nic, at(1ms))) == Psns{1});
  send(*bench.nic, numbered(9), at(3ms - 1ns));
  send(*bench.nic, arp, at(3ms - 1ns));  // is not RoCE
  CHECK(receive(*bench.peer) == Frames{arp});
  send(*bench.nic, numbered(9), at(3ms));
  CHECK(psns(receive(*bench.peer)) == Psns{9, 9});
  send(*bench.peer, numbered(4), at(4ms));
  CHECK(psns(receive(*bench.nic, at(4ms))) == Psns{4});
  CHECK(bench.nic->counts().applied == std::vector<std::uint64_t>{1, 3});
  REQUIRE(bench.faults.size() == 4);
  CHECK(bench.faults[0].note == "drop in silence: rx silence 2ms 2nd");

  // One that silences the other direction only does not swallow the frame that begins it.
  Bench mute({"rx silence tx 1st"});
  send(*mute.nic, numbered(1));
  send(*mute.peer, numbered(2));
  CHECK(psns(receive(*mute.nic)) == Psns{2});
  send(*mute.nic, numbered(3), at(3600s));
  send(*mute.peer, numbered(4), at(3600s));
  CHECK(psns(receive(*mute.nic, at(3600s))) == Psns{4});
  CHECK(psns(receive(*mute.peer)) == Psns{1});
}

TEST_CASE("A duplicate may come later, as an old packet out of a network") {
  Bench bench({"duplicate 5ms 1st"});
  for (std::uint32_t i = 1; i <= 2; ++i) send(*bench.nic, numbered(i), at(1ms));
  send(*bench.peer, numbered(7), at(1ms));
  CHECK(psns(receive(*bench.peer)) == Psns{1, 2});
  CHECK(psns(receive(*bench.nic, at(1ms))) == Psns{7});
  CHECK(bench.nic->next_deadline() == at(6ms));
  bench.nic->flush(at(6ms));
  CHECK(psns(receive(*bench.peer)) == Psns{1});
  CHECK(psns(receive(*bench.nic, at(6ms))) == Psns{7});
  CHECK(bench.nic->next_deadline() == wire::kNever);
}

TEST_CASE("Frames that are not RoCE pass untouched unless the option says otherwise") {
  const Bytes arp =
      link::test::ethernet(wire::MacAddress::broadcast(), link::test::station(1), 60, 0);
  Bench careful({"drop"});
  send(*careful.nic, arp);
  CHECK(receive(*careful.peer) == Frames{arp});
  Bench all({"drop WRITE", "mark-ecn", "corrupt payload", "duplicate"}, 1, true);
  send(*all.nic, arp);
  CHECK(receive(*all.peer) == Frames{arp, arp});
  CHECK(all.nic->counts().applied == std::vector<std::uint64_t>{0, 0, 0, 1});
}

TEST_CASE("A probability hits as often as it says, by a seed that gives the same again") {
  constexpr std::uint32_t kFrames = 20'000;
  for (const auto& [rule, p] :
       {std::pair{"drop 5%", 0.05}, {"drop 50%", 0.5}, {"drop 0.5%", 0.005}}) {
    const Psns once = dropped(rule, kFrames, 42);
    const double sigma = std::sqrt(kFrames * p * (1 - p));
    INFO(rule << " seed 42: " << once.size());
    CHECK(std::abs(static_cast<double>(once.size()) - kFrames * p) < 4 * sigma);
    CHECK(dropped(rule, kFrames, 42) == once);
    CHECK(dropped(rule, kFrames, 43) != once);
  }
  // Guards the generator itself: these must never change from one release to another.
  CHECK(dropped("drop 5%", 100, 42) == Psns{14, 29, 32, 42, 56, 61, 85, 88, 94, 100});
}

TEST_CASE("SplitMix64 gives the published numbers") {
  SplitMix64 random(1234567);
  CHECK(random.next() == 6457827717110365317u);
  CHECK(random.next() == 3203168211198807973u);
  CHECK(random.next() == 9817491932198370423u);
}

TEST_CASE("Directions and rules do not disturb one another's chances") {
  const auto tx_drops = [](const std::vector<std::string>& rules, int received_between) {
    Bench bench(rules, 7);
    for (std::uint32_t i = 1; i <= 200; ++i) {
      send(*bench.nic, numbered(i));
      for (int j = 0; j < received_between; ++j) send(*bench.peer, numbered(1));
      receive(*bench.nic);
    }
    return psns(receive(*bench.peer));
  };
  const Psns alone = tx_drops({"drop 10%"}, 0);
  CHECK(alone.size() < 200);
  CHECK(tx_drops({"drop 10%"}, 3) == alone);
  CHECK(tx_drops({"drop 10%", "rx duplicate 30%"}, 2) == alone);
}

TEST_CASE("The same seed gives the same frames under every fault at once") {
  const auto run = [](std::uint64_t seed) {
    Bench bench({"drop 5%", "duplicate 5%", "reorder 3 5%", "delay 30us 5%", "corrupt icrc 5%",
                 "mark-ecn 5%"},
                seed);
    Frames out;
    for (std::uint32_t i = 0; i < 3000; ++i) {
      const Instant now = at(std::chrono::microseconds(10 * i));
      send(*bench.nic, numbered(i), now);
      send(*bench.peer, numbered(i), now);
      for (Bytes& frame : receive(*bench.peer, now)) out.push_back(std::move(frame));
      for (Bytes& frame : receive(*bench.nic, now)) out.push_back(std::move(frame));
    }
    // All but the dropped ones come out, and nothing stays behind.
    bench.nic->flush(at(1s));
    for (Bytes& frame : receive(*bench.peer, at(1s))) out.push_back(std::move(frame));
    for (Bytes& frame : receive(*bench.nic, at(1s))) out.push_back(std::move(frame));
    const auto& n = bench.nic->counts().applied;
    CHECK(out.size() == 6000 - n[0] + n[1]);
    CHECK(bench.nic->next_deadline() == wire::kNever);
    return out;
  };
  const Frames first = run(11);
  CHECK(run(11) == first);
  CHECK(run(12) != first);
}

TEST_CASE("No buffer is lost, and a full wire loses only what it cannot carry") {
  Bench bench({"duplicate 20%", "reorder 2 20%", "delay 1ms 20%", "drop 10%"});
  std::vector<Frame*> all(100'000);
  const std::size_t capacity = bench.nic->tx_alloc(all);
  bench.nic->tx_cancel({all.data(), capacity});
  for (std::uint32_t i = 0; i < 3000; ++i) {
    send(*bench.nic, numbered(i), at(std::chrono::microseconds(i)));
    send(*bench.peer, numbered(i), at(std::chrono::microseconds(i)));
  }
  receive(*bench.peer, at(1s)), receive(*bench.nic, at(1s));
  bench.nic->flush(at(2s));
  receive(*bench.peer, at(2s)), receive(*bench.nic, at(2s));
  CHECK(bench.nic->tx_alloc(all) == capacity);
  // With every buffer on loan a burst still goes out, without the duplicates there is no room for.
  for (std::size_t i = 1; i < capacity; ++i) bench.nic->tx_cancel({&all[i], 1});
  link::test::fill(*all[0], numbered(1));
  bench.nic->tx_push(at(3s), {all.data(), 1});
}

TEST_CASE("A burst that is dropped whole does not hide what comes behind it") {
  Bench bench({"rx drop first 500"});
  for (std::uint32_t i = 1; i <= 501; ++i) send(*bench.peer, numbered(i));
  std::array<Frame*, 4> frames{};
  std::size_t got = 0;
  // Either the frame comes at once, or the link asks to be called again.
  for (int i = 0; i < 10 && got == 0; ++i) {
    got = bench.nic->rx_burst(at(1ms), frames);
    if (got == 0) REQUIRE(bench.nic->next_deadline() <= at(1ms));
  }
  REQUIRE(got == 1);
  CHECK(test::view(flat(frames[0]->bytes())).bth().psn.value() == 501);
  bench.nic->rx_release({frames.data(), 1});
}

TEST_CASE("Frames that were received and never fetched go back when the link is closed") {
  MemoryWire wire(1500, 64);
  const auto peer = wire.attach("peer");
  std::vector<Frame*> all(10'000);
  std::size_t before = 0;
  {
    auto nic = inject_faults(wire.attach("nic"), {*FaultRule::parse("duplicate")});
    before = peer->tx_alloc(all);
    peer->tx_cancel({all.data(), before});
    for (std::uint32_t i = 0; i < 32; ++i) send(*peer, numbered(i));
    Frame* frame = nullptr;
    REQUIRE(nic->rx_burst({}, {&frame, 1}) == 1);
    nic->rx_release({&frame, 1});
  }
  CHECK(peer->tx_alloc(all) == before);
  peer->tx_cancel({all.data(), before});
}

TEST_CASE("A capture of faults has each fault once, as a comment") {
  const link::test::TemporaryFile got;
  const link::test::TemporaryFile expected;
  const Bytes frame = numbered(1);
  MemoryWire wire;
  const auto peer = wire.attach("peer");
  std::vector<std::string> told;
  std::vector<FaultRule> rules;
  for (const char* text : {"drop 1st", "duplicate 1st", "mark-ecn 1st"}) {
    rules.push_back(*FaultRule::parse(text));
  }
  FaultOptions options;
  options.on_fault = [&told](Instant, Direction, const wire::ByteChain&, std::string_view note) {
    told.emplace_back(note);
  };
  Bytes marked;
  {
    auto file = *link::CaptureFile::create(got.path());
    const CapturedFaults faults = inject_faults(wire.attach("nic"), rules, options, file, "nic");
    for (int i = 0; i < 4; ++i) send(*faults.link, frame);
    CHECK(receive(*peer).size() == 4);
    for (int i = 0; i < 4; ++i) send(*peer, frame);
    marked = receive(*faults.link)[2];
    CHECK(faults.counts->applied == std::vector<std::uint64_t>{2, 2, 2});
  }
  CHECK(told.size() == 6);
  {
    auto file = *link::CaptureFile::create(expected.path());
    file->add_interface("nic");
    for (const Direction way : {Direction::outbound, Direction::inbound}) {
      const auto write = [&](const Bytes& bytes, std::string_view comment) {
        file->write({}, 0, way, wire::ByteView(bytes), comment);
      };
      write(frame, "drop: drop 1st");
      write(frame, "");
      write(frame, "duplicate: duplicate 1st");
      write(marked, "mark-ecn: mark-ecn 1st");
      write(frame, "");
    }
  }
  CHECK(got.bytes() == expected.bytes());
}

}  // namespace
}  // namespace softrnic::fabric
