// SPDX-License-Identifier: BSD-3-Clause
#include <tins/tins.h>

#include <catch2/catch.hpp>

#include "tins/roce.hpp"
#include "wire/cm_message.hpp"
#include "wire/opcode.hpp"
#include "wire/packet_view.hpp"

using namespace softrnic;
using namespace softrnic::tins;
using Tins::EthernetII;
using Tins::IP;
using Tins::IPv6;
using Tins::RawPDU;
using Tins::UDP;
using Bytes = Tins::PDU::serialization_type;

namespace {

wire::PacketView viewed(const Bytes& bytes) {
  const auto view = wire::PacketView::parse(wire::ByteChain(std::as_bytes(std::span(bytes))));
  REQUIRE(view);
  return *view;
}

EthernetII over_ipv4() {
  return EthernetII("02:00:00:00:00:02", "02:00:00:00:00:01") / IP("10.0.0.2", "10.0.0.1") /
         UDP(4791, 49152);
}
EthernetII over_ipv6() {
  return EthernetII("02:00:00:00:00:02", "02:00:00:00:00:01") / IPv6("fd00::2", "fd00::1") /
         UDP(4791, 49152);
}
EthernetII over_grh() {
  return EthernetII("02:00:00:00:00:02", "02:00:00:00:00:01") / GRH("fd00::2", "fd00::1");
}

// The extension headers of the opcode, each with its own values.
void append_extensions(Tins::PDU& packet, const wire::OpcodeInfo& row) {
  if (row.has(wire::kXrceth)) packet /= XRCETH(7);
  if (row.has(wire::kDeth)) packet /= DETH(0x11111111, 0x33);
  if (row.has(wire::kFeth)) packet /= FETH(1, 2);
  if (row.has(wire::kReth)) packet /= RETH(0x7f0000001000, 0x1234, 5);
  if (row.has(wire::kAtomicEth)) packet /= AtomicETH(0x1000, 0x55, 1, 2);
  if (row.has(wire::kAeth)) packet /= AETH(AETH::ack(), 9);
  if (row.has(wire::kAtomicAckEth)) packet /= AtomicAckETH(42);
  if (row.has(wire::kImmDt)) packet /= ImmDt(0xabcd);
  if (row.has(wire::kIeth)) packet /= IETH(0x77);
  if (row.has(wire::kCnpReserved)) packet /= RawPDU(std::string(16, '\0'));
}

}  // namespace

TEST_CASE("every opcode on every network, written and read again", "[tins]") {
  register_allocators();
  for (int value = 0; value < 256; ++value) {
    const wire::OpcodeInfo* row = wire::find_opcode(static_cast<std::uint8_t>(value));
    if (row == nullptr) continue;
    CAPTURE(row->name);
    for (EthernetII packet : {over_ipv4(), over_ipv6(), over_grh()}) {
      packet /= BTH(value, 0x12, 100);
      append_extensions(packet, *row);
      if (row->carries_payload) packet /= RawPDU("hello");
      const Bytes bytes = packet.serialize();
      const auto view = viewed(bytes);
      CHECK(view.icrc_ok());
      CHECK(view.opcode().opcode == row->opcode);
      CHECK(view.bth().psn.value() == 100);
      CHECK(view.payload().size() == (row->carries_payload ? 5 : 0));
      EthernetII read(bytes.data(), static_cast<std::uint32_t>(bytes.size()));
      BTH* bth = parse(read);
      REQUIRE(bth != nullptr);
      CHECK(bth->icrc() == view.icrc());
      CHECK(icrc_ok(read));
      CHECK((read.find_pdu<RETH>() != nullptr) == row->has(wire::kReth));
      CHECK((read.find_pdu<AETH>() != nullptr) == row->has(wire::kAeth));
      CHECK(read.serialize() == bytes);
      bth->psn(101);
      CHECK_FALSE(icrc_ok(read));
      CHECK(viewed(read.serialize()).icrc_ok());
    }
  }
}

TEST_CASE("fields by their names and accessors", "[tins]") {
  BTH bth(BTH::rc_write_only + BTH::xrc, 0xffffff, 0xfffffe);
  CHECK(bth.opcode() == 0xaa);
  bth.ack_request(true);
  CHECK(bth.field("ack_request") == 1);
  bth.field("migration_request", 1);
  CHECK(bth.psn() == 0xfffffe);
  CHECK(bth.destination_qpn() == 0xffffff);
  CHECK(bth.field("partition_key") == 0xffff);
  CHECK_THROWS_AS(bth.field("remote_key"), Tins::field_not_present);
  const RETH reth(1, 2, 3);
  CHECK(reth.virtual_address() == 1);
  CHECK(reth.remote_key() == 2);
  CHECK(reth.dma_length() == 3);
  CHECK(AETH(AETH::nak(2), 7).syndrome() == 0x62);
  CHECK(AETH::rnr(12) == 0x2c);
}

TEST_CASE("what a router may change leaves the ICRC right", "[tins]") {
  EthernetII packet = over_ipv4() / BTH(BTH::rc_send_only, 1, 2) / RawPDU("x");
  const std::uint32_t icrc = viewed(packet.serialize()).icrc();
  packet.rfind_pdu<IP>().tos(0xff);
  packet.rfind_pdu<IP>().ttl(3);
  CHECK(viewed(packet.serialize()).icrc() == icrc);
  packet.rfind_pdu<IP>().id(77);
  CHECK(viewed(packet.serialize()).icrc() != icrc);
  CHECK(viewed(packet.serialize()).icrc_ok());
  EthernetII tagged = EthernetII("02:00:00:00:00:02", "02:00:00:00:00:01") / Tins::Dot1Q(42) /
                      GRH("fd00::2", "fd00::1") / BTH(BTH::rc_send_only, 1, 2) / RawPDU("x");
  register_allocators();
  CHECK(viewed(tagged.serialize()).icrc_ok());
}

TEST_CASE("wrong on purpose", "[tins]") {
  BTH bth(BTH::rc_send_only, 1, 2);
  bth.wrong_icrc(0x12345678);
  CHECK(viewed((over_ipv4() / bth).serialize()).icrc() == 0x12345678);
  BTH padded(BTH::rc_send_only, 1, 2);
  padded.pad_count(3);
  const Bytes bytes = (over_ipv4() / padded / RawPDU("x")).serialize();
  CHECK(viewed(bytes).payload().size() == 1);
}

TEST_CASE("management datagrams to queue pair 1 are read as such", "[tins]") {
  register_allocators();
  EthernetII packet = over_ipv4() / BTH(BTH::ud_send_only, 1, 0) / DETH(0x80010000, 1) /
                      MAD(0x10, 0x1234) / RawPDU(std::string(232, 'x'));
  const Bytes bytes = packet.serialize();
  EthernetII read(bytes.data(), static_cast<std::uint32_t>(bytes.size()));
  REQUIRE(parse(read) != nullptr);
  const MAD* mad = read.find_pdu<MAD>();
  REQUIRE(mad != nullptr);
  CHECK(mad->field("attribute_id") == 0x10);
  CHECK(mad->field("transaction_id") == 0x1234);
  CHECK(read.serialize() == bytes);
}

TEST_CASE("bytes that are no RoCE, cut or damaged are refused, and nothing is changed", "[tins]") {
  register_allocators();
  const Bytes bytes =
      (over_ipv4() / BTH(BTH::rc_write_only, 1, 2) / RETH(1, 2, 3) / RawPDU("abc")).serialize();
  const std::size_t bth = 14 + 20 + 8;
  for (std::size_t size = 0; size + bth < bytes.size(); ++size) {
    if (size >= 12 + 16 + 4 && (size - 12 - 16 - 4) % 4 == 0 && size >= 12 + 16 + 4 + 1) continue;
    try {
      BTH read(bytes.data() + bth, static_cast<std::uint32_t>(size));
      FAIL("read from " << size << " bytes");
    } catch (const Tins::malformed_packet&) {
    }
  }
  EthernetII other = EthernetII() / IP("10.0.0.2", "10.0.0.1") / UDP(53, 4791) / RawPDU("hello");
  CHECK(parse(other) == nullptr);
  EthernetII broken = over_ipv4() / RawPDU("short");
  CHECK(parse(broken) == nullptr);
  CHECK(broken.find_pdu<RawPDU>() != nullptr);
  EthernetII with_options = EthernetII() / IP("10.0.0.2", "10.0.0.1") / UDP(4791, 1) / BTH();
  with_options.rfind_pdu<IP>().noop();
  CHECK_THROWS_AS(with_options.serialize(), Tins::serialization_error);
}
