// SPDX-License-Identifier: BSD-3-Clause
#include "edit/editor.hpp"

#include "capture/time_stamp.hpp"
#include "editing.hpp"
#include "wire/ipv4.hpp"

namespace softrnic::edit::test {
namespace {

using analysis::IcrcVerdict;
using wire::NetworkLayer;

constexpr std::size_t kEthernet = 14;

Kept sample(NetworkLayer layer = NetworkLayer::ipv4) {
  return kept(capture::test::frame({.layer = layer}));
}

TEST_CASE("an edit without a word leaves every byte") {
  for (const auto layer : {NetworkLayer::ipv4, NetworkLayer::ipv6, NetworkLayer::grh}) {
    const Frames frames{sample(layer)};
    const Edited edited = edit({}, frames);
    CHECK(edited.frames == frames);
    CHECK(edited.counts.changed == 0);
  }
}

TEST_CASE("what is edited has a right ICRC and a right IPv4 checksum") {
  const Edited edited =
      edit({{"qpn", "+1"}, {"dscp", "26"}, {"ip", "10.0.0.1=1.2.3.4"}}, {sample()});
  const auto reading = reading_of(edited.frames.at(0));
  CHECK(reading.fault == capture::HeaderFault::none);
  CHECK(reading.frame.icrc == IcrcVerdict::good);
  CHECK(reading.frame.source.to_string() == "1.2.3.4");
  CHECK(reading.frame.headers.bth.destination_qpn == 0x13);
}

TEST_CASE("a wrong ICRC stays wrong by the same bits, is repaired, or kept") {
  Kept frame = sample();
  frame.bytes.back() ^= std::byte{0x40};
  for (const auto& [word, verdict] :
       {std::pair{"", IcrcVerdict::bad}, std::pair{"repair-icrc", IcrcVerdict::good},
        std::pair{"keep-icrc", IcrcVerdict::bad}}) {
    Words words{{"pkey", "5"}};
    if (*word != '\0') words.emplace_back(word, "");
    const Edited edited = edit(words, {frame});
    CHECK(reading_of(edited.frames.at(0)).frame.icrc == verdict);
    CHECK(edited.counts.wrong_icrc == 1);
  }
  const Edited there = edit({{"pkey", "5"}}, {frame});
  CHECK(edit({{"pkey", "0xffff"}}, there.frames).frames == Frames{frame});
}

TEST_CASE("a UDP checksum that was there is right again, and none stays none") {
  // The independent sum is that of the pseudo header and all behind it (RFC 768).
  const auto total = [](const Kept& frame) {
    const wire::ByteView ip = wire::ByteView(frame.bytes).subspan(kEthernet);
    const auto size = static_cast<std::uint32_t>(ip.size() - 20);
    std::uint32_t pseudo = 17 + size;
    for (std::size_t i = 12; i < 20; i += 2) pseudo += wire::load_be16(ip.data() + i);
    return wire::internet_checksum(ip.subspan(20), pseudo);
  };
  Kept frame = sample();
  wire::store_be16(frame.bytes.data() + kEthernet + 26, total(frame));
  REQUIRE(total(frame) == 0);
  const Words words{{"ip", "10.0.0.0/8=172.16.0.0/8"}, {"rkey", "7"}, {"qpn", "0x12=0x345678"}};
  CHECK(total(edit(words, {frame}).frames.at(0)) == 0);
  const Kept none = edit(words, {sample()}).frames.at(0);
  CHECK(wire::load_be16(none.bytes.data() + kEthernet + 26) == 0);
}

TEST_CASE("a frame that was cut is edited as far as it goes, and nothing beyond") {
  const Kept whole = sample();
  for (std::size_t size = 0; size <= whole.bytes.size(); ++size) {
    Kept cut = whole;
    cut.bytes.resize(size);
    const Words there{
        {"ip", "10.0.0.0/8=fd00::/64"}, {"qpn", "+5"}, {"vlan", "9"}, {"mac", "00:00:00=02:00:00"}};
    const Words back{{"ip", "fd00::/64=10.0.0.0/8"},
                     {"qpn", "-5"},
                     {"vlan", "none"},
                     {"mac", "02:00:00=00:00:00"}};
    const Edited edited = edit(there, {cut});
    REQUIRE(edited.frames.size() == 1);
    CHECK(edited.frames[0].bytes.size() <= edited.frames[0].wire_size);
    const Edited again = edit(back, edited.frames);
    INFO("cut to " << size);
    REQUIRE(again.frames == Frames{cut});
  }
}

TEST_CASE("of the two addresses one version has to come out") {
  const Edited edited = edit({{"ip", "10.0.0.1=fd00::1"}}, {sample()});
  CHECK(edited.error.find("frame 1:") == 0);
  CHECK(edited.frames.empty());
}

TEST_CASE("from v2 to v1 and back the UDP source port survives") {
  for (const auto layer : {NetworkLayer::ipv4, NetworkLayer::ipv6}) {
    Sample packet{.layer = layer};
    packet.ipv6 = [](wire::Ipv6Header& ip) {
      ip.source = *wire::Gid::from_string("fd00::1");
      ip.destination = *wire::Gid::from_string("fd00::2");
    };
    const Frames frames{kept(capture::test::frame(packet))};
    const Edited v1 = edit({{"roce", "v1"}}, frames);
    CHECK(reading_of(v1.frames.at(0)).traffic == capture::Traffic::roce_v1);
    CHECK(reading_of(v1.frames.at(0)).frame.icrc == IcrcVerdict::good);
    CHECK(edit({{"roce", "v2"}}, v1.frames).frames == frames);
  }
}

TEST_CASE("VLAN tags are added, changed, stripped, and found in cooked captures") {
  const Frames frames{sample()};
  const Edited tagged = edit({{"vlan", "none=5"}, {"priority", "6"}}, frames);
  CHECK(tagged.frames.at(0).bytes.size() == frames[0].bytes.size() + 4);
  CHECK(edit({{"vlan", "7=none"}}, tagged.frames).frames == tagged.frames);
  CHECK(edit({{"vlan", "5=none"}}, tagged.frames).frames == frames);

  Kept cooked = frames[0];
  cooked.bytes.insert(cooked.bytes.begin(), 2, std::byte{});
  cooked.wire_size += 2;
  const Edited cooked_tag = edit({{"vlan", "5"}}, {cooked}, LinkType::linux_cooked);
  CHECK(reading_of(cooked_tag.frames.at(0), LinkType::linux_cooked).frame.icrc ==
        IcrcVerdict::good);
  CHECK(edit({{"vlan", "none"}}, cooked_tag.frames, LinkType::linux_cooked).frames ==
        Frames{cooked});
}

TEST_CASE("a raw IP capture has no link to edit") {
  CHECK_FALSE(Editor::refuse(plan_of({{"vlan", "5"}}), LinkType::raw_ip).empty());
  CHECK_FALSE(Editor::refuse(plan_of({{"roce", "v1"}}), LinkType::raw_ip).empty());
  CHECK(Editor::refuse(plan_of({{"qpn", "5"}}), LinkType::raw_ip).empty());
}

TEST_CASE("frames are chosen by number, time and filter") {
  std::vector<Sample> samples(6);
  samples[3].opcode = wire::Opcode::rc_write_only;
  const Frames frames = capture_of(samples);
  CHECK(edit({{"frames", "2-3,6"}}, frames).frames == Frames{frames[1], frames[2], frames[5]});
  CHECK(edit({{"from", "2us"}, {"to", "0.000003"}}, frames).frames == Frames{frames[2], frames[3]});
  CHECK(edit({{"keep", "WRITE"}}, frames).frames == Frames{frames[3]});
  CHECK(edit({{"drop", "SEND"}}, frames).frames == Frames{frames[3]});
  CHECK(edit({{"frames", "1-4"}, {"keep", "first 2 SEND"}}, frames).frames ==
        Frames{frames[0], frames[1]});
}

TEST_CASE("what is chosen by a number that is nowhere is an error in the end") {
  const Frames frames = capture_of({Sample{}, Sample{}});
  const auto end = [&frames](const Words& words) {
    Editor editor(plan_of(words), LinkType::ethernet,
                  [](wire::Instant, wire::ByteView, std::uint32_t, std::string_view) {});
    std::uint32_t number = 0;
    for (const Kept& frame : frames) {
      REQUIRE(editor.on_record({++number, frame.at, frame.wire_size, frame.bytes}));
    }
    const auto done = editor.finish();
    return done ? std::string() : done.error();
  };
  CHECK(end({{"stream", "0"}}).empty());
  CHECK(end({{"stream", "0"}, {"stream", "3"}}).starts_with("--stream 3: "));
  CHECK(end({{"frames", "2-"}}).empty());
  CHECK(end({{"frames", "1,3-4"}}) == "--frames 3: the capture ends with frame 2");
}

TEST_CASE("time is moved to the nanosecond") {
  const Frames frames = capture_of(std::vector<Sample>(3));
  const Edited edited =
      edit({{"begin", "@2000.000000001"}, {"scale", "10"}, {"shift", "-1ns"}}, frames);
  CHECK(edited.frames[0].at == wire::Instant(std::chrono::seconds(2000)));
  CHECK(edited.frames[2].at - edited.frames[0].at == std::chrono::microseconds(20));
}

TEST_CASE("time moved out of what a file can say stays at its end") {
  const Frames frames = capture_of(std::vector<Sample>(3));
  const std::string most = "9000000000";
  CHECK(edit({{"shift", "-" + most}}, frames).frames[2].at == capture::time_stamp(0, 0));
  const wire::Instant last = capture::time_stamp(capture::kLatestSecond, 0);
  CHECK(edit({{"shift", most}, {"begin", "@" + most}}, frames).frames[0].at == last);
  CHECK(edit({{"scale", "1000000000"}, {"shift", most}}, frames).frames[2].at == last);
  CHECK(edit({{"from", most}}, frames).frames.empty());
  CHECK(edit({{"to", most}}, frames).frames.size() == 3);
  CHECK(edit({{"to", "-" + most}}, frames).frames.empty());
}

TEST_CASE("rules of the fault language edit, with a filter, in their order") {
  const Frames frames = capture_of(std::vector<Sample>(4));
  EditPlan plan = plan_of({{"rule", "rewrite psn 7 2nd SEND"}, {"rule", "drop 3rd"}});
  const Edited edited = edit_with(plan, frames);
  REQUIRE(edited.frames.size() == 3);
  CHECK(reading_of(edited.frames[1]).frame.headers.bth.psn == wire::Psn(7));
  CHECK(reading_of(edited.frames[1]).frame.icrc == IcrcVerdict::good);
  const Edited kept_icrc = edit({{"rule", "rewrite psn 7 keep-icrc"}}, frames);
  CHECK(reading_of(kept_icrc.frames.at(0)).frame.icrc == IcrcVerdict::bad);
  CHECK(edit({{"rule", "duplicate 1st"}}, frames).frames.size() == 5);
  const Edited sum = edit({{"rule", "rewrite ipv4.checksum 0x1234"}}, frames);
  CHECK(wire::load_be16(sum.frames.at(0).bytes.data() + kEthernet + 10) == 0x1234);
}

}  // namespace
}  // namespace softrnic::edit::test
