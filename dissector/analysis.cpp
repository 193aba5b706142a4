// SPDX-License-Identifier: GPL-2.0-or-later
#include "dissector/analysis.hpp"

#include <cstring>
#include <exception>
#include <memory>

#include "dissector/preferences.hpp"

namespace softrnic::dissector {
namespace {

struct Capture {
  std::unique_ptr<analysis::Analyzer> analyzer;
  std::uint32_t last_frame = 0;  // told to the analyzer
};
Capture capture;

wire::Gid gid_of(const address& address) {
  wire::Gid gid;
  if (address.type == AT_IPv4 && address.len == 4) {
    gid = wire::Gid::from_ipv4(wire::load_be32(static_cast<const std::byte*>(address.data)));
  } else if (address.type == AT_IPv6 && address.len == 16) {
    std::memcpy(gid.bytes.data(), address.data, 16);
  }
  return gid;
}

analysis::IcrcVerdict verdict_of(const IcrcCheck& icrc) {
  switch (icrc.verdict) {
    case IcrcCheck::Verdict::good:
      return analysis::IcrcVerdict::good;
    case IcrcCheck::Verdict::bad:
      return analysis::IcrcVerdict::bad;
    case IcrcCheck::Verdict::unverified:
      break;
  }
  return analysis::IcrcVerdict::unverified;
}

analysis::Frame frame_of(const Packet& packet, const IcrcCheck& icrc, const packet_info& pinfo) {
  analysis::Frame frame;
  frame.number = pinfo.num;
  frame.time = wire::Instant(std::chrono::seconds(pinfo.abs_ts.secs) +
                             std::chrono::nanoseconds(pinfo.abs_ts.nsecs));
  frame.version = packet.version;
  if (packet.version == wire::RoceVersion::v1) {
    const std::byte* grh = packet.bytes - packet.bth_offset;
    std::memcpy(frame.source.bytes.data(), grh + wire::Grh::kSourceOffset, 16);
    std::memcpy(frame.destination.bytes.data(), grh + wire::Grh::kDestinationOffset, 16);
  } else {
    frame.source = gid_of(pinfo.net_src);
    frame.destination = gid_of(pinfo.net_dst);
    frame.udp_source_port = static_cast<std::uint16_t>(pinfo.srcport);
  }
  frame.ecn = ecn_of(packet, icrc);
  frame.opcode = packet.opcode;
  frame.headers = packet.headers;
  frame.payload_size = packet.payload_size;
  frame.payload = packet.view(packet.header_size, packet.payload_captured());
  frame.checksum = icrc.carried;
  frame.icrc = verdict_of(icrc);
  return frame;
}

bool is_analysable(const Packet& packet, const packet_info& pinfo) {
  return packet.well_formed() && pinfo.flags.in_error_pkt == 0;
}

// Without memory the analysis ends; the dissection goes on.
const analysis::PacketRecord* tell(const analysis::Frame& frame) {
  try {
    capture.last_frame = frame.number;
    return &capture.analyzer->on_packet(frame);
  } catch (const std::exception&) {
    capture.analyzer.reset();
    return nullptr;
  }
}

}  // namespace

std::uint8_t ecn_of(const Packet& packet, const IcrcCheck& icrc) {
  if (icrc.network_header == nullptr) return 0;
  const auto traffic_class = packet.network_layer == wire::NetworkLayer::ipv4
                                 ? wire::get(icrc.network_header, wire::Ipv4Header::kTrafficClass)
                                 : wire::get(icrc.network_header, wire::Ipv6Header::kTrafficClass);
  return traffic_class & 3;
}

const analysis::Analyzer* analyzer() {
  return capture.analyzer.get();
}

void begin_analysis() {
  end_analysis();
  if (!preferences().analyse) return;
  try {
    capture.analyzer = std::make_unique<analysis::Analyzer>(
        analysis::AnalyzerOptions{.connections = known_connections()});
  } catch (const std::exception&) {
    capture.analyzer.reset();
  }
}

void end_analysis() {
  capture.analyzer.reset();
  capture.last_frame = 0;
}

const analysis::PacketRecord* analyse(const Packet& packet, const IcrcCheck& icrc,
                                      packet_info* pinfo) {
  if (capture.analyzer == nullptr || !is_analysable(packet, *pinfo)) return nullptr;
  if (pinfo->num > capture.last_frame) return tell(frame_of(packet, icrc, *pinfo));
  // Of several packets in a frame, as in a tunnel, the analyzer was told of the first alone.
  if (pinfo->curr_proto_layer_num > 1) return nullptr;
  return capture.analyzer->find(pinfo->num);
}

}  // namespace softrnic::dissector
