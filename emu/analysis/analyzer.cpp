// SPDX-License-Identifier: BSD-3-Clause
#include "analysis/analyzer.hpp"

#include <algorithm>
#include <limits>

#include "analysis/cm_exchange.hpp"
#include "analysis/congestion.hpp"
#include "analysis/forgetting.hpp"
#include "analysis/ledger.hpp"
#include "analysis/message_tracker.hpp"
#include "analysis/request_sequence.hpp"
#include "analysis/response_sequence.hpp"
#include "analysis/stream_table.hpp"

namespace softrnic::analysis {

namespace {

using wire::Service;

// Where the record of a frame is: pages of frame numbers, made as they come up, as a capture may
// hold little RoCE.
class FrameIndex {
 public:
  void set(std::uint32_t frame, std::uint32_t record) {
    const std::size_t page = frame >> kBits;
    if (page >= pages_.size()) pages_.resize(page + 1);
    if (pages_[page] == nullptr) {
      pages_[page] = std::make_unique<std::uint32_t[]>(kPage);
      std::fill_n(pages_[page].get(), kPage, kNone);
      bytes_ += kPage * sizeof(std::uint32_t);
    }
    std::uint32_t& place = pages_[page][frame & (kPage - 1)];
    if (place == kNone) place = record;
  }

  std::uint32_t find(std::uint32_t frame) const {
    const std::size_t page = frame >> kBits;
    if (page >= pages_.size() || pages_[page] == nullptr) return kNone;
    return pages_[page][frame & (kPage - 1)];
  }

  std::size_t memory() const { return bytes_ + pages_.capacity() * sizeof(pages_[0]); }

 private:
  static constexpr unsigned kBits = 12;
  static constexpr std::size_t kPage = std::size_t{1} << kBits;
  std::vector<std::unique_ptr<std::uint32_t[]>> pages_;
  std::size_t bytes_ = 0;
};

void count_packet(Stream& stream, const Frame& frame, std::uint8_t sender) {
  StreamSide& side = stream.sides[sender];
  if (stream.first_frame == 0) {
    stream.first_frame = frame.number;
    stream.first_time = frame.time;
  }
  stream.last_frame = frame.number;
  stream.last_time = frame.time;
  ++side.packets;
  if (frame.ecn != 0) ++side.ecn_capable;
  if (frame.ecn == 3) ++side.ecn_marked;
}

}  // namespace

struct Analyzer::State {
  explicit State(AnalyzerOptions& options)
      : ledger(options.forgets, std::move(options.message_gone)),
        streams(options),
        forgetting(options.remembered, ledger, streams) {}

  void on_packet(Observation& o, Direction& d, std::uint32_t direction);
  void on_request(Observation& o, Direction& d, std::uint32_t direction);
  void on_response(Observation& o, Direction& d);
  void on_response(Observation& o, NumberSpace& n);
  void on_datagram(Observation& o, Direction& d);
  void on_cm_message(Observation& o);
  void on_cnp(Observation& o, Direction& d);
  void on_bad_icrc(Observation& o, Direction& d);
  void expect_answer(Observation& o, Direction& d, const SentPacket& packet);
  void expect_data(NumberSpace& n, const SentPacket& packet);
  void show_flight(Observation& o, const NumberSpace& n);
  void check_credits(Observation& o, NumberSpace& n);
  void restart(std::uint32_t direction, const Frame& frame);

  Ledger ledger;
  FrameIndex frames;
  StreamTable streams;
  CmExchange connections;
  Congestion congestion;
  Forgetting forgetting;
};

Analyzer::Analyzer(AnalyzerOptions options) : state_(std::make_unique<State>(options)) {}

Analyzer::~Analyzer() = default;

void Analyzer::prefetch(const Frame& frame, Foreseen& foreseen, unsigned step) const {
  state_->streams.prefetch(frame, foreseen, step);
}

const PacketRecord& Analyzer::on_packet(const Frame& frame, const Foreseen& foreseen) {
  State& s = *state_;
  const std::uint32_t direction = s.streams.direction_of(frame, foreseen);
  Direction& d = s.streams.direction(direction);
  PacketRecord record;
  record.time = frame.time;
  record.frame = frame.number;
  const std::uint32_t index = s.ledger.add(record);
  if (!s.ledger.forgets()) s.frames.set(frame.number, index);

  bool restarted = false;
  if (frame.icrc != IcrcVerdict::bad && !frame.opcode->is_response() &&
      d.service != Service::unreliable_datagram && d.service != Service::congestion_notification) {
    const Observation probe{frame, s.ledger, s.streams.stream(d.stream), index,
                            s.ledger.record(index)};
    restarted = RequestSequence(d.numbers(), d.is_reliable()).restarts(probe);
    if (restarted) s.restart(direction, frame);
  }
  Observation o{frame, s.ledger, s.streams.stream(d.stream), index, s.ledger.record(index)};
  o.record.stream = d.stream;
  o.record.sender = d.side;
  o.record.previous_frame = o.stream.last_frame;
  count_packet(o.stream, frame, d.side);
  if (restarted) o.find(FindingKind::connection_restarted);
  s.on_packet(o, d, direction);
  if (s.ledger.forgets()) s.forgetting.on_packet(frame.opcode->is_response() ? d.peer : direction);
  return o.record;
}

void Analyzer::State::restart(std::uint32_t direction, const Frame& frame) {
  const Direction& d = streams.direction(direction);
  const Direction* peer = streams.peer(d);
  if (d.requests != nullptr) forgetting.forget(*d.requests);
  if (peer != nullptr && peer->requests != nullptr) forgetting.forget(*peer->requests);
  streams.restart(direction, frame);
}

void Analyzer::State::on_packet(Observation& o, Direction& d, std::uint32_t direction) {
  if (o.frame.icrc == IcrcVerdict::bad) {
    on_bad_icrc(o, d);
    return;
  }
  if (o.frame.opcode->service == Service::congestion_notification) {
    on_cnp(o, d);
    return;
  }
  if (d.service == Service::unreliable_datagram) {
    on_datagram(o, d);
  } else if (o.frame.opcode->is_response()) {
    on_response(o, d);
  } else {
    on_request(o, d, direction);
  }
  congestion.on_packet(o, d.flow);
}

// --- requests ---

void Analyzer::State::on_request(Observation& o, Direction& d, std::uint32_t direction) {
  const bool reliable = d.is_reliable();
  NumberSpace& n = d.numbers();
  ++o.sender().requests;
  RequestSequence sequence(n, reliable);
  const bool fresh = !n.begun || !o.psn().before(n.next);
  const RequestSequence::Place place = sequence.place(o);
  o.record.relative_psn = n.relative(o.psn());
  MessageTracker(n, reliable).on_request(o, place);
  if (!o.record.repeats_payload) o.sender().bytes += o.frame.payload_size;
  if (!reliable) return;
  if (place.first_seen) {
    expect_answer(o, d, *place.packet);
    check_credits(o, n);
  }
  const Recovery& past = *n.recovery;
  if (fresh && past.error_frame != 0 && o.frame.time - past.error_time > kReaction) {
    o.find(FindingKind::request_after_error, past.error_frame);
  }
  show_flight(o, n);
  streams.await_answer(direction, o.psn());
}

void Analyzer::State::check_credits(Observation& o, NumberSpace& n) {
  const std::uint32_t beyond = n.credits.on_request(*o.frame.opcode);
  if (beyond != 0) o.find(FindingKind::credits_exhausted, 0, n.credits.limit_msn(), beyond);
}

void Analyzer::State::expect_answer(Observation& o, Direction& d, const SentPacket& packet) {
  NumberSpace& n = d.numbers();
  if (packet.psn.before(n.unacknowledged)) return;
  if (n.outstanding.size() == PsnHistory<SentPacket>::kBound) {
    n.bytes_in_flight -= n.outstanding.front().bytes;
    n.outstanding.pop_front();
  }
  const OutstandingPacket waits{packet.psn, packet.psn_count, packet.payload_size};
  n.outstanding.insert(waits, kSortDepth,
                       [](const auto& a, const auto& b) { return a.psn.before(b.psn); });
  n.bytes_in_flight += packet.payload_size;
  if (!o.frame.opcode->awaits_response()) return;
  expect_data(n, packet);
  if (n.acknowledged && n.reads_outstanding > d.reads_allowed) {
    o.find(FindingKind::too_many_outstanding, 0, n.reads_outstanding, d.reads_allowed);
  }
}

void Analyzer::State::expect_data(NumberSpace& n, const SentPacket& packet) {
  const auto is_old = [&](const ReadRequest& read) {
    const std::int32_t behind = n.next.since(read.first);
    return behind < 0 || behind > wire::Psn::kWindow / 2;
  };
  while (!n.reads.empty() &&
         (is_old(n.reads.front()) || n.reads.size() >= PsnHistory<SentPacket>::kBound ||
          (n.reads.front().finished && n.reads.size() > n.reads_outstanding + kFinishedReads))) {
    ledger.messages.release(n.drop_read());
  }
  ReadRequest read;
  read.first = read.next_response = packet.psn;
  read.psn_count = packet.psn_count;
  read.message = packet.message;
  ledger.messages.hold(read.message);
  const std::size_t at = n.reads.insert(
      read, kSortDepth, [](const auto& a, const auto& b) { return a.first.before(b.first); });
  n.read_front = std::min(n.read_front, static_cast<std::uint16_t>(at));
  ++n.reads_outstanding;
}

void Analyzer::State::show_flight(Observation& o, const NumberSpace& n) {
  o.record.bytes_in_flight = n.bytes_in_flight;
  o.record.packets_in_flight = static_cast<std::uint32_t>(n.outstanding.size());
  o.record.outstanding_reads = static_cast<std::uint16_t>(
      std::min<std::uint32_t>(n.reads_outstanding, std::numeric_limits<std::uint16_t>::max()));
}

// --- responses ---

void Analyzer::State::on_response(Observation& o, Direction& d) {
  // Where the capture shows no requests, in a number space of nothing.
  Direction* requester = streams.peer(d);
  if (requester == nullptr) {
    NumberSpace unseen;
    return on_response(o, unseen);
  }
  on_response(o, requester->numbers());
}

void Analyzer::State::on_response(Observation& o, NumberSpace& n) {
  ResponseSequence(n).on_response(o);
  if (n.begun) o.record.relative_psn = n.relative(o.psn());
  if (!o.record.repeats_payload) o.sender().bytes += o.frame.payload_size;
  show_flight(o, n);
}

// --- what is neither ---

// A UD queue pair numbers over all its destinations, so that its PSNs say nothing here but that a
// packet was doubled.
void Analyzer::State::on_datagram(Observation& o, Direction& d) {
  NumberSpace& n = d.numbers();
  ++o.sender().requests;
  if (!n.begun) n.origin = n.next = o.psn();
  n.begun = true;
  o.record.relative_psn = n.relative(o.psn());
  SentPacket* before = n.sent.find(o.psn());
  const bool repeated = before != nullptr && o.frame.checksum != 0 &&
                        before->checksum == o.frame.checksum &&
                        o.frame.time - before->first_time < kDuplicateWindow;
  if (repeated) {
    o.record.original = before->first_frame;
    o.find(FindingKind::duplicate, o.record.original);
    ++o.sender().duplicates;
  } else {
    SentPacket packet;
    packet.psn = o.psn();
    packet.record = o.index;
    packet.first_frame = o.frame.number;
    packet.first_time = o.frame.time;
    packet.set_newest(o.index, o.frame.number, o.frame.time);
    packet.checksum = o.frame.checksum;
    n.sent.insert(packet);
    o.sender().bytes += o.frame.payload_size;
  }
  MessageTracker(n, false).on_datagram(o, repeated);
  if (!repeated && CmExchange::may_be_message(o.frame)) on_cm_message(o);
}

void Analyzer::State::on_cm_message(Observation& o) {
  const auto news = connections.on_packet(o.frame);
  if (!news) return;
  if (news->finding) {
    o.find(news->finding->kind, news->finding->related, news->finding->a, news->finding->b);
  }
  o.record.original = news->original;
  o.record.repetition = news->repetition;
  o.record.answers = news->answers;
  const std::uint32_t answered = frames.find(news->answers);
  if (answered != kNone && ledger.record(answered).answered_in == 0) {
    ledger.set_answered(answered, o.frame.number);
  }
  if (news->connected) streams.connect(*news->connected);
}

// It travels against the flow it slows.
void Analyzer::State::on_cnp(Observation& o, Direction& d) {
  ++o.sender().cnps;
  Direction* flow = streams.peer(d);
  congestion.on_cnp(o, flow == nullptr ? nullptr : &flow->flow);
}

// Its receiver drops it: for the protocol it is lost, and what follows is to be understood so.
void Analyzer::State::on_bad_icrc(Observation& o, Direction& d) {
  o.find(FindingKind::bad_icrc);
  ++o.sender().bad_icrc;
  if (!d.is_reliable() && d.service != Service::unreliable_connection) return;
  if (!o.frame.opcode->is_response()) {
    RequestSequence(d.numbers(), d.is_reliable()).place_spoilt(o);
    o.record.relative_psn = d.numbers().relative(o.psn());
  } else if (Direction* requester = streams.peer(d)) {
    ResponseSequence(requester->numbers()).on_spoilt(o);
  }
}

void Analyzer::finish() {
  state_->streams.finish();
  state_->ledger.messages.let_go_of_all();
}

// --- what is known ---

const PacketRecord* Analyzer::find(std::uint32_t frame) const {
  Ledger& ledger = state_->ledger;
  if (ledger.forgets()) return ledger.newest().frame == frame ? &ledger.newest() : nullptr;
  const std::uint32_t record = state_->frames.find(frame);
  return record == kNone ? nullptr : &ledger.record(record);
}

std::span<const Finding> Analyzer::findings(const PacketRecord& record) const {
  return state_->ledger.findings_of(record);
}

std::size_t Analyzer::stream_count() const {
  return state_->streams.size();
}

const Stream& Analyzer::stream(std::uint32_t index) const {
  return state_->streams.stream(index);
}

std::size_t Analyzer::message_count() const {
  return state_->ledger.messages.size();
}

const Message& Analyzer::message(std::uint32_t index) const {
  return state_->ledger.messages[index];
}

std::size_t Analyzer::memory() const {
  return state_->ledger.memory() + state_->frames.memory() + state_->streams.memory() +
         state_->connections.memory() + state_->congestion.memory() + state_->forgetting.memory();
}

}  // namespace softrnic::analysis
