// SPDX-License-Identifier: BSD-3-Clause
// A dialogue: what a capture holds of its connections, packet by packet and message by message,
// kept so that another dialogue can be laid beside it.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "analysis/analyzer.hpp"
#include "capture/capture_file.hpp"
#include "wire/expected.hpp"

namespace softrnic::replay {

using analysis::kNone;

struct DialoguePacket {
  std::uint32_t frame = 0;
  wire::Instant at;
  wire::Opcode opcode{};
  wire::Syndrome syndrome;  // of an AETH, as is the MSN
  std::uint8_t sender = 0;  // side of the connection
  std::uint8_t repetition = 0;
  bool spoilt = false;           // its ICRC is wrong: dropped by its receiver
  bool repeats_payload = false;  // seen before
  bool whole = true;             // all of the payload was captured
  std::uint32_t msn = 0;
  std::uint32_t psn = 0;
  std::int32_t relative_psn = 0;  // from the first PSN seen of its number space
  std::uint32_t message = kNone;  // index in the sender's or, for an answer, the other's messages
  std::uint32_t message_offset = 0;
  std::uint32_t payload_size = 0;
  std::uint64_t digest = 0;  // of the payload, or of an atomic's operands
  std::uint64_t value = 0;   // that an atomic response returns
  std::size_t payload_begin = 0;
  std::uint32_t payload_kept = 0;  // bytes from there on
  std::uint32_t first_finding = 0;
  std::uint32_t finding_count = 0;

  const wire::OpcodeInfo& info() const { return wire::info(opcode); }
  bool is_answer() const { return info().is_response(); }
};

struct DialogueMessage {
  analysis::Message facts;
  std::vector<std::uint32_t> requests;  // packets
  std::vector<std::uint32_t> answers;   // packets that answer it, and not only one behind it
};

// A RoCE frame whose headers are wrong, so that its receiver drops it.
struct MalformedPacket {
  std::uint32_t frame = 0;
  wire::Instant at;
  wire::Gid source;
  wire::Gid destination;
  std::string sentence;
};

struct DialogueConnection {
  analysis::Stream stream;
  std::vector<DialoguePacket> packets;
  std::array<std::vector<DialogueMessage>, 2> messages;  // [i]: what side i asked
  std::vector<MalformedPacket> malformed;

  // Of the connection manager or the subnet's: queue pair 1.
  bool is_management() const;
  std::size_t message_count() const { return messages[0].size() + messages[1].size(); }
};

class Dialogue {
 public:
  // Called with each record that is read; false: give up.
  using OnRecord = std::function<bool(const capture::CaptureFile&, const capture::Record&)>;

  // "-" is standard input. The error is one sentence.
  static wire::Expected<Dialogue, std::string> read(const std::string& path,
                                                    const OnRecord& on_record = {});

  const std::vector<DialogueConnection>& connections() const { return connections_; }
  std::uint64_t frames() const { return frames_; }
  std::uint64_t roce_packets() const { return roce_packets_; }

  // What was captured of a packet's payload and kept.
  wire::ByteView payload(const DialoguePacket& packet) const {
    return wire::ByteView(bytes_).subspan(packet.payload_begin, packet.payload_kept);
  }
  std::span<const analysis::Finding> findings(const DialoguePacket& packet) const {
    return std::span(findings_).subspan(packet.first_finding, packet.finding_count);
  }

 private:
  // Payload beyond this is not kept: of it only a digest is compared.
  static constexpr std::size_t kMostBytes = std::size_t{256} << 20;

  void add(const analysis::Analyzer& analyzer, const analysis::Frame& frame,
           const analysis::PacketRecord& record);
  std::vector<std::uint32_t> place_messages(const analysis::Analyzer& analyzer);
  void build(const analysis::Analyzer& analyzer, std::vector<MalformedPacket> malformed);

  std::vector<DialogueConnection> connections_;
  std::vector<std::byte> bytes_;
  std::vector<analysis::Finding> findings_;
  std::uint64_t frames_ = 0;
  std::uint64_t roce_packets_ = 0;
  std::vector<std::uint32_t> stream_of_;  // of each packet until they are sorted by connection
  std::vector<DialoguePacket> packets_;
};

}  // namespace softrnic::replay
