// SPDX-License-Identifier: BSD-3-Clause
#include "replay/recorded_connection.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>

#include "analysis/analyzer.hpp"
#include "capture/packet_reading.hpp"

namespace softrnic::replay {

namespace {

constexpr const char* kNoRoom =
    "there is no room on the disk for the capture's payloads: set "
    "TMPDIR to a folder with as much room as the capture takes";

struct Chunk {
  std::uint64_t offset = 0;  // in its message
  StoredBytes bytes;
};

// What is not settled about an operation while packets of it may come.
struct OpenOperation {
  std::uint32_t message = 0;  // the analyzer's index
  bool ended = false;         // its last packet was seen
  std::vector<Chunk> chunks;  // payload, or a READ's response
};

// Bytes that came in another order than they stand in the message, or not all.
struct Scattered {
  std::uint32_t operation = 0;
  std::uint8_t side = 0;
  std::vector<Chunk> chunks;
};

void count_reads(RecordedSide& side) {
  std::vector<std::uint32_t> before{0};
  for (const RecordedOperation& operation : side.operations) {
    before.push_back(before.back() + (operation.is_read() || operation.is_atomic() ? 1 : 0));
    side.most_reads = std::max(side.most_reads, before.back() - before[operation.own_completed]);
  }
}

class Recorder {
 public:
  explicit Recorder(const ChosenConnection& chosen);

  // False when the disk is full.
  bool on_frame(const analysis::Frame& frame);
  std::optional<std::string> finish();
  RecordedConnection take() { return std::move(result_); }

 private:
  struct Side {
    std::uint32_t base = 0;    // operations before the analyzer's present stream
    std::uint32_t done = 0;    // completed, from the first on
    std::uint32_t spoken = 0;  // whole messages it sent
    wire::Instant done_at{};
    wire::Instant spoken_at{};
    std::vector<std::int32_t> places;  // relative PSN of each operation
    std::unordered_map<std::uint32_t, OpenOperation> open;
  };

  analysis::AnalyzerOptions options(const ChosenConnection& chosen);
  // 0 or 1; nothing for a frame of another connection.
  std::optional<std::uint8_t> sender_of(const analysis::Frame& frame) const;
  bool on_request(std::uint8_t from, const analysis::Frame& frame,
                  const analysis::PacketRecord& record);
  bool on_response(std::uint8_t to, const analysis::Frame& frame,
                   const analysis::PacketRecord& record);
  std::optional<std::uint32_t> operation_of(std::uint8_t side, const analysis::Message& message);
  void begin(std::uint8_t from, const analysis::Frame& frame, const analysis::PacketRecord& record);
  void read_headers(RecordedOperation& operation, const analysis::Frame& frame);
  bool keep(OpenOperation& open, const analysis::Frame& frame, std::uint64_t offset);
  void advance(std::uint8_t side, wire::Instant at);
  void settle(const analysis::Message& message);
  void settle(std::uint8_t side, std::uint32_t index, OpenOperation open,
              const analysis::Message& message);
  void place_payload(std::uint8_t side, std::uint32_t index, std::vector<Chunk> chunks);
  bool gather_scattered();
  void drop_incomplete(std::uint8_t side);

  RecordedConnection result_;
  std::array<Side, 2> sides_;
  std::array<std::vector<bool>, 2> incomplete_;
  std::vector<Scattered> scattered_;
  std::unordered_map<std::uint32_t, std::uint8_t> partial_;  // by first frame: whose
  std::uint32_t stream_ = analysis::kNone;
  std::uint32_t largest_payload_ = 0;
  analysis::Analyzer analyzer_;
};

Recorder::Recorder(const ChosenConnection& chosen) : analyzer_(options(chosen)) {
  result_.chosen = chosen;
  for (const std::uint8_t which : {std::uint8_t{0}, std::uint8_t{1}}) {
    result_.sides[which].address = chosen.side(which).address;
    result_.sides[which].qpn = chosen.side(which).qpn;
  }
  result_.path_mtu = chosen.stream.path_mtu;
  result_.path_mtu_known = chosen.stream.path_mtu != 0;
}

// The first reading found out what is what, so that the second knows it from the first packet on.
analysis::AnalyzerOptions Recorder::options(const ChosenConnection& chosen) {
  analysis::AnalyzerOptions options;
  options.forgets = true;
  options.message_gone = [this](const analysis::Message& message) { settle(message); };
  if (chosen.side(0).qpn != analysis::kUnknownQpn && chosen.side(1).qpn != analysis::kUnknownQpn) {
    analysis::KnownConnection known;
    for (const std::uint8_t which : {std::uint8_t{0}, std::uint8_t{1}}) {
      known.address[which] = chosen.side(which).address;
      known.qpn[which] = chosen.side(which).qpn;
    }
    known.path_mtu = chosen.stream.path_mtu;
    options.connections.push_back(known);
  }
  return options;
}

std::optional<std::uint8_t> Recorder::sender_of(const analysis::Frame& frame) const {
  const ChosenConnection& chosen = result_.chosen;
  if (frame.opcode->service != chosen.stream.service || frame.version != chosen.stream.version ||
      frame.number < chosen.stream.first_frame || frame.number > chosen.stream.last_frame) {
    return {};
  }
  for (const std::uint8_t from : {std::uint8_t{0}, std::uint8_t{1}}) {
    const analysis::StreamSide& to = chosen.side(1 - from);
    if (frame.source == chosen.side(from).address && frame.destination == to.address &&
        frame.headers.bth.destination_qpn == to.qpn) {
      return from;
    }
  }
  return {};
}

bool Recorder::on_frame(const analysis::Frame& frame) {
  if (frame.icrc == analysis::IcrcVerdict::bad) return true;  // its receiver dropped it
  const auto from = sender_of(frame);
  if (!from) return true;
  ++result_.frames;
  const analysis::PacketRecord& record = analyzer_.on_packet(frame);
  if (record.stream != stream_) {
    for (Side& side : sides_) {
      side.base = static_cast<std::uint32_t>(side.places.size());
      side.done = side.base;
    }
    stream_ = record.stream;
  }
  return frame.opcode->is_response() ? on_response(1 - *from, frame, record)
                                     : on_request(*from, frame, record);
}

// Which operation of its side; nothing when its beginning is not in the capture.
std::optional<std::uint32_t> Recorder::operation_of(std::uint8_t side,
                                                    const analysis::Message& message) {
  if (message.number == 0 || message.stream != stream_) return {};
  const std::uint32_t index = sides_[side].base + message.number - 1;
  if (index >= sides_[side].places.size()) return {};
  return index;
}

void Recorder::read_headers(RecordedOperation& operation, const analysis::Frame& frame) {
  const wire::TransportHeaders& headers = frame.headers;
  const wire::OpcodeInfo& opcode = *frame.opcode;
  if (frame.headers_cut) return;
  if (opcode.has(wire::kReth)) {
    operation.remote_address = headers.reth.virtual_address;
    operation.remote_key = headers.reth.remote_key;
    operation.length = headers.reth.dma_length;
  }
  if (opcode.has(wire::kAtomicEth)) {
    operation.remote_address = headers.atomic_eth.virtual_address;
    operation.remote_key = headers.atomic_eth.remote_key;
    operation.swap_add = headers.atomic_eth.swap_add;
    operation.compare = headers.atomic_eth.compare;
    operation.length = 8;
  }
  if (opcode.has(wire::kFeth)) {
    operation.whole_region = headers.feth.selectivity == wire::Feth::kWholeRegion;
    operation.placement = headers.feth.placement_type;
  }
}

void Recorder::begin(std::uint8_t from, const analysis::Frame& frame,
                     const analysis::PacketRecord& record) {
  Side& side = sides_[from];
  const Side& other = sides_[1 - from];
  RecordedOperation operation;
  operation.first_frame = frame.number;
  operation.at = frame.time;
  operation.first_psn = frame.headers.bth.psn;
  operation.operation = frame.opcode->operation;
  operation.own_completed = side.done;
  operation.completed_at = side.done_at;
  operation.heard = other.spoken;
  operation.heard_at = other.spoken_at;
  read_headers(operation, frame);
  const auto index = static_cast<std::uint32_t>(side.places.size());
  side.open.emplace(index, OpenOperation{record.message, false, {}});
  side.places.push_back(record.relative_psn);
  incomplete_[from].push_back(false);
  std::vector<RecordedOperation>& operations = result_.sides[from].operations;
  operations.push_back(operation);
  result_.sides[from].most_outstanding =
      std::max(result_.sides[from].most_outstanding, index + 1 - side.done);
}

bool Recorder::on_request(std::uint8_t from, const analysis::Frame& frame,
                          const analysis::PacketRecord& record) {
  Side& side = sides_[from];
  if (record.message == analysis::kNone) return true;
  const analysis::Message& message = analyzer_.message(record.message);
  if (message.number == 0) {
    // Its beginning is not in the capture, or yet to come: settle() will tell.
    partial_.emplace(message.first_frame, from);
    return true;
  }
  if (side.base + message.number > side.places.size()) begin(from, frame, record);
  const auto index = operation_of(from, message);
  if (!index) return true;
  const auto open = side.open.find(*index);
  if (open == side.open.end()) return true;
  RecordedOperation& operation = result_.sides[from].operations[*index];
  if (frame.opcode->ends_message() && !open->second.ended) {
    open->second.ended = true;
    ++side.spoken;
    side.spoken_at = frame.time;
  }
  operation.solicited = operation.solicited || frame.headers.bth.solicited;
  if (!operation.carries_payload() || record.repeats_payload) return true;
  largest_payload_ = std::max(largest_payload_, frame.payload_size);
  return keep(open->second, frame, record.message_offset);
}

bool Recorder::on_response(std::uint8_t to, const analysis::Frame& frame,
                           const analysis::PacketRecord& record) {
  Side& side = sides_[to];
  bool room = true;
  if (record.message != analysis::kNone) {
    const auto index = operation_of(to, analyzer_.message(record.message));
    const auto open = index ? side.open.find(*index) : side.open.end();
    if (open != side.open.end()) {
      RecordedOperation& operation = result_.sides[to].operations[*index];
      const wire::Syndrome syndrome =
          frame.opcode->has(wire::kAeth) ? frame.headers.aeth.syndrome : wire::Syndrome::ack();
      if (syndrome.is_rnr_nak() && operation.rnr_naks != 0xff) ++operation.rnr_naks;
      if (syndrome.is_nak() && syndrome != wire::Syndrome::nak(wire::NakCode::psn_sequence_error)) {
        operation.refusal = syndrome;
      }
      if (frame.opcode->operation == wire::Operation::atomic_acknowledge && operation.is_atomic() &&
          !operation.has_response) {
        operation.has_response = true;
        operation.original = frame.headers.atomic_ack_eth.original;
      }
      if (operation.is_read() && frame.opcode->operation == wire::Operation::read_response &&
          !record.repeats_payload) {
        largest_payload_ = std::max(largest_payload_, frame.payload_size);
        room = keep(open->second, frame, record.message_offset);
      }
    }
  }
  advance(to, frame.time);
  return room;
}

bool Recorder::keep(OpenOperation& open, const analysis::Frame& frame, std::uint64_t offset) {
  if (frame.payload.empty()) return true;
  const auto at = result_.store.append(frame.payload);
  if (!at) return false;
  const auto size = static_cast<std::uint32_t>(frame.payload.size());
  Chunk* last = open.chunks.empty() ? nullptr : &open.chunks.back();
  if (last != nullptr && last->offset + last->bytes.size == offset &&
      last->bytes.at + last->bytes.size == *at) {
    last->bytes.size += size;
  } else {
    open.chunks.push_back({offset, {*at, size}});
  }
  return true;
}

void Recorder::advance(std::uint8_t which, wire::Instant at) {
  Side& side = sides_[which];
  while (side.done < side.places.size()) {
    const auto open = side.open.find(side.done);
    if (open != side.open.end()) {
      const analysis::MessageState state = analyzer_.message(open->second.message).state;
      if (state == analysis::MessageState::open || state == analysis::MessageState::refused) return;
    }
    ++side.done;
    side.done_at = at;
  }
}

// The analyzer lets go of a message: nothing can change it any more.
void Recorder::settle(const analysis::Message& message) {
  if (const auto partial = partial_.find(message.first_frame); partial != partial_.end()) {
    // One whose beginning came later has given its packets to that.
    if (message.packets != 0) ++result_.sides[partial->second].left_out;
    partial_.erase(partial);
    return;
  }
  for (const std::uint8_t side : {std::uint8_t{0}, std::uint8_t{1}}) {
    const auto index = operation_of(side, message);
    if (!index) continue;
    const auto open = sides_[side].open.find(*index);
    if (open == sides_[side].open.end() ||
        result_.sides[side].operations[*index].first_frame != message.first_frame) {
      continue;
    }
    OpenOperation last = std::move(open->second);
    sides_[side].open.erase(open);
    settle(side, *index, std::move(last), message);
    return;
  }
}

void Recorder::settle(std::uint8_t side, std::uint32_t index, OpenOperation open,
                      const analysis::Message& message) {
  RecordedOperation& operation = result_.sides[side].operations[index];
  operation.psn_count = message.psn_count;
  operation.has_immediate = message.has_immediate;
  operation.immediate = message.immediate;
  operation.has_invalidate = message.has_invalidate;
  operation.invalidated_key = message.invalidated_key;
  const bool announced = operation.has_key();
  if (!announced) operation.length = message.length;
  if (operation.operation == wire::Operation::atomic_write) operation.length = 8;
  if (operation.is_read()) operation.has_response = message.whole;
  const bool refused = message.state == analysis::MessageState::refused;
  if (message.headers_cut || (!open.ended && !(refused && announced))) {
    incomplete_[side][index] = true;
    return;
  }
  if (operation.carries_payload() || operation.is_read()) {
    place_payload(side, index, std::move(open.chunks));
  }
}

void Recorder::place_payload(std::uint8_t side, std::uint32_t index, std::vector<Chunk> chunks) {
  RecordedOperation& operation = result_.sides[side].operations[index];
  std::sort(chunks.begin(), chunks.end(),
            [](const Chunk& a, const Chunk& b) { return a.offset < b.offset; });
  std::uint64_t covered = 0;
  for (const Chunk& chunk : chunks) {
    const std::uint64_t end =
        std::min<std::uint64_t>(chunk.offset + chunk.bytes.size, operation.length);
    const std::uint64_t begin = std::min(chunk.offset, end);
    covered += end - begin;
  }
  operation.unknown = static_cast<std::uint32_t>(
      operation.length - std::min<std::uint64_t>(covered, operation.length));
  if (operation.length == 0) return;
  if (chunks.size() == 1 && chunks[0].offset == 0 && chunks[0].bytes.size == operation.length) {
    operation.payload = chunks[0].bytes;
    return;
  }
  scattered_.push_back({index, side, std::move(chunks)});
}

bool Recorder::gather_scattered() {
  std::uint64_t total = 0;
  for (const Scattered& scattered : scattered_) {
    total += result_.sides[scattered.side].operations[scattered.operation].length;
  }
  if (total == 0) return true;
  auto at = result_.store.append_zeros(total);
  if (!at) return false;
  const std::span<std::byte> bytes = result_.store.bytes();
  if (bytes.empty()) return false;
  for (const Scattered& scattered : scattered_) {
    RecordedOperation& operation = result_.sides[scattered.side].operations[scattered.operation];
    operation.payload = {*at, operation.length};
    for (const Chunk& chunk : scattered.chunks) {
      if (chunk.offset >= operation.length) continue;
      const std::size_t n =
          std::min<std::uint64_t>(chunk.bytes.size, operation.length - chunk.offset);
      const auto from = bytes.subspan(chunk.bytes.at, n);
      std::copy(from.begin(), from.end(),
                bytes.begin() + static_cast<std::ptrdiff_t>(*at + chunk.offset));
    }
    *at += operation.length;
  }
  return true;
}

// Leaves out what the capture has too little of, and puts the rest in the order of PSNs.
void Recorder::drop_incomplete(std::uint8_t which) {
  RecordedSide& side = result_.sides[which];
  const std::vector<std::int32_t>& places = sides_[which].places;
  std::vector<std::uint32_t> order(places.size());
  for (std::uint32_t i = 0; i < order.size(); ++i) order[i] = i;
  std::stable_sort(order.begin(), order.end(),
                   [&](std::uint32_t a, std::uint32_t b) { return places[a] < places[b]; });
  std::vector<RecordedOperation> kept;
  kept.reserve(order.size());
  wire::Instant latest{};
  for (const std::uint32_t i : order) {
    if (incomplete_[which][i]) {
      ++side.left_out;
      continue;
    }
    RecordedOperation operation = side.operations[i];
    // What was completed or heard can only be of those that are there.
    operation.own_completed =
        std::min(operation.own_completed, static_cast<std::uint32_t>(kept.size()));
    operation.at = latest = std::max(latest, operation.at);
    kept.push_back(operation);
  }
  side.operations = std::move(kept);
  count_reads(side);
  if (!side.operations.empty()) side.first_psn = side.operations.front().first_psn;
}

std::optional<std::string> Recorder::finish() {
  analyzer_.finish();
  if (!gather_scattered()) return kNoRoom;
  for (const std::uint8_t which : {std::uint8_t{0}, std::uint8_t{1}}) {
    // Whatever the analyzer did not say farewell to.
    for (auto& [index, open] : sides_[which].open) incomplete_[which][index] = true;
    drop_incomplete(which);
  }
  if (result_.path_mtu == 0) {
    result_.path_mtu = 256;
    while (result_.path_mtu < largest_payload_ && result_.path_mtu < 4096) result_.path_mtu *= 2;
    result_.path_mtu = std::max(result_.path_mtu, 1024u);
  }
  return {};
}

}  // namespace

wire::Expected<RecordedConnection, std::string> record_connection(const std::string& path,
                                                                  const ConnectionChoice& choice,
                                                                  const OnRecord& on_record) {
  if (path == "-") {
    return wire::Unexpected{
        std::string("a pipe cannot be replayed to a link, it is read twice: give a file")};
  }
  auto chosen = find_connection(path, choice, on_record);
  if (!chosen) return wire::Unexpected{chosen.error()};
  auto file = capture::CaptureFile::open(path);
  if (!file) return wire::Unexpected{file.error()};
  Recorder recorder(*chosen);
  while (const capture::Record* record = file->next()) {
    if (on_record && !on_record(*file, *record)) return wire::Unexpected{std::string(kInterrupted)};
    const capture::PacketReading reading = capture::read_packet(file->link_type(), *record);
    if (!reading.analysable()) continue;
    if (!recorder.on_frame(reading.frame)) return wire::Unexpected{std::string(kNoRoom)};
  }
  if (!file->damage().empty()) return wire::Unexpected{file->damage()};
  if (auto error = recorder.finish()) return wire::Unexpected{*error};
  return recorder.take();
}

}  // namespace softrnic::replay
