// SPDX-License-Identifier: BSD-3-Clause
#include "explain/explanation.hpp"

#include <algorithm>
#include <bit>

#include "explain/packet_detail.hpp"
#include "wire/aeth.hpp"

namespace softrnic::explain {

namespace {

using analysis::Finding;
using analysis::FindingKind;
using analysis::Frame;
using analysis::IcrcVerdict;
using analysis::Message;
using analysis::PacketRecord;
using analysis::Severity;
using analysis::Stream;
using capture::HeaderFault;
using capture::PacketReading;

bool is_reliable(wire::Service service) {
  return service == wire::Service::reliable_connection ||
         service == wire::Service::extended_reliable_connection;
}

// As softrnic check has it: a warning or worse, or the only trace of a loss.
bool is_fault(const analysis::FindingInfo& info) {
  return info.severity >= Severity::warning || info.kind == FindingKind::retransmission_implied;
}

bool ends_connection(FindingKind kind) {
  return kind == FindingKind::nak_invalid_request || kind == FindingKind::nak_remote_access ||
         kind == FindingKind::nak_remote_operational || kind == FindingKind::nak_invalid_rd;
}

bool is_given_up(FindingKind kind) {
  return kind == FindingKind::retry_limit || kind == FindingKind::unanswered;
}

// What the account of losses is made of.
bool concerns_loss(FindingKind kind) {
  switch (kind) {
    case FindingKind::out_of_order:
    case FindingKind::psn_gap:
    case FindingKind::nak_psn_sequence:
    case FindingKind::selective_ack:
    case FindingKind::read_response_missing:
    case FindingKind::retransmission_nak:
    case FindingKind::retransmission_rnr:
    case FindingKind::retransmission_timeout:
    case FindingKind::retransmission_implied:
    case FindingKind::retransmission_selective:
    case FindingKind::rnr_nak:
    case FindingKind::retry_limit:
    case FindingKind::unanswered:
      return true;
    default:
      return false;
  }
}

bool explains_refusal(FindingKind kind) {
  return kind == FindingKind::key_unknown || kind == FindingKind::address_out_of_bounds ||
         kind == FindingKind::write_refused;
}

void fetch(const void* address) {
  __builtin_prefetch(address);
}

}  // namespace

Explanation::Explanation(ConnectionFilter filter)
    : filter_(std::move(filter)),
      analyzer_({.connections = {},
                 .forgets = true,
                 .message_gone = [this](const Message& message) { on_message_gone(message); }}) {}

// --- records ---

void Explanation::on_record(capture::LinkType link_type, const capture::Record& record) {
  on_frame(capture::read_packet(link_type, record), record);
}

void Explanation::on_frame(const PacketReading& reading, const capture::Record& /*record*/,
                           const analysis::Foreseen& foreseen) {
  ++counts_.frames;
  if (reading.frame_cut) ++counts_.cut;
  ++counts_.traffic[static_cast<std::size_t>(reading.traffic)];
  if (reading.is_roce()) on_packet(reading, reading.vlan, foreseen);
}

void Explanation::prefetch(const Frame& frame, analysis::Foreseen& foreseen, unsigned step) const {
  analyzer_.prefetch(frame, foreseen, step);
  if (step + 1 < analysis::Analyzer::kPrefetchSteps || foreseen.stream >= accounts_.size()) return;
  fetch(&accounts_[foreseen.stream]);
}

void Explanation::on_packet(const PacketReading& reading, std::uint16_t vlan,
                            const analysis::Foreseen& foreseen) {
  count_packet(reading);
  if (reading.analysable()) {
    analyse(reading, vlan, foreseen);
  } else if (reading.fault != HeaderFault::none) {
    find_header_fault(reading);
  }
}

void Explanation::count_packet(const PacketReading& reading) {
  if (!begun_) first_ = last_ = reading.frame.time;
  begun_ = true;
  last_ = std::max(last_, reading.frame.time);
  counts_.count_packet(reading);
}

void Explanation::find_header_fault(const PacketReading& reading) {
  ++counts_.faults;
  ++counts_.errors;
  if (!filter_.takes_all()) return;  // it belongs to no connection
  Moment moment;
  moment.kind = MomentKind::header_fault;
  moment.severity = Severity::error;
  moment.frame = reading.frame.number;
  moment.at = reading.frame.time;
  moment.finding.kind = FindingKind::count;
  moment.text = capture::sentence(reading);
  worst_.offer(moment);
}

// --- messages ---

void Explanation::on_message_gone(const Message& message) {
  if (message.came_to_nothing()) {
    ++nothing_;
    return;
  }
  gone_[gone_count_++] = message;
  if (message.stream < accounts_.size()) {
    fetch(&accounts_[message.stream]);
    fetch(&analyzer_.stream(message.stream));
  }
  if (gone_count_ == kGoneTogether) take_gone_messages();
}

// Each message walks along the chain of its connection to its account, all of them a step at a
// time, so that they wait for memory together.
void Explanation::take_gone_messages() {
  struct Walk {
    OperationList::const_iterator at;
    OperationList::const_iterator end;
  };
  std::array<Walk, kGoneTogether> walks;
  const auto fetch_account = [](const Walk& walk) {
    if (walk.at == walk.end) return;
    fetch(&*walk.at);
    fetch(&walk.at->latency);
  };
  for (std::size_t i = 0; i < gone_count_; ++i) {
    if (gone_[i].stream >= accounts_.size()) continue;
    const OperationList& operations = accounts_[gone_[i].stream].operations;
    fetch_account(walks[i] = {operations.begin(), operations.end()});
  }
  for (bool walking = true; walking;) {
    walking = false;
    for (std::size_t i = 0; i < gone_count_; ++i) {
      Walk& walk = walks[i];
      if (walk.at == walk.end || walk.at->is_of(gone_[i].operation, gone_[i].requester)) continue;
      ++walk.at;
      fetch_account(walk);
      walking = true;
    }
  }
  for (std::size_t i = 0; i < gone_count_; ++i) {
    if (walks[i].at != walks[i].end) walks[i].at->latency.prefetch();
  }
  for (std::size_t i = 0; i < gone_count_; ++i) take_gone(gone_[i]);
  gone_count_ = 0;
}

void Explanation::take_gone(const Message& message) {
  const Stream& stream = analyzer_.stream(message.stream);
  ConnectionAccount& account = account_of(stream);
  OperationAccount& operation = account.operation(message.operation, message.requester);
  operation.add(message, is_reliable(stream.service), allowance_);
  if (!filter_.takes(stream)) return;
  look_for_slow_answer(message, operation);
  for (Listener* listener : listeners_) listener->on_message(message, stream);
}

// Many times what is usual, in a message of which nothing was sent again.
void Explanation::look_for_slow_answer(const Message& message, const OperationAccount& usual) {
  constexpr std::uint64_t kSamples = 32;
  constexpr int kTimes = 16;
  const wire::Duration time = latency_of(message);
  if (message.repetitions != 0 || usual.latency.samples() < kSamples) return;
  if (static_cast<double>(time.count()) < 4 * usual.latency.mean()) return;
  const auto median = wire::Duration(static_cast<std::int64_t>(usual.latency.quantile(0.5)));
  if (time < kTimes * median) return;
  Moment moment;
  moment.kind = MomentKind::slow_answer;
  moment.severity = Severity::note;
  moment.connection = message.stream;
  moment.frame = message.first_frame;
  moment.related = message.completed_frame;
  moment.at = message.first_time;
  moment.lost = time - median;
  moment.usual = median;
  moment.operation = message.operation;
  moment.finding.kind = FindingKind::count;
  worst_.offer(moment);
}

// --- packets ---

ConnectionAccount& Explanation::account_of(const Stream& stream) {
  while (accounts_.size() <= stream.index) accounts_.push_back({});
  return accounts_[stream.index];
}

void Explanation::begin_account(ConnectionAccount& account, const Frame& frame,
                                const Stream& stream, std::uint16_t vlan) {
  account.used = true;
  account.vlan = vlan;
  const bool inside = frame.opcode->is_response() || !frame.opcode->starts_message();
  const bool datagrams = stream.service == wire::Service::unreliable_datagram ||
                         stream.service == wire::Service::congestion_notification;
  if (inside && !datagrams) account.beginning = Beginning::late;
  account.beginning_settled = inside || datagrams;
  if (detailed_.size() < kDetailsKept && filter_.takes(stream)) {
    account.detail = std::make_unique<ConnectionDetail>();
    detailed_.push_back(stream.index);
  }
}

void Explanation::analyse(const PacketReading& reading, std::uint16_t vlan,
                          const analysis::Foreseen& foreseen) {
  const Frame& frame = reading.frame;
  const PacketRecord& record = analyzer_.on_packet(frame, foreseen);
  const Stream& stream = analyzer_.stream(record.stream);
  ConnectionAccount& account = account_of(stream);
  if (!account.used) begin_account(account, frame, stream, vlan);
  account.payload_bytes[record.sender] += frame.payload_size;
  if (record.repetition != 0) ++account.retransmitted[record.sender];
  if (frame.opcode->has(wire::kAeth)) on_answer(account, frame, record, stream);

  const std::span<const Finding> findings = analyzer_.findings(record);
  const bool taken = filter_.takes_all() || filter_.takes(stream);
  if (!findings.empty()) on_findings(account, frame, record, findings, stream);
  if (!taken) return;
  const SeenPacket packet{
      frame, record, findings, stream,
      record.message == analysis::kNone ? nullptr : &analyzer_.message(record.message)};
  throughput_.add(frame.time, record.sender, frame.payload_size);
  constexpr std::uint64_t kBusy = 1024;
  const std::uint64_t packets = stream.sides[record.sender].packets;
  if (account.detail == nullptr && packets >= kBusy && std::has_single_bit(packets)) {
    consider_detail(account, stream);
  }
  if (account.detail != nullptr) {
    add_detail(*account.detail, packet);
  }
  for (Listener* listener : listeners_) listener->on_packet(packet);
}

void Explanation::on_answer(ConnectionAccount& account, const Frame& frame,
                            const PacketRecord& record, const Stream& stream) {
  const wire::Syndrome syndrome = frame.headers.aeth.syndrome;
  if (!syndrome.is_ack()) {
    if (frame.icrc != IcrcVerdict::bad && !syndrome.is_selective()) {
      account.count_nak(syndrome.raw());
    }
    return;
  }
  if (frame.icrc == IcrcVerdict::bad) return;
  if (!account.beginning_settled) settle_beginning(account, frame, record, stream);
  // An answer to something new: whoever seemed to have given up had not.
  if (account.ending == Ending::exhausted && record.finding_count == 0) {
    account.ending = Ending::open;
  }
  const auto receives = wire::credit_count(syndrome.value());
  if (!receives) return;
  CreditAccount& credits = account.credits;
  credits.least = credits.told == 0 ? *receives : std::min(credits.least, *receives);
  credits.most = std::max(credits.most, *receives);
  ++credits.told;
  if (*receives == 0) ++credits.none;
}

// The MSN counts the messages that the responder completed: more than were seen, and the capture
// began later than the connection.
void Explanation::settle_beginning(ConnectionAccount& account, const Frame& frame,
                                   const PacketRecord& record, const Stream& stream) {
  account.beginning_settled = true;
  const std::uint64_t asked = stream.sides[1 - record.sender].messages;
  account.beginning = frame.headers.aeth.msn <= asked ? Beginning::seen : Beginning::late;
}

// --- findings ---

void Explanation::on_findings(ConnectionAccount& account, const Frame& frame,
                              const PacketRecord& record, std::span<const Finding> findings,
                              const Stream& stream) {
  bool loss = false;
  const bool taken = filter_.takes(stream);
  for (const Finding& finding : findings) {
    on_finding(account, frame, finding);
    loss = loss || concerns_loss(finding.kind);
    if (taken) offer_finding(account, frame, record, finding, findings);
  }
  if (loss) account.loss_account().recovery.on_packet(frame, record, findings, stream, *this);
  const bool first = account.found->faults == 1;
  if (account.detail == nullptr && first && taken) consider_detail(account, stream);
}

void Explanation::on_finding(ConnectionAccount& account, const Frame& frame,
                             const Finding& finding) {
  account.count(finding.kind);
  const auto known = std::find_if(findings_.begin(), findings_.end(),
                                  [&](const FindingCount& f) { return f.kind == finding.kind; });
  if (known == findings_.end()) {
    findings_.push_back({finding.kind, 1});
  } else {
    ++known->count;
  }
  const analysis::FindingInfo& info = analysis::info(finding.kind);
  if (is_fault(info)) {
    ++counts_.faults;
    if (info.severity == Severity::error) ++counts_.errors;
    FaultAccount& found = account.found.change();
    if (++found.faults == 1) {
      found.first_fault = frame.number;
      found.first_fault_kind = finding.kind;
    }
  }
  if (finding.kind == FindingKind::rnr_nak) ++account.loss_account().rnr_naks;
  // An RNR NAK beyond the limit, and a NAK whose request is known, are told as the end.
  if (ends_connection(finding.kind)) account.ending = Ending::refused;
  if (is_given_up(finding.kind) && account.ending == Ending::open) {
    account.ending = Ending::exhausted;
  }
  setup_.on_finding(frame, finding);
}

// Losses and waits are offered when they are over (on_loss, on_not_ready).
void Explanation::offer_finding(const ConnectionAccount& account, const Frame& frame,
                                const PacketRecord& record, const Finding& finding,
                                std::span<const Finding> all) {
  const analysis::FindingInfo& info = analysis::info(finding.kind);
  Moment moment;
  moment.severity = info.severity;
  moment.connection = record.stream;
  moment.frame = frame.number;
  moment.related = finding.related;
  moment.at = frame.time;
  moment.finding = finding;
  moment.reason.kind = FindingKind::count;
  if (ends_connection(finding.kind)) {
    moment.kind = MomentKind::refused;
    for (const Finding& other : all) {
      if (explains_refusal(other.kind)) moment.reason = other;
    }
  } else if (finding.kind == FindingKind::connection_rejected) {
    moment.kind = MomentKind::rejected;
  } else if (finding.kind == FindingKind::rate_changed && finding.b < finding.a) {
    moment.kind = MomentKind::slowed_down;
  } else if ((info.severity == Severity::error && !is_given_up(finding.kind)) ||
             (finding.kind == FindingKind::credits_exhausted && finding.b > 1)) {
    moment.kind = MomentKind::broken_rule;
  } else {
    return;
  }
  const std::vector<FindingCount>& found = account.found->findings;
  const auto same = std::find_if(found.begin(), found.end(),
                                 [&](const FindingCount& f) { return f.kind == finding.kind; });
  const bool repeated = same != found.end() && same->count > 1;
  const bool once = moment.kind == MomentKind::broken_rule || moment.kind == MomentKind::rejected;
  if (repeated && once) return worst_.count_again(record.stream, finding.kind);
  worst_.offer(moment);
}

// --- losses ---

void Explanation::on_loss(const Loss& loss) {
  const Stream& stream = analyzer_.stream(loss.connection);
  LossAccount& account = accounts_[loss.connection].loss_account();
  ++account.losses;
  account.packets += loss.packets;
  ++account.by_cause[static_cast<std::size_t>(loss.cause)];
  if (loss.time_lost().count() > 0) account.time_lost.add(loss.lost_at, loss.last_round_at);
  if (loss.cause != LossCause::never) {
    const auto ns = std::max<std::int64_t>(loss.time_lost().count(), 0);
    account.recovery_times.add(static_cast<std::uint64_t>(ns), allowance_);
  }
  if (!filter_.takes(stream)) return;
  ++loss_count_;
  if (losses_.size() < kMostLossesKept) losses_.push_back(loss);
  for (Listener* listener : listeners_) listener->on_loss(loss, stream);
  Moment moment;
  moment.kind = loss.gave_up && accounts_[loss.connection].ending == Ending::exhausted
                    ? MomentKind::gave_up
                    : MomentKind::loss;
  moment.severity = loss.gave_up ? Severity::error : Severity::warning;
  moment.connection = loss.connection;
  moment.frame = loss.lost_frame != 0    ? loss.lost_frame
                 : loss.shown_frame != 0 ? loss.shown_frame
                                         : loss.again_frame;
  moment.related = loss.again_frame;
  moment.at = loss.lost_at;
  moment.lost = loss.time_lost();
  moment.loss = loss;
  moment.finding.kind = FindingKind::count;
  worst_.offer(moment);
}

void Explanation::on_not_ready(const ReceiverNotReady& wait) {
  ConnectionAccount& connection = accounts_[wait.connection];
  connection.loss_account().rnr_waited += wait.waited;
  if (wait.gave_up) connection.ending = Ending::exhausted;
  if (!filter_.takes(analyzer_.stream(wait.connection))) return;
  Moment moment;
  moment.kind = wait.gave_up ? MomentKind::gave_up : MomentKind::not_ready;
  moment.severity = wait.gave_up ? Severity::error : Severity::warning;
  moment.connection = wait.connection;
  moment.frame = wait.first_frame;
  moment.related = wait.last_frame;
  moment.at = wait.begin;
  moment.lost = wait.waited;
  moment.wait = wait;
  moment.finding.kind = FindingKind::count;
  worst_.offer(moment);
}

// --- which connections are kept in detail ---

void Explanation::consider_detail(ConnectionAccount& account, const Stream& stream) {
  if (!filter_.takes(stream)) return;
  const auto weight = [&](std::uint32_t index) {
    return importance(accounts_[index], analyzer_.stream(index));
  };
  if (detailed_.size() == kDetailsKept) {
    const auto least =
        std::min_element(detailed_.begin(), detailed_.end(),
                         [&](std::uint32_t a, std::uint32_t b) { return weight(a) < weight(b); });
    if (weight(*least) >= importance(account, stream)) return;
    accounts_[*least].detail.reset();
    detailed_.erase(least);
  }
  account.detail = std::make_unique<ConnectionDetail>();
  detailed_.push_back(stream.index);
}

// --- the end ---

void Explanation::finish() {
  if (finished_) return;
  finished_ = true;
  for (std::uint32_t i = 0; i < accounts_.size(); ++i) {
    if (accounts_[i].losses != nullptr) accounts_[i].losses->recovery.finish(*this);
  }
  analyzer_.finish();
  take_gone_messages();
  settle_endings();
}

void Explanation::settle_endings() {
  for (std::uint32_t i = 0; i < accounts_.size(); ++i) {
    ConnectionAccount& account = accounts_[i];
    const CmSetup* setup = setup_.find(analyzer_.stream(i));
    if (setup == nullptr) continue;
    account.beginning = Beginning::cm;
    const bool open = account.ending == Ending::open;
    if (open && setup->disconnect_frame != 0) account.ending = Ending::disconnected;
  }
}

std::vector<std::uint32_t> Explanation::connections() const {
  std::vector<std::uint32_t> taken;
  for (std::uint32_t i = 0; i < accounts_.size(); ++i) {
    if (accounts_[i].used && filter_.takes(analyzer_.stream(i))) taken.push_back(i);
  }
  return taken;
}

std::vector<std::uint32_t> Explanation::by_importance(std::size_t most) const {
  std::vector<std::pair<std::uint64_t, std::uint32_t>> weights;
  for (const std::uint32_t i : connections()) {
    weights.emplace_back(importance(accounts_[i], analyzer_.stream(i)), i);
  }
  const auto before = [](const auto& a, const auto& b) {
    return a.first != b.first ? a.first > b.first : a.second < b.second;
  };
  if (most < weights.size()) {
    const auto middle = weights.begin() + static_cast<std::ptrdiff_t>(most);
    std::partial_sort(weights.begin(), middle, weights.end(), before);
  } else {
    std::sort(weights.begin(), weights.end(), before);
  }
  std::vector<std::uint32_t> order;
  for (const auto& [weight, index] : weights) order.push_back(index);
  return order;
}

std::vector<OperationAccount> Explanation::operations() const {
  HistogramAllowance plenty{std::size_t{1} << 30};
  std::vector<OperationAccount> all;
  for (const std::uint32_t i : connections()) {
    for (const OperationAccount& one : accounts_[i].operations) {
      auto sum = std::find_if(all.begin(), all.end(), [&](const OperationAccount& known) {
        return known.operation == one.operation;
      });
      if (sum == all.end()) {
        sum = all.emplace(all.end());
        sum->operation = one.operation;
      }
      sum->add(one, plenty);
    }
  }
  return all;
}

}  // namespace softrnic::explain
