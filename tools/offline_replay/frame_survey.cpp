// SPDX-License-Identifier: BSD-3-Clause
#include "offline_replay/frame_survey.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "wire/frame.hpp"
#include "wire/icrc.hpp"

namespace softrnic::offline_replay {
namespace {

using wire::ByteView;
using wire::PacketView;
using wire::Service;

// Hosts that leave checksums to their hardware show wrong ones in captures of their own frames.
constexpr wire::ParseOptions kCaptureOptions{.verify_ipv4_checksum = false};

Packet make_packet(const CapturedFrame& frame, const PacketView& view, std::size_t captured) {
  Packet packet;
  packet.frame = frame.number;
  packet.at = frame.at;
  packet.headers = view.headers();
  packet.opcode = &view.opcode();
  packet.version = view.version();
  packet.source = view.source();
  packet.destination = view.destination();
  packet.source_port = view.version() == wire::RoceVersion::v2 ? view.udp().source_port : 0;
  packet.traffic_class = view.traffic_class();
  const bool over_ipv4 = view.network_layer() == wire::NetworkLayer::ipv4;
  packet.identification = over_ipv4 ? view.ipv4().identification : std::uint16_t{0};
  packet.bytes = ByteView(frame.bytes).first(view.size());
  packet.payload = ByteView(frame.bytes).subspan(view.payload_offset(), view.payload().size());
  packet.captured_payload = std::min(
      packet.payload.size(), captured - std::min<std::size_t>(captured, view.payload_offset()));
  return packet;
}

// Where `out` first differs from the frame, in words.
std::string describe_mismatch(const PacketView& view, ByteView frame, ByteView out) {
  const auto differing = std::mismatch(out.begin(), out.end(), frame.begin());
  const auto offset = static_cast<std::size_t>(differing.first - out.begin());
  if (offset >= view.icrc_offset()) {
    return fmt::format("its ICRC is {:#010x} and should be {:#010x}: every receiver drops it",
                       view.icrc(), view.computed_icrc());
  }
  return fmt::format("byte {} is {:#04x} and is written anew as {:#04x}", offset,
                     std::to_integer<int>(frame[offset]), std::to_integer<int>(out[offset]));
}

class Surveyor {
 public:
  FrameSurvey take(std::vector<CapturedFrame>& frames) {
    survey_.frames = static_cast<std::uint32_t>(frames.size());
    for (CapturedFrame& frame : frames) {
      if (frame.cut()) {
        take_cut(frame);
      } else {
        take_whole(frame);
      }
    }
    return std::move(survey_);
  }

 private:
  void take_whole(const CapturedFrame& frame) {
    const auto view = PacketView::parse(ByteView(frame.bytes), kCaptureOptions);
    if (!view && view.error() == wire::ParseError::not_roce) {
      ++survey_.other;
      return;
    }
    ++survey_.roce;
    if (!view) {
      survey_.failures.push_back({frame.number, std::string(to_string(view.error()))});
      return;
    }
    ++survey_.parsed;
    count_service(view->opcode().service);
    const bool same = reserialises(frame, *view);
    survey_.reserialised += same;
    std::vector<Packet>& list = same ? survey_.packets : survey_.damaged;
    list.push_back(make_packet(frame, *view, frame.bytes.size()));
  }

  bool reserialises(const CapturedFrame& frame, const PacketView& view) {
    out_.resize(view.size());
    const ByteView bytes = ByteView(frame.bytes).first(view.size());
    if (wire::serialize(view, out_) != view.size()) {
      survey_.failures.push_back({frame.number, "it cannot be written anew"});
      return false;
    }
    if (std::equal(out_.begin(), out_.end(), bytes.begin())) return true;
    survey_.failures.push_back({frame.number, describe_mismatch(view, bytes, out_)});
    return false;
  }

  void take_cut(CapturedFrame& frame) {
    const auto cut_view = PacketView::parse(ByteView(frame.bytes), kCaptureOptions);
    if (!cut_view && cut_view.error() == wire::ParseError::not_roce) {
      ++survey_.other;
      return;
    }
    ++survey_.cut;
    const std::size_t captured = frame.bytes.size();
    frame.bytes.resize(frame.wire_size);
    const auto view = PacketView::parse(ByteView(frame.bytes), kCaptureOptions);
    if (!view || view->payload_offset() > captured) {
      ++survey_.cut_in_headers;
      return;
    }
    wire::store_icrc(frame.bytes.data() + view->icrc_offset(), view->computed_icrc());
    count_service(view->opcode().service);
    survey_.packets.push_back(make_packet(frame, *view, captured));
  }

  void count_service(Service service) {
    switch (service) {
      case Service::reliable_connection:
        ++survey_.reliable;
        break;
      case Service::unreliable_connection:
        ++survey_.unreliable;
        break;
      case Service::unreliable_datagram:
        ++survey_.datagrams;
        break;
      case Service::congestion_notification:
        ++survey_.congestion;
        break;
      default:
        ++survey_.extended;
    }
  }

  FrameSurvey survey_;
  std::vector<std::byte> out_;
};

}  // namespace

FrameSurvey survey_frames(std::vector<CapturedFrame>& frames) {
  return Surveyor().take(frames);
}

}  // namespace softrnic::offline_replay
