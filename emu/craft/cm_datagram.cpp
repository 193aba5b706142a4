// SPDX-License-Identifier: BSD-3-Clause
#include "craft/cm_datagram.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <span>

#include "fabric/fault_terms.hpp"
#include "wire/ip_cm.hpp"

namespace softrnic::craft {

namespace {

using Visit = std::function<void(const CmPlace&)>;
using wire::CmAttribute;
using wire::Field;

constexpr std::size_t kByte = 8;
constexpr std::size_t kGidBits = 128;

void visit_fields(std::span<const Field> fields, std::string_view prefix, std::size_t offset,
                  const Visit& visit) {
  for (const Field& field : fields) {
    visit({CmPlace::Kind::number, fmt::format("{}{}", prefix, field.name),
           offset * kByte + field.bit_offset, field.bit_width});
  }
}

template <class Path>
void visit_path(std::string_view prefix, std::size_t offset, const Visit& visit) {
  using Kind = CmPlace::Kind;
  visit({Kind::gid, fmt::format("{}local_gid", prefix), (offset + Path::kLocalGidOffset) * kByte,
         kGidBits});
  visit({Kind::gid, fmt::format("{}remote_gid", prefix), (offset + Path::kRemoteGidOffset) * kByte,
         kGidBits});
}

template <class Message>
void visit_message(const Visit& visit) {
  constexpr std::size_t kStart = wire::MadHeader::kSize;
  if constexpr (requires { Message::kFields; }) {
    visit_fields(Message::kFields, "", kStart, visit);
  }
  if constexpr (requires { Message::kLocalGidOffset; }) visit_path<Message>("", kStart, visit);
  if constexpr (requires { Message::kPrimaryPathOffset; }) {
    for (const auto& [name, offset] : {std::pair{"primary.", Message::kPrimaryPathOffset},
                                       std::pair{"alternate.", Message::kAlternatePathOffset}}) {
      visit_fields(wire::CmPath::kFields, name, kStart + offset, visit);
      visit_path<wire::CmPath>(name, kStart + offset, visit);
    }
  }
  if constexpr (requires { Message::kInfoOffset; }) {
    visit({CmPlace::Kind::bytes, "info", (kStart + Message::kInfoOffset) * kByte,
           Message{}.info.size() * kByte});
  }
  visit({CmPlace::Kind::bytes, "private_data", (kStart + Message::kPrivateDataOffset) * kByte,
         Message{}.private_data.size() * kByte});
}

// Calls `with` for the type of each message in turn, until one is of `attribute`.
template <class... Messages, class With>
bool dispatch(CmAttribute attribute, std::variant<Messages...>*, With with) {
  return ((Messages::kAttribute == attribute && (with(Messages{}), true)) || ...);
}

template <class With>
void with_message(CmAttribute attribute, With with) {
  dispatch(attribute, static_cast<wire::CmMessage*>(nullptr), with);
}

std::uint8_t mtu_code(std::uint32_t mtu) {
  for (std::uint8_t code = 1; code <= 5; ++code) {
    if (wire::mtu_bytes(code) == mtu) return code;
  }
  return 3;
}

// The private data of a request for a port begins with the addresses (IBTA annex A11).
template <class Message>
void name_addresses(Message& message, const CmEnds& ends) {
  wire::IpCmHeader header;
  header.source_port = ends.port;
  header.set_addresses(ends.local, ends.remote);
  header.serialize(std::span(message.private_data).template first<wire::IpCmHeader::kSize>());
}

constexpr std::uint8_t kResources = 16;
constexpr std::uint8_t kMessageTimeout = 20;  // 4.3 s
constexpr std::uint8_t kAckTimeout = 14;      // 67 ms
constexpr std::uint8_t kRetries = 7;
constexpr std::uint8_t kCmRetries = 15;

void fill(wire::CmReq& m, const CmEnds& ends) {
  m.service_id = wire::IpServiceId{6, ends.port}.value();
  m.local_qpn = ends.local_qpn;
  m.starting_psn = wire::Psn(ends.starting_psn);
  m.responder_resources = m.initiator_depth = kResources;
  m.remote_response_timeout = m.local_response_timeout = kMessageTimeout;
  m.retry_count = m.rnr_retry_count = kRetries;
  m.max_cm_retries = kCmRetries;
  m.path_mtu = mtu_code(ends.path_mtu);
  m.primary_path.local_gid = ends.local;
  m.primary_path.remote_gid = ends.remote;
  m.primary_path.ack_timeout = kAckTimeout;
  m.primary_path.subnet_local = true;
  m.alternate_path = wire::CmPath{};
  m.alternate_path.local_lid = m.alternate_path.remote_lid = 0;
  m.alternate_path.hop_limit = 0;
  name_addresses(m, ends);
}
void fill(wire::CmRep& m, const CmEnds& ends) {
  m.local_qpn = ends.local_qpn;
  m.starting_psn = wire::Psn(ends.starting_psn);
  m.responder_resources = m.initiator_depth = kResources;
  m.rnr_retry_count = kRetries;
}
void fill(wire::CmRej& m, const CmEnds&) {
  m.reason = wire::CmRejectReason::consumer;
}
void fill(wire::CmDreq& m, const CmEnds& ends) {
  m.remote_qpn = ends.remote_qpn;
}
void fill(wire::CmSidrReq& m, const CmEnds& ends) {
  m.request_id = ends.local_id;
  m.service_id = wire::IpServiceId{17, ends.port}.value();
  name_addresses(m, ends);
}
void fill(wire::CmSidrRep& m, const CmEnds& ends) {
  m.request_id = ends.remote_id;
  m.service_id = wire::IpServiceId{17, ends.port}.value();
  m.qpn = ends.local_qpn;
  m.queue_key = ends.queue_key;
}
void fill(wire::CmLap& m, const CmEnds& ends) {
  m.remote_qpn = ends.remote_qpn;
  m.local_gid = ends.local;
  m.remote_gid = ends.remote;
}
template <class Message>
void fill(Message&, const CmEnds&) {}

std::uint64_t read_bits(const std::byte* bytes, const CmPlace& place) {
  return wire::get(bytes + place.bit / kByte,
                   Field{"", static_cast<std::uint16_t>(place.bit % kByte),
                         static_cast<std::uint8_t>(place.width)});
}

std::optional<std::string> write_bytes(Bytes& datagram, const CmPlace& place,
                                       std::string_view value, bool quoted) {
  auto bytes = read_payload(value, quoted, std::nullopt);
  if (!bytes) return bytes.error();
  if (bytes->size() * kByte > place.width) {
    return fmt::format("{} holds {} bytes here, not {}", place.name, place.width / kByte,
                       bytes->size());
  }
  bytes->resize(place.width / kByte);
  std::ranges::copy(*bytes, datagram.begin() + static_cast<std::ptrdiff_t>(place.bit / kByte));
  return std::nullopt;
}

std::optional<std::string> write_gid(Bytes& datagram, const CmPlace& place,
                                     std::string_view value) {
  const auto gid = wire::Gid::from_string(value);
  if (!gid) return fmt::format("{} takes an IPv4 or IPv6 address, not \"{}\"", place.name, value);
  std::ranges::transform(gid->bytes,
                         datagram.begin() + static_cast<std::ptrdiff_t>(place.bit / kByte),
                         [](std::uint8_t byte) { return std::byte{byte}; });
  return std::nullopt;
}

}  // namespace

void for_each_cm_place(CmAttribute message, const Visit& visit) {
  visit_fields(wire::MadHeader::kFields, "mad.", 0, visit);
  with_message(message, [&](auto m) { visit_message<decltype(m)>(visit); });
}

std::optional<CmPlace> find_cm_place(CmAttribute message, std::string_view name) {
  std::optional<CmPlace> found;
  for_each_cm_place(message, [&](const CmPlace& place) {
    if (!found && place.name == name) found = place;
  });
  return found;
}

Bytes cm_datagram(CmAttribute message, const CmEnds& ends) {
  Bytes datagram(wire::kMadSize);
  const auto place = std::span<std::byte, wire::kMadSize>(datagram);
  with_message(message, [&](auto m) {
    if constexpr (requires { m.local_communication_id; }) m.local_communication_id = ends.local_id;
    if constexpr (requires { m.remote_communication_id; }) {
      m.remote_communication_id = ends.remote_id;
    }
    fill(m, ends);
    wire::MadHeader header;
    header.transaction_id = ends.local_id;
    wire::CmMad(header, m).serialize(place);
  });
  return datagram;
}

std::optional<std::string> write_cm_field(Bytes& datagram, const CmPlace& place,
                                          std::string_view value, bool quoted) {
  if (place.kind == CmPlace::Kind::bytes) return write_bytes(datagram, place, value, quoted);
  if (place.kind == CmPlace::Kind::gid) return write_gid(datagram, place, value);
  const auto number = fabric::read_number(value);
  if (!number || *number > ~std::uint64_t{0} >> (64 - place.width)) {
    const std::uint64_t most = ~std::uint64_t{0} >> (64 - place.width);
    return fmt::format("{} takes a number from 0 to {:#x}, not \"{}\"", place.name, most, value);
  }
  wire::put(datagram.data() + place.bit / kByte,
            Field{"", static_cast<std::uint16_t>(place.bit % kByte),
                  static_cast<std::uint8_t>(place.width)},
            *number);
  return std::nullopt;
}

std::string cm_field_text(wire::ByteView datagram, const CmPlace& place) {
  const wire::ByteView bytes = datagram.subspan(place.bit / kByte);
  if (place.kind == CmPlace::Kind::gid) {
    wire::Gid gid;
    for (std::size_t i = 0; i < gid.bytes.size(); ++i) gid.bytes[i] = wire::load_u8(&bytes[i]);
    return gid.to_string();
  }
  if (place.kind == CmPlace::Kind::bytes) {
    wire::ByteView all = bytes.first(place.width / kByte);
    while (!all.empty() && all.back() == std::byte{}) all = all.first(all.size() - 1);
    return all.empty() ? "\"\"" : to_hex(all);
  }
  return fmt::format("{:#x}", read_bits(datagram.data(), place));
}

}  // namespace softrnic::craft
