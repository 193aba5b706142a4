// SPDX-License-Identifier: BSD-3-Clause
// RoCE frames for tests: built by hand, and those whose ICRC others computed.
#pragma once

#include <optional>
#include <string>

#include "bytes.hpp"
#include "wire/address_vector.hpp"
#include "wire/icrc.hpp"

namespace softrnic::wire::testing {

inline AddressVector address_vector(NetworkLayer layer, bool tagged = false) {
  AddressVector av;
  av.version = layer == NetworkLayer::grh ? RoceVersion::v1 : RoceVersion::v2;
  av.source_mac = *MacAddress::from_string("52:54:00:00:00:01");
  av.destination_mac = *MacAddress::from_string("52:54:00:00:00:02");
  if (tagged) av.vlan = VlanTag{5, true, 0x123};
  const bool v4 = layer == NetworkLayer::ipv4;
  av.source = *Gid::from_string(v4 ? "10.77.0.1" : "fd00:77::1");
  av.destination = *Gid::from_string(v4 ? "10.77.0.2" : "fd00:77::2");
  av.traffic_class = 0x6a;
  av.hop_limit = 63;
  av.flow_label = 0xabcde;
  return av;
}

// A whole frame, ICRC included; `padding` are the pad bytes, as many as the headers announce.
inline Bytes frame_of(const AddressVector& av, const TransportHeaders& headers, ByteView payload,
                      ByteView padding = {}) {
  const std::size_t network = av.vlan ? EthernetHeader::kMaxSize : EthernetHeader::kSize;
  const std::size_t headers_size = av.size() + headers.size();
  const std::size_t padded = payload.size() + padding.size();
  Bytes frame(headers_size + padded + 4);
  const ByteSpan out(frame);
  headers.serialize(out.subspan(av.serialize(out, headers.size() + padded + 4, 0x1234)));
  std::copy(payload.begin(), payload.end(), frame.begin() + headers_size);
  std::copy(padding.begin(), padding.end(), frame.begin() + headers_size + payload.size());
  const std::uint32_t sum =
      icrc_portable(av.network_layer(), out.subspan(network, headers_size - network),
                    av.size() - network, ByteChain(ByteView(frame).subspan(headers_size, padded)));
  store_icrc(frame.data() + headers_size + padded, sum);
  return frame;
}

// Every value of a header set that its opcode calls for, at random.
inline TransportHeaders random_headers(Random& random, Opcode opcode, std::size_t pad) {
  Bytes bytes = random.bytes(kMaxTransportHeaders);
  store_u8(bytes.data(), static_cast<std::uint8_t>(opcode));
  put(bytes.data(), Bth::kVersion, 0);
  put(bytes.data(), Bth::kPadCount, pad);
  return TransportHeaders::parse(bytes);
}

struct GoldenFrame {
  std::string what;
  std::string hex;
  std::string opcode;
  std::size_t payload_size;
};

// Frames of real network cards and of independent implementations: the first five with the test
// suite of Scapy's RoCE layer as their source, the rest captured from Linux rdma_rxe.
inline std::vector<GoldenFrame> golden_frames() {
  return {
      {"v2 over IPv4",
       "248a07a8fa22 248a07a8fa22 0800"
       "4501 0040 0478 4000 4011 b4d5 c0a80007 c0a80007"
       "c000 12b7 002c aca2"
       "24 60 ffff 00 0000d3 00 cf1710"
       "4630818be28935d90e9a95505401be885e50 0000"
       "78f353f3",
       "UC SEND Only", 18},
      {"v2 over IPv6",
       "248a07a8fa22 248a07a8fa22 86dd"
       "6e21face 002c 11 ff 20220000000000000000000000001023 20230000000000000000000000001024"
       "c000 12b7 002c e7c5"
       "24 60 ffff 00 0000d3 00 cf1710"
       "4630818be28935d90e9a95505401be885e50 0000"
       "3e5b743b",
       "UC SEND Only", 18},
      {"CNP of a ConnectX-4 Lx",
       "e41d2dab2bc2 7cfe90643b32 0800"
       "45c2 003c 718c 4000 4011 9161 0a001101 0a001201"
       "0000 12b7 0028 0000"
       "81 00 ffff 40 000118 00 000000"
       "00000000 00000000 00000000 00000000"
       "82fd002a",
       "CNP", 0},
      {"v1, a write",
       "7cfe90753cd8 7cfe90753cd8 8915"
       "60200000 0028 1b 40 0000000000000000 0000ffff0f000002 0000000000000000 0000ffff0f000002"
       "0a 70 ffff 00 00010a 80 a788bc"
       "000055d4c0726000 000047b3 00000005"
       "0000000001 000000"
       "e3d856bb",
       "RC RDMA WRITE Only", 5},
      {"v1, an acknowledge",
       "7cfe90753cd8 7cfe90753cd8 8915"
       "60200000 0014 1b 40 0000000000000000 0000ffff0f000002 0000000000000000 0000ffff0f000002"
       "11 40 ffff 00 000109 00 a788c0"
       "00 000005"
       "25f0c038",
       "RC Acknowledge", 0},
      {"an acknowledge over IPv6",
       "525400000002 525400000001 86dd"
       "60000000 001c 11 40 fd000077000000000000000000000001 fd000077000000000000000000000002"
       "c144 12b7 001c 0000"
       "11 00 ffff 00 000012 00 2c0522"
       "1f 000001"
       "1b26599c",
       "RC Acknowledge", 0},
      {"a send of nothing",
       "525400000001 525400000002 0800"
       "4528 002c 73ac 4000 4011 b250 0a4d0002 0a4d0001"
       "d0c2 12b7 0018 0000"
       "04 00 ffff 00 000041 80 fffffe"
       "2b0e47da",
       "RC SEND Only", 0},
      {"a send of one byte",
       "525400000001 525400000002 0800"
       "4528 0030 73ad 4000 4011 b24b 0a4d0002 0a4d0001"
       "d0c2 12b7 001c 0000"
       "04 30 ffff 00 000041 80 ffffff"
       "00 000000"
       "195cc4b2",
       "RC SEND Only", 1},
  };
}

}  // namespace softrnic::wire::testing
