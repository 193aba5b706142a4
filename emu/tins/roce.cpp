// SPDX-License-Identifier: BSD-3-Clause
#include "tins/roce.hpp"

#include <tins/ethernetII.h>
#include <tins/exceptions.h>
#include <tins/ip.h>
#include <tins/ipv6.h>
#include <tins/pdu_allocator.h>
#include <tins/rawpdu.h>
#include <tins/udp.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <span>

#include "wire/icrc.hpp"
#include "wire/mad.hpp"
#include "wire/packet_view.hpp"

namespace softrnic::tins {

namespace {

using wire::Field;

constexpr std::uint32_t kIcrcSize = 4;

struct Layout {
  std::size_t size;
  std::span<const Field> fields;
};

Layout layout_of(HeaderKind kind) {
  switch (kind) {
    case HeaderKind::bth:
      return {wire::Bth::kSize, wire::Bth::kFields};
    case HeaderKind::xrceth:
      return {wire::Xrceth::kSize, wire::Xrceth::kFields};
    case HeaderKind::deth:
      return {wire::Deth::kSize, wire::Deth::kFields};
    case HeaderKind::feth:
      return {wire::Feth::kSize, wire::Feth::kFields};
    case HeaderKind::reth:
      return {wire::Reth::kSize, wire::Reth::kFields};
    case HeaderKind::atomic_eth:
      return {wire::AtomicEth::kSize, wire::AtomicEth::kFields};
    case HeaderKind::aeth:
      return {wire::Aeth::kSize, wire::Aeth::kFields};
    case HeaderKind::atomic_ack_eth:
      return {wire::AtomicAckEth::kSize, wire::AtomicAckEth::kFields};
    case HeaderKind::immdt:
      return {wire::ImmDt::kSize, wire::ImmDt::kFields};
    case HeaderKind::ieth:
      return {wire::Ieth::kSize, wire::Ieth::kFields};
    case HeaderKind::mad:
      return {wire::MadHeader::kSize, wire::MadHeader::kFields};
    case HeaderKind::grh:
      return {wire::Grh::kSize, wire::Grh::kFields};
  }
  return {0, {}};
}

const Field& find_field(HeaderKind kind, std::string_view name) {
  for (const Field& field : layout_of(kind).fields) {
    if (field.name == name) return field;
  }
  throw Tins::field_not_present();
}

std::byte* as_bytes(std::uint8_t* bytes) {
  return reinterpret_cast<std::byte*>(bytes);
}
const std::byte* as_bytes(const std::uint8_t* bytes) {
  return reinterpret_cast<const std::byte*>(bytes);
}

// The header at the front of `buffer`, whose size goes down by it.
template <class Extension>
std::unique_ptr<Tins::PDU> take(const std::uint8_t*& buffer, std::uint32_t& size) {
  auto header = std::make_unique<Extension>(buffer, size);
  buffer += header->header_size();
  size -= header->header_size();
  return header;
}

using Chain = std::vector<std::unique_ptr<Tins::PDU>>;

void take_extensions(const wire::OpcodeInfo& row, const std::uint8_t*& buffer, std::uint32_t& size,
                     Chain& chain) {
  if (row.has(wire::kXrceth)) chain.push_back(take<XRCETH>(buffer, size));
  if (row.has(wire::kDeth)) chain.push_back(take<DETH>(buffer, size));
  if (row.has(wire::kFeth)) chain.push_back(take<FETH>(buffer, size));
  if (row.has(wire::kReth)) chain.push_back(take<RETH>(buffer, size));
  if (row.has(wire::kAtomicEth)) chain.push_back(take<AtomicETH>(buffer, size));
  if (row.has(wire::kAeth)) chain.push_back(take<AETH>(buffer, size));
  if (row.has(wire::kAtomicAckEth)) chain.push_back(take<AtomicAckETH>(buffer, size));
  if (row.has(wire::kImmDt)) chain.push_back(take<ImmDt>(buffer, size));
  if (row.has(wire::kIeth)) chain.push_back(take<IETH>(buffer, size));
}

void copy_address(const Tins::IPv6Address& address, wire::Gid& gid) {
  std::copy(address.begin(), address.end(), gid.bytes.begin());
}

// --- the network header as the ICRC sees it, before libtins has written it ---

struct Network {
  wire::NetworkLayer layer{};
  std::array<std::byte, wire::Ipv6Header::kSize + wire::UdpHeader::kSize> bytes{};
  std::size_t size = 0;
};

template <class Value>
void append(Network& network, const Value& header) {
  header.serialize(
      std::span<std::byte, Value::kSize>(network.bytes.data() + network.size, Value::kSize));
  network.size += Value::kSize;
}

void append_ipv4(Network& network, const Tins::IP& ip, std::uint32_t below) {
  // RoCE carries no options, and the ICRC is not defined over them.
  if (!ip.options().empty()) throw Tins::serialization_error();
  network.layer = wire::NetworkLayer::ipv4;
  wire::Ipv4Header header;
  header.version = ip.version();
  header.traffic_class = ip.tos();
  header.total_length = static_cast<std::uint16_t>(wire::Ipv4Header::kSize + below);
  header.identification = ip.id();
  header.flags = static_cast<std::uint8_t>(ip.flags());
  header.fragment_offset = ip.fragment_offset();
  header.time_to_live = ip.ttl();
  std::uint32_t address = ip.src_addr();  // in network order
  header.source = wire::load_be32(reinterpret_cast<const std::byte*>(&address));
  address = ip.dst_addr();
  header.destination = wire::load_be32(reinterpret_cast<const std::byte*>(&address));
  append(network, header);
}

void append_ipv6(Network& network, const Tins::IPv6& ip, std::uint32_t below) {
  if (!ip.headers().empty()) throw Tins::serialization_error();
  network.layer = wire::NetworkLayer::ipv6;
  wire::Ipv6Header header;
  header.version = ip.version();
  header.traffic_class = ip.traffic_class();
  header.flow_label = ip.flow_label();
  header.payload_length = static_cast<std::uint16_t>(below);
  header.hop_limit = ip.hop_limit();
  copy_address(ip.src_addr(), header.source);
  copy_address(ip.dst_addr(), header.destination);
  append(network, header);
}

wire::Grh grh_of(const GRH& grh, std::uint32_t below) {
  wire::Grh header;
  header.version = static_cast<std::uint8_t>(grh.field("version"));
  header.traffic_class = static_cast<std::uint8_t>(grh.field("traffic_class"));
  header.flow_label = static_cast<std::uint32_t>(grh.field("flow_label"));
  header.next_header = static_cast<std::uint8_t>(grh.field("next_header"));
  header.hop_limit = static_cast<std::uint8_t>(grh.field("hop_limit"));
  header.payload_length = static_cast<std::uint16_t>(below);
  copy_address(grh.source(), header.source);
  copy_address(grh.destination(), header.destination);
  return header;
}

// Nothing when the BTH stands in no packet: then it has no ICRC.
std::optional<Network> network_above(const Tins::PDU& bth, std::uint32_t size) {
  Network network;
  if (const auto* grh = dynamic_cast<const GRH*>(bth.parent_pdu())) {
    network.layer = wire::NetworkLayer::grh;
    append(network, grh_of(*grh, size));
    return network;
  }
  const auto* udp = dynamic_cast<const Tins::UDP*>(bth.parent_pdu());
  if (udp == nullptr) return std::nullopt;
  const std::uint32_t below = size + wire::UdpHeader::kSize;
  if (const auto* ipv4 = dynamic_cast<const Tins::IP*>(udp->parent_pdu())) {
    append_ipv4(network, *ipv4, below);
  } else if (const auto* ipv6 = dynamic_cast<const Tins::IPv6*>(udp->parent_pdu())) {
    append_ipv6(network, *ipv6, below);
  } else {
    return std::nullopt;
  }
  wire::UdpHeader header;
  header.source_port = udp->sport();
  header.destination_port = udp->dport();
  header.length = static_cast<std::uint16_t>(below);
  append(network, header);
  return network;
}

std::uint32_t icrc_over(const Network& network, wire::ByteView packet) {
  std::array<std::byte, 128> headers{};
  std::copy_n(network.bytes.begin(), network.size, headers.begin());
  std::copy_n(packet.begin(), wire::Bth::kSize,
              headers.begin() + static_cast<std::ptrdiff_t>(network.size));
  return wire::icrc(network.layer, wire::ByteView(headers).first(network.size + wire::Bth::kSize),
                    network.size, wire::ByteChain(packet.subspan(wire::Bth::kSize)));
}

}  // namespace

// --- headers ---

Header::Header(HeaderKind kind, const std::uint8_t* buffer, std::uint32_t size) : kind_(kind) {
  if (size < header_size()) throw Tins::malformed_packet();
  std::copy_n(buffer, header_size(), bytes_.begin());
}

std::uint32_t Header::header_size() const {
  return static_cast<std::uint32_t>(layout_of(kind_).size);
}

std::uint64_t Header::field(std::string_view name) const {
  return wire::get(as_bytes(bytes()), find_field(kind_, name));
}

void Header::field(std::string_view name, std::uint64_t value) {
  const Field& field = find_field(kind_, name);
  const std::uint64_t mask = ~std::uint64_t{0} >> (64 - field.bit_width);
  wire::put(as_bytes(bytes()), field, value & mask);
}

void Header::write_serialization(std::uint8_t* buffer, std::uint32_t total_size) {
  if (total_size < header_size()) throw Tins::serialization_error();
  std::copy_n(bytes(), header_size(), buffer);
}

// --- BTH ---

BTH::BTH(int code, std::uint32_t qpn, std::uint32_t number) : Header(HeaderKind::bth) {
  field("opcode", static_cast<std::uint8_t>(code));
  field("partition_key", wire::kDefaultPartitionKey);
  if (code == cnp) field("becn", 1);
  destination_qpn(qpn);
  psn(number);
}

BTH::BTH(const std::uint8_t* buffer, std::uint32_t size) : Header(HeaderKind::bth, buffer, size) {
  const wire::OpcodeInfo* row = wire::find_opcode(buffer[0]);
  const auto pad = static_cast<std::uint32_t>(field("pad_count"));
  if (row == nullptr || size < header_size() + kIcrcSize) throw Tins::malformed_packet();
  icrc_ = wire::load_icrc(as_bytes(buffer + size - kIcrcSize));
  buffer += header_size();
  size -= header_size() + kIcrcSize;
  Chain chain;
  take_extensions(*row, buffer, size, chain);
  if (pad > size) throw Tins::malformed_packet();
  size -= pad;
  if ((size + pad) % 4 != 0) throw Tins::malformed_packet();
  const bool is_mad = row->opcode == wire::Opcode::ud_send_only && size == wire::kMadSize &&
                      destination_qpn() == wire::kGeneralServiceQpn && buffer[0] == 1;
  if (is_mad) chain.push_back(take<MAD>(buffer, size));
  if (size > 0) chain.push_back(std::make_unique<Tins::RawPDU>(buffer, size));
  // Each owns the one behind it.
  for (std::size_t i = chain.size(); i-- > 1;) chain[i - 1]->inner_pdu(chain[i].release());
  if (!chain.empty()) inner_pdu(chain.front().release());
}

std::uint8_t BTH::opcode() const {
  return static_cast<std::uint8_t>(field("opcode"));
}
std::uint32_t BTH::destination_qpn() const {
  return static_cast<std::uint32_t>(field("destination_qpn"));
}
std::uint32_t BTH::psn() const {
  return static_cast<std::uint32_t>(field("psn"));
}
bool BTH::ack_request() const {
  return field("ack_request") != 0;
}
void BTH::opcode(std::uint8_t value) {
  field("opcode", value);
}
void BTH::destination_qpn(std::uint32_t value) {
  field("destination_qpn", value);
}
void BTH::psn(std::uint32_t value) {
  field("psn", value);
}
void BTH::ack_request(bool value) {
  field("ack_request", value ? 1 : 0);
}

std::uint32_t BTH::pad() const {
  if (forced_pad_) return *forced_pad_;
  const std::uint32_t inner = inner_pdu() == nullptr ? 0 : inner_pdu()->size();
  return (4 - inner % 4) % 4;
}

std::uint32_t BTH::trailer_size() const {
  return pad() + kIcrcSize;
}

void BTH::write_serialization(std::uint8_t* buffer, std::uint32_t total_size) {
  field("pad_count", pad());
  Header::write_serialization(buffer, total_size);
  std::uint8_t* end = buffer + total_size - kIcrcSize;
  std::fill(end - pad(), end, std::uint8_t{0});
  const auto network = network_above(*this, total_size);
  const wire::ByteView packet(as_bytes(buffer), total_size - kIcrcSize);
  const std::uint32_t right = network ? icrc_over(*network, packet) : 0;
  wire::store_icrc(as_bytes(end), forced_icrc_.value_or(right));
}

// --- extension headers ---

RETH::RETH(std::uint64_t virtual_address, std::uint32_t remote_key, std::uint32_t dma_length) {
  field("virtual_address", virtual_address);
  field("remote_key", remote_key);
  field("dma_length", dma_length);
}

AETH::AETH(std::uint8_t syndrome, std::uint32_t msn) {
  field("syndrome", syndrome);
  field("msn", msn);
}

DETH::DETH(std::uint32_t queue_key, std::uint32_t source_qpn) {
  field("queue_key", queue_key);
  field("source_qpn", source_qpn);
}

AtomicETH::AtomicETH(std::uint64_t virtual_address, std::uint32_t remote_key,
                     std::uint64_t swap_add, std::uint64_t compare) {
  field("virtual_address", virtual_address);
  field("remote_key", remote_key);
  field("swap_add", swap_add);
  field("compare", compare);
}

AtomicAckETH::AtomicAckETH(std::uint64_t original) {
  field("original", original);
}
ImmDt::ImmDt(std::uint32_t immediate) {
  field("immediate", immediate);
}
IETH::IETH(std::uint32_t remote_key) {
  field("remote_key", remote_key);
}
XRCETH::XRCETH(std::uint32_t shared_receive_queue) {
  field("shared_receive_queue", shared_receive_queue);
}

FETH::FETH(std::uint8_t placement_type, std::uint8_t selectivity) {
  field("placement_type", placement_type);
  field("selectivity", selectivity);
}

MAD::MAD(std::uint16_t attribute_id, std::uint64_t transaction_id) {
  const wire::MadHeader usual;
  field("base_version", usual.base_version);
  field("management_class", usual.management_class);
  field("class_version", usual.class_version);
  field("method", usual.method);
  field("attribute_id", attribute_id);
  field("transaction_id", transaction_id);
}

// --- GRH ---

GRH::GRH() {
  field("version", 6);
  field("next_header", wire::ip_protocol::kGrhBth);
  field("hop_limit", 64);
}

GRH::GRH(const Tins::IPv6Address& to, const Tins::IPv6Address& from) : GRH() {
  destination(to);
  source(from);
}

GRH::GRH(const std::uint8_t* buffer, std::uint32_t size) : ExtensionHeader(buffer, size) {
  const auto length = static_cast<std::uint32_t>(field("payload_length"));
  if (length > size - header_size()) throw Tins::malformed_packet();
  if (field("next_header") == wire::ip_protocol::kGrhBth) {
    inner_pdu(new BTH(buffer + header_size(), length));
  } else {
    inner_pdu(new Tins::RawPDU(buffer + header_size(), length));
  }
}

Tins::IPv6Address GRH::source() const {
  return Tins::IPv6Address(bytes() + wire::Grh::kSourceOffset);
}
Tins::IPv6Address GRH::destination() const {
  return Tins::IPv6Address(bytes() + wire::Grh::kDestinationOffset);
}
void GRH::source(const Tins::IPv6Address& address) {
  address.copy(bytes() + wire::Grh::kSourceOffset);
}
void GRH::destination(const Tins::IPv6Address& address) {
  address.copy(bytes() + wire::Grh::kDestinationOffset);
}

void GRH::write_serialization(std::uint8_t* buffer, std::uint32_t total_size) {
  field("payload_length", total_size - header_size());
  Header::write_serialization(buffer, total_size);
}

// --- reading ---

void register_allocators() {
  Tins::Allocators::register_allocator<Tins::EthernetII, GRH>(wire::ethertype::kRoceV1);
}

BTH* parse(Tins::PDU& packet) {
  if (auto* found = packet.find_pdu<BTH>()) return found;
  auto* udp = packet.find_pdu<Tins::UDP>();
  if (udp == nullptr || udp->dport() != wire::kRoceV2Port) return nullptr;
  const auto* raw = dynamic_cast<const Tins::RawPDU*>(udp->inner_pdu());
  if (raw == nullptr) return nullptr;
  const auto& bytes = raw->payload();
  try {
    auto bth = std::make_unique<BTH>(bytes.data(), static_cast<std::uint32_t>(bytes.size()));
    BTH* found = bth.get();
    udp->inner_pdu(bth.release());
    return found;
  } catch (const Tins::malformed_packet&) {
    return nullptr;
  }
}

bool icrc_ok(const Tins::PDU& packet) {
  const std::unique_ptr<Tins::PDU> copy(packet.clone());
  BTH* bth = parse(*copy);
  if (bth == nullptr || !bth->icrc()) return false;
  const std::uint32_t carried = *bth->icrc();
  bth->right_icrc();
  // From the BTH's own network header on: what is below it may have a trailer.
  Tins::PDU* network = bth->parent_pdu();
  while (network != nullptr && dynamic_cast<GRH*>(network) == nullptr &&
         dynamic_cast<Tins::IP*>(network) == nullptr &&
         dynamic_cast<Tins::IPv6*>(network) == nullptr) {
    network = network->parent_pdu();
  }
  if (network == nullptr) return false;
  const auto bytes = network->serialize();
  return wire::load_icrc(as_bytes(bytes.data() + bytes.size() - kIcrcSize)) == carried;
}

}  // namespace softrnic::tins
