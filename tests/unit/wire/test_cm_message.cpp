// SPDX-License-Identifier: BSD-3-Clause
// Communication management messages: golden bytes as Linux sends them, round trips, tables.
#include <catch2/catch.hpp>

#include <cstring>

#include "bytes.hpp"
#include "wire/cm_message.hpp"
#include "wire/ip_cm.hpp"

namespace softrnic::wire {
namespace {

using testing::Bytes;
using testing::from_hex;
using testing::Random;
using namespace std::chrono_literals;

// A whole datagram; the zeros at its end need not be written.
Bytes mad(std::string_view hex) {
  Bytes bytes = from_hex(hex);
  bytes.resize(kMadSize);
  return bytes;
}

template <class Message>
Message message_of(const Bytes& bytes, std::uint64_t transaction_id) {
  const auto parsed = CmMad::parse(bytes);
  REQUIRE(parsed);
  REQUIRE(parsed->header.transaction_id == transaction_id);
  REQUIRE(std::holds_alternative<Message>(parsed->message));
  return std::get<Message>(parsed->message);
}

Bytes serialize(const CmMessage& message, std::uint64_t transaction_id) {
  MadHeader header;
  header.transaction_id = transaction_id;
  Bytes bytes(kMadSize, std::byte{0xa5});
  CmMad(header, message).serialize(std::span<std::byte, kMadSize>(bytes));
  return bytes;
}

constexpr std::uint64_t kTransaction = 0x00000002a320a622;

TEST_CASE("a REQ has the bytes that Linux gives it") {
  const Bytes bytes = mad(
      "01070203 00000000 00000002a320a622 0010 0000 00000000"
      "22a620a3 00000000 0000000001061c06 505400fffe000002 00000000 00000000 000037 01 000000 01"
      "000000 a0 26a9d3 a7 ffff 37 f0"
      "ffff ffff 00000000000000000000ffff0a4d0002 00000000000000000000ffff0a4d0001"
      "48e2e000 00 40 00 98"
      "0000 0000 00000000000000000000000000000000 00000000000000000000000000000000"
      "00000000 00 00 00 00"
      "00 40 a8d8 000000000000000000000000 0a4d0002 000000000000000000000000 0a4d0001");
  CmReq req;
  req.local_communication_id = 0x22a620a3;
  req.service_id = IpServiceId{6, 7174}.value();
  req.local_ca_guid = 0x505400fffe000002;
  req.local_qpn = 0x37;
  req.responder_resources = 1;
  req.initiator_depth = 1;
  req.remote_response_timeout = 20;
  req.transport_service = CmTransport::rc;
  req.starting_psn = Psn(0x26a9d3);
  req.local_response_timeout = 20;
  req.retry_count = 7;
  req.path_mtu = 3;
  req.rnr_retry_count = 7;
  req.max_cm_retries = 15;
  req.primary_path.local_gid = *Gid::from_string("10.77.0.2");
  req.primary_path.remote_gid = *Gid::from_string("10.77.0.1");
  req.primary_path.flow_label = 0x48e2e;
  req.primary_path.ack_timeout = 19;
  req.alternate_path.local_lid = req.alternate_path.remote_lid = 0;
  req.alternate_path.hop_limit = 0;
  IpCmHeader ip;
  ip.source_port = 0xa8d8;
  ip.set_addresses(req.primary_path.local_gid, req.primary_path.remote_gid);
  ip.serialize(std::span(req.private_data).first<IpCmHeader::kSize>());
  REQUIRE(serialize(req, kTransaction) == bytes);
  REQUIRE(message_of<CmReq>(bytes, kTransaction) == req);
}

TEST_CASE("REP, RTU, DREQ and DREP have the bytes that Linux gives them") {
  SECTION("REP") {
    const Bytes bytes = mad(
        "01070203 00000000 00000002a320a622 0013 0000 00000000"
        "532c3219 22a620a3 00000000 000037 00 000000 00 60be8a 00 01 01 78 e0 505400fffe000001");
    CmRep rep;
    rep.local_communication_id = 0x532c3219;
    rep.remote_communication_id = 0x22a620a3;
    rep.local_qpn = 0x37;
    rep.starting_psn = Psn(0x60be8a);
    rep.responder_resources = 1;
    rep.initiator_depth = 1;
    rep.target_ack_delay = 15;
    rep.rnr_retry_count = 7;
    rep.local_ca_guid = 0x505400fffe000001;
    REQUIRE(serialize(rep, kTransaction) == bytes);
    REQUIRE(message_of<CmRep>(bytes, kTransaction) == rep);
  }
  SECTION("RTU") {
    const Bytes bytes =
        mad("01070203 00000000 00000002a320a622 0014 0000 00000000 22a620a3 532c3219");
    CmRtu rtu;
    rtu.local_communication_id = 0x22a620a3;
    rtu.remote_communication_id = 0x532c3219;
    REQUIRE(serialize(rtu, kTransaction) == bytes);
    REQUIRE(message_of<CmRtu>(bytes, kTransaction) == rtu);
  }
  SECTION("DREQ") {
    const Bytes bytes =
        mad("01070203 00000000 00000002a320a622 0015 0000 00000000 22a620a3 532c3219 000037");
    CmDreq dreq;
    dreq.local_communication_id = 0x22a620a3;
    dreq.remote_communication_id = 0x532c3219;
    dreq.remote_qpn = 0x37;
    REQUIRE(serialize(dreq, kTransaction) == bytes);
    REQUIRE(message_of<CmDreq>(bytes, kTransaction) == dreq);
  }
  SECTION("DREP") {
    const Bytes bytes =
        mad("01070203 00000000 00000002a320a622 0016 0000 00000000 532c3219 22a620a3");
    CmDrep drep;
    drep.local_communication_id = 0x532c3219;
    drep.remote_communication_id = 0x22a620a3;
    REQUIRE(serialize(drep, kTransaction) == bytes);
    REQUIRE(message_of<CmDrep>(bytes, kTransaction) == drep);
  }
}

TEST_CASE("a REJ has the bytes that Linux gives it") {
  const std::uint64_t transaction = 0x00000002a320a620;
  const Bytes bytes =
      mad("01070203 00000000 00000002a320a620 0012 0000 00000000 00000000 20a620a3 00 00 0008");
  CmRej rej;
  rej.remote_communication_id = 0x20a620a3;
  rej.message = CmAnswered::request;
  rej.reason = CmRejectReason::invalid_service_id;
  REQUIRE(serialize(rej, transaction) == bytes);
  REQUIRE(message_of<CmRej>(bytes, transaction) == rej);
}

TEST_CASE("SIDR REQ and REP have the bytes that Linux gives them") {
  const std::uint64_t transaction = 0x00000002a320a621;
  SECTION("request") {
    const Bytes bytes =
        mad("01070203 00000000 00000002a320a621 0017 0000 00000000"
            "21a620a3 ffff 0000 0000000001111c06"
            "00 40 9c70 000000000000000000000000 0a4d0002 000000000000000000000000 0a4d0001");
    CmSidrReq req;
    req.request_id = 0x21a620a3;
    req.service_id = IpServiceId{17, 7174}.value();
    IpCmHeader ip;
    ip.source_port = 0x9c70;
    ip.set_addresses(*Gid::from_string("10.77.0.2"), *Gid::from_string("10.77.0.1"));
    ip.serialize(std::span(req.private_data).first<IpCmHeader::kSize>());
    REQUIRE(serialize(req, transaction) == bytes);
    REQUIRE(message_of<CmSidrReq>(bytes, transaction) == req);
  }
  SECTION("reply") {
    const Bytes bytes =
        mad("01070203 00000000 00000002a320a621 0018 0000 00000000"
            "21a620a3 00 00 0000 000039 00 0000000001111c06 01234567");
    CmSidrRep rep;
    rep.request_id = 0x21a620a3;
    rep.qpn = 0x39;
    rep.service_id = IpServiceId{17, 7174}.value();
    rep.queue_key = 0x01234567;
    REQUIRE(serialize(rep, transaction) == bytes);
    REQUIRE(message_of<CmSidrRep>(bytes, transaction) == rep);
  }
}

TEST_CASE("narrow fields of the messages lie where the standard puts them") {
  SECTION("REQ") {
    CmReq req;
    req.remote_response_timeout = 0x11;
    req.transport_service = CmTransport::extended;
    req.end_to_end_flow_control = true;
    req.rdc_exists = true;
    req.rnr_retry_count = 5;
    req.path_mtu = 5;
    req.max_cm_retries = 9;
    req.srq = true;
    req.extended_transport = 1;
    req.primary_path.packet_rate = 0x2a;
    req.primary_path.traffic_class = 0x68;
    req.primary_path.service_level = 3;
    req.primary_path.subnet_local = true;
    const Bytes bytes = serialize(req, 0);
    const std::byte* data = bytes.data() + MadHeader::kSize;
    REQUIRE(load_u8(data + 43) == 0x8f);
    REQUIRE(load_u8(data + 50) == 0x5d);
    REQUIRE(load_u8(data + 51) == 0x99);
    REQUIRE(load_be32(data + 88) == 0x0000002a);
    REQUIRE(load_be32(data + 92) == 0x68403800);
  }
  SECTION("REP") {
    CmRep rep;
    rep.failover_accepted = 2;
    rep.end_to_end_flow_control = true;
    rep.srq = true;
    const Bytes bytes = serialize(rep, 0);
    REQUIRE(load_be16(bytes.data() + MadHeader::kSize + 26) == 0x0510);
  }
  SECTION("MRA") {
    CmMra mra;
    mra.message = CmAnswered::other;
    mra.service_timeout = 24;
    mra.private_data[0] = std::byte{0x77};
    const Bytes bytes = serialize(mra, 0);
    REQUIRE(load_be24(bytes.data() + MadHeader::kSize + 8) == 0x80c077);
  }
  SECTION("REJ") {
    CmRej rej;
    rej.message = CmAnswered::reply;
    rej.info_length = 72;
    rej.info[71] = std::byte{1};
    rej.private_data[0] = std::byte{2};
    const Bytes bytes = serialize(rej, 0);
    REQUIRE(load_be16(bytes.data() + MadHeader::kSize + 8) == 0x4090);
    REQUIRE(load_be16(bytes.data() + MadHeader::kSize + 83) == 0x0102);
  }
  SECTION("LAP") {
    CmLap lap;
    lap.remote_qpn = 0x123456;
    lap.remote_response_timeout = 1;
    lap.flow_label = 0xabcde;
    lap.traffic_class = 0x11;
    lap.hop_limit = 0x22;
    lap.packet_rate = 0x33;
    lap.service_level = 4;
    lap.ack_timeout = 5;
    const Bytes bytes = serialize(lap, 0);
    REQUIRE(load_be32(bytes.data() + MadHeader::kSize + 12) == 0x12345608);
    REQUIRE(load_be64(bytes.data() + MadHeader::kSize + 56) == 0xabcde01122334028);
  }
  SECTION("APR") {
    CmApr apr;
    apr.info_length = 1;
    apr.status = CmPathStatus::rejected;
    const Bytes bytes = serialize(apr, 0);
    REQUIRE(load_be32(bytes.data() + MadHeader::kSize + 8) == 0x01030000);
  }
}

template <class Message>
Message parse_data(const Bytes& bytes) {
  return Message::parse(std::span<const std::byte, Message::kSize>(bytes));
}

template <class Message>
Bytes serialize_data(const Message& message) {
  Bytes bytes(Message::kSize, std::byte{0xa5});
  message.serialize(std::span<std::byte, Message::kSize>(bytes));
  return bytes;
}

template <class Message>
void require_round_trip(std::uint64_t seed) {
  INFO("message of " << Message::kFields.size() << " fields, seed " << seed);
  Random random(seed);
  for (int i = 0; i < 200; ++i) {
    const Bytes bytes = random.bytes(Message::kSize);
    REQUIRE(serialize_data(parse_data<Message>(bytes)) == bytes);
  }
  for (const Field& field : Message::kFields) {
    INFO(field.name);
    const Bytes before = random.bytes(Message::kSize);
    Bytes after = before;
    put(after.data(), field, ~get(before.data(), field));
    const Message changed = parse_data<Message>(after);
    REQUIRE_FALSE(parse_data<Message>(before) == changed);
    REQUIRE(serialize_data(changed) == after);
  }
}

TEST_CASE("any bytes come back from a message's values, and each field is one of them") {
  const auto seed = Catch::rngSeed();
  require_round_trip<CmPath>(seed);
  require_round_trip<CmReq>(seed);
  require_round_trip<CmMra>(seed);
  require_round_trip<CmRej>(seed);
  require_round_trip<CmRep>(seed);
  require_round_trip<CmRtu>(seed);
  require_round_trip<CmDreq>(seed);
  require_round_trip<CmDrep>(seed);
  require_round_trip<CmSidrReq>(seed);
  require_round_trip<CmSidrRep>(seed);
  require_round_trip<CmLap>(seed);
  require_round_trip<CmApr>(seed);
}

TEST_CASE("every attribute of a message is told apart, and nothing else is taken for one") {
  for (std::uint16_t attribute = 0; attribute < 0x40; ++attribute) {
    INFO("attribute " << attribute);
    MadHeader header;
    header.attribute_id = attribute;
    Bytes bytes(kMadSize);
    header.serialize(std::span<std::byte, MadHeader::kSize>(bytes.data(), MadHeader::kSize));
    const auto parsed = CmMad::parse(bytes);
    const bool known = attribute >= 0x10 && attribute <= 0x1a;
    REQUIRE(parsed.has_value() == known);
    REQUIRE((to_string(static_cast<CmAttribute>(attribute)) != "unknown") == known);
    if (!known) continue;
    REQUIRE(parsed->message.index() == std::size_t{attribute} - 0x10);
    REQUIRE(parsed->header == header);
    Bytes again(kMadSize, std::byte{0xa5});
    parsed->serialize(std::span<std::byte, kMadSize>(again));
    REQUIRE(again == bytes);
  }
}

TEST_CASE("what is no communication management datagram has no value") {
  Bytes bytes = serialize(CmRtu{}, 0);
  REQUIRE(CmMad::parse(bytes));
  SECTION("short by one, long by one, empty") {
    REQUIRE_FALSE(CmMad::parse(ByteView(bytes).first(kMadSize - 1)));
    bytes.push_back(std::byte{});
    REQUIRE_FALSE(CmMad::parse(bytes));
    REQUIRE_FALSE(CmMad::parse({}));
  }
  SECTION("another base version, class, class version or method") {
    for (std::size_t byte : {0u, 1u, 2u, 3u}) {
      Bytes other = bytes;
      other[byte] ^= std::byte{0x40};
      REQUIRE_FALSE(CmMad::parse(other));
    }
  }
}

TEST_CASE("codes have their meaning, reserved ones too") {
  REQUIRE(cm_timeout(0) == 4096ns);
  REQUIRE(cm_timeout(14) == 67'108'864ns);
  REQUIRE(cm_timeout(20) == 4'294'967'296ns);
  REQUIRE(cm_timeout(31) == 8'796'093'022'208ns);
  REQUIRE(mtu_bytes(0) == 0);
  REQUIRE(mtu_bytes(1) == 256);
  REQUIRE(mtu_bytes(3) == 1024);
  REQUIRE(mtu_bytes(5) == 4096);
  REQUIRE(mtu_bytes(6) == 0);
  REQUIRE(mtu_bytes(255) == 0);
  REQUIRE(to_string(CmRejectReason::invalid_service_id) == "invalid service id");
  REQUIRE(to_string(CmRejectReason::consumer) == "rejected by the consumer");
  REQUIRE(to_string(CmRejectReason::vendor_option) == "vendor option not supported");
  for (const int reserved : {0, 34, 36, 65535}) {
    REQUIRE(to_string(static_cast<CmRejectReason>(reserved)) == "reserved");
  }
  REQUIRE(to_string(CmSidrStatus::no_qp) == "no queue pair available");
  REQUIRE(to_string(static_cast<CmSidrStatus>(6)) == "reserved");
  REQUIRE(to_string(CmAttribute::service_id_resolution_reply) == "SIDR REP");
}

}  // namespace
}  // namespace softrnic::wire
