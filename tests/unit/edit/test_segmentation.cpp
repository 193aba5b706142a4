// SPDX-License-Identifier: BSD-3-Clause
#include "edit/segmentation.hpp"

#include "analysis/analyzer.hpp"
#include "editing.hpp"

namespace softrnic::edit::test {
namespace {

using wire::Opcode;
using wire::Psn;

// A connection of two queue pairs, 0x11 of alice and 0x12 of bob, packet by packet.
struct Talk {
  std::vector<Sample> samples;

  Talk& request(Opcode opcode, std::uint32_t psn, std::uint32_t payload, std::uint32_t length = 0,
                bool ack = false) {
    Sample sample{.opcode = opcode, .psn = psn, .qpn = 0x12, .payload = payload};
    sample.headers = [length, ack](wire::TransportHeaders& headers) {
      headers.reth = {0x1000, 7, length};
      headers.bth.ack_request = ack;
    };
    samples.push_back(sample);
    return *this;
  }
  Talk& answer(Opcode opcode, std::uint32_t psn, wire::Syndrome syndrome, std::uint32_t msn,
               std::uint32_t payload = 0) {
    Sample sample{
        .opcode = opcode, .psn = psn, .qpn = 0x11, .payload = payload, .from_alice = false};
    sample.headers = [syndrome, msn](wire::TransportHeaders& headers) {
      headers.aeth = {syndrome, msn};
    };
    samples.push_back(sample);
    return *this;
  }
  Talk& ack(std::uint32_t psn, std::uint32_t msn) {
    return answer(Opcode::rc_acknowledge, psn, wire::Syndrome::ack(), msn);
  }
  Talk& write(std::uint32_t psn) {  // 1000 bytes at 512
    request(Opcode::rc_write_first, psn, 512, 1000);
    return request(Opcode::rc_write_last, psn + 1, 488, 0, true);
  }
};

struct Seen {
  Opcode opcode;
  std::uint32_t psn;
  std::uint32_t size;

  friend bool operator==(const Seen&, const Seen&) = default;
};
std::ostream& operator<<(std::ostream& out, const Seen& seen) {
  return out << wire::info(seen.opcode).name << " " << seen.psn << " (" << seen.size << ")";
}

std::vector<Seen> seen(const Frames& frames) {
  std::vector<Seen> all;
  for (const Kept& frame : frames) {
    const auto reading = reading_of(frame);
    REQUIRE(reading.analysable());
    REQUIRE(reading.frame.icrc == analysis::IcrcVerdict::good);
    all.push_back({reading.frame.opcode->opcode, reading.frame.headers.bth.psn.value(),
                   reading.frame.payload_size});
  }
  return all;
}

TEST_CASE("a message is cut to a smaller path MTU, and what follows is renumbered") {
  Talk talk;
  talk.write(10).ack(11, 1).request(Opcode::rc_send_only, 12, 8, 0, true).ack(12, 2);
  const Frames frames = capture_of(talk.samples);
  const Edited edited = edit({{"mtu", "256"}}, frames);
  CHECK(edited.error == "");
  CHECK(seen(edited.frames) == std::vector<Seen>{{Opcode::rc_write_first, 10, 256},
                                                 {Opcode::rc_write_middle, 11, 256},
                                                 {Opcode::rc_write_middle, 12, 256},
                                                 {Opcode::rc_write_last, 13, 232},
                                                 {Opcode::rc_acknowledge, 13, 0},
                                                 {Opcode::rc_send_only, 14, 8},
                                                 {Opcode::rc_acknowledge, 14, 0}});
  CHECK(reading_of(edited.frames[0]).frame.headers.reth.dma_length == 1000);
  CHECK_FALSE(reading_of(edited.frames[2]).frame.headers.bth.ack_request);
  CHECK(reading_of(edited.frames[3]).frame.headers.bth.ack_request);
  CHECK(edited.counts.packets_out == 5);

  const Edited larger = edit({{"mtu", "1024"}}, frames);
  CHECK(seen(larger.frames) == std::vector<Seen>{{Opcode::rc_write_only, 10, 1000},
                                                 {Opcode::rc_acknowledge, 10, 0},
                                                 {Opcode::rc_send_only, 11, 8},
                                                 {Opcode::rc_acknowledge, 11, 0}});
}

TEST_CASE("a READ takes the PSNs of its new response") {
  Talk talk;
  talk.request(Opcode::rc_read_request, 0xffffff, 0, 1000)
      .answer(Opcode::rc_read_response_first, 0xffffff, wire::Syndrome::ack(), 1, 512)
      .answer(Opcode::rc_read_response_last, 0, wire::Syndrome::ack(), 1, 488)
      .request(Opcode::rc_send_only, 1, 4, 0, true)
      .ack(1, 2);
  const Frames frames = capture_of(talk.samples);
  const Edited edited = edit({{"mtu", "256"}}, frames);
  CHECK(edited.error == "");
  CHECK(seen(edited.frames) == std::vector<Seen>{{Opcode::rc_read_request, 0xffffff, 0},
                                                 {Opcode::rc_read_response_first, 0xffffff, 256},
                                                 {Opcode::rc_read_response_middle, 0, 256},
                                                 {Opcode::rc_read_response_middle, 1, 256},
                                                 {Opcode::rc_read_response_last, 2, 232},
                                                 {Opcode::rc_send_only, 3, 4},
                                                 {Opcode::rc_acknowledge, 3, 0}});
}

TEST_CASE("a message sent again is cut as before, and a NAK names where it begins") {
  Talk talk;
  talk.write(10)
      .write(12)
      .answer(Opcode::rc_acknowledge, 12, wire::Syndrome::nak(wire::NakCode::psn_sequence_error), 1)
      .write(12)
      .ack(13, 2);
  const Edited edited = edit({{"mtu", "256"}}, capture_of(talk.samples));
  CHECK(edited.error == "");
  const auto all = seen(edited.frames);
  REQUIRE(all.size() == 14);
  CHECK(all[8] == Seen{Opcode::rc_acknowledge, 14, 0});
  CHECK(all[9] == Seen{Opcode::rc_write_first, 14, 256});
  CHECK(all[13] == Seen{Opcode::rc_acknowledge, 17, 0});
}

TEST_CASE("there and back to the path MTU it had is the same capture") {
  Talk talk;
  talk.write(0xfffffe).ack(0xffffff, 1).write(0).ack(1, 2);
  const Frames frames = capture_of(talk.samples);
  CHECK(edit({{"mtu", "512"}}, edit({{"mtu", "256"}}, frames).frames).frames == frames);
}

TEST_CASE("what cannot be followed is said by frame") {
  Talk gap;
  gap.write(10).write(13);
  CHECK(edit({{"mtu", "256"}}, capture_of(gap.samples)).error.find("frame 3: PSN 12") == 0);
  Talk middle;
  middle.request(Opcode::rc_write_middle, 10, 512).request(Opcode::rc_write_last, 11, 1);
  CHECK(edit({{"mtu", "256"}}, capture_of(middle.samples)).error.find("frame 1:") == 0);
  Talk again;  // of three packets the last two, where one new one has all
  again.request(Opcode::rc_send_first, 1, 512)
      .request(Opcode::rc_send_middle, 2, 512)
      .request(Opcode::rc_send_last, 3, 512)
      .request(Opcode::rc_send_middle, 2, 512);
  CHECK(edit({{"mtu", "2048"}}, capture_of(again.samples)).error.find("frame 4:") == 0);
  CHECK(edit({{"mtu", "256"}}, capture_of(again.samples)).error == "");
  Frames cut = capture_of(gap.samples);
  cut[1].bytes.resize(64);
  CHECK(edit({{"mtu", "256"}}, cut).error.find("frame 2: a snap length") == 0);
}

TEST_CASE("every n-th message stays, with its answers, and all numbers close up") {
  Talk talk;
  for (std::uint32_t i = 0; i < 6; ++i) talk.write(10 + 2 * i).ack(11 + 2 * i, i + 1);
  const Edited edited = edit({{"thin", "3"}}, capture_of(talk.samples));
  CHECK(edited.error == "");
  CHECK(seen(edited.frames) == std::vector<Seen>{{Opcode::rc_write_first, 10, 512},
                                                 {Opcode::rc_write_last, 11, 488},
                                                 {Opcode::rc_acknowledge, 11, 0},
                                                 {Opcode::rc_write_first, 12, 512},
                                                 {Opcode::rc_write_last, 13, 488},
                                                 {Opcode::rc_acknowledge, 13, 0}});
  CHECK(reading_of(edited.frames[5]).frame.headers.aeth.msn == 2);
  CHECK(edited.counts.messages_left_out == 4);
}

}  // namespace
}  // namespace softrnic::edit::test
