// SPDX-License-Identifier: BSD-3-Clause
#include "replay/dialogue.hpp"

#include <algorithm>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "capture/packet_reading.hpp"

namespace softrnic::replay {

namespace {

std::uint64_t digest_of(wire::ByteView bytes) {
  return std::hash<std::string_view>{}({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
}

// Operands as one number, the same for the same operands.
std::uint64_t digest_of(const wire::AtomicEth& atomic) {
  constexpr std::uint64_t kOdd = 0x9e3779b97f4a7c15;
  return (atomic.swap_add * kOdd) ^ ((atomic.compare + 1) * (kOdd << 1 | 1));
}

constexpr std::uint32_t kManagementQp = 1;

}  // namespace

bool DialogueConnection::is_management() const {
  return stream.sides[0].qpn == kManagementQp || stream.sides[1].qpn == kManagementQp;
}

wire::Expected<Dialogue, std::string> Dialogue::read(const std::string& path,
                                                     const OnRecord& on_record) {
  auto file = capture::CaptureFile::open(path);
  if (!file) return wire::Unexpected{file.error()};
  Dialogue dialogue;
  analysis::Analyzer analyzer;
  std::vector<MalformedPacket> malformed;
  while (const capture::Record* record = file->next()) {
    ++dialogue.frames_;
    if (on_record && !on_record(*file, *record)) {
      return wire::Unexpected{std::string("interrupted while the capture was read")};
    }
    const capture::PacketReading reading = capture::read_packet(file->link_type(), *record);
    if (!reading.is_roce()) continue;
    ++dialogue.roce_packets_;
    if (reading.analysable()) {
      dialogue.add(analyzer, reading.frame, analyzer.on_packet(reading.frame));
    } else if (reading.fault != capture::HeaderFault::none) {
      malformed.push_back({record->number, record->at, reading.frame.source,
                           reading.frame.destination, capture::sentence(reading)});
    }
  }
  if (!file->damage().empty()) return wire::Unexpected{file->damage()};
  dialogue.build(analyzer, std::move(malformed));
  return dialogue;
}

void Dialogue::add(const analysis::Analyzer& analyzer, const analysis::Frame& frame,
                   const analysis::PacketRecord& record) {
  DialoguePacket packet;
  packet.frame = frame.number;
  packet.at = frame.time;
  packet.opcode = frame.opcode->opcode;
  packet.sender = record.sender;
  packet.repetition = record.repetition;
  packet.spoilt = frame.icrc == analysis::IcrcVerdict::bad;
  packet.repeats_payload = record.repeats_payload;
  packet.psn = frame.headers.bth.psn.value();
  packet.relative_psn = record.relative_psn;
  packet.message = record.message;
  packet.message_offset = record.message_offset;
  packet.payload_size = frame.payload_size;
  packet.whole = frame.payload.size() == frame.payload_size;
  if (frame.opcode->has(wire::kAeth)) {
    packet.syndrome = frame.headers.aeth.syndrome;
    packet.msn = frame.headers.aeth.msn;
  }
  packet.value = frame.headers.atomic_ack_eth.original;
  packet.digest = frame.opcode->has(wire::kAtomicEth) ? digest_of(frame.headers.atomic_eth)
                                                      : digest_of(frame.payload);
  if (packet.whole && bytes_.size() + frame.payload.size() <= kMostBytes) {
    packet.payload_begin = bytes_.size();
    packet.payload_kept = static_cast<std::uint32_t>(frame.payload.size());
    bytes_.insert(bytes_.end(), frame.payload.begin(), frame.payload.end());
  }
  const auto findings = analyzer.findings(record);
  packet.first_finding = static_cast<std::uint32_t>(findings_.size());
  packet.finding_count = static_cast<std::uint32_t>(findings.size());
  findings_.insert(findings_.end(), findings.begin(), findings.end());
  packets_.push_back(packet);
  stream_of_.push_back(record.stream);
}

// Messages in the order of their PSNs: one that was lost before the point of capture is seen when
// it is sent again, behind others. Returns where each has its place.
std::vector<std::uint32_t> Dialogue::place_messages(const analysis::Analyzer& analyzer) {
  struct Position {
    std::int64_t psn = 0;  // without a wrap
    std::uint32_t index = 0;
  };
  std::vector<std::array<std::vector<Position>, 2>> positions(connections_.size());
  for (std::uint32_t i = 0; i < analyzer.message_count(); ++i) {
    const analysis::Message& message = analyzer.message(i);
    if (message.stream >= connections_.size() || message.came_to_nothing()) continue;
    auto& list = positions[message.stream][message.requester];
    Position position{0, i};
    if (!list.empty()) {
      const wire::Psn last(analyzer.message(list.back().index).first_psn);
      position.psn = list.back().psn + wire::Psn(message.first_psn).since(last);
    }
    list.push_back(position);
  }
  std::vector<std::uint32_t> place(analyzer.message_count(), kNone);
  for (std::uint32_t stream = 0; stream < connections_.size(); ++stream) {
    for (const std::size_t side : {std::size_t{0}, std::size_t{1}}) {
      auto& list = positions[stream][side];
      std::stable_sort(list.begin(), list.end(),
                       [](const Position& a, const Position& b) { return a.psn < b.psn; });
      for (const Position& position : list) {
        auto& messages = connections_[stream].messages[side];
        place[position.index] = static_cast<std::uint32_t>(messages.size());
        messages.push_back({analyzer.message(position.index), {}, {}});
      }
    }
  }
  return place;
}

// Sorts packets and messages by connection, and says which packets are a message's.
void Dialogue::build(const analysis::Analyzer& analyzer, std::vector<MalformedPacket> malformed) {
  connections_.resize(analyzer.stream_count());
  for (std::uint32_t i = 0; i < connections_.size(); ++i) {
    connections_[i].stream = analyzer.stream(i);
  }
  const std::vector<std::uint32_t> place = place_messages(analyzer);
  for (std::size_t i = 0; i < packets_.size(); ++i) {
    if (stream_of_[i] >= connections_.size()) continue;
    DialogueConnection& connection = connections_[stream_of_[i]];
    DialoguePacket& packet = packets_[i];
    const std::uint32_t message = packet.message;
    packet.message = kNone;
    const auto index = static_cast<std::uint32_t>(connection.packets.size());
    const bool placed = message != kNone && place[message] != kNone;
    if (placed && analyzer.message(message).stream == stream_of_[i]) {
      packet.message = place[message];
      DialogueMessage& of =
          connection.messages[analyzer.message(message).requester][place[message]];
      (packet.is_answer() ? of.answers : of.requests).push_back(index);
    }
    connection.packets.push_back(packet);
  }
  for (MalformedPacket& packet : malformed) {
    const auto owner =
        std::find_if(connections_.begin(), connections_.end(), [&](const auto& connection) {
          const auto& sides = connection.stream.sides;
          const bool there =
              sides[0].address == packet.source && sides[1].address == packet.destination;
          const bool back =
              sides[1].address == packet.source && sides[0].address == packet.destination;
          return !connection.is_management() && (there || back);
        });
    if (owner != connections_.end()) owner->malformed.push_back(std::move(packet));
  }
  packets_ = {};
  stream_of_ = {};
}

}  // namespace softrnic::replay
