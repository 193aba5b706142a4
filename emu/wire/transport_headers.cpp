// SPDX-License-Identifier: BSD-3-Clause
#include "wire/transport_headers.hpp"

namespace softrnic::wire {
namespace {

template <class Header>
const std::byte* read(const std::byte* p, Header& header) {
  header = Header::parse(std::span<const std::byte, Header::kSize>(p, Header::kSize));
  return p + Header::kSize;
}

template <class Header>
std::byte* write(std::byte* p, const Header& header) {
  header.serialize(std::span<std::byte, Header::kSize>(p, Header::kSize));
  return p + Header::kSize;
}

// Calls `visit` with each extension header of `set`, in wire order. `headers` is a
// TransportHeaders, constant or not.
template <class Headers, class Visitor>
void for_each_extension(Headers& headers, std::uint16_t set, Visitor visit) {
  if (set == 0) return;
  if (set & kXrceth) visit(headers.xrceth);
  if (set & kDeth) visit(headers.deth);
  if (set & kFeth) visit(headers.feth);
  if (set & kReth) visit(headers.reth);
  if (set & kAtomicEth) visit(headers.atomic_eth);
  if (set & kAeth) visit(headers.aeth);
  if (set & kAtomicAckEth) visit(headers.atomic_ack_eth);
  if (set & kImmDt) visit(headers.immdt);
  if (set & kIeth) visit(headers.ieth);
  if (set & kCnpReserved) visit(headers.cnp_reserved);
}

std::uint16_t extensions_of(Opcode opcode) {
  const OpcodeInfo* row = find_opcode(static_cast<std::uint8_t>(opcode));
  return row == nullptr ? 0 : row->extension_headers;
}

}  // namespace

std::size_t TransportHeaders::size() const {
  const OpcodeInfo* row = find_opcode(static_cast<std::uint8_t>(bth.opcode));
  return Bth::kSize + (row == nullptr ? 0 : row->extension_size);
}

TransportHeaders TransportHeaders::parse(ByteView bytes) {
  TransportHeaders headers;
  headers.read(bytes);
  return headers;
}

void TransportHeaders::read(ByteView bytes) {
  const std::byte* p = wire::read(bytes.data(), bth);
  for_each_extension(*this, extensions_of(bth.opcode),
                     [&p](auto& header) { p = wire::read(p, header); });
}

std::size_t TransportHeaders::serialize(ByteSpan bytes) const {
  std::byte* p = write(bytes.data(), bth);
  for_each_extension(*this, extensions_of(bth.opcode),
                     [&p](const auto& header) { p = write(p, header); });
  return static_cast<std::size_t>(p - bytes.data());
}

}  // namespace softrnic::wire
