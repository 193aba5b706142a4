// SPDX-License-Identifier: BSD-3-Clause
#include <catch2/catch.hpp>
#include <map>

#include "craft/crafter.hpp"
#include "wire/cm_message.hpp"
#include "wire/packet_view.hpp"

using namespace softrnic;
using wire::Opcode;

namespace {

struct Crafted {
  wire::Instant at;
  craft::Bytes bytes;
  std::size_t wire_size = 0;
  std::string comment;
};

std::string crafted_by(std::string_view text, std::vector<Crafted>& frames) {
  craft::Crafter crafter([&](const craft::CraftedFrame& frame) {
    frames.push_back({frame.at,
                      {frame.bytes.begin(), frame.bytes.end()},
                      frame.wire_size,
                      std::string(frame.comment)});
    return true;
  });
  const auto lines = craft::read_lines(text, "line 1");
  if (!lines) return lines.error().to_string();
  for (const craft::Line& line : *lines) {
    if (const auto wrong = crafter.on_line(line)) return wrong->to_string();
  }
  const auto open = crafter.finish();
  return open ? open->to_string() : "";
}

std::vector<Crafted> crafted(std::string_view text) {
  std::vector<Crafted> frames;
  REQUIRE(crafted_by(text, frames).empty());
  return frames;
}

std::string complaint(std::string_view text) {
  std::vector<Crafted> frames;
  return crafted_by(text, frames);
}

wire::PacketView parsed(const Crafted& frame) {
  auto packet = wire::PacketView::parse(wire::ByteChain(wire::ByteView(frame.bytes)));
  REQUIRE(packet);
  return *packet;
}

std::vector<std::uint32_t> psns(const std::vector<Crafted>& frames) {
  std::vector<std::uint32_t> all;
  for (const Crafted& frame : frames) all.push_back(parsed(frame).bth().psn.value());
  return all;
}

}  // namespace

TEST_CASE("every opcode is crafted by its name, whole and with a right ICRC", "[craft]") {
  for (int value = 0; value < 256; ++value) {
    const wire::OpcodeInfo* row = wire::find_opcode(static_cast<std::uint8_t>(value));
    if (row == nullptr) continue;
    for (const std::string network :
         {"from 10.0.0.1 to 10.0.0.2;", "from fd00::1 to fd00::2;",
          "from 10.0.0.1 to 10.0.0.2; set v1;", "from fd00::1 to fd00::2; set v1 vlan=42:3;"}) {
      const auto frames = crafted(network + craft::packet_name(*row) + " qp=0x77 psn=9");
      REQUIRE(frames.size() == 1);
      const auto packet = parsed(frames.front());
      CAPTURE(row->name, network);
      CHECK(packet.opcode().opcode == row->opcode);
      CHECK(packet.icrc_ok());
      CHECK(packet.bth().destination_qpn == 0x77);
      CHECK(packet.bth().psn.value() == 9);
      CHECK(packet.size() == frames.front().bytes.size());
    }
  }
}

TEST_CASE("a packet of the example", "[craft]") {
  const auto frames = crafted(
      "rc write_only qp=0x12 psn=100 ack va=0x7f00 rkey=0x1234 len=64 payload=pattern ecn=ce "
      "dscp=10 ttl=7 sport=50000 comment='hello'");
  const auto packet = parsed(frames.front());
  CHECK(packet.headers().reth.virtual_address == 0x7f00);
  CHECK(packet.headers().reth.remote_key == 0x1234);
  CHECK(packet.headers().reth.dma_length == 64);
  CHECK(packet.bth().ack_request);
  CHECK(packet.payload().size() == 64);
  CHECK(packet.ecn() == 3);
  CHECK(packet.traffic_class() >> 2 == 10);
  CHECK(packet.ipv4().time_to_live == 7);
  CHECK(packet.udp().source_port == 50000);
  CHECK(packet.icrc_ok());
  CHECK(frames.front().comment == "hello");
}

TEST_CASE("a message is divided by the path MTU, and answered", "[craft]") {
  const auto frames = crafted(
      "from 10.0.0.1 qp 0x21 psn 0xfffffe to 10.0.0.2 qp 0x22; set mtu=256;"
      "rc write 700 immediate=5 solicited va=64 rkey=1; rc ack");
  REQUIRE(frames.size() == 4);
  CHECK(parsed(frames[0]).opcode().opcode == Opcode::rc_write_first);
  CHECK(parsed(frames[1]).opcode().opcode == Opcode::rc_write_middle);
  CHECK(parsed(frames[2]).opcode().opcode == Opcode::rc_write_last_immediate);
  CHECK(psns(frames) == std::vector<std::uint32_t>{0xfffffe, 0xffffff, 0, 0});
  CHECK(parsed(frames[0]).headers().reth.dma_length == 700);
  CHECK_FALSE(parsed(frames[0]).bth().ack_request);
  CHECK_FALSE(parsed(frames[0]).bth().solicited);
  CHECK(parsed(frames[2]).bth().ack_request);
  CHECK(parsed(frames[2]).bth().solicited);
  CHECK(parsed(frames[2]).headers().immdt.data == 5);
  CHECK(parsed(frames[2]).payload().size() == 700 - 512);
  CHECK(parsed(frames[3]).bth().destination_qpn == 0x21);
  CHECK(parsed(frames[3]).headers().aeth.msn == 1);
  CHECK(parsed(frames[3]).source() == parsed(frames[0]).destination());
}

TEST_CASE("a READ takes PSNs, and its response has them", "[craft]") {
  const auto frames =
      crafted("set mtu=256; rc read 700 psn=5; rc send 1; rc read_response; rc ack psn=8");
  CHECK(psns(frames) == std::vector<std::uint32_t>{5, 8, 5, 6, 7, 8});
  CHECK(parsed(frames[2]).opcode().opcode == Opcode::rc_read_response_first);
  CHECK(parsed(frames[4]).opcode().opcode == Opcode::rc_read_response_last);
}

TEST_CASE("refusals by their names", "[craft]") {
  const auto syndrome = [](std::string_view line) {
    return parsed(crafted(line).front()).headers().aeth.syndrome;
  };
  CHECK(syndrome("rc nak psn_sequence_error").raw() == 0x60);
  CHECK(syndrome("rc nak invalid_request").raw() == 0x61);
  CHECK(syndrome("xrc nak remote_access_error").raw() == 0x62);
  CHECK(syndrome("rc nak operational").raw() == 0x63);
  CHECK(syndrome("rc rnr timer=0.64ms") == wire::Syndrome::rnr_nak(12));
  CHECK(syndrome("rc rnr 3") == wire::Syndrome::rnr_nak(3));
  CHECK(syndrome("rc ack credits=4") == wire::Syndrome::ack(4));
  CHECK(syndrome("rc ack syndrome=0x9f").raw() == 0x9f);
}

TEST_CASE("what says nothing is not repeated for ever", "[craft]") {
  CHECK(crafted("repeat 18446744073709551615; set v1; end; rc ack").size() == 1);
  CHECK(crafted("repeat 18446744073709551615; repeat 2; end; end").empty());
}

TEST_CASE("repetitions count on, or repeat the same", "[craft]") {
  CHECK(psns(crafted("rc send_only psn=7 x3")) == std::vector<std::uint32_t>{7, 8, 9});
  CHECK(psns(crafted("rc send_only psn=7 x3 step=0")) == std::vector<std::uint32_t>{7, 7, 7});
  CHECK(psns(crafted("rc send_only psn=7 x3 step=-2")) == std::vector<std::uint32_t>{7, 5, 3});
  CHECK(psns(crafted("rc send_only psn=7; rc send_only psn=+2; rc send_only")) ==
        std::vector<std::uint32_t>{7, 10, 11});
  const auto frames = crafted("repeat 2; repeat 2; rc send_only; end; rc ack; end");
  CHECK(psns(frames) == std::vector<std::uint32_t>{0, 1, 1, 2, 3, 3});
}

TEST_CASE("times: since the beginning, since the packet before, the gap", "[craft]") {
  const auto frames = crafted(
      "start 100; rc send_only; rc send_only; +5us rc send_only; @1ms rc send_only; set gap=1ms; "
      "rc send_only; -2us rc ack");
  std::vector<std::int64_t> times;
  for (const Crafted& frame : frames) {
    times.push_back(frame.at.time_since_epoch().count() - 100'000'000'000);
  }
  CHECK(times == std::vector<std::int64_t>{0, 1'000, 6'000, 1'000'000, 2'000'000, 1'998'000});
}

TEST_CASE("wrong on purpose, and nothing else", "[craft]") {
  const auto raw = [](std::string_view line) { return crafted(line).front().bytes; };
  const auto right = raw("rc send_only 5");
  auto wrong = raw("rc send_only 5 icrc=bad");
  CHECK(std::equal(right.begin(), right.end() - 4, wrong.begin()));
  CHECK(wire::ByteView(wrong).last(1)[0] == ~wire::ByteView(right).last(1)[0]);
  CHECK(parsed(crafted("rc send_only icrc=0x12345678").front()).icrc() == 0x12345678);
  CHECK(raw("rc send_only 5 trim=1").size() == right.size() - 1);
  CHECK(raw("rc send_only 5 pad=0").size() == right.size() - 3);
  CHECK(crafted("rc send_only 5 cut=20").front().bytes.size() == 20);
  CHECK(crafted("rc send_only 5 cut=20").front().wire_size == right.size());

  // A field that is wrong stays wrong under sums that are right.
  const auto error = [](std::string_view line) {
    const auto frame = crafted(line).front();
    const auto packet = wire::PacketView::parse(wire::ByteChain(wire::ByteView(frame.bytes)));
    REQUIRE_FALSE(packet);
    return packet.error();
  };
  CHECK(error("rc send_only opcode=0x1f") == wire::ParseError::unknown_opcode);
  CHECK(error("rc send_only tver=1") == wire::ParseError::bad_transport_version);
  CHECK(error("rc send_only udp.length=+4") == wire::ParseError::length_mismatch);
  CHECK(error("rc send_only ipv4.checksum=0") == wire::ParseError::bad_ip_header);
  CHECK(error("rc send_only 5 pad=2") == wire::ParseError::bad_padding);
  CHECK(error("rc send_only ethertype=0x1234") == wire::ParseError::not_roce);
  CHECK(parsed(crafted("rc send_only 5 pad_count=1").front()).payload().size() == 7);
  CHECK(parsed(crafted("rc send_only reserved7=5").front()).icrc_ok());
}

TEST_CASE("a UDP checksum that is right sums to ones", "[craft]") {
  for (const std::string ends : {"from 10.0.0.1 to 10.0.0.2;", "from fd00::1 to fd00::2;"}) {
    const auto frame = crafted(ends + "rc send_only 7 udp.checksum=right").front();
    const auto packet = parsed(frame);
    const std::size_t udp = packet.bth_offset() - wire::UdpHeader::kSize;
    const std::size_t addresses = packet.network_layer() == wire::NetworkLayer::ipv4 ? 8 : 32;
    const auto sum = wire::internet_checksum(
        wire::ByteView(frame.bytes).subspan(udp - addresses),
        static_cast<std::uint32_t>(frame.bytes.size() - udp + wire::ip_protocol::kUdp));
    CHECK(packet.udp().checksum != 0);
    CHECK(sum == 0);
    CHECK(packet.icrc_ok());
  }
}

TEST_CASE("CM messages with what was said and what was not", "[craft]") {
  const auto frames = crafted(
      "from 10.0.0.1 qp 0x21 psn 100 to 10.0.0.2 qp 0x22;"
      "cm req port=7471 retry_count=3 primary.hop_limit=9 private_data='';"
      "cm rep; cm rtu; rc send 8; cm dreq; cm drep; cm rej reason=invalid_service_id message=1;"
      "cm sidr_req; cm sidr_rep status=2; cm mra; cm lap; cm apr");
  std::vector<wire::CmMad> mads;
  for (const Crafted& frame : frames) {
    const auto packet = parsed(frame);
    CHECK(packet.icrc_ok());
    if (packet.bth().destination_qpn != 1) continue;
    craft::Bytes payload(packet.payload().size());
    packet.payload().copy_to(0, payload);
    const auto mad = wire::CmMad::parse(payload);
    REQUIRE(mad);
    mads.push_back(*mad);
  }
  REQUIRE(mads.size() == 11);
  const auto& req = std::get<wire::CmReq>(mads[0].message);
  CHECK(req.service_id == 0x0000000001061d2f);
  CHECK(req.retry_count == 3);
  CHECK(req.local_qpn == 0x21);
  CHECK(req.starting_psn.value() == 100);
  CHECK(req.primary_path.hop_limit == 9);
  CHECK(req.private_data == decltype(req.private_data){});
  const auto& rep = std::get<wire::CmRep>(mads[1].message);
  CHECK(rep.remote_communication_id == req.local_communication_id);
  CHECK(rep.local_qpn == 0x22);
  CHECK(std::get<wire::CmRej>(mads[5].message).reason == wire::CmRejectReason::invalid_service_id);
  // What CM says leaves the queue pairs' own numbers alone.
  CHECK(parsed(frames[3]).bth().destination_qpn == 0x22);
  CHECK(parsed(frames[3]).bth().psn.value() == 100);
}

TEST_CASE("complaints say where and what instead", "[craft]") {
  const std::map<std::string, std::string> complaints{
      {"rc snd_only", "line 1, column 4: rc has no \"snd_only\": did you mean send_only?"},
      {"rd send_only",
       "line 1, column 1: \"rd\" begins no line: use rc, uc, ud, xrc, cm, cnp, raw, "
       "from, to, set, start or repeat"},
      {"rc", "line 1, column 1: \"rc\" is followed by what is sent, such as rc send_only"},
      {"rc send_only psn=x",
       "line 1, column 14: psn takes a number from 0 to 0xffffff, or a step "
       "such as +1 or -1, not \"x\""},
      {"rc send_only rkye=1", "line 1, column 14: \"rkye\" is no field: did you mean rkey?"},
      {"rc send_only rkey=1", "line 1, column 14: rc send_only has no field rkey that takes 1"},
      {"rc nak",
       "line 1, column 4: nak needs its code: psn_sequence_error, invalid_request, "
       "remote_access_error or remote_operational_error"},
      {"cm rep psnn=5",
       "line 1, column 8: \"psnn\" is no field of this message or of a header: did "
       "you mean psn?"},
      {"raw 0", ""},
      {"raw", "line 1, column 1: raw needs the bytes of the frame: raw 0200... or raw file:PATH"},
      {"from 10.0.0",
       "line 1, column 6: \"10.0.0\" is no address: use one such as 10.0.0.1 or "
       "fd00::1"},
      {"set mtu=0", "line 1, column 5: mtu takes a number of bytes, such as 256 or 4096"},
      {"rc send_only 70000",
       "line 1, column 1: a packet holds at most 60000 bytes, not 70000: use a "
       "message, such as rc send 70000, which is divided by mtu="},
      {"repeat 2; rc ack", "line 1: the repetition is not ended: write end behind its lines"},
      {"end", "line 1, column 1: no repetition is to be ended here"},
      {"+5x rc ack", "line 1, column 1: \"+5x\" is no time: use one such as +10us, +1.5ms or +2s"},
  };
  for (const auto& [line, expected] : complaints) {
    CAPTURE(line);
    if (!expected.empty()) CHECK(complaint(line) == expected);
  }
}

TEST_CASE("any line ends in packets or a complaint", "[craft]") {
  // Every prefix and every line with one character changed.
  const std::string line =
      "from fd00::1 to fd00::2; set mtu=256 v1; +1us > rc write 700 qp=0x1 imm=5 icrc=0x1 pad=3";
  for (std::size_t i = 0; i < line.size(); ++i) {
    complaint(line.substr(0, i));
    for (const char c : {'=', ':', '\'', '0', ' ', ';', '-', '\xff'}) {
      std::string changed = line;
      changed[i] = c;
      complaint(changed);
    }
  }
  SUCCEED();
}
