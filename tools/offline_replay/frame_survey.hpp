// SPDX-License-Identifier: BSD-3-Clause
// Parses every frame of a capture and writes it anew: the check of the wire floor that comes
// before any replay, and the list of packets that replay works on.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "offline_replay/capture_reader.hpp"
#include "wire/gid.hpp"
#include "wire/packet_view.hpp"

namespace softrnic::offline_replay {

// A RoCE packet of the capture. Refers to the frame's bytes and to the opcode table.
struct Packet {
  std::uint32_t frame = 0;
  wire::Instant at;
  wire::TransportHeaders headers;
  const wire::OpcodeInfo* opcode = nullptr;
  wire::RoceVersion version{};
  wire::Gid source;
  wire::Gid destination;
  std::uint16_t source_port = 0;  // 0 for v1
  std::uint8_t traffic_class = 0;
  // IPv4's number of the packet; 0 where there is none. Hosts that count tell in which order they
  // sent, and a repeated number is one packet that the network delivered twice.
  std::uint16_t identification = 0;
  wire::ByteView bytes;    // the frame up to the ICRC's end
  wire::ByteView payload;  // message bytes, without pad
  // Bytes at the payload's front that the capture holds; the rest was cut off and is zeros here.
  std::size_t captured_payload = 0;

  wire::Psn psn() const { return headers.bth.psn; }
  bool is_reliable_connection() const {
    return opcode->service == wire::Service::reliable_connection;
  }
};

struct FrameFailure {
  std::uint32_t frame = 0;
  std::string what;
};

struct FrameSurvey {
  std::uint32_t frames = 0;
  std::uint32_t other = 0;           // not RoCE
  std::uint32_t roce = 0;            // RoCE, whole
  std::uint32_t parsed = 0;          // of these
  std::uint32_t reserialised = 0;    // of these, to the same bytes, ICRC included
  std::uint32_t cut = 0;             // RoCE, cut by the snap length
  std::uint32_t cut_in_headers = 0;  // of these, too short to be replayed at all
  std::uint32_t reliable = 0;        // RC packets, UC, UD, XRC packets, CNPs
  std::uint32_t unreliable = 0;
  std::uint32_t datagrams = 0;
  std::uint32_t extended = 0;
  std::uint32_t congestion = 0;
  std::vector<FrameFailure> failures;  // frames that do not parse or come out otherwise
  std::vector<Packet> packets;         // parsed and with a right ICRC, or cut
  std::vector<Packet> damaged;         // parsed, but not written anew to the same bytes
};

// Frames that were cut get their missing bytes, as zeros, and an ICRC to fit, so that what is left
// of them can be replayed.
FrameSurvey survey_frames(std::vector<CapturedFrame>& frames);

}  // namespace softrnic::offline_replay
