// SPDX-License-Identifier: BSD-3-Clause
// Frames made by hand, so that each check of the NIC can be met by a frame wrong in just that.
#pragma once

#include <array>
#include <vector>

#include "wire/address_vector.hpp"
#include "wire/icrc.hpp"
#include "wire/transport_headers.hpp"

namespace softrnic::nic::test {

struct RawPacket {
  wire::AddressVector vector;
  wire::TransportHeaders headers;
  std::vector<std::byte> payload;  // padded here

  std::vector<std::byte> frame() const {
    wire::TransportHeaders h = headers;
    std::vector<std::byte> padded = payload;
    h.bth.pad_count = static_cast<std::uint8_t>(-payload.size() & 3);
    padded.resize(payload.size() + h.bth.pad_count);
    std::vector<std::byte> out(vector.size() + h.size() + padded.size() + 4);
    vector.serialize(out, h.size() + padded.size() + 4, 7);
    h.serialize(wire::ByteSpan(out).subspan(vector.size()));
    std::copy(padded.begin(), padded.end(),
              out.end() - 4 - static_cast<std::ptrdiff_t>(padded.size()));
    fix_icrc(out);
    return out;
  }

  // Makes the ICRC right again after the frame was changed.
  void fix_icrc(std::vector<std::byte>& out) const {
    const std::size_t network = vector.vlan ? 18 : 14;
    const std::size_t headers_end = vector.size() + headers.size();
    const wire::ByteView bytes(out);
    const std::uint32_t sum =
        wire::icrc(vector.network_layer(), bytes.subspan(network, headers_end - network),
                   vector.size() - network,
                   wire::ByteChain(bytes.subspan(headers_end, out.size() - 4 - headers_end)));
    wire::store_icrc(out.data() + out.size() - 4, sum);
  }
};

}  // namespace softrnic::nic::test
