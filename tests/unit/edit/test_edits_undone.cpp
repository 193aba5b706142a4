// SPDX-License-Identifier: BSD-3-Clause
// A property: any edit whose words have an inverse is undone by it, over any frames, cut anywhere,
// right or broken.
#include <random>

#include "editing.hpp"

namespace softrnic::edit::test {
namespace {

using Random = std::mt19937_64;

std::uint64_t below(Random& random, std::uint64_t bound) {
  return std::uniform_int_distribution<std::uint64_t>(0, bound - 1)(random);
}

Kept draw_frame(Random& random, std::int64_t at) {
  constexpr wire::NetworkLayer kLayers[] = {wire::NetworkLayer::ipv4, wire::NetworkLayer::ipv6,
                                            wire::NetworkLayer::grh};
  constexpr wire::Opcode kOpcodes[] = {wire::Opcode::rc_send_only,
                                       wire::Opcode::rc_write_first,
                                       wire::Opcode::rc_read_request,
                                       wire::Opcode::rc_acknowledge,
                                       wire::Opcode::rc_fetch_add,
                                       wire::Opcode::ud_send_only,
                                       wire::Opcode::cnp,
                                       wire::Opcode::xrc_send_only,
                                       wire::Opcode::rc_write_only_immediate,
                                       wire::Opcode::uc_send_last,
                                       wire::Opcode::rc_send_only_invalidate};
  Sample sample;
  sample.layer = kLayers[below(random, std::size(kLayers))];
  sample.opcode = kOpcodes[below(random, std::size(kOpcodes))];
  sample.psn = static_cast<std::uint32_t>(below(random, 1 << 24));
  sample.qpn = static_cast<std::uint32_t>(below(random, 1 << 24));
  sample.payload = static_cast<std::uint32_t>(below(random, 40));
  sample.from_alice = below(random, 2) == 0;
  sample.ipv6 = [](wire::Ipv6Header& ip) {
    ip.source = *wire::Gid::from_string("fd00::1");
    ip.destination = *wire::Gid::from_string("fd00::2");
  };
  Kept frame = kept(capture::test::frame(sample), at);
  // A byte of something else, in one of four: headers that are wrong, another ICRC, no RoCE at all.
  if (below(random, 4) == 0) {
    frame.bytes[below(random, frame.bytes.size())] = static_cast<std::byte>(below(random, 256));
  }
  if (below(random, 4) == 0) frame.bytes.resize(below(random, frame.bytes.size() + 1));
  if (below(random, 8) == 0) {
    frame.bytes.resize(frame.bytes.size() + 3, std::byte{0x77});
    frame.wire_size = std::max(frame.wire_size, static_cast<std::uint32_t>(frame.bytes.size()));
  }
  return frame;
}

struct Inverse {
  std::pair<std::string_view, std::string_view> there;
  std::pair<std::string_view, std::string_view> back;
};

// MAC addresses and tags of nothing but zeros and what the frames may hold by chance are avoided.
const std::vector<Inverse> kInverses{
    {{"ip", "10.0.0.0/8=172.0.0.0/8"}, {"ip", "172.0.0.0/8=10.0.0.0/8"}},
    {{"mac", "00:00:00=02:11:22"}, {"mac", "02:11:22=00:00:00"}},
    {{"qpn", "2..0xfffff0=3"}, {"qpn", "3..0xfffff1=2"}},
    {{"psn", "+77777"}, {"psn", "-77777"}},
    {{"rkey", "+3"}, {"rkey", "-3"}},
    {{"address", "-4096"}, {"address", "+4096"}},
    {{"qkey", "0x80010000=5"}, {"qkey", "5=0x80010000"}},
    {{"pkey", "+9"}, {"pkey", "-9"}},
    {{"dscp", "+1"}, {"dscp", "-1"}},
    {{"ecn", "+1"}, {"ecn", "-1"}},
    {{"ttl", "+1"}, {"ttl", "-1"}},
    {{"udp-port", "+1"}, {"udp-port", "-1"}},
    {{"flow-label", "+1"}, {"flow-label", "-1"}},
    {{"immediate", "+1"}, {"immediate", "-1"}},
    {{"srqn", "+1"}, {"srqn", "-1"}},
    {{"shift", "5ns"}, {"shift", "-5ns"}},
    {{"vlan", "none=1234"}, {"vlan", "1234=none"}},
};

TEST_CASE("random edits of random frames are undone by their inverse") {
  for (std::uint64_t seed = 1; seed <= 2000; ++seed) {
    Random random(seed);
    Frames frames;
    for (std::int64_t i = 0; i < 4; ++i) frames.push_back(draw_frame(random, i));
    Words there;
    Words back;
    for (const Inverse& inverse : kInverses) {
      if (below(random, 3) != 0) continue;
      there.push_back(inverse.there);
      back.push_back(inverse.back);
    }
    const Edited edited = edit(there, frames);
    INFO("seed " << seed << ": " << (there.empty() ? "" : there.front().first));
    REQUIRE(edited.error == "");
    const Edited again = edit(back, edited.frames);
    for (std::size_t i = 0; i < frames.size(); ++i) {
      INFO("frame " << i + 1);
      REQUIRE(again.frames[i].at == frames[i].at);
      REQUIRE(again.frames[i].bytes == frames[i].bytes);
    }
    REQUIRE(again.frames == frames);
  }
}

TEST_CASE("no bytes break an edit, an anonymisation or a cut") {
  for (std::uint64_t seed = 1; seed <= 150; ++seed) {  // a key costs 40 ms each time
    Random random(seed);
    INFO("seed " << seed);
    Frames frames;
    for (std::int64_t i = 0; i < 8; ++i) frames.push_back(draw_frame(random, i));
    for (const Words& words :
         {Words{{"anonymise", "k"}, {"roce", "v1"}}, Words{{"roce", "v2"}, {"payload", "remove"}},
          Words{{"payload", "cut"}, {"snap", "70"}}, Words{{"payload", "zero"}, {"psn", "5"}},
          Words{{"ip", "10.0.0.0/8=fd00::/64"}, {"keep-identification", ""}}}) {
      for (const Kept& frame : edit(words, frames).frames) {
        REQUIRE(frame.bytes.size() <= frame.wire_size);
      }
    }
    // May be refused, and must not break.
    (void)edit({{"mtu", "256"}, {"thin", "2"}}, frames);
  }
}

}  // namespace
}  // namespace softrnic::edit::test
