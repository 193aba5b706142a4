// SPDX-License-Identifier: BSD-3-Clause
#include "wire/frame.hpp"

#include "wire/icrc.hpp"

namespace softrnic::wire {
namespace {

template <class Header>
std::size_t write(ByteSpan out, std::size_t offset, const Header& header) {
  header.serialize(std::span<std::byte, Header::kSize>(out.data() + offset, Header::kSize));
  return offset + Header::kSize;
}

std::size_t write_network(const PacketView& view, ByteSpan out, std::size_t offset) {
  switch (view.network_layer()) {
    case NetworkLayer::grh:
      return write(out, offset, view.grh());
    case NetworkLayer::ipv4:
      return write(out, offset, view.ipv4());
    case NetworkLayer::ipv6:
      break;
  }
  return write(out, offset, view.ipv6());
}

}  // namespace

std::size_t serialize(const PacketView& view, ByteSpan out) {
  if (out.size() < view.size()) return 0;
  const std::size_t network = view.ethernet().serialize(out);
  std::size_t offset = write_network(view, out, network);
  if (view.version() == RoceVersion::v2) offset = write(out, offset, view.udp());
  const std::size_t bth = offset;
  offset += view.headers().serialize(out.subspan(offset));

  const ByteView headers = out.subspan(network, offset - network);
  const ByteSpan padded = out.subspan(offset, view.icrc_offset() - view.payload_offset());
  view.frame().copy_to(view.payload_offset(), padded);
  const std::uint32_t sum =
      icrc(view.network_layer(), headers, bth - network, ByteChain(ByteView(padded)));
  offset += padded.size();
  store_icrc(out.data() + offset, sum);
  return offset + 4;
}

}  // namespace softrnic::wire
