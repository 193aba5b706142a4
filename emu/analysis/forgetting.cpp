// SPDX-License-Identifier: BSD-3-Clause
#include "analysis/forgetting.hpp"

#include <algorithm>

#include "analysis/request_sequence.hpp"

namespace softrnic::analysis {

void Forgetting::on_packet(std::uint32_t direction) {
  if (direction == kNone) return;
  const Direction& d = streams_.direction(direction);
  NumberSpace* numbers = d.requests.get();
  if (numbers == nullptr) return;
  if (numbers->sent_owed != 0 || numbers->responses_owed != 0) pay(d, *numbers);
  take_in(*numbers, direction);
  make_room();
}

void Forgetting::take_in(NumberSpace& n, std::uint32_t direction) {
  for (std::uint32_t i = n.sent.take_inserted(); i > 0; --i) order_.push_back(direction << 1);
  for (std::uint32_t i = n.responses.take_inserted(); i > 0; --i) {
    order_.push_back(direction << 1 | 1);
  }
}

// Who is forgotten next was not looked at for long and is in no cache: it is fetched in three
// steps, each of which needs the one before.
void Forgetting::fetch_ahead() const {
  constexpr std::size_t kStep = 6;
  if (order_.size() <= 3 * kStep) return;
  streams_.prefetch(order_[3 * kStep] >> 1);
  if (const NumberSpace* n = streams_.direction(order_[2 * kStep] >> 1).requests.get()) {
    n->prefetch();
  }
  const std::uint32_t next = order_[kStep];
  if (const NumberSpace* n = streams_.direction(next >> 1).requests.get()) {
    if ((next & 1) != 0) {
      n->responses.prefetch();
    } else {
      n->sent.prefetch();
    }
  }
}

void Forgetting::make_room() {
  while (order_.size() > remembered_) {
    fetch_ahead();
    const std::uint32_t oldest = order_.front();
    order_.pop_front();
    const Direction& d = streams_.direction(oldest >> 1);
    NumberSpace* n = d.requests.get();
    if (n == nullptr) continue;
    const bool response = (oldest & 1) != 0;
    if ((response ? n->responses.size() : n->sent.size()) <= kLeast) continue;
    const bool needed = response ? is_response_needed(*n) : is_sent_needed(d, *n);
    if (needed && owed_ < std::min(remembered_, kMostOwed)) {
      ++owed_;
      ++(response ? n->responses_owed : n->sent_owed);
    } else if (response) {
      n->responses.pop_front();
    } else {
      drop_sent(*n);
    }
    if (n->sent.size() <= kLeast) n->trim();
  }
}

// Lets go what was kept beyond its time and is needed no more.
void Forgetting::pay(const Direction& d, NumberSpace& n) {
  for (; n.sent_owed != 0; --n.sent_owed, --owed_) {
    if (n.sent.size() <= kLeast) continue;
    if (is_sent_needed(d, n)) break;
    drop_sent(n);
  }
  for (; n.responses_owed != 0; --n.responses_owed, --owed_) {
    if (n.responses.size() <= kLeast) continue;
    if (is_response_needed(n)) break;
    n.responses.pop_front();
  }
}

// The packet right before the oldest that waits tells when the receiver last was content.
bool Forgetting::is_sent_needed(const Direction& d, NumberSpace& n) {
  const SentPacket& oldest = n.sent.front();
  const bool newest_psn = oldest.psn == n.highest;
  const bool waits = d.is_reliable() && !(oldest.psn + oldest.psn_count).before(n.unacknowledged);
  return newest_psn || waits;
}

bool Forgetting::is_response_needed(NumberSpace& n) {
  const ReadRequest* read = find_read(n, n.responses.front().psn);
  return read != nullptr && !read->finished;
}

// With a packet goes what refers to it by its PSN.
void Forgetting::drop_sent(NumberSpace& n) {
  const SentPacket oldest = n.sent.front();
  ledger_.messages.release(oldest.message);
  n.sent.pop_front();
  n.forget_before(oldest.psn + oldest.psn_count);
  while (!n.outstanding.empty() && !n.outstanding.front().psn.after(oldest.psn)) {
    n.bytes_in_flight -= n.outstanding.front().bytes;
    n.outstanding.pop_front();
  }
  // A finished READ may lie behind one that never finishes: its message at least is let go.
  ReadRequest* read = find_read(n, oldest.psn);
  if (read != nullptr && read->first == oldest.psn && read->finished) {
    ledger_.messages.release(read->message);
    read->message = kNone;
  }
  while (!n.reads.empty() && !n.reads.front().first.after(oldest.psn) &&
         (n.reads.front().finished || n.reads.size() > kMostReads)) {
    // One without its answer goes on to be counted as outstanding: nothing says that it is not.
    const std::uint32_t unanswered = n.reads.front().finished ? 0 : 1;
    ledger_.messages.release(n.drop_read());
    n.reads_outstanding += unanswered;
  }
}

void Forgetting::forget(NumberSpace& n) {
  for (std::uint32_t i = 0; i < n.sent.size(); ++i) ledger_.messages.release(n.sent.at(i).message);
  while (!n.reads.empty()) ledger_.messages.release(n.drop_read());
  ledger_.messages.release(n.open_message);
  n.open_message = kNone;
  owed_ -= n.sent_owed + n.responses_owed;
  n.sent_owed = n.responses_owed = 0;
}

}  // namespace softrnic::analysis
