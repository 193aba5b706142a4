// SPDX-License-Identifier: BSD-3-Clause
#include "explain/connection_account.hpp"

#include <algorithm>

namespace softrnic::explain {

std::string_view to_string(Beginning beginning) {
  switch (beginning) {
    case Beginning::seen:
      return "seen";
    case Beginning::cm:
      return "cm";
    case Beginning::late:
      return "late";
    case Beginning::unknown:
      break;
  }
  return "unknown";
}

std::string_view to_string(Ending ending) {
  switch (ending) {
    case Ending::disconnected:
      return "disconnected";
    case Ending::refused:
      return "refused";
    case Ending::exhausted:
      return "exhausted";
    case Ending::open:
      break;
  }
  return "open";
}

wire::Duration latency_of(const analysis::Message& message) {
  const bool answered =
      message.state == analysis::MessageState::complete && message.completed_frame != 0;
  if (!answered) return wire::Duration(-1);
  return std::max(message.completed_time - message.first_time, wire::Duration{});
}

void OperationAccount::add(const analysis::Message& message, bool reliable,
                           HistogramAllowance& allowance) {
  ++messages;
  // Of a READ or a WRITE the length is announced; of what was cut short only what was seen counts.
  const bool complete = message.state == analysis::MessageState::complete;
  bytes += complete ? message.length : message.payload_bytes;
  switch (message.state) {
    case analysis::MessageState::complete:
      break;
    case analysis::MessageState::refused:
      ++failures().refused;
      break;
    case analysis::MessageState::open:
      ++(reliable ? failures().unanswered : failures().partial);
      break;
    case analysis::MessageState::abandoned:
      ++failures().partial;
      break;
  }
  const wire::Duration time = latency_of(message);
  if (time.count() >= 0) latency.add(static_cast<std::uint64_t>(time.count()), allowance);
}

void OperationAccount::add(const OperationAccount& other, HistogramAllowance& allowance) {
  messages += other.messages;
  bytes += other.bytes;
  if (other.failures_ != nullptr) {
    failures().refused += other.failures_->refused;
    failures().unanswered += other.failures_->unanswered;
    failures().partial += other.failures_->partial;
  }
  latency.merge(other.latency, allowance);
}

OperationAccount::Failures& OperationAccount::failures() {
  if (failures_ == nullptr) failures_ = analysis::make_pooled<Failures>();
  return *failures_;
}

void CoveredTime::add(wire::Instant from, wire::Instant to) {
  while (!spans_.empty() && spans_.back().to >= from) {
    const Span last = spans_.back();
    from = std::min(from, last.from);
    to = std::max(to, last.to);
    total_ -= last.to - last.from;
    spans_.pop_back();
  }
  if (spans_.size() == kRemembered) spans_.erase(spans_.begin());
  spans_.push_back({from, to});
  total_ += to - from;
}

OperationAccount& ConnectionAccount::operation(wire::Operation operation, std::uint8_t from) {
  auto last = operations.before_begin();
  for (auto known = operations.begin(); known != operations.end(); last = known++) {
    if (known->is_of(operation, from)) return *known;
  }
  OperationAccount& account = *operations.emplace_after(last);
  account.operation = operation;
  account.from = from;
  return account;
}

LossAccount& ConnectionAccount::loss_account() {
  if (losses == nullptr) losses = std::make_unique<LossAccount>();
  return *losses;
}

std::uint32_t ConnectionAccount::count(analysis::FindingKind kind) {
  std::vector<FindingCount>& findings = found.change().findings;
  for (FindingCount& known : findings) {
    if (known.kind == kind) return ++known.count;
  }
  findings.push_back({kind, 1});
  return 1;
}

void ConnectionAccount::count_nak(std::uint8_t syndrome) {
  std::vector<SyndromeCount>& naks = found.change().naks;
  for (SyndromeCount& known : naks) {
    if (known.syndrome == syndrome) {
      ++known.count;
      return;
    }
  }
  naks.push_back({syndrome, 1});
}

std::uint64_t importance(const ConnectionAccount& account, const analysis::Stream& stream) {
  constexpr std::uint64_t kEnded = std::uint64_t{1} << 60;
  constexpr std::uint64_t kMost = kEnded - 1;
  const bool ended = account.ending == Ending::refused || account.ending == Ending::exhausted;
  const auto microseconds = static_cast<std::uint64_t>(account.time_lost().count()) / 1000;
  const std::uint64_t packets = stream.sides[0].packets + stream.sides[1].packets;
  const std::uint64_t weight =
      microseconds * 1000 + std::uint64_t{account.found->faults} * 1000 + packets;
  return (ended ? kEnded : 0) + std::min(weight, kMost);
}

}  // namespace softrnic::explain
