// SPDX-License-Identifier: BSD-3-Clause
// The explanation of a capture: told record by record, it keeps an account of every connection, of
// what was lost and why, of how long operations took, and of the worst moments.
//
// Memory depends on the number of connections and not on the frames: whoever wants every packet,
// message or loss is told of them as they pass (Listener).
#pragma once

#include <array>
#include <memory>
#include <string>
#include <vector>

#include "analysis/analyzer.hpp"
#include "analysis/paged_array.hpp"
#include "capture/capture_check.hpp"
#include "capture/packet_reading.hpp"
#include "explain/connection_account.hpp"
#include "explain/connection_filter.hpp"
#include "explain/connection_setup.hpp"
#include "explain/worst_moments.hpp"

namespace softrnic::explain {

// A packet as it passes, with what the analysis says of it.
struct SeenPacket {
  const analysis::Frame& frame;
  const analysis::PacketRecord& record;
  std::span<const analysis::Finding> findings;
  const analysis::Stream& stream;
  const analysis::Message* message;  // null: of none
};

// Of the connections that the filter takes.
class Listener {
 public:
  virtual ~Listener() = default;
  // A RoCE packet that could be analysed.
  virtual void on_packet(const SeenPacket& packet) { static_cast<void>(packet); }
  // A message that nothing changes any more. These come late, and not in order.
  virtual void on_message(const analysis::Message& message, const analysis::Stream& stream) {
    static_cast<void>(message), static_cast<void>(stream);
  }
  // A loss that was mended, or never will be.
  virtual void on_loss(const Loss& loss, const analysis::Stream& stream) {
    static_cast<void>(loss), static_cast<void>(stream);
  }
};

class Explanation final : private LossSink {
 public:
  static constexpr std::size_t kDetails = 32;           // connections shown with detail
  static constexpr std::size_t kDetailsKept = 128;      // while it is not known which ones
  static constexpr std::size_t kMostLossesKept = 4096;  // in losses()

  explicit Explanation(ConnectionFilter filter = {});

  // Told from here on; lives longer than this.
  void add_listener(Listener& listener) { listeners_.push_back(&listener); }

  void on_record(capture::LinkType link_type, const capture::Record& record);
  // Of a record already read; on_record() is made of these. (For capture::PacketLookahead.)
  void on_frame(const capture::PacketReading& reading, const capture::Record& record,
                const analysis::Foreseen& foreseen = {});
  void on_packet(const capture::PacketReading& reading, std::uint16_t vlan,
                 const analysis::Foreseen& foreseen = {});
  void prefetch(const analysis::Frame& frame, analysis::Foreseen& foreseen, unsigned step) const;
  // No more records come.
  void finish();

  const capture::CheckCounts& counts() const { return counts_; }
  wire::Instant begin() const { return first_; }
  wire::Duration duration() const { return last_ - first_; }
  std::uint64_t faults() const { return counts_.faults; }
  const std::vector<FindingCount>& findings() const { return findings_; }
  const Throughput& throughput() const { return throughput_; }
  const WorstMoments& worst_moments() const { return worst_; }
  // In the order in which they were over, the first kMostLossesKept.
  const std::vector<Loss>& losses() const { return losses_; }
  std::uint64_t loss_count() const { return loss_count_; }

  std::uint32_t connection_count() const { return static_cast<std::uint32_t>(accounts_.size()); }
  const ConnectionAccount& account(std::uint32_t connection) const { return accounts_[connection]; }
  const analysis::Stream& stream(std::uint32_t connection) const {
    return analyzer_.stream(connection);
  }
  std::uint64_t message_count() const { return analyzer_.message_count() - nothing_; }
  const ConnectionSetup& setup() const { return setup_; }
  // Those the filter takes and in which something was seen, in their order.
  std::vector<std::uint32_t> connections() const;
  // The same, those a reader wants to see first in front; only the first `most` are in order.
  std::vector<std::uint32_t> by_importance(std::size_t most) const;
  // All that asked for this operation, together.
  std::vector<OperationAccount> operations() const;

 private:
  void count_packet(const capture::PacketReading& reading);
  void find_header_fault(const capture::PacketReading& reading);
  void on_message_gone(const analysis::Message& message);
  void take_gone_messages();
  void take_gone(const analysis::Message& message);
  void look_for_slow_answer(const analysis::Message& message, const OperationAccount& usual);
  void analyse(const capture::PacketReading& reading, std::uint16_t vlan,
               const analysis::Foreseen& foreseen);
  ConnectionAccount& account_of(const analysis::Stream& stream);
  void begin_account(ConnectionAccount& account, const analysis::Frame& frame,
                     const analysis::Stream& stream, std::uint16_t vlan);
  void settle_beginning(ConnectionAccount& account, const analysis::Frame& frame,
                        const analysis::PacketRecord& record, const analysis::Stream& stream);
  void on_answer(ConnectionAccount& account, const analysis::Frame& frame,
                 const analysis::PacketRecord& record, const analysis::Stream& stream);
  void on_findings(ConnectionAccount& account, const analysis::Frame& frame,
                   const analysis::PacketRecord& record,
                   std::span<const analysis::Finding> findings, const analysis::Stream& stream);
  void on_finding(ConnectionAccount& account, const analysis::Frame& frame,
                  const analysis::Finding& finding);
  void offer_finding(const ConnectionAccount& account, const analysis::Frame& frame,
                     const analysis::PacketRecord& record, const analysis::Finding& finding,
                     std::span<const analysis::Finding> all);
  void on_loss(const Loss& loss) override;
  void on_not_ready(const ReceiverNotReady& wait) override;
  void consider_detail(ConnectionAccount& account, const analysis::Stream& stream);
  void settle_endings();

  ConnectionFilter filter_;
  std::vector<Listener*> listeners_;
  capture::CheckCounts counts_;
  wire::Instant first_;
  wire::Instant last_;
  HistogramAllowance allowance_;
  analysis::Analyzer analyzer_;
  analysis::PagedArray<ConnectionAccount, 6> accounts_;
  std::vector<std::uint32_t> detailed_;  // connections with detail
  // Messages whose turn comes together: what is kept of their connections has long left the
  // processor's caches, and is fetched for all of them at once.
  static constexpr std::size_t kGoneTogether = 16;
  std::array<analysis::Message, kGoneTogether> gone_;
  std::size_t gone_count_ = 0;
  std::uint64_t nothing_ = 0;  // messages that came to nothing
  std::vector<FindingCount> findings_;
  Throughput throughput_;
  WorstMoments worst_;
  ConnectionSetup setup_;
  std::vector<Loss> losses_;
  std::uint64_t loss_count_ = 0;
  bool begun_ = false;
  bool finished_ = false;
};

}  // namespace softrnic::explain
