// SPDX-License-Identifier: BSD-3-Clause
// The account of a connection: what it did, what it lost, how it began and ended. It stands beside
// the analysis' stream of the same number, which holds what is counted there already.
//
// Small, as a capture may hold a hundred thousand: what only some connections need is made when
// they need it, and the detail behind the plots is kept for a bounded number of them.
#pragma once

#include <array>
#include <cstdint>
#include <forward_list>
#include <memory>
#include <string_view>
#include <vector>

#include "analysis/block_pool.hpp"
#include "analysis/message.hpp"
#include "analysis/on_demand.hpp"
#include "analysis/stream.hpp"
#include "capture/packet_reading.hpp"
#include "explain/latency_histogram.hpp"
#include "explain/loss_recovery.hpp"
#include "explain/packet_ladder.hpp"
#include "explain/sequence_graph.hpp"
#include "explain/throughput.hpp"

namespace softrnic::explain {

// How the capture shows the beginning.
enum class Beginning : std::uint8_t {
  unknown,  // nothing tells whether there was something before
  seen,     // the first MSN counts from the first message
  cm,       // a CM exchange
  late,     // the capture begins inside of it
};

enum class Ending : std::uint8_t {
  open,          // as far as the capture goes
  disconnected,  // CM
  refused,       // a NAK that ends a connection
  exhausted,     // retries without an answer
};

std::string_view to_string(Beginning beginning);
std::string_view to_string(Ending ending);

// Messages of one operation that one side asked for.
struct OperationAccount {
  wire::Operation operation{};
  std::uint8_t from = 0;
  // There are no more messages than frame numbers.
  std::uint32_t messages = 0;
  std::uint64_t bytes = 0;   // announced or seen, once each
  LatencyHistogram latency;  // of those completed, of reliable services

  std::uint32_t completed() const { return messages - refused() - unanswered() - partial(); }
  std::uint32_t refused() const { return failures_ == nullptr ? 0 : failures_->refused; }
  // Of a reliable service, when the capture ended.
  std::uint32_t unanswered() const { return failures_ == nullptr ? 0 : failures_->unanswered; }
  // Cut short, or its beginning was not captured.
  std::uint32_t partial() const { return failures_ == nullptr ? 0 : failures_->partial; }

  bool is_of(wire::Operation other, std::uint8_t side) const {
    return operation == other && from == side;
  }
  void add(const analysis::Message& message, bool reliable, HistogramAllowance& allowance);
  void add(const OperationAccount& other, HistogramAllowance& allowance);

 private:
  // Of most operations every message was completed.
  struct Failures {
    std::uint32_t refused = 0;
    std::uint32_t unanswered = 0;
    std::uint32_t partial = 0;
  };
  Failures& failures();

  analysis::PoolPointer<Failures> failures_;
};

// In the order in which they first came. A chain: it grows by one now and then in each of a hundred
// thousand connections, and blocks of one size leave no gaps.
using OperationList =
    std::forward_list<OperationAccount, analysis::PoolAllocator<OperationAccount>>;

// Latency of a message that was answered: from its first request packet to the answer that
// completes it, both as the capture saw them. Negative: the message has none.
wire::Duration latency_of(const analysis::Message& message);

// Time that spans cover together: what two of them share counts once. Spans are added in about the
// order of their ends; only the newest few are remembered for what they share with later ones.
class CoveredTime {
 public:
  static constexpr std::size_t kRemembered = 16;

  void add(wire::Instant from, wire::Instant to);
  wire::Duration total() const { return total_; }

 private:
  struct Span {
    wire::Instant from;
    wire::Instant to;
  };
  std::vector<Span> spans_;  // apart from each other, ascending
  wire::Duration total_{};
};

struct LossAccount {
  LossRecovery recovery;
  std::uint64_t losses = 0;
  std::uint64_t packets = 0;
  std::array<std::uint64_t, kLossCauses> by_cause{};
  CoveredTime time_lost;
  LatencyHistogram recovery_times;  // one for each loss that was mended
  std::uint64_t rnr_naks = 0;
  wire::Duration rnr_waited{};
};

struct FindingCount {
  analysis::FindingKind kind{};
  std::uint32_t count = 0;
};
struct SyndromeCount {
  std::uint8_t syndrome = 0;
  std::uint32_t count = 0;
};

// What the analysis found.
struct FaultAccount {
  std::vector<FindingCount> findings;
  std::vector<SyndromeCount> naks;
  std::uint32_t faults = 0;
  std::uint32_t first_fault = 0;  // frame
  analysis::FindingKind first_fault_kind{};
};

// Credits told in acknowledgements (IBTA vol. 1, 9.7.7.2).
struct CreditAccount {
  std::uint32_t told = 0;   // acknowledgements that told of some
  std::uint32_t none = 0;   // of them, of none left
  std::uint32_t least = 0;  // receives
  std::uint32_t most = 0;
};

// Behind the plots.
struct ConnectionDetail {
  Throughput throughput;
  SequenceGraph sequence;
  PacketLadder ladder;
};

struct ConnectionAccount {
  // What every packet needs stands together.
  std::unique_ptr<ConnectionDetail> detail;
  std::array<std::uint64_t, 2> payload_bytes{};  // repetitions too
  std::array<std::uint32_t, 2> retransmitted{};  // packets that side sent again
  bool used = false;                             // a packet was counted here
  bool beginning_settled = false;
  Beginning beginning = Beginning::unknown;
  Ending ending = Ending::open;
  std::uint16_t vlan = kNoVlan;
  OperationList operations;

  CreditAccount credits;
  analysis::OnDemand<FaultAccount> found;
  std::unique_ptr<LossAccount> losses;

  static constexpr std::uint16_t kNoVlan = capture::PacketReading::kNoVlan;

  OperationAccount& operation(wire::Operation operation, std::uint8_t from);
  LossAccount& loss_account();
  std::uint32_t count(analysis::FindingKind kind);  // says how many there are now
  void count_nak(std::uint8_t syndrome);
  wire::Duration time_lost() const {
    return losses == nullptr ? wire::Duration{} : losses->time_lost.total() + losses->rnr_waited;
  }
};

// By how much a reader wants to see it: what ended, what lost time, faults, then traffic.
std::uint64_t importance(const ConnectionAccount& account, const analysis::Stream& stream);

}  // namespace softrnic::explain
