// SPDX-License-Identifier: BSD-3-Clause
#include "edit/frame_sums.hpp"

#include <array>
#include <optional>

#include "wire/bth.hpp"
#include "wire/icrc.hpp"
#include "wire/ipv4.hpp"
#include "wire/ipv6.hpp"
#include "wire/udp.hpp"

namespace softrnic::edit {
namespace {

using wire::Ipv4Header;
using wire::Ipv6Header;
using wire::UdpHeader;

constexpr std::size_t kIcrcSize = 4;
constexpr std::uint8_t kTcp = 6;

// Ones' complement arithmetic over 16 bits (RFC 1071).
std::uint16_t add(std::uint32_t a, std::uint32_t b) {
  const std::uint32_t sum = a + b;
  return static_cast<std::uint16_t>((sum & 0xffff) + (sum >> 16));
}

std::uint16_t sum_of(wire::ByteView bytes) {
  return static_cast<std::uint16_t>(~wire::internet_checksum(bytes));
}

std::uint8_t protocol_of(const FrameParts& frame) {
  const auto& field = frame.layer == Layer::ipv4 ? Ipv4Header::kProtocol : Ipv6Header::kNextHeader;
  return static_cast<std::uint8_t>(wire::get(frame.network.data(), field));
}

bool is_ip(const FrameParts& frame) {
  return frame.layer == Layer::ipv4 || frame.layer == Layer::ipv6;
}

// Only a packet's beginning has the transport's header.
bool begins_here(const FrameParts& frame) {
  return frame.layer != Layer::ipv4 ||
         wire::get(frame.network.data(), Ipv4Header::kFragmentOffset) == 0;
}

// Where the checksum stands behind the IP header, for protocols that sum over the addresses.
std::optional<std::size_t> checksum_offset(const FrameParts& frame) {
  if (!is_ip(frame) || !begins_here(frame)) return std::nullopt;
  switch (protocol_of(frame)) {
    case wire::ip_protocol::kUdp:
      return 6;
    case kTcp:
      return 16;
    case wire::ip_protocol::kIcmpv6:
      return 2;
    case wire::ip_protocol::kIcmp:
      return 2;
    default:
      return std::nullopt;
  }
}

// A FrameParts, constant or not.
template <class Frame>
auto* transport_checksum(Frame& frame) {
  auto& header = frame.udp.empty() ? frame.body : frame.udp;
  const auto offset = checksum_offset(frame);
  return offset && *offset + 2 <= header.size() ? header.data() + *offset : nullptr;
}

// Of everything the transport's checksum covers, with the checksum itself; the length is counted
// twice by UDP, in its header and in the pseudo header.
std::uint16_t transport_sum(const FrameParts& frame) {
  const std::byte* network = frame.network.data();
  std::uint32_t sum = 0;
  if (protocol_of(frame) != wire::ip_protocol::kIcmp) {
    const bool v4 = frame.layer == Layer::ipv4;
    const std::size_t at = v4 ? 12 : Ipv6Header::kSourceOffset;
    sum = sum_of(wire::ByteView(network + at, v4 ? 8 : 32));
    sum = add(sum, protocol_of(frame));
    const std::size_t size = frame.udp.size() + frame.body.size() + frame.body_lacks;
    sum = add(sum, static_cast<std::uint16_t>(size & 0xffff));
  }
  sum = add(sum, sum_of(frame.udp));
  return add(sum, sum_of(frame.body));
}

}  // namespace

std::uint32_t right_icrc(const FrameParts& frame) {
  // Only the BTH need be among the headers, as nothing behind it is masked.
  std::array<std::byte, Ipv6Header::kSize + UdpHeader::kSize + wire::Bth::kSize> headers;
  std::byte* end = std::copy(frame.network.begin(), frame.network.end(), headers.data());
  end = std::copy(frame.udp.begin(), frame.udp.end(), end);
  const auto bth = static_cast<std::size_t>(end - headers.data());
  end = std::copy_n(frame.body.data(), wire::Bth::kSize, end);
  const wire::ByteView rest(frame.body);
  return wire::icrc(
      frame.network_layer(),
      wire::ByteView(headers.data(), static_cast<std::size_t>(end - headers.data())), bth,
      wire::ByteChain(rest.subspan(wire::Bth::kSize, rest.size() - wire::Bth::kSize - kIcrcSize)));
}

void FrameSums::remember(const FrameParts& frame) {
  *this = {};
  if (frame.is_whole()) {
    icrc_error_ =
        right_icrc(frame) ^ wire::load_icrc(frame.body.data() + frame.body.size() - kIcrcSize);
  }
  if (frame.layer == Layer::ipv4) {
    ip_total_ = sum_of(frame.network);
    ip_absent_ = ip_total_ != 0xffff && wire::get(frame.network.data(), Ipv4Header::kChecksum) == 0;
  }
  const std::byte* checksum = transport_checksum(frame);
  const bool udp = checksum != nullptr && protocol_of(frame) == wire::ip_protocol::kUdp;
  transport_absent_ = checksum == nullptr || (udp && wire::load_be16(checksum) == 0);
  if (!transport_absent_) transport_total_ = transport_sum(frame);
}

void FrameSums::restore(FrameParts& frame, IcrcPolicy policy) const {
  // First, as the UDP checksum covers it.
  if (policy != IcrcPolicy::keep && frame.is_whole()) {
    const std::uint32_t error = policy == IcrcPolicy::repair ? 0 : icrc_error_;
    wire::store_icrc(frame.body.data() + frame.body.size() - kIcrcSize, right_icrc(frame) ^ error);
  }
  if (frame.layer == Layer::ipv4 && !ip_absent_) {
    std::byte* ip = frame.network.data();
    wire::put(ip, Ipv4Header::kChecksum, 0);
    // A header that came from another network layer has no total to keep.
    const std::uint16_t total = ip_total_ == 0 ? 0xffff : ip_total_;
    std::uint16_t sum = add(total, static_cast<std::uint16_t>(~sum_of(frame.network)));
    if (sum == 0xffff && total == 0xffff) sum = 0;
    wire::put(ip, Ipv4Header::kChecksum, sum);
  }
  std::byte* checksum = transport_checksum(frame);
  if (checksum != nullptr && !transport_absent_) {
    wire::store_be16(checksum, 0);
    std::uint16_t sum = add(transport_total_, static_cast<std::uint16_t>(~transport_sum(frame)));
    // Zero says that there is none (RFC 768); the other protocols have no such word.
    if (sum == 0) sum = 0xffff;
    if (sum == 0xffff && protocol_of(frame) != wire::ip_protocol::kUdp) sum = 0;
    wire::store_be16(checksum, sum);
  }
}

}  // namespace softrnic::edit
