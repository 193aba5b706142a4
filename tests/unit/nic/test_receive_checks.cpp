// SPDX-License-Identifier: BSD-3-Clause
// Frames that must be refused: each is counted once, under one name, answered by nothing, and
// moves no byte.
#include <catch2/catch.hpp>
#include <functional>
#include <map>

#include "nic_world.hpp"
#include "raw_packet.hpp"
#include "wire/ipv4.hpp"

namespace softrnic::nic::test {
namespace {

using transport::QueuePairState;
using wire::RoceVersion;
using wire::Service;

constexpr std::uint32_t kPeerQpn = 0x99;
const wire::MacAddress kPeerMac = mac(9);
const wire::Gid kPeer = gid("10.0.0.9");
const wire::Gid kPeerV6 = gid("fd00::9");

// A NIC with a queue pair of each service, all talking to a peer that is only a raw port. What the
// peer sends that is right would be a WRITE of 8 bytes (RC, UC) or a SEND (UD).
class Bench {
 public:
  explicit Bench(RoceVersion version = RoceVersion::v2, bool ipv6 = false,
                 std::optional<wire::VlanTag> vlan = std::nullopt)
      : nic_(world_.add(config(vlan))), port_(world_.port()) {
    own_ = ipv6 ? gid("fd00::1") : gid("10.0.0.1");
    peer_ = ipv6 ? kPeerV6 : kPeer;
    version_ = version;
    vlan_ = vlan;
    nic_.add_neighbor(kPeer, kPeerMac);
    nic_.add_neighbor(kPeerV6, kPeerMac);
    rc = make(Service::reliable_connection);
    uc = make(Service::unreliable_connection);
    ud = make(Service::unreliable_datagram);
    ud.receive(1, 0, 1000);
    settle();
  }

  Endpoint make(Service service, QueuePairState last = QueuePairState::ready_to_send) {
    Endpoint e = make_endpoint(nic_, service, 4096);
    AddressAttributes address;
    address.gid_index = gid_index(nic_, own_, version_);
    address.destination = peer_;
    for (const auto state :
         {QueuePairState::init, QueuePairState::ready_to_receive, QueuePairState::ready_to_send}) {
      if (last == QueuePairState::reset) break;
      REQUIRE(nic_.modify(e.qpn(), state, attributes_to(kPeerQpn), &address) == std::nullopt);
      if (state == last) break;
    }
    return e;
  }

  // The right packet to `e`, to be spoiled.
  RawPacket packet_to(const Endpoint& e) const {
    RawPacket p;
    p.vector.version = version_;
    p.vector.source_mac = kPeerMac;
    p.vector.destination_mac = nic_.mac();
    p.vector.vlan = vlan_;
    p.vector.source = peer_;
    p.vector.destination = own_;
    wire::Bth& bth = p.headers.bth;
    bth.destination_qpn = e.qpn();
    bth.psn = wire::Psn(0xfffff0);
    bth.ack_request = true;
    switch (e.queue_pair->service()) {
      case Service::unreliable_datagram:
        bth.opcode = wire::Opcode::ud_send_only;
        p.headers.deth = {.queue_key = 0x11111111, .source_qpn = kPeerQpn};
        break;
      case Service::unreliable_connection:
        bth.opcode = wire::Opcode::uc_write_only;
        break;
      default:
        bth.opcode = wire::Opcode::rc_write_only;
    }
    p.headers.reth = {e.address(), e.keys.remote, 8};
    p.payload = random_bytes(8, 1);
    return p;
  }

  void settle() {
    world_.settle();
    answers_ = port_.take(world_.now());
  }

  void send(const Bytes& frame) {
    port_.send(world_.now(), frame);
    settle();
  }

  // Counters that are not zero.
  std::map<std::string, std::uint64_t> counted() const {
    std::map<std::string, std::uint64_t> out;
    for (const auto& counter : transport::counter_names()) {
      const std::uint64_t value = nic_.counters().*counter.value;
      if (value != 0) out[std::string(counter.name)] = value;
    }
    return out;
  }

  bool untouched() const {
    for (const Endpoint* e : {&rc, &uc, &ud}) {
      if (e->completions->size() != 0) return false;
      for (const std::byte b : e->buffer) {
        if (b != std::byte{}) return false;
      }
    }
    return true;
  }

  // Sends a frame and expects it refused under `counter` alone; `checked`: it passed the ICRC, so
  // that it counts as received.
  void expect_refused(const Bytes& frame, const std::string& counter, bool checked) {
    send(frame);
    std::map<std::string, std::uint64_t> expected;
    if (!counter.empty()) expected[counter] = 1;
    if (checked) {
      expected["rcvd_pkts"] = 1;
      expected["rcvd_bytes"] = frame.size();
    }
    CHECK(counted() == expected);
    CHECK(answers_.empty());
    CHECK(untouched());
    CHECK(nic_.next_deadline() == wire::kNever);
  }

  Nic& nic() { return nic_; }
  NicWorld& world() { return world_; }
  const std::vector<Bytes>& answers() const { return answers_; }

 private:
  static NicConfig config(std::optional<wire::VlanTag> vlan) {
    NicConfig config = NicWorld::config(1);
    config.vlan = vlan;
    return config;
  }

  NicWorld world_;
  Nic& nic_;
  RawPort port_;
  wire::Gid own_;
  wire::Gid peer_;
  RoceVersion version_{};
  std::optional<wire::VlanTag> vlan_;
  std::vector<Bytes> answers_;

 public:
  Endpoint rc;
  Endpoint uc;
  Endpoint ud;
};

TEST_CASE("the right packet is taken, on every network layer and each service") {
  const wire::VlanTag tag{3, false, 100};
  for (const RoceVersion version : {RoceVersion::v1, RoceVersion::v2}) {
    for (const bool ipv6 : {false, true}) {
      for (const auto& vlan : {std::optional<wire::VlanTag>{}, std::optional(tag)}) {
        INFO((version == RoceVersion::v1 ? "v1" : "v2")
             << (ipv6 ? " IPv6" : " IPv4") << (vlan ? " VLAN" : ""));
        Bench bench(version, ipv6, vlan);
        const RawPacket to_rc = bench.packet_to(bench.rc);
        bench.send(to_rc.frame());
        CHECK(bench.answers().size() == 1);
        CHECK(std::equal(to_rc.payload.begin(), to_rc.payload.end(), bench.rc.buffer.begin()));
        if (!bench.answers().empty()) {
          const auto view = wire::PacketView::parse(wire::ByteView(bench.answers()[0]));
          REQUIRE(view.has_value());
          CHECK(view->bth().opcode == wire::Opcode::rc_acknowledge);
          CHECK(view->icrc_ok());
          CHECK(view->ethernet().vlan == vlan);
          CHECK(view->ethernet().destination == kPeerMac);
          CHECK(view->destination() == to_rc.vector.source);
          CHECK(view->version() == version);
        }

        const RawPacket to_uc = bench.packet_to(bench.uc);
        bench.send(to_uc.frame());
        CHECK(bench.answers().empty());
        CHECK(std::equal(to_uc.payload.begin(), to_uc.payload.end(), bench.uc.buffer.begin()));

        const RawPacket to_ud = bench.packet_to(bench.ud);
        bench.send(to_ud.frame());
        CHECK(bench.answers().empty());
        const auto completions = bench.ud.poll();
        REQUIRE(completions.size() == 1);
        CHECK(completions[0].byte_length == 48);
        CHECK(completions[0].source_qpn == kPeerQpn);
        CHECK(std::equal(to_ud.payload.begin(), to_ud.payload.end(), bench.ud.buffer.begin() + 40));
        CHECK(bench.nic().counters().rcvd_pkts == 3);
        CHECK(bench.nic().counters().sent_pkts == 1);
      }
    }
  }
}

TEST_CASE("a datagram brings its GRH, or zeros and its IPv4 header") {
  for (const bool ipv6 : {false, true}) {
    for (const RoceVersion version : {RoceVersion::v1, RoceVersion::v2}) {
      Bench bench(version, ipv6);
      const Bytes frame = bench.packet_to(bench.ud).frame();
      bench.send(frame);
      Bytes expected(40);
      const bool v4 = version == RoceVersion::v2 && !ipv6;
      std::copy_n(frame.begin() + 14, v4 ? 20 : 40, expected.begin() + (v4 ? 20 : 0));
      CHECK(std::equal(expected.begin(), expected.end(), bench.ud.buffer.begin()));
    }
  }
}

struct Spoiled {
  const char* what;
  const char* counter;
  bool checked;  // passes the ICRC, so that it counts as received
  std::function<Bytes(Bench&)> frame;
};

RawPacket to_rc(Bench& bench) {
  return bench.packet_to(bench.rc);
}

TEST_CASE("each wrong frame is counted once and answered by nothing") {
  const std::vector<Spoiled> cases{
      {"another MAC address", "not_for_us", false,
       [](Bench& b) {
         RawPacket p = to_rc(b);
         p.vector.destination_mac = mac(5);
         return p.frame();
       }},
      {"a RoCE packet by broadcast", "not_for_us", false,
       [](Bench& b) {
         RawPacket p = to_rc(b);
         p.vector.destination_mac = wire::MacAddress::broadcast();
         return p.frame();
       }},
      {"another IP address", "not_for_us", false,
       [](Bench& b) {
         RawPacket p = to_rc(b);
         p.vector.destination = gid("10.0.0.5");
         return p.frame();
       }},
      {"a multicast GID under our MAC address", "not_for_us", false,
       [](Bench& b) {
         RawPacket p = b.packet_to(b.ud);
         p.vector.source = kPeerV6;
         p.vector.destination = gid("ff0e::1");
         p.headers.bth.destination_qpn = 0xffffff;
         return p.frame();
       }},
      {"a VLAN's frame to a NIC without one", "not_for_us", false,
       [](Bench& b) {
         RawPacket p = to_rc(b);
         p.vector.vlan = wire::VlanTag{0, false, 100};
         return p.frame();
       }},
      {"our IPv4 address mapped into an IPv6 header", "not_for_us", false,
       [](Bench& b) {
         RawPacket p = to_rc(b);
         p.vector.source = kPeerV6;
         p.vector.destination = gid("fd00::1");
         Bytes frame = p.frame();
         const wire::Gid mapped = gid("10.0.0.1");
         std::memcpy(frame.data() + 14 + 24, mapped.bytes.data(), 16);
         p.fix_icrc(frame);
         return frame;
       }},
      {"a wrong ICRC", "icrc_errors", false,
       [](Bench& b) {
         Bytes frame = to_rc(b).frame();
         frame.back() ^= std::byte{1};
         return frame;
       }},
      {"a changed payload byte", "icrc_errors", false,
       [](Bench& b) {
         Bytes frame = to_rc(b).frame();
         frame[frame.size() - 6] ^= std::byte{0x80};
         return frame;
       }},
      {"a wrong IPv4 checksum", "malformed_pkts", false,
       [](Bench& b) {
         Bytes frame = to_rc(b).frame();
         frame[14 + 10] ^= std::byte{1};
         return frame;
       }},
      {"a frame cut short", "malformed_pkts", false,
       [](Bench& b) {
         Bytes frame = to_rc(b).frame();
         frame.resize(frame.size() - 1);
         return frame;
       }},
      {"a reserved opcode", "malformed_pkts", false,
       [](Bench& b) {
         RawPacket p = to_rc(b);
         Bytes frame = p.frame();
         frame[p.vector.size()] = std::byte{0x1f};
         p.fix_icrc(frame);
         return frame;
       }},
      {"another transport version", "malformed_pkts", false,
       [](Bench& b) {
         RawPacket p = to_rc(b);
         Bytes frame = p.frame();
         frame[p.vector.size() + 1] |= std::byte{1};
         p.fix_icrc(frame);
         return frame;
       }},
      {"no queue pair of that number", "unknown_qpn", true,
       [](Bench& b) {
         RawPacket p = to_rc(b);
         p.headers.bth.destination_qpn = 0x1234;
         return p.frame();
       }},
      {"multicast's queue pair number", "unknown_qpn", true,
       [](Bench& b) {
         RawPacket p = b.packet_to(b.ud);
         p.headers.bth.destination_qpn = 0xffffff;
         return p.frame();
       }},
      {"a UC opcode to an RC queue pair", "wrong_service", true,
       [](Bench& b) {
         RawPacket p = to_rc(b);
         p.headers.bth.opcode = wire::Opcode::uc_write_only;
         return p.frame();
       }},
      {"an RC opcode to a UD queue pair", "wrong_service", true,
       [](Bench& b) {
         RawPacket p = to_rc(b);
         p.headers.bth.destination_qpn = b.ud.qpn();
         return p.frame();
       }},
      {"an XRC opcode to an RC queue pair", "wrong_service", true,
       [](Bench& b) {
         RawPacket p = to_rc(b);
         p.headers.bth.opcode = wire::Opcode::xrc_write_only;
         return p.frame();
       }},
      {"another partition", "bad_pkey", true,
       [](Bench& b) {
         RawPacket p = to_rc(b);
         p.headers.bth.partition_key = 0x8001;
         return p.frame();
       }},
      {"the invalid partition", "bad_pkey", true,
       [](Bench& b) {
         RawPacket p = to_rc(b);
         p.headers.bth.partition_key = 0x8000;
         return p.frame();
       }},
      {"a datagram of another partition", "bad_pkey", true,
       [](Bench& b) {
         RawPacket p = b.packet_to(b.ud);
         p.headers.bth.partition_key = 0x1234;
         return p.frame();
       }},
      {"a connected packet from another address", "source_mismatch", true,
       [](Bench& b) {
         RawPacket p = to_rc(b);
         p.vector.source = gid("10.0.0.8");
         return p.frame();
       }},
      {"a connected packet to another of our addresses", "source_mismatch", true,
       [](Bench& b) {
         RawPacket p = to_rc(b);
         p.vector.source = kPeerV6;
         p.vector.destination = gid("fd00::1");
         return p.frame();
       }},
      {"a connected packet of the other RoCE version", "source_mismatch", true,
       [](Bench& b) {
         RawPacket p = b.packet_to(b.uc);
         p.vector.version = RoceVersion::v1;
         return p.frame();
       }},
      {"a wrong queue key", "qkey_violations", true,
       [](Bench& b) {
         RawPacket p = b.packet_to(b.ud);
         p.headers.deth.queue_key ^= 1;
         return p.frame();
       }},
      {"an empty frame of another protocol", "", false,
       [](Bench& b) {
         Bytes frame(60);
         const wire::EthernetHeader header{b.nic().mac(), kPeerMac, {}, 0x88cc};
         header.serialize(frame);
         return frame;
       }},
  };
  for (const Spoiled& spoiled : cases) {
    INFO(spoiled.what);
    Bench bench;
    bench.expect_refused(spoiled.frame(bench), spoiled.counter, spoiled.checked);
  }
}

TEST_CASE("a queue pair that is not yet ready, or in error, takes nothing") {
  for (const QueuePairState state : {QueuePairState::reset, QueuePairState::init}) {
    INFO(to_string(state));
    Bench bench;
    Endpoint e = bench.make(Service::reliable_connection, state);
    bench.expect_refused(bench.packet_to(e).frame(), "bad_qp_state", true);
  }
  Bench bench;
  REQUIRE(bench.nic().modify(bench.rc.qpn(), QueuePairState::error, {}) == std::nullopt);
  bench.expect_refused(bench.packet_to(bench.rc).frame(), "bad_qp_state", true);
}

TEST_CASE("limited members talk to full ones, and not to each other") {
  for (const bool limited : {false, true}) {
    Bench bench;
    Endpoint e = make_endpoint(bench.nic(), Service::unreliable_datagram, 4096);
    auto attributes = attributes_to(0);
    attributes.partition_key = limited ? 0x7fff : 0xffff;
    bring_up(e, attributes, nullptr);
    e.receive(1, 0, 100);
    RawPacket p = bench.packet_to(e);
    p.headers.bth.partition_key = 0x7fff;
    bench.send(p.frame());
    CHECK(e.completions->size() == (limited ? 0 : 1));
    CHECK(bench.nic().counters().bad_pkey == (limited ? 1 : 0));
    p.headers.bth.partition_key = 0xffff;
    e.receive(2, 0, 100);
    bench.send(p.frame());
    CHECK(e.completions->size() == (limited ? 1 : 2));
  }
}

TEST_CASE("a VLAN's NIC takes its own frames alone") {
  const wire::VlanTag tag{0, false, 100};
  for (const auto& other :
       {std::optional<wire::VlanTag>{}, std::optional(wire::VlanTag{0, false, 101}),
        std::optional(wire::VlanTag{7, false, 0})}) {
    Bench bench(RoceVersion::v2, false, tag);
    RawPacket p = bench.packet_to(bench.rc);
    p.vector.vlan = other;
    bench.expect_refused(p.frame(), "not_for_us", false);
  }
  // Any priority of its own, and without a VLAN a priority tag.
  Bench with(RoceVersion::v2, false, tag);
  RawPacket p = with.packet_to(with.rc);
  p.vector.vlan = wire::VlanTag{7, true, 100};
  with.send(p.frame());
  CHECK(with.answers().size() == 1);
  Bench without;
  p = without.packet_to(without.rc);
  p.vector.vlan = wire::VlanTag{7, false, 0};
  without.send(p.frame());
  CHECK(without.answers().size() == 1);
}

TEST_CASE("congestion notifications are counted by whether they name a live connection") {
  Bench bench;
  RawPacket p = bench.packet_to(bench.rc);
  p.headers.bth = wire::cnp_bth(bench.rc.qpn());
  p.headers.cnp_reserved = {};
  p.payload.clear();
  bench.send(p.frame());
  CHECK(bench.nic().counters().rp_cnp_handled == 1);
  CHECK(bench.nic().counters().rp_cnp_ignored == 0);

  p.headers.bth.destination_qpn = 0x1234;
  bench.send(p.frame());
  p.headers.bth.destination_qpn = bench.rc.qpn();
  p.vector.source = gid("10.0.0.8");
  bench.send(p.frame());
  CHECK(bench.nic().counters().rp_cnp_handled == 1);
  CHECK(bench.nic().counters().rp_cnp_ignored == 2);
  CHECK(bench.nic().counters().unknown_qpn == 0);
  CHECK(bench.nic().counters().source_mismatch == 0);
  CHECK(bench.answers().empty());
}

TEST_CASE("frames marked for congestion are counted and taken") {
  Bench bench;
  RawPacket p = bench.packet_to(bench.rc);
  p.vector.traffic_class = 0x6b;
  bench.send(p.frame());
  CHECK(bench.nic().counters().np_ecn_marked_roce_packets == 1);
  CHECK(bench.answers().size() == 1);
  p.vector.traffic_class = 0x6a;
  ++p.headers.bth.psn;
  bench.send(p.frame());
  CHECK(bench.nic().counters().np_ecn_marked_roce_packets == 1);
}

TEST_CASE("routers' fields may change under way") {
  Bench bench;
  RawPacket p = bench.packet_to(bench.rc);
  Bytes frame = p.frame();
  // TTL and TOS, with the header checksum made anew; the ICRC stays as it was.
  frame[14 + 1] = std::byte{0x28};
  frame[14 + 8] = std::byte{3};
  frame[14 + 10] = frame[14 + 11] = std::byte{};
  wire::store_be16(frame.data() + 14 + 10,
                   wire::internet_checksum(wire::ByteView(frame).subspan(14, 20)));
  bench.send(frame);
  CHECK(bench.answers().size() == 1);
  CHECK(bench.nic().counters().icrc_errors == 0);
}

TEST_CASE("every truncation and many corruptions of a frame leave memory and the peer alone") {
  const auto seed = Catch::rngSeed();
  INFO("seed " << seed);
  Bench bench;
  const Bytes frame = bench.packet_to(bench.rc).frame();
  for (std::size_t n = 14; n < frame.size(); ++n) {
    bench.send(Bytes(frame.begin(), frame.begin() + static_cast<std::ptrdiff_t>(n)));
    REQUIRE(bench.answers().empty());
  }
  // One bit anywhere from the BTH on: the ICRC sees it.
  for (std::size_t bit = 8 * 42; bit < 8 * frame.size(); ++bit) {
    // FECN, BECN and the bits beside them are not under the ICRC.
    if (bit / 8 == 42 + 4) continue;
    Bytes corrupt = frame;
    corrupt[bit / 8] ^= static_cast<std::byte>(1u << bit % 8);
    bench.send(corrupt);
    REQUIRE(bench.answers().empty());
  }
  CHECK(bench.untouched());
  const auto& c = bench.nic().counters();
  CHECK(c.rcvd_pkts == 0);
  CHECK(c.icrc_errors > 0);
  CHECK(c.malformed_pkts > 0);
}

}  // namespace
}  // namespace softrnic::nic::test
