// SPDX-License-Identifier: GPL-2.0-or-later
// -z roce,operations: how many messages of each operation there were and how long they took.
#include <deque>
#include <unordered_map>

#include "dissector/direction.hpp"
#include "dissector/fields.hpp"
#include "dissector/latency_quantiles.hpp"
#include "dissector/statistic.hpp"
#include "dissector/statistics.hpp"

namespace softrnic::dissector {
namespace {

using analysis::Message;
using analysis::MessageState;

constexpr Column kColumns[] = {
    {"Operation", Unit::text}, {"Messages", Unit::count},   {"Complete", Unit::count},
    {"Refused", Unit::count},  {"Incomplete", Unit::count}, {"Bytes", Unit::bytes},
    {"Min", Unit::duration},   {"Median", Unit::duration},  {"p90", Unit::duration},
    {"p99", Unit::duration},   {"Max", Unit::duration},
};

struct OperationCounts {
  wire::Service service = wire::Service::unknown;
  wire::Operation operation = wire::Operation::unknown;
  std::uint64_t messages = 0;
  std::uint64_t complete = 0;
  std::uint64_t refused = 0;
  std::uint64_t bytes = 0;
  LatencyQuantiles latency;
};

// Unreliable services have no answer: nobody learns when a message arrives.
bool is_answered(wire::Service service) {
  return service == wire::Service::reliable_connection ||
         service == wire::Service::extended_reliable_connection ||
         service == wire::Service::reliable_datagram;
}

Cell microseconds(const LatencyQuantiles& latency, wire::Duration duration) {
  if (latency.count() == 0) return Cell::nothing();
  return Cell::of(static_cast<double>(duration.count()) / 1e3);
}

class Operations : public Statistic {
 public:
  void add(const TapPacket& packet, const analysis::Analyzer& analyzer,
           std::vector<std::size_t>& changed) override {
    const analysis::PacketRecord& record = *packet.record;
    if (record.message == analysis::kNone) return;
    const Message& message = analyzer.message(record.message);
    const std::size_t number = row_of(packet.packet.opcode->service, message.operation);
    if (!record.repeats_payload) rows_[number].bytes += packet.packet.payload_size;
    if (!packet.packet.opcode->is_response()) begin(record.message, number, message);
    changed.push_back(number);
    finish_oldest({message.stream, message.requester}, analyzer, changed);
  }

  void settle(const analysis::Analyzer& analyzer) override {
    for (auto& [key, waiting] : waiting_) {
      std::erase_if(waiting, [&](const Waiting& one) {
        return finish(rows_[one.row], analyzer.message(one.message));
      });
    }
  }

  std::size_t row_count() const override { return rows_.size(); }

  Row row(std::size_t index, const analysis::Analyzer&) const override {
    const OperationCounts& row = rows_[index];
    const LatencyQuantiles& latency = row.latency;
    return {Cell::of(std::string(to_string(row.service)) + " " + operation_name(row.operation)),
            Cell::of(row.messages),
            Cell::of(row.complete),
            Cell::of(row.refused),
            Cell::of(row.messages - row.complete - row.refused),
            Cell::of(row.bytes),
            microseconds(latency, latency.smallest()),
            microseconds(latency, latency.at(0.5)),
            microseconds(latency, latency.at(0.9)),
            microseconds(latency, latency.at(0.99)),
            microseconds(latency, latency.largest())};
  }

  Row total() const override {
    OperationCounts all;
    for (const OperationCounts& row : rows_) {
      all.messages += row.messages;
      all.complete += row.complete;
      all.refused += row.refused;
      all.bytes += row.bytes;
    }
    Row total = {Cell::of(std::string("all")),
                 Cell::of(all.messages),
                 Cell::of(all.complete),
                 Cell::of(all.refused),
                 Cell::of(all.messages - all.complete - all.refused),
                 Cell::of(all.bytes)};
    total.resize(std::size(kColumns));
    return total;
  }

 private:
  struct Waiting {
    std::uint32_t message;
    std::size_t row;
  };

  std::size_t row_of(wire::Service service, wire::Operation operation) {
    const auto key =
        static_cast<std::uint64_t>(service) << 8 | static_cast<std::uint64_t>(operation);
    const auto [number, added] = numbers_.row(key);
    if (added) {
      rows_.emplace_back();
      rows_.back().service = service;
      rows_.back().operation = operation;
    }
    return number;
  }

  // A message counts once, whatever packet of it is seen first.
  void begin(std::uint32_t index, std::size_t row, const Message& message) {
    if (index >= seen_.size()) seen_.resize(std::max<std::size_t>(index + 1, seen_.size() * 2));
    if (seen_[index]) return;
    seen_[index] = true;
    ++rows_[row].messages;
    if (finish(rows_[row], message)) return;
    waiting_[Direction{message.stream, message.requester}.key()].push_back({index, row});
  }

  // Messages of one requester end in their order, but for a READ overtaken by what follows.
  void finish_oldest(Direction direction, const analysis::Analyzer& analyzer,
                     std::vector<std::size_t>& changed) {
    const auto place = waiting_.find(direction.key());
    if (place == waiting_.end()) return;
    std::deque<Waiting>& waiting = place->second;
    while (!waiting.empty()) {
      const Waiting oldest = waiting.front();
      if (!finish(rows_[oldest.row], analyzer.message(oldest.message))) return;
      waiting.pop_front();
      if (changed.back() != oldest.row) changed.push_back(oldest.row);
    }
  }

  static bool finish(OperationCounts& row, const Message& message) {
    switch (message.state) {
      case MessageState::open:
        return false;
      case MessageState::abandoned:
        return true;
      case MessageState::refused:
        ++row.refused;
        return true;
      case MessageState::complete:
        break;
    }
    ++row.complete;
    if (is_answered(row.service) && message.completed_frame != 0) {
      row.latency.add(message.completed_time - message.first_time);
    }
    return true;
  }

  RowNumbers numbers_;
  std::vector<OperationCounts> rows_;
  std::vector<bool> seen_;
  std::unordered_map<std::uint64_t, std::deque<Waiting>> waiting_;
};

constexpr StatisticKind kKind = {
    "operations", "Operations",
    "Times are from a message's first packet to the answer that completes it.", kColumns,
    []() -> std::unique_ptr<Statistic> { return std::make_unique<Operations>(); }};

}  // namespace

void register_statistics_operations() {
  register_statistic(kKind);
}

}  // namespace softrnic::dissector
