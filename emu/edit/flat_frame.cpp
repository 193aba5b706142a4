// SPDX-License-Identifier: BSD-3-Clause
#include "edit/flat_frame.hpp"

#include <algorithm>

#include "wire/ethernet.hpp"

namespace softrnic::edit {
namespace {

std::uint16_t ethertype_of(Layer layer) {
  switch (layer) {
    case Layer::ipv4:
      return wire::ethertype::kIpv4;
    case Layer::ipv6:
      return wire::ethertype::kIpv6;
    default:
      return wire::ethertype::kRoceV1;
  }
}

}  // namespace

const std::optional<wire::PacketView>& FlatFrame::lay(FrameParts& parts) {
  view_.reset();
  // What was cut off inside the headers has no value to be compared.
  const std::size_t headers = parts.headers_size();
  if (headers == 0 || headers > parts.body.size()) return view_;
  bytes_.assign(wire::EthernetHeader::kSize, std::byte{});
  wire::store_be16(bytes_.data() + wire::EthernetHeader::kSize - 2, ethertype_of(parts.layer));
  for (const Bytes* part : {&parts.network, &parts.udp, &parts.body}) {
    bytes_.insert(bytes_.end(), part->begin(), part->end());
  }
  bytes_.resize(bytes_.size() + parts.body_lacks);
  const auto size = static_cast<std::uint32_t>(bytes_.size());
  frame_ = {};
  frame_.set_received(0, bytes_.data(), size, 0, size);
  auto view = wire::PacketView::parse(wire::ByteView(bytes_), {.verify_ipv4_checksum = false});
  if (view) view_.emplace(*view);
  return view_;
}

void FlatFrame::give_back(FrameParts& parts) const {
  const std::byte* from = bytes_.data() + wire::EthernetHeader::kSize;
  for (Bytes* part : {&parts.network, &parts.udp, &parts.body}) {
    std::copy_n(from, part->size(), part->begin());
    from += part->size();
  }
}

}  // namespace softrnic::edit
