// SPDX-License-Identifier: BSD-3-Clause
#include "capture/packet_reading.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "wire/ethernet.hpp"
#include "wire/icrc.hpp"
#include "wire/lrh.hpp"
#include "wire/udp.hpp"

namespace softrnic::capture {
namespace {

using wire::Bth;
using wire::Ipv4Header;
using wire::Ipv6Header;
using wire::UdpHeader;

constexpr std::size_t kIcrcSize = 4;

class Reader {
 public:
  Reader(const Record& record, PacketReading& reading, bool may_be_cut)
      : record_(record), r_(reading), may_be_cut_(may_be_cut) {}

  void read(const NetworkStart& start) {
    network_ = r_.network = start.offset;
    // Who mirrors into a tunnel may cut what is inside; the record does not say so.
    r_.tunnelled = start.tunnelled;
    may_be_cut_ = may_be_cut_ || start.tunnelled;
    if (start.native) return read_native(start.end);
    switch (start.ethertype) {
      case wire::ethertype::kIpv4:
        return read_ipv4();
      case wire::ethertype::kIpv6:
        return read_ipv6();
      case wire::ethertype::kRoceV1:
        return read_grh();
      case wire::ethertype::kArp:
        r_.traffic = Traffic::arp;
        return;
      default:
        r_.traffic = Traffic::other;
    }
  }

 private:
  const std::byte* at(std::size_t offset) const { return record_.bytes.data() + offset; }
  bool captured(std::size_t offset, std::size_t size) const {
    return offset + size <= record_.bytes.size();
  }
  template <class Header>
  Header parse(std::size_t offset) const {
    return Header::parse(std::span<const std::byte, Header::kSize>(at(offset), Header::kSize));
  }
  void fault(HeaderFault fault, std::uint64_t a = 0, std::uint64_t b = 0) {
    if (r_.fault != HeaderFault::none) return;  // the first one tells
    r_.fault = fault;
    r_.a = a;
    r_.b = b;
  }

  void read_ipv4() {
    if (!captured(network_, Ipv4Header::kSize)) return;
    const auto ip = parse<Ipv4Header>(network_);
    const std::size_t header = std::size_t{ip.header_words} * 4;
    r_.traffic = Traffic::other_ip;
    if (ip.version != 4 || header < Ipv4Header::kSize) return;
    // A fragment other than the first could belong to anyone.
    if (!leads_to_roce(ip.protocol, network_ + header, ip.fragment_offset == 0)) return;
    r_.layer = wire::NetworkLayer::ipv4;
    r_.frame.source = wire::Gid::from_ipv4(ip.source);
    r_.frame.destination = wire::Gid::from_ipv4(ip.destination);
    r_.frame.ecn = ip.traffic_class & 3;
    check_ipv4(ip);
    if (ip.total_length < header) {
      return fault(HeaderFault::beyond_frame, ip.total_length, header);
    }
    if (!fits_frame(ip.total_length)) return;
    read_udp(network_ + header, ip.total_length - header);
  }

  void check_ipv4(const Ipv4Header& ip) {
    if ((ip.flags & 1) != 0) fault(HeaderFault::fragmented);
    if (ip.header_words != 5) {
      fault(HeaderFault::ip_options, ip.header_words);
    } else if (ip.checksum != 0 && ip.checksum != ip.computed_checksum()) {
      // Zero: left to the sender's hardware, and captured before it was filled in.
      fault(HeaderFault::ip_checksum, ip.checksum, ip.computed_checksum());
    }
  }

  void read_ipv6() {
    if (!captured(network_, Ipv6Header::kSize)) return;
    const auto ip = parse<Ipv6Header>(network_);
    r_.traffic = Traffic::other_ip;
    if (ip.version != 6 || !leads_to_roce(ip.next_header, network_ + Ipv6Header::kSize, true)) {
      return;
    }
    r_.layer = wire::NetworkLayer::ipv6;
    take_addresses(ip);
    if (!fits_frame(Ipv6Header::kSize + ip.payload_length)) return;
    read_udp(network_ + Ipv6Header::kSize, ip.payload_length);
  }

  // IBTA vol. 1, 7.7. A LID is shown as a link-local address that ends in it.
  void read_native(std::size_t end) {
    if (!captured(network_, wire::Lrh::kSize)) return;
    const auto lrh = parse<wire::Lrh>(network_);
    r_.traffic = Traffic::other;
    if (lrh.next == wire::Lrh::Next::raw || lrh.next == wire::Lrh::Next::ipv6) return;
    r_.traffic = Traffic::infiniband;
    r_.frame.version = wire::RoceVersion::v1;
    r_.layer = wire::NetworkLayer::grh;
    r_.headers_cut = true;
    if (!fits_frame(lrh.size())) return;
    const std::size_t on_wire = end != 0 ? end : record_.wire_size;
    check_vcrc(lrh.size(), on_wire);
    if (lrh.next == wire::Lrh::Next::grh) {
      network_ += wire::Lrh::kSize;
      r_.network = network_;
      return read_grh(Traffic::infiniband);
    }
    r_.local = true;
    r_.frame.source = of_lid(lrh.source);
    r_.frame.destination = of_lid(lrh.destination);
    if (lrh.size() < wire::Lrh::kSize) return fault(HeaderFault::too_short, lrh.size());
    read_transport(network_ + wire::Lrh::kSize, lrh.size() - wire::Lrh::kSize);
  }

  static wire::Gid of_lid(std::uint16_t lid) {
    wire::Gid gid;
    gid.bytes[0] = 0xfe;
    gid.bytes[1] = 0x80;
    gid.bytes[14] = static_cast<std::uint8_t>(lid >> 8);
    gid.bytes[15] = static_cast<std::uint8_t>(lid);
    return gid;
  }

  // Some captures leave it out.
  void check_vcrc(std::size_t size, std::size_t on_wire) {
    const std::size_t at_end = network_ + size;
    if (on_wire < at_end + wire::Lrh::kVcrcSize) return;
    if (!captured(at_end, wire::Lrh::kVcrcSize)) return;
    const std::uint16_t right = wire::vcrc(record_.bytes.subspan(network_, size));
    const std::uint16_t carried = wire::load_vcrc(at(at_end));
    if (right != carried) fault(HeaderFault::vcrc, carried, right);
  }

  void read_grh(Traffic traffic = Traffic::roce_v1) {
    r_.traffic = traffic;
    r_.frame.version = wire::RoceVersion::v1;
    r_.layer = wire::NetworkLayer::grh;
    r_.headers_cut = true;
    if (!captured(network_, wire::Grh::kSize)) return;
    const auto grh = parse<wire::Grh>(network_);
    if (grh.version != 6) return fault(HeaderFault::ip_version, grh.version);
    take_addresses(grh);
    if (grh.next_header != wire::ip_protocol::kGrhBth) {
      return fault(HeaderFault::next_header, grh.next_header);
    }
    if (!fits_frame(wire::Grh::kSize + grh.payload_length)) return;
    read_transport(network_ + wire::Grh::kSize, grh.payload_length);
  }

  void take_addresses(const Ipv6Header& ip) {
    r_.frame.source = ip.source;
    r_.frame.destination = ip.destination;
    r_.frame.ecn = ip.traffic_class & 3;
  }

  // Whether it is UDP to RoCE's port, and if not, what it is.
  bool leads_to_roce(std::uint8_t protocol, std::size_t transport, bool begins_here) {
    switch (protocol) {
      case wire::ip_protocol::kIcmp:
      case wire::ip_protocol::kIcmpv6:
        r_.traffic = Traffic::icmp;
        return false;
      case 6:
        r_.traffic = Traffic::tcp;
        return false;
      case wire::ip_protocol::kUdp:
        break;
      default:
        return false;
    }
    r_.traffic = begins_here ? Traffic::unknown : Traffic::udp;
    if (!begins_here || !captured(transport, UdpHeader::kSize)) return false;
    const auto udp = parse<UdpHeader>(transport);
    r_.traffic = Traffic::udp;
    if (udp.destination_port != wire::kRoceV2Port) return false;
    r_.traffic = Traffic::roce_v2;
    r_.headers_cut = true;  // until all of them were read
    r_.frame.udp_source_port = udp.source_port;
    return true;
  }

  // Whether the frame was as long on the wire as its network header says.
  bool fits_frame(std::size_t announced) {
    const std::size_t size = std::max<std::size_t>(record_.wire_size, record_.bytes.size());
    const std::size_t room = size - network_;
    if (announced <= room || may_be_cut_) return true;
    fault(HeaderFault::beyond_frame, announced, room);
    return false;
  }

  void read_udp(std::size_t offset, std::size_t size) {
    const auto udp = parse<UdpHeader>(offset);
    if (udp.length != size || size < UdpHeader::kSize) {
      return fault(HeaderFault::length_mismatch, udp.length, size);
    }
    read_transport(offset + UdpHeader::kSize, size - UdpHeader::kSize);
  }

  void read_transport(std::size_t offset, std::size_t size) {
    if (size < Bth::kSize + kIcrcSize) return fault(HeaderFault::too_short, size);
    check_icrc(offset, size);
    if (!captured(offset, Bth::kSize)) return;
    r_.bth = offset;
    analysis::Frame& frame = r_.frame;
    frame.headers.bth = parse<Bth>(offset);
    const std::uint8_t raw_opcode = wire::load_u8(at(offset));
    frame.opcode = wire::find_opcode(raw_opcode);
    if (frame.headers.bth.version != 0) {
      return fault(HeaderFault::transport_version, frame.headers.bth.version);
    }
    if (frame.opcode == nullptr) return fault(HeaderFault::reserved_opcode, raw_opcode);
    const std::size_t headers = Bth::kSize + frame.opcode->extension_size;
    if (size < headers + kIcrcSize) {
      return fault(HeaderFault::headers_too_long, size - kIcrcSize, headers);
    }
    const std::size_t padded = size - headers - kIcrcSize;
    const std::size_t pad = frame.headers.bth.pad_count;
    if (pad > padded || padded % 4 != 0) return fault(HeaderFault::bad_pad, pad, padded);
    frame.payload_size = static_cast<std::uint32_t>(padded - pad);
    read_headers(offset, headers);
  }

  void read_headers(std::size_t offset, std::size_t headers) {
    analysis::Frame& frame = r_.frame;
    if (!captured(offset, headers)) return read_cut_headers(offset, headers);
    frame.headers = wire::TransportHeaders::parse(record_.bytes.subspan(offset, headers));
    const std::size_t there = record_.bytes.size() - offset - headers;
    frame.payload =
        record_.bytes.subspan(offset + headers, std::min<std::size_t>(there, frame.payload_size));
    r_.headers_cut = false;
  }

  // As much as there is, and zeros, if it is as much as the analysis needs.
  void read_cut_headers(std::size_t offset, std::size_t headers) {
    analysis::Frame& frame = r_.frame;
    std::size_t needed = Bth::kSize;
    if (frame.opcode->has(wire::kXrceth)) needed += wire::Xrceth::kSize;
    if (frame.opcode->has(wire::kDeth)) needed += wire::Deth::kSize;
    if (frame.opcode->has(wire::kAeth)) needed += wire::Aeth::kSize;
    if (!captured(offset, needed)) return;
    std::array<std::byte, wire::kMaxTransportHeaders> padded{};
    const wire::ByteView there = record_.bytes.subspan(offset);
    std::copy(there.begin(), there.end(), padded.begin());
    frame.headers = wire::TransportHeaders::parse(wire::ByteView(padded).first(headers));
    frame.headers_cut = true;
    r_.headers_cut = false;
  }

  void check_icrc(std::size_t bth, std::size_t size) {
    const std::size_t icrc = bth + size - kIcrcSize;
    // Nobody says how to sum over IPv4 options.
    const bool summable = r_.fault != HeaderFault::ip_options;
    if (!captured(icrc, kIcrcSize) || !summable) return;
    const wire::ByteView bytes = record_.bytes;
    r_.frame.checksum = wire::load_icrc(at(icrc));
    r_.summed = bytes.subspan(network_, icrc - network_);
    r_.bth_in_summed = bth - network_;
    r_.frame.icrc = right_icrc() == r_.frame.checksum ? analysis::IcrcVerdict::good
                                                      : analysis::IcrcVerdict::bad;
  }

  std::uint32_t right_icrc() const {
    if (r_.local) return wire::local_icrc(r_.summed);
    // Only the BTH need be among the headers, as nothing behind it is masked.
    const std::size_t headers = r_.bth_in_summed + Bth::kSize;
    return wire::icrc(r_.layer, r_.summed.first(headers), r_.bth_in_summed,
                      wire::ByteChain(r_.summed.subspan(headers)));
  }

  const Record& record_;
  PacketReading& r_;
  std::size_t network_ = 0;
  bool may_be_cut_;
};

std::uint16_t vlan_of(LinkType link_type, wire::ByteView record) {
  constexpr std::size_t kType = 12;
  constexpr std::uint16_t kIdentifier = 0xfff;
  if (link_type != LinkType::ethernet || record.size() < kType + 4) return PacketReading::kNoVlan;
  if (wire::load_be16(record.data() + kType) != wire::ethertype::kVlan) {
    return PacketReading::kNoVlan;
  }
  return wire::load_be16(record.data() + kType + 2) & kIdentifier;
}

}  // namespace

std::string_view to_string(Traffic traffic) {
  constexpr std::array<std::string_view, static_cast<std::size_t>(Traffic::count)> kNames{
      "roce_v1", "roce_v2", "infiniband", "arp",   "icmp",
      "tcp",     "udp",     "other_ip",   "other", "unknown"};
  return kNames[static_cast<std::size_t>(traffic)];
}

std::string_view name(HeaderFault fault) {
  switch (fault) {
    case HeaderFault::none:
      break;
    case HeaderFault::ip_version:
      return "ip_version";
    case HeaderFault::ip_checksum:
      return "ip_checksum";
    case HeaderFault::ip_options:
      return "ip_options";
    case HeaderFault::fragmented:
      return "fragmented";
    case HeaderFault::next_header:
      return "next_header";
    case HeaderFault::beyond_frame:
      return "beyond_frame";
    case HeaderFault::length_mismatch:
      return "length_mismatch";
    case HeaderFault::too_short:
      return "too_short";
    case HeaderFault::transport_version:
      return "transport_version";
    case HeaderFault::reserved_opcode:
      return "reserved_opcode";
    case HeaderFault::headers_too_long:
      return "headers_too_long";
    case HeaderFault::bad_pad:
      return "bad_pad";
    case HeaderFault::vcrc:
      return "bad_vcrc";
  }
  return "none";
}

std::string sentence(const PacketReading& r) {
  switch (r.fault) {
    case HeaderFault::none:
      break;
    case HeaderFault::ip_version:
      return fmt::format("The GRH has version {}, which must be 6", r.a);
    case HeaderFault::ip_checksum:
      return fmt::format("The IPv4 header checksum is 0x{:04x} and should be 0x{:04x}", r.a, r.b);
    case HeaderFault::ip_options:
      return fmt::format("The IPv4 header has {} bytes: RoCE v2 takes no options", r.a * 4);
    case HeaderFault::fragmented:
      return "A fragment of an IPv4 packet: RoCE v2 is never fragmented";
    case HeaderFault::next_header:
      return fmt::format("The next header of the GRH is 0x{:02x}, which must be 0x1b", r.a);
    case HeaderFault::beyond_frame:
      return fmt::format("The network header announces {} bytes, but there are {}", r.a, r.b);
    case HeaderFault::length_mismatch:
      return fmt::format("The UDP length is {}, but IP leaves {} bytes for it", r.a, r.b);
    case HeaderFault::too_short:
      return fmt::format("{} bytes are too few for a BTH and an ICRC", r.a);
    case HeaderFault::transport_version:
      return fmt::format("The transport version in the BTH is {}, which must be 0", r.a);
    case HeaderFault::reserved_opcode:
      return fmt::format("Opcode 0x{:02x} is reserved", r.a);
    case HeaderFault::headers_too_long:
      return fmt::format(
          "The headers of its opcode take {} bytes, but only {} stand before the ICRC", r.b, r.a);
    case HeaderFault::bad_pad:
      if (r.b % 4 != 0) {
        return fmt::format("Payload and pad take {} bytes, which is no multiple of four", r.b);
      }
      return fmt::format("Pad count {} in {} bytes of payload and pad", r.a, r.b);
    case HeaderFault::vcrc:
      return fmt::format("The VCRC is 0x{:04x} and should be 0x{:04x}", r.a, r.b);
  }
  return {};
}

void read_packet(LinkType link_type, const Record& record, bool cut_by_switch,
                 PacketReading& reading) {
  reading = {};
  reading.frame.number = record.number;
  reading.frame.time = record.at;
  reading.frame_cut = record.cut();
  reading.vlan = vlan_of(link_type, record.bytes);
  if (const auto start = find_network(link_type, record.bytes)) {
    Reader(record, reading, cut_by_switch).read(*start);
  }
}

PacketReading read_packet(LinkType link_type, const Record& record, bool cut_by_switch) {
  PacketReading reading;
  read_packet(link_type, record, cut_by_switch, reading);
  return reading;
}

}  // namespace softrnic::capture
