// SPDX-License-Identifier: BSD-3-Clause
#include "replay/message_alignment.hpp"

#include <algorithm>

namespace softrnic::replay {

namespace {

// How far to look for the place where two orders of messages are alike again.
constexpr std::size_t kLookAhead = 64;
// Messages of each side by which connections are told apart.
constexpr std::size_t kBeginning = 16;

bool is_whole_request(const DialogueMessage& message) {
  return message.facts.state == analysis::MessageState::complete ||
         message.facts.operation != wire::Operation::send;
}

using Messages = std::vector<DialogueMessage>;

// How many of the next messages are alike, of at most `most`.
std::size_t run_of(const Messages& captured, std::size_t i, const Messages& live, std::size_t j,
                   std::size_t most) {
  std::size_t run = 0;
  while (run < most && i + run < captured.size() && j + run < live.size() &&
         asks_the_same(captured[i + run], live[j + run])) {
    ++run;
  }
  return run;
}

bool is_in_step(const Messages& captured, std::size_t i, const Messages& live, std::size_t j) {
  if (i >= captured.size() || j >= live.size()) return false;
  constexpr std::size_t kSure = 2;
  const std::size_t left = std::min(captured.size() - i, live.size() - j);
  return run_of(captured, i, live, j, kSure) >= std::min(kSure, left);
}

// The beginnings of captures that begin late.
std::size_t first_whole(const Messages& messages) {
  const auto whole = [](const DialogueMessage& message) { return message.facts.number != 0; };
  return static_cast<std::size_t>(std::find_if(messages.begin(), messages.end(), whole) -
                                  messages.begin());
}

std::size_t likeness(const DialogueConnection& captured, const DialogueConnection& live,
                     bool turned) {
  std::size_t alike = 0;
  for (const std::size_t side : {std::size_t{0}, std::size_t{1}}) {
    const Messages& a = captured.messages[side];
    const Messages& b = live.messages[turned ? 1 - side : side];
    alike += run_of(a, first_whole(a), b, first_whole(b), kBeginning);
  }
  return alike;
}

bool may_be_the_same(const DialogueConnection& captured, const DialogueConnection& live) {
  return captured.stream.service == live.stream.service && live.message_count() != 0 &&
         !live.is_management();
}

}  // namespace

bool asks_the_same(const DialogueMessage& captured, const DialogueMessage& live) {
  if (captured.facts.operation != live.facts.operation) return false;
  if (captured.facts.headers_cut || live.facts.headers_cut) return true;
  if (!is_whole_request(captured) || !is_whole_request(live)) return true;
  return captured.facts.length == live.facts.length;
}

std::vector<AlignedPair> align_messages(const Messages& captured, const Messages& live) {
  std::vector<AlignedPair> pairs;
  std::size_t i = first_whole(captured);
  std::size_t j = first_whole(live);
  const auto add = [&pairs](std::size_t a, std::size_t b) {
    pairs.push_back({static_cast<std::uint32_t>(a), static_cast<std::uint32_t>(b)});
  };
  while (i < captured.size() && j < live.size()) {
    if (!asks_the_same(captured[i], live[j])) {
      std::size_t skip = 1;
      while (skip <= kLookAhead && !is_in_step(captured, i + skip, live, j) &&
             !is_in_step(captured, i, live, j + skip) &&
             !is_in_step(captured, i + skip, live, j + skip)) {
        ++skip;
      }
      const bool changed = skip > kLookAhead || is_in_step(captured, i + skip, live, j + skip);
      if (!changed && is_in_step(captured, i + skip, live, j)) {
        for (; skip > 0; --skip) add(i++, kNone);
        continue;
      }
      if (!changed) {
        for (; skip > 0; --skip) add(kNone, j++);
        continue;
      }
    }
    add(i++, j++);
  }
  while (i < captured.size()) add(i++, kNone);
  while (j < live.size()) add(kNone, j++);
  return pairs;
}

bool is_turned_round(const DialogueConnection& captured, const DialogueConnection& live) {
  return likeness(captured, live, true) > likeness(captured, live, false);
}

std::vector<AlignedPair> align_connections(const Dialogue& captured, const Dialogue& live) {
  std::vector<AlignedPair> pairs;
  const auto& ours = captured.connections();
  const auto& theirs = live.connections();
  std::vector<bool> taken(theirs.size(), false);
  std::uint32_t first_free = 0;
  for (std::uint32_t i = 0; i < ours.size(); ++i) {
    if (ours[i].message_count() == 0 || ours[i].is_management()) continue;
    std::uint32_t best = kNone;
    std::size_t most = 0;
    while (first_free < taken.size() && taken[first_free]) ++first_free;
    for (std::uint32_t j = first_free; j < theirs.size(); ++j) {
      if (taken[j] || !may_be_the_same(ours[i], theirs[j])) continue;
      const std::size_t alike =
          std::max(likeness(ours[i], theirs[j], false), likeness(ours[i], theirs[j], true));
      if (best != kNone && alike <= most) continue;
      best = j;
      most = alike;
      if (alike == std::min<std::size_t>(2 * kBeginning, ours[i].message_count())) break;
    }
    if (best != kNone) taken[best] = true;
    pairs.push_back({i, best});
  }
  for (std::uint32_t j = 0; j < theirs.size(); ++j) {
    if (!taken[j] && theirs[j].message_count() != 0 && !theirs[j].is_management()) {
      pairs.push_back({kNone, j});
    }
  }
  return pairs;
}

}  // namespace softrnic::replay
