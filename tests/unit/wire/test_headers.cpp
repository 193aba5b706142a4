// SPDX-License-Identifier: BSD-3-Clause
// Golden bytes and round trips of the headers with a fixed size.
#include <catch2/catch.hpp>

#include "bytes.hpp"
#include "wire/grh.hpp"
#include "wire/transport_headers.hpp"
#include "wire/udp.hpp"

namespace softrnic::wire {
namespace {

using testing::Bytes;
using testing::from_hex;
using testing::Random;

template <class Header>
Header parse(const Bytes& bytes) {
  REQUIRE(bytes.size() == Header::kSize);
  return Header::parse(std::span<const std::byte, Header::kSize>(bytes));
}

template <class Header>
Bytes serialize(const Header& header) {
  Bytes bytes(Header::kSize, std::byte{0xa5});
  header.serialize(std::span<std::byte, Header::kSize>(bytes));
  return bytes;
}

template <class Header>
void require_golden(const Header& header, const std::string& hex) {
  const Bytes bytes = from_hex(hex);
  REQUIRE(serialize(header) == bytes);
  REQUIRE(parse<Header>(bytes) == header);
}

TEST_CASE("headers have their golden bytes") {
  SECTION("BTH") {
    Bth bth;
    bth.opcode = Opcode::rc_write_only_immediate;
    bth.solicited = true;
    bth.pad_count = 3;
    bth.version = 0xa;
    bth.partition_key = 0x8001;
    bth.fecn = true;
    bth.reserved6 = 0x15;
    bth.destination_qpn = 0x123456;
    bth.ack_request = true;
    bth.reserved7 = 0x2a;
    bth.psn = Psn(0xfedcba);
    require_golden(bth, "0b ba 8001 95 123456 aa fedcba");
    bth.solicited = false;
    bth.migration_request = true;
    bth.fecn = false;
    bth.becn = true;
    require_golden(bth, "0b 7a 8001 55 123456 aa fedcba");
    require_golden(Bth{}, "00 00 ffff 00 000000 00 000000");
  }
  SECTION("RETH") {
    require_golden(Reth{0x0123456789abcdef, 0xdeadbeef, 0x1000},
                   "0123456789abcdef deadbeef 00001000");
  }
  SECTION("AtomicETH") {
    require_golden(AtomicEth{1, 2, 0x1122334455667788, 0x99aabbccddeeff00},
                   "0000000000000001 00000002 1122334455667788 99aabbccddeeff00");
  }
  SECTION("AtomicAckETH") {
    require_golden(AtomicAckEth{0x8000000000000001}, "8000000000000001");
  }
  SECTION("AETH") {
    require_golden(Aeth{Syndrome::ack(), 0x123456}, "1f 123456");
    require_golden(Aeth{Syndrome::rnr_nak(22), 1}, "36 000001");
    require_golden(Aeth{Syndrome::nak(NakCode::remote_access_error), 0}, "62 000000");
  }
  SECTION("DETH") {
    require_golden(Deth{0x80010000, 0x5a, 1}, "80010000 5a 000001");
  }
  SECTION("FETH") {
    require_golden(Feth{0, 1, 3}, "00000013");
    require_golden(Feth{0x3ffffff, 2, 0}, "ffffffe0");
  }
  SECTION("XRCETH") {
    require_golden(Xrceth{0x7f, 0xabcdef}, "7f abcdef");
  }
  SECTION("ImmDt") {
    require_golden(ImmDt{0x01020304}, "01020304");
  }
  SECTION("IETH") {
    require_golden(Ieth{0xcafe0001}, "cafe0001");
  }
  SECTION("UDP") {
    require_golden(UdpHeader{0xc123, 4791, 52, 0xbeef}, "c123 12b7 0034 beef");
  }
  SECTION("IPv4") {
    Ipv4Header ip;
    ip.traffic_class = 0x28;
    ip.total_length = 0x30;
    ip.identification = 0x73ad;
    ip.time_to_live = 64;
    ip.source = 0x0a4d0002;
    ip.destination = 0x0a4d0001;
    ip.checksum = 0xb24b;
    require_golden(ip, "45 28 0030 73ad 4000 40 11 b24b 0a4d0002 0a4d0001");
    REQUIRE(ip.computed_checksum() == 0xb24b);
    ip.flags = 5;
    ip.fragment_offset = 0x1abc;
    ip.version = 9;
    ip.header_words = 0xf;
    require_golden(ip, "9f 28 0030 73ad babc 40 11 b24b 0a4d0002 0a4d0001");
  }
  SECTION("IPv6, and the GRH with it") {
    Grh grh;
    grh.traffic_class = 0x9c;
    grh.flow_label = 0xfedcb;
    grh.payload_length = 0x1234;
    grh.next_header = ip_protocol::kGrhBth;
    grh.hop_limit = 2;
    grh.source = *Gid::from_string("fe80::1:2");
    grh.destination = *Gid::from_string("10.1.2.3");
    require_golden(grh,
                   "69cfedcb 1234 1b 02 fe80000000000000 0000000000010002"
                   "0000000000000000 0000ffff0a010203");
  }
  SECTION("CNP") {
    CnpReserved reserved;
    reserved.bytes[15] = std::byte{1};
    require_golden(reserved, "00000000000000000000000000000001");
    require_golden(cnp_bth(0xd2), "81 00 ffff 40 0000d2 00 000000");
    require_golden(cnp_bth(0xffffff, 0x7fff), "81 00 7fff 40 ffffff 00 000000");
  }
}

TEST_CASE("the checksum of an IPv4 header is that of its bytes") {
  const auto seed = Catch::rngSeed();
  INFO("seed " << seed);
  Random random(seed);
  for (int i = 0; i < 1000; ++i) {
    const Ipv4Header ip = parse<Ipv4Header>(random.bytes(Ipv4Header::kSize));
    Ipv4Header blank = ip;
    blank.checksum = 0;
    REQUIRE(ip.computed_checksum() == internet_checksum(serialize(blank)));
  }
}

template <class Header>
void require_round_trip(const char* name, std::uint64_t seed) {
  INFO(name << ", seed " << seed);
  Random random(seed);
  for (int i = 0; i < 1000; ++i) {
    const Bytes bytes = random.bytes(Header::kSize);
    const Header header = parse<Header>(bytes);
    REQUIRE(serialize(header) == bytes);
    REQUIRE(parse<Header>(serialize(header)) == header);
  }
}

TEST_CASE("any bytes of a header's size come back from its values") {
  const auto seed = Catch::rngSeed();
  require_round_trip<Bth>("BTH", seed);
  require_round_trip<Reth>("RETH", seed);
  require_round_trip<AtomicEth>("AtomicETH", seed);
  require_round_trip<AtomicAckEth>("AtomicAckETH", seed);
  require_round_trip<Aeth>("AETH", seed);
  require_round_trip<Deth>("DETH", seed);
  require_round_trip<Feth>("FETH", seed);
  require_round_trip<Xrceth>("XRCETH", seed);
  require_round_trip<ImmDt>("ImmDt", seed);
  require_round_trip<Ieth>("IETH", seed);
  require_round_trip<CnpReserved>("CNP", seed);
  require_round_trip<UdpHeader>("UDP", seed);
  require_round_trip<Ipv4Header>("IPv4", seed);
  require_round_trip<Ipv6Header>("IPv6", seed);
}

// What parse() and serialize() do is what the header's table says, field by field.
template <class Header>
void require_table(const char* name, std::uint64_t seed) {
  Random random(seed);
  for (const Field& field : Header::kFields) {
    INFO(name << "." << field.name << ", seed " << seed);
    const Bytes before = random.bytes(Header::kSize);
    Bytes after = before;
    put(after.data(), field, ~get(before.data(), field));
    const Header a = parse<Header>(before);
    const Header b = parse<Header>(after);
    REQUIRE_FALSE(a == b);
    REQUIRE(get(serialize(b).data(), field) == get(after.data(), field));
  }
}

TEST_CASE("each field of a header's table is a value of the header") {
  const auto seed = Catch::rngSeed();
  require_table<Bth>("BTH", seed);
  require_table<Reth>("RETH", seed);
  require_table<AtomicEth>("AtomicETH", seed);
  require_table<AtomicAckEth>("AtomicAckETH", seed);
  require_table<Aeth>("AETH", seed);
  require_table<Deth>("DETH", seed);
  require_table<Feth>("FETH", seed);
  require_table<Xrceth>("XRCETH", seed);
  require_table<ImmDt>("ImmDt", seed);
  require_table<Ieth>("IETH", seed);
  require_table<UdpHeader>("UDP", seed);
  require_table<Ipv4Header>("IPv4", seed);
  require_table<Ipv6Header>("IPv6", seed);
}

TEST_CASE("values wider than their field do not spill into the next") {
  Bth bth;
  bth.pad_count = 0xff;
  bth.destination_qpn = 0xff000001;
  const Bth parsed = parse<Bth>(serialize(bth));
  REQUIRE(parsed.pad_count == 3);
  REQUIRE(parsed.version == 0);
  REQUIRE(parsed.destination_qpn == 1);
  REQUIRE_FALSE(parsed.migration_request);
  REQUIRE(parsed.reserved6 == 0);
}

TEST_CASE("syndromes tell acknowledge, RNR NAK and NAK apart") {
  REQUIRE(Syndrome(0x00).is_ack());
  REQUIRE(Syndrome(0x1f).is_ack());
  REQUIRE(Syndrome(0x1f).value() == Syndrome::kNoCredits);
  REQUIRE(Syndrome(0x20).is_rnr_nak());
  REQUIRE(Syndrome(0x3f).is_rnr_nak());
  REQUIRE(Syndrome(0x3f).value() == 31);
  REQUIRE(Syndrome(0x40).kind() == Syndrome::Kind::reserved);
  REQUIRE(Syndrome(0x60).is_nak());
  REQUIRE(Syndrome(0x63) == Syndrome::nak(NakCode::remote_operational_error));
  for (unsigned raw = 0x80; raw <= 0xff; ++raw) {
    REQUIRE(Syndrome(static_cast<std::uint8_t>(raw)).kind() == Syndrome::Kind::reserved);
  }
}

TEST_CASE("NAK codes have names, reserved ones too") {
  REQUIRE(to_string(NakCode::psn_sequence_error) == "PSN Sequence Error");
  REQUIRE(to_string(NakCode::invalid_request) == "Invalid Request");
  REQUIRE(to_string(NakCode::remote_access_error) == "Remote Access Error");
  REQUIRE(to_string(NakCode::remote_operational_error) == "Remote Operational Error");
  REQUIRE(to_string(NakCode::invalid_rd_request) == "Invalid RD Request");
  REQUIRE(to_string(static_cast<NakCode>(31)) == "Reserved");
}

TEST_CASE("RNR timer codes grow by the standard's steps, code 0 being the longest") {
  using namespace std::chrono_literals;
  REQUIRE(rnr_timer(0) == 655'360us);
  REQUIRE(rnr_timer(1) == 10us);
  REQUIRE(rnr_timer(4) == 40us);
  REQUIRE(rnr_timer(5) == 60us);
  REQUIRE(rnr_timer(12) == 640us);
  REQUIRE(rnr_timer(22) == 20'480us);
  REQUIRE(rnr_timer(31) == 491'520us);
  REQUIRE(rnr_timer(32) == rnr_timer(0));
  // From code 2 on, each pair of codes doubles.
  for (std::uint8_t code = 4; code < 32; ++code) {
    INFO("code " << int{code});
    REQUIRE(rnr_timer(code) == 2 * rnr_timer(static_cast<std::uint8_t>(code - 2)));
  }
}

TEST_CASE("credit codes count receives, 31 being none") {
  REQUIRE(credit_count(0) == 0u);
  REQUIRE(credit_count(4) == 4u);
  REQUIRE(credit_count(5) == 6u);
  REQUIRE(credit_count(30) == 32768u);
  REQUIRE_FALSE(credit_count(31));
  REQUIRE_FALSE(credit_count(255));
  for (std::uint8_t code = 5; code <= 30; ++code) {
    INFO("code " << int{code});
    REQUIRE(*credit_count(code) == 2 * *credit_count(static_cast<std::uint8_t>(code - 2)));
  }
}

TEST_CASE("a number of receives gets the code for as many, or for the next fewer") {
  for (std::uint32_t receives = 0; receives <= 40000; ++receives) {
    const std::uint8_t code = credit_code(receives);
    REQUIRE(code <= 30);
    REQUIRE(*credit_count(code) <= receives);
    if (code < 30) REQUIRE(*credit_count(static_cast<std::uint8_t>(code + 1)) > receives);
  }
  REQUIRE(credit_code(0xffffffff) == 30);
}

TEST_CASE("source ports of flow labels stay in the dynamic range") {
  REQUIRE(source_port_of_flow_label(0) == 0xc000);
  REQUIRE(source_port_of_flow_label(1) == 0xc001);
  REQUIRE(source_port_of_flow_label(0xfffff) == 0xffc0);
  REQUIRE(source_port_of_flow_label(0x12345) == 0xe341);
  REQUIRE(source_port_of_flow_label(0xfff12345) == 0xe341);
}

TEST_CASE("both ends of a connection choose the same flow label") {
  REQUIRE(flow_label_of_qpns(17, 0xabcdef) == flow_label_of_qpns(0xabcdef, 17));
  REQUIRE(flow_label_of_qpns(0xffffff, 0xffffff) <= 0xfffff);
  REQUIRE(flow_label_of_qpns(17, 18) != flow_label_of_qpns(17, 19));
}

}  // namespace
}  // namespace softrnic::wire
