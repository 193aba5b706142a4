// SPDX-License-Identifier: BSD-3-Clause
#include "link/ipv4_identification.hpp"

#include <algorithm>

#include "wire/icrc.hpp"
#include "wire/icrc_change.hpp"
#include "wire/ipv4.hpp"
#include "wire/packet_view.hpp"

namespace softrnic::link {

namespace {

constexpr std::size_t kIcrcSize = 4;
constexpr std::size_t kIdentification = 4;
constexpr std::size_t kFlags = 6;
constexpr std::size_t kChecksum = 10;
constexpr std::uint16_t kDontFragment = 0x4000;
constexpr std::size_t kBth = wire::Ipv4Header::kSize + wire::UdpHeader::kSize;
// As much as wire::icrc() takes in one piece of headers.
constexpr std::size_t kMostHeaders = 128;

// Covered bytes behind the two at `offset` of the header.
std::size_t behind(const Frame& frame, std::size_t network, std::size_t offset) {
  return frame.size() - network - kIcrcSize - offset - 2;
}

void store(std::size_t offset, std::uint16_t value, Frame& frame, std::size_t network) {
  const wire::ByteSpan header =
      frame.mutable_bytes().front().subspan(network, wire::Ipv4Header::kSize);
  wire::store_be16(header.data() + offset, value);
  wire::store_be16(header.data() + kChecksum, 0);
  wire::store_be16(header.data() + kChecksum, wire::internet_checksum(header));
}

}  // namespace

std::uint32_t icrc_difference(const Frame& frame, std::size_t network) {
  const wire::ByteChain bytes = frame.bytes();
  const std::size_t end = bytes.size() - kIcrcSize;
  const std::size_t headers =
      std::min({kMostHeaders, bytes.front().size() - network, end - network});
  std::array<std::byte, kIcrcSize> carried;
  bytes.copy_to(end, carried);
  const std::size_t payload = network + headers;
  return wire::load_icrc(carried.data()) ^ wire::icrc(wire::NetworkLayer::ipv4,
                                                      bytes.front().subspan(network, headers), kBth,
                                                      bytes.slice(payload, end - payload));
}

bool explains(std::uint16_t identification, std::uint32_t difference, const Frame& frame,
              std::size_t network) {
  return wire::icrc_change(identification, behind(frame, network, kIdentification)) == difference;
}

void set_identification(std::uint16_t identification, Frame& frame, std::size_t network) {
  store(kIdentification, identification, frame, network);
}

std::optional<std::uint16_t> identification_behind(std::uint32_t difference, const Frame& frame,
                                                   std::size_t network) {
  return wire::difference_behind(difference, behind(frame, network, kIdentification));
}

bool infer_identification(std::uint32_t difference, Frame& frame, std::size_t network) {
  auto found = identification_behind(difference, frame, network);
  if (!found) {
    const std::uint32_t no_flag = wire::icrc_change(kDontFragment, behind(frame, network, kFlags));
    found = identification_behind(difference ^ no_flag, frame, network);
    if (!found) return false;
    store(kFlags, 0, frame, network);
  }
  set_identification(*found, frame, network);
  return true;
}

}  // namespace softrnic::link
