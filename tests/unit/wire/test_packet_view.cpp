// SPDX-License-Identifier: BSD-3-Clause
#include <catch2/catch.hpp>

#include "frames.hpp"
#include "wire/packet_view.hpp"

namespace softrnic::wire {
namespace {

using testing::address_vector;
using testing::Bytes;
using testing::frame_of;
using testing::from_hex;
using testing::Random;
using testing::random_headers;

constexpr std::array kLayers = {NetworkLayer::grh, NetworkLayer::ipv4, NetworkLayer::ipv6};

// Offset of the network header of an untagged frame, and of the BTH behind each network header.
constexpr std::size_t kNetwork = 14;

std::size_t bth_of(NetworkLayer layer) {
  return kNetwork + (layer == NetworkLayer::ipv4 ? 28 : layer == NetworkLayer::ipv6 ? 48 : 40);
}

Expected<PacketView, ParseError> parse(const Bytes& frame, ParseOptions options = {}) {
  return PacketView::parse(ByteChain(ByteView(frame)), options);
}

void require_error(const Bytes& frame, ParseError error, ParseOptions options = {}) {
  const auto view = parse(frame, options);
  REQUIRE_FALSE(view);
  INFO("refused because " << to_string(view.error()));
  REQUIRE(view.error() == error);
}

Bytes gather(const ByteChain& chain) {
  Bytes out(chain.size());
  REQUIRE(chain.copy_to(0, out) == out.size());
  return out;
}

Bytes send_only(NetworkLayer layer, std::size_t payload, std::size_t pad) {
  TransportHeaders headers;
  headers.bth.opcode = Opcode::rc_send_only;
  headers.bth.pad_count = static_cast<std::uint8_t>(pad);
  return frame_of(address_vector(layer), headers, Bytes(payload, std::byte{0x77}), Bytes(pad));
}

// After a change to the IPv4 header.
void fix_checksum(Bytes& frame) {
  store_be16(frame.data() + kNetwork + 10, 0);
  store_be16(frame.data() + kNetwork + 10,
             internet_checksum(ByteView(frame).subspan(kNetwork, 20)));
}

// Sets the lengths in the network and UDP headers to what `transport` bytes behind them need.
void set_lengths(Bytes& frame, NetworkLayer layer, std::size_t transport) {
  std::byte* network = frame.data() + kNetwork;
  if (layer == NetworkLayer::grh) {
    store_be16(network + 4, static_cast<std::uint16_t>(transport));
    return;
  }
  const auto udp = static_cast<std::uint16_t>(transport + 8);
  store_be16(frame.data() + bth_of(layer) - 4, udp);
  if (layer == NetworkLayer::ipv6) {
    store_be16(network + 4, udp);
  } else {
    store_be16(network + 2, static_cast<std::uint16_t>(udp + 20));
    fix_checksum(frame);
  }
}

TEST_CASE("frames others made parse, with the ICRC they carry") {
  for (const auto& golden : testing::golden_frames()) {
    INFO(golden.what);
    const Bytes frame = from_hex(golden.hex);
    const auto view = parse(frame);
    REQUIRE(view);
    REQUIRE(view->opcode().name == golden.opcode);
    REQUIRE(view->payload().size() == golden.payload_size);
    REQUIRE(view->size() == frame.size());
    REQUIRE(view->icrc() == load_icrc(frame.data() + frame.size() - 4));
    REQUIRE(view->icrc_ok());
  }
}

TEST_CASE("a view gives what the frame holds") {
  const auto golden = testing::golden_frames();
  SECTION("v2 over IPv4, a CNP") {
    const Bytes frame = from_hex(golden[2].hex);
    const PacketView view = *parse(frame);
    REQUIRE(view.version() == RoceVersion::v2);
    REQUIRE(view.network_layer() == NetworkLayer::ipv4);
    REQUIRE(view.ethernet().source.to_string() == "7c:fe:90:64:3b:32");
    REQUIRE(view.ipv4().identification == 0x718c);
    REQUIRE(view.udp().source_port == 0);
    REQUIRE(view.source().to_string() == "10.0.17.1");
    REQUIRE(view.destination().to_string() == "10.0.18.1");
    REQUIRE(view.traffic_class() == 0xc2);
    REQUIRE(view.ecn() == 2);
    REQUIRE(view.bth() == cnp_bth(0x118));
    REQUIRE(view.network_offset() == 14);
    REQUIRE(view.bth_offset() == 42);
    REQUIRE(view.payload_offset() == 70);
    REQUIRE(view.icrc_offset() == 70);
  }
  SECTION("v1, a write") {
    const Bytes frame = from_hex(golden[3].hex);
    const PacketView view = *parse(frame);
    REQUIRE(view.version() == RoceVersion::v1);
    REQUIRE(view.grh().payload_length == 40);
    REQUIRE(view.source().to_string() == "15.0.0.2");
    REQUIRE(view.traffic_class() == 2);
    REQUIRE(view.headers().reth.dma_length == 5);
    REQUIRE(view.bth().pad_count == 3);
    REQUIRE(view.bth().ack_request);
    REQUIRE(gather(view.payload()) == from_hex("0000000001"));
    REQUIRE(view.icrc_offset() == view.payload_offset() + 8);
  }
  SECTION("v2 over IPv6") {
    const Bytes frame = from_hex(golden[1].hex);
    const PacketView view = *parse(frame);
    REQUIRE(view.ipv6().flow_label == 0x1face);
    REQUIRE(view.source().to_string() == "2022::1023");
    REQUIRE(view.destination().to_string() == "2023::1024");
    REQUIRE(view.traffic_class() == 226);
    REQUIRE(view.bth().psn == Psn(13571856));
  }
}

TEST_CASE("every opcode parses over every network layer, tagged or not, with every pad") {
  const auto seed = Catch::rngSeed();
  INFO("seed " << seed);
  Random random(seed);
  for (unsigned value = 0; value < 256; ++value) {
    const OpcodeInfo* row = find_opcode(static_cast<std::uint8_t>(value));
    if (row == nullptr) continue;
    for (const NetworkLayer layer : kLayers) {
      for (std::size_t pad = 0; pad < 4; ++pad) {
        const bool tagged = random.below(2) == 1;
        INFO(row->name << ", layer " << static_cast<int>(layer) << ", pad " << pad);
        const TransportHeaders headers = random_headers(random, row->opcode, pad);
        const Bytes payload = random.bytes(4 * (1 + random.below(20)) - pad);
        Bytes frame = frame_of(address_vector(layer, tagged), headers, payload, random.bytes(pad));
        const std::size_t size = frame.size();
        frame.resize(size + random.below(30));  // an Ethernet trailer

        const auto view = parse(frame);
        REQUIRE(view);
        REQUIRE(&view->opcode() == row);
        REQUIRE(view->headers() == headers);
        REQUIRE(view->ethernet().vlan.has_value() == tagged);
        REQUIRE(gather(view->payload()) == payload);
        REQUIRE(view->size() == size);
        REQUIRE(view->icrc_ok());
        REQUIRE(view->source() == address_vector(layer).source);
        REQUIRE(view->destination() == address_vector(layer).destination);
      }
    }
  }
}

TEST_CASE("a bit turned over anywhere in the ICRC's reach is noticed") {
  Random random(Catch::rngSeed());
  for (const NetworkLayer layer : kLayers) {
    const Bytes frame = send_only(layer, 5, 3);
    const std::size_t bth = bth_of(layer);
    for (std::size_t byte = bth; byte < frame.size(); ++byte) {
      if (byte == bth + 4) continue;  // FECN, BECN: may change in flight
      INFO("layer " << static_cast<int>(layer) << ", byte " << byte);
      Bytes changed = frame;
      changed[byte] ^= std::byte{1} << random.below(8);
      const auto view = parse(changed);
      REQUIRE_FALSE((view && view->icrc_ok()));
    }
  }
}

TEST_CASE("a frame cut short by a byte or more is truncated, whatever its opcode") {
  Random random(Catch::rngSeed());
  for (unsigned value = 0; value < 256; ++value) {
    const OpcodeInfo* row = find_opcode(static_cast<std::uint8_t>(value));
    if (row == nullptr) continue;
    for (const NetworkLayer layer : kLayers) {
      const TransportHeaders headers = random_headers(random, row->opcode, 0);
      const Bytes frame = frame_of(address_vector(layer, true), headers, random.bytes(4));
      REQUIRE(parse(frame));
      for (std::size_t size = 0; size < frame.size(); ++size) {
        INFO(row->name << ", layer " << static_cast<int>(layer) << ", " << size << " bytes of "
                       << frame.size());
        // A buffer of its own, so that a sanitizer sees a read past it.
        require_error(Bytes(frame.begin(), frame.begin() + size), ParseError::truncated);
      }
    }
  }
}

TEST_CASE("lengths too small for the headers inside do not fit, whatever the opcode") {
  for (unsigned value = 0; value < 256; ++value) {
    const OpcodeInfo* row = find_opcode(static_cast<std::uint8_t>(value));
    if (row == nullptr) continue;
    for (const NetworkLayer layer : kLayers) {
      TransportHeaders headers;
      headers.bth.opcode = row->opcode;
      Bytes frame = frame_of(address_vector(layer), headers, {});
      const std::size_t needed = headers.size() + 4;
      REQUIRE(parse(frame));
      for (std::size_t transport = 0; transport < needed; ++transport) {
        INFO(row->name << ", layer " << static_cast<int>(layer) << ", " << transport
                       << " bytes of transport");
        set_lengths(frame, layer, transport);
        require_error(frame, ParseError::length_mismatch);
      }
      set_lengths(frame, layer, needed);
      REQUIRE(parse(frame));
      set_lengths(frame, layer, needed + 4);
      require_error(frame, ParseError::truncated);
    }
  }
}

TEST_CASE("padded payloads are multiples of four and hold their pad") {
  for (const NetworkLayer layer : kLayers) {
    INFO("layer " << static_cast<int>(layer));
    Bytes frame = send_only(layer, 4, 0);
    frame.resize(frame.size() + 4);
    for (const std::size_t odd : {1u, 2u, 3u}) {
      set_lengths(frame, layer, 12 + 4 + 4 + odd);
      require_error(frame, ParseError::bad_padding);
    }
    frame = send_only(layer, 0, 0);
    for (std::size_t pad = 1; pad < 4; ++pad) {
      put(frame.data() + bth_of(layer), Bth::kPadCount, pad);
      require_error(frame, ParseError::bad_padding);
    }
    frame = send_only(layer, 1, 3);
    const auto view = parse(frame);
    REQUIRE(view);
    REQUIRE(view->payload().size() == 1);
  }
}

TEST_CASE("only RoCE is RoCE") {
  SECTION("EtherTypes") {
    Bytes frame = send_only(NetworkLayer::ipv4, 4, 0);
    for (const unsigned type : {0x0806u, 0x88a8u, 0x8914u, 0x0000u, 0x05dcu, 0xffffu}) {
      store_be16(frame.data() + 12, static_cast<std::uint16_t>(type));
      require_error(frame, ParseError::not_roce);
    }
  }
  SECTION("a tag in a tag") {
    Bytes frame = send_only(NetworkLayer::ipv4, 4, 0);
    const Bytes tags = from_hex("8100 0001 8100 0002");
    frame.insert(frame.begin() + 12, tags.begin(), tags.end());
    require_error(frame, ParseError::not_roce);
  }
  SECTION("protocols and next headers") {
    for (const NetworkLayer layer : kLayers) {
      Bytes frame = send_only(layer, 4, 0);
      std::byte* protocol = frame.data() + kNetwork + (layer == NetworkLayer::ipv4 ? 9 : 6);
      for (const unsigned other : {6u, 1u, 58u, 0u, 44u}) {
        store_u8(protocol, static_cast<std::uint8_t>(other));
        if (layer == NetworkLayer::ipv4) fix_checksum(frame);
        require_error(frame, ParseError::not_roce);
      }
    }
  }
  SECTION("ports: the destination's, not the source's") {
    for (const NetworkLayer layer : {NetworkLayer::ipv4, NetworkLayer::ipv6}) {
      Bytes frame = send_only(layer, 4, 0);
      std::byte* udp = frame.data() + bth_of(layer) - 8;
      store_be16(udp, kRoceV2Port);
      REQUIRE(parse(frame));
      for (const unsigned other : {4790u, 4792u, 53u, 0xb712u}) {
        store_be16(udp + 2, static_cast<std::uint16_t>(other));
        require_error(frame, ParseError::not_roce);
      }
    }
  }
  SECTION("a short datagram to another port is not RoCE, however wrong its lengths") {
    Bytes frame = send_only(NetworkLayer::ipv4, 4, 0);
    store_be16(frame.data() + bth_of(NetworkLayer::ipv4) - 6, 53);
    store_be16(frame.data() + kNetwork + 2, 5000);
    require_error(frame, ParseError::not_roce);
  }
}

TEST_CASE("IP headers must be what they say") {
  SECTION("versions") {
    for (const NetworkLayer layer : kLayers) {
      const unsigned right = layer == NetworkLayer::ipv4 ? 4 : 6;
      for (unsigned version = 0; version < 16; ++version) {
        if (version == right) continue;
        Bytes frame = send_only(layer, 4, 0);
        put(frame.data() + kNetwork, Ipv4Header::kVersion, version);
        if (layer == NetworkLayer::ipv4) fix_checksum(frame);
        require_error(frame, ParseError::bad_ip_header);
      }
    }
  }
  SECTION("IPv4 header lengths below the minimum") {
    for (unsigned words = 0; words < 5; ++words) {
      Bytes frame = send_only(NetworkLayer::ipv4, 4, 0);
      put(frame.data() + kNetwork, Ipv4Header::kHeaderWords, words);
      fix_checksum(frame);
      require_error(frame, ParseError::bad_ip_header);
    }
  }
  SECTION("IPv4 options: refused in RoCE, and none of ours in anything else") {
    Bytes frame = send_only(NetworkLayer::ipv4, 4, 0);
    const Bytes options = from_hex("94040000");  // router alert
    frame.insert(frame.begin() + kNetwork + 20, options.begin(), options.end());
    put(frame.data() + kNetwork, Ipv4Header::kHeaderWords, 6);
    require_error(frame, ParseError::bad_ip_header);
    store_be16(frame.data() + kNetwork + 24 + 2, 53);
    require_error(frame, ParseError::not_roce);
    // A header said to be longer than the frame.
    put(frame.data() + kNetwork, Ipv4Header::kHeaderWords, 15);
    frame.resize(kNetwork + 40);
    require_error(frame, ParseError::not_roce);
  }
  SECTION("IPv4 checksums, unless told otherwise") {
    const Bytes frame = send_only(NetworkLayer::ipv4, 4, 0);
    for (std::size_t bit = 0; bit < 16; ++bit) {
      Bytes changed = frame;
      changed[kNetwork + 10 + bit / 8] ^= std::byte{1} << (bit % 8);
      require_error(changed, ParseError::bad_ip_header);
      const auto view = parse(changed, ParseOptions{.verify_ipv4_checksum = false});
      REQUIRE(view);
      REQUIRE(view->icrc_ok());  // the checksum may change in flight
    }
  }
  SECTION("the two forms of a zero IPv4 checksum") {
    // A header whose other words sum to 0xffff: its checksum is zero, and may come as ones.
    Bytes frame = send_only(NetworkLayer::ipv4, 4, 0);
    const std::uint16_t sum = load_be16(frame.data() + kNetwork + 10);
    const std::uint32_t id = load_be16(frame.data() + kNetwork + 4) + sum;
    store_be16(frame.data() + kNetwork + 4, static_cast<std::uint16_t>(id + (id >> 16)));
    fix_checksum(frame);
    REQUIRE(load_be16(frame.data() + kNetwork + 10) == 0);
    REQUIRE(parse(frame));
    store_be16(frame.data() + kNetwork + 10, 0xffff);
    REQUIRE(parse(frame));
  }
}

TEST_CASE("IPv4 fragments are refused") {
  Bytes first = send_only(NetworkLayer::ipv4, 4, 0);
  put(first.data() + kNetwork, Ipv4Header::kFlags, 1);  // more fragments
  fix_checksum(first);
  require_error(first, ParseError::fragmented);

  Bytes later = send_only(NetworkLayer::ipv4, 4, 0);
  put(later.data() + kNetwork, Ipv4Header::kFragmentOffset, 1);
  fix_checksum(later);
  require_error(later, ParseError::fragmented);

  SECTION("but the first fragment of another's datagram is not RoCE") {
    store_be16(first.data() + bth_of(NetworkLayer::ipv4) - 6, 53);
    require_error(first, ParseError::not_roce);
  }
  SECTION("and don't-fragment or its absence is neither here nor there") {
    Bytes frame = send_only(NetworkLayer::ipv4, 4, 0);
    put(frame.data() + kNetwork, Ipv4Header::kFlags, 0);
    fix_checksum(frame);
    REQUIRE(parse(frame));
  }
}

TEST_CASE("IP and UDP must agree on the length") {
  for (const NetworkLayer layer : {NetworkLayer::ipv4, NetworkLayer::ipv6}) {
    Bytes frame = send_only(layer, 64, 0);
    std::byte* length = frame.data() + bth_of(layer) - 4;
    const std::uint16_t right = load_be16(length);
    for (const int wrong : {-64, -4, -1, 1, 4, 64}) {
      INFO("layer " << static_cast<int>(layer) << ", UDP length off by " << wrong);
      store_be16(length, static_cast<std::uint16_t>(right + wrong));
      require_error(frame, ParseError::length_mismatch);
    }
    for (const unsigned wrong : {0u, 7u, 0xffffu}) {
      store_be16(length, static_cast<std::uint16_t>(wrong));
      require_error(frame, ParseError::length_mismatch);
    }
  }
  SECTION("an IPv4 length that does not hold its own header") {
    Bytes frame = send_only(NetworkLayer::ipv4, 64, 0);
    for (const unsigned wrong : {0u, 19u, 20u, 27u}) {
      store_be16(frame.data() + kNetwork + 2, static_cast<std::uint16_t>(wrong));
      store_be16(frame.data() + bth_of(NetworkLayer::ipv4) - 4,
                 static_cast<std::uint16_t>(wrong - 20));
      fix_checksum(frame);
      require_error(frame, ParseError::length_mismatch);
    }
  }
}

TEST_CASE("reserved opcodes and transport versions are refused") {
  for (const NetworkLayer layer : kLayers) {
    Bytes frame = send_only(layer, 64, 0);
    std::byte* bth = frame.data() + bth_of(layer);
    for (unsigned value = 0; value < 256; ++value) {
      if (find_opcode(static_cast<std::uint8_t>(value)) != nullptr) continue;
      store_u8(bth, static_cast<std::uint8_t>(value));
      require_error(frame, ParseError::unknown_opcode);
    }
    store_u8(bth, 0x04);
    for (unsigned version = 1; version < 16; ++version) {
      put(bth, Bth::kVersion, version);
      require_error(frame, ParseError::bad_transport_version);
    }
  }
}

// The frame in two pieces at each place, and in three with another seam at each place behind.
TEST_CASE("a frame split behind its headers gives the same view") {
  const auto seed = Catch::rngSeed();
  INFO("seed " << seed);
  Random random(seed);
  for (const NetworkLayer layer : kLayers) {
    const TransportHeaders headers = random_headers(random, Opcode::rc_write_only_immediate, 3);
    const Bytes payload = random.bytes(21);
    Bytes frame = frame_of(address_vector(layer), headers, payload, random.bytes(3));
    frame.resize(frame.size() + 6);
    const ByteView bytes(frame);
    const auto whole = parse(frame);
    REQUIRE(whole);
    for (std::size_t a = whole->payload_offset(); a <= frame.size(); ++a) {
      for (std::size_t b = a; b <= frame.size(); ++b) {
        INFO("layer " << static_cast<int>(layer) << ", split at " << a << " and " << b);
        ByteChain chain(bytes.first(a));
        REQUIRE(chain.append(bytes.subspan(a, b - a)));
        REQUIRE(chain.append(bytes.subspan(b)));
        const auto view = PacketView::parse(chain);
        REQUIRE(view);
        REQUIRE(view->headers() == headers);
        REQUIRE(gather(view->payload()) == payload);
        REQUIRE(view->size() == whole->size());
        REQUIRE(view->icrc() == whole->icrc());
        REQUIRE(view->computed_icrc() == whole->computed_icrc());
        REQUIRE(view->icrc_ok());
      }
    }
    // Within the headers, the first piece is too short to hold them.
    for (std::size_t a = 1; a < whole->payload_offset(); ++a) {
      INFO("layer " << static_cast<int>(layer) << ", split at " << a);
      ByteChain chain(bytes.first(a));
      REQUIRE(chain.append(bytes.subspan(a)));
      const auto view = PacketView::parse(chain);
      REQUIRE_FALSE(view);
      REQUIRE(view.error() == ParseError::truncated);
    }
  }
}

TEST_CASE("large frames parse up to what 16 bits of length can say") {
  for (const NetworkLayer layer : kLayers) {
    const std::size_t payload = 65408;
    const Bytes frame = send_only(layer, payload, 0);
    const auto view = parse(frame);
    REQUIRE(view);
    REQUIRE(view->payload().size() == payload);
    REQUIRE(view->icrc_ok());
  }
}

TEST_CASE("random bytes behind the right EtherType never parse into more than there is") {
  const auto seed = Catch::rngSeed();
  INFO("seed " << seed);
  Random random(seed);
  std::size_t accepted = 0;
  for (int i = 0; i < 200000; ++i) {
    const NetworkLayer layer = kLayers[random.below(3)];
    Bytes frame = send_only(layer, 4 * random.below(8), 0);
    for (std::size_t n = random.below(4); n-- > 0;) {
      frame[random.below(frame.size())] = random.number<std::byte>();
    }
    frame.resize(random.below(frame.size() + 8));
    const auto view = parse(frame, ParseOptions{.verify_ipv4_checksum = random.below(2) == 0});
    if (!view) continue;
    ++accepted;
    REQUIRE(view->size() <= frame.size());
    REQUIRE(view->payload_offset() + view->payload().size() + view->bth().pad_count ==
            view->icrc_offset());
    REQUIRE(view->icrc_ok() == (view->icrc() == view->computed_icrc()));
  }
  REQUIRE(accepted > 0);
}

TEST_CASE("each parse error has its own sentence, without a full stop") {
  std::vector<std::string> seen;
  for (const ParseError error :
       {ParseError::not_roce, ParseError::truncated, ParseError::bad_ip_header,
        ParseError::fragmented, ParseError::length_mismatch, ParseError::unknown_opcode,
        ParseError::bad_transport_version, ParseError::bad_padding}) {
    const std::string text(to_string(error));
    REQUIRE_FALSE(text.empty());
    REQUIRE(text.back() != '.');
    REQUIRE(std::count(seen.begin(), seen.end(), text) == 0);
    seen.push_back(text);
  }
}

}  // namespace
}  // namespace softrnic::wire
