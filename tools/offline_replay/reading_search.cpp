// SPDX-License-Identifier: BSD-3-Clause
#include "offline_replay/reading_search.hpp"

#include <algorithm>
#include <map>

#include "offline_replay/expected_start.hpp"

namespace softrnic::offline_replay {
namespace {

// Replays a host, then again those of its conversations that differ, with other readings of the
// capture, and keeps what leaves fewer differences.
class ReadingSearch {
 public:
  ReadingSearch(const std::vector<const Conversation*>& conversations,
                const std::vector<Packet>& packets, const std::vector<Packet>& damaged)
      : conversations_(conversations),
        packets_(packets),
        damaged_(damaged),
        readings_(conversations.size()) {}

  std::vector<ConversationResult> search() {
    results_ = replay();
    for (const Arrival arrival : {Arrival::heed_msn, Arrival::late}) {
      attempt([arrival](std::size_t, Reading& reading) {
        reading.arrival = arrival;
        return true;
      });
    }
    std::map<std::size_t, std::vector<std::int64_t>> starts;
    for (std::size_t i = 0; i < results_.size(); ++i) {
      if (differences(results_[i]) > 0)
        starts[i] = possible_starts(AnswerEvidence(*conversations_[i]));
    }
    std::size_t most = 0;
    for (const auto& [i, list] : starts) most = std::max(most, list.size());
    for (std::size_t n = 0; n < most; ++n) {
      attempt([&starts, n](std::size_t i, Reading& reading) {
        if (starts[i].size() <= n) return false;
        reading = {.arrival = Arrival::early, .start = starts[i][n]};
        return true;
      });
    }
    return std::move(results_);
  }

 private:
  static std::size_t differences(const ConversationResult& result) {
    return result.comparison.differences.size();
  }

  // A reading that needs holes in the capture, or leaves answers out, explains nothing; only
  // another start may leave out the answers to what came before it.
  static bool is_better(const ConversationResult& result, const ConversationResult& former,
                        const Reading& reading) {
    if (differences(result) >= differences(former)) return false;
    if (result.course.stretches.size() > former.course.stretches.size()) return false;
    return reading.start || result.comparison.uncaptured <= former.comparison.uncaptured;
  }

  std::vector<ConversationResult> replay() const {
    return replay_host_as_read(conversations_, readings_, packets_, damaged_);
  }

  // `change(i, reading)` changes the reading of conversation `i`, or returns false.
  template <class Change>
  void attempt(Change change) {
    const std::vector<Reading> before = readings_;
    bool changed = false;
    for (std::size_t i = 0; i < results_.size(); ++i) {
      if (differences(results_[i]) > 0) changed = change(i, readings_[i]) || changed;
    }
    if (!changed) return;
    std::vector<ConversationResult> others = replay();
    for (std::size_t i = 0; i < results_.size(); ++i) {
      if (is_better(others[i], results_[i], readings_[i])) {
        results_[i] = std::move(others[i]);
      } else {
        readings_[i] = before[i];
      }
    }
  }

  const std::vector<const Conversation*>& conversations_;
  const std::vector<Packet>& packets_;
  const std::vector<Packet>& damaged_;
  std::vector<Reading> readings_;
  std::vector<ConversationResult> results_;
};

}  // namespace

std::vector<ConversationResult> replay_host(const std::vector<const Conversation*>& conversations,
                                            const std::vector<Packet>& packets,
                                            const std::vector<Packet>& damaged) {
  return ReadingSearch(conversations, packets, damaged).search();
}

}  // namespace softrnic::offline_replay
