// SPDX-License-Identifier: BSD-3-Clause
#include "replay_side_report.hpp"

#include <fmt/format.h>

#include <array>

namespace softrnic::tools {

namespace {

using replay::RecordedOperation;

struct Kind {
  wire::Operation operation;
  const char* text;  // as users write it
  const char* name;  // in JSON
};

constexpr std::array kKinds{
    Kind{wire::Operation::send, "SEND", "send"},
    Kind{wire::Operation::write, "WRITE", "write"},
    Kind{wire::Operation::read_request, "READ", "read"},
    Kind{wire::Operation::compare_swap, "COMPARE & SWAP", "compare_swap"},
    Kind{wire::Operation::fetch_add, "FETCH & ADD", "fetch_add"},
    Kind{wire::Operation::atomic_write, "ATOMIC WRITE", "atomic_write"},
    Kind{wire::Operation::flush, "FLUSH", "flush"},
};

const Kind& kind_of(const RecordedOperation& operation) {
  for (const Kind& kind : kKinds) {
    if (kind.operation == operation.operation) return kind;
  }
  return kKinds.front();
}

std::array<std::uint32_t, kKinds.size()> count_kinds(const std::vector<RecordedOperation>& list) {
  std::array<std::uint32_t, kKinds.size()> counts{};
  for (const RecordedOperation& operation : list) {
    ++counts[static_cast<std::size_t>(&kind_of(operation) - kKinds.data())];
  }
  return counts;
}

std::string duration_text(wire::Duration duration) {
  const double us = static_cast<double>(duration.count()) / 1e3;
  if (us < 1000) return fmt::format("{:.1f} us", us);
  if (us < 1e6) return fmt::format("{:.3f} ms", us / 1e3);
  return fmt::format("{:.3f} s", us / 1e6);
}

std::string operation_text(const RecordedOperation& operation, std::uint32_t index) {
  std::string text = fmt::format("operation {} ({}", index + 1, kind_of(operation).text);
  if (operation.carries_payload() || operation.is_read()) {
    text += fmt::format(" of {} bytes", operation.length);
  }
  return text + fmt::format(", frame {})", operation.first_frame);
}

std::string why_text(const SideReplayResult& result, const replay::SideReplay& replay) {
  if (result.completed) return {};
  if (const auto& trouble = replay.trouble()) {
    if (trouble->operation >= replay.operations().size()) {
      return "the connection broke after the last operation";
    }
    return fmt::format("{} failed: {}",
                       operation_text(replay.operations()[trouble->operation], trouble->operation),
                       transport::to_string(trouble->status));
  }
  if (result.interrupted) return "interrupted";
  if (result.timed_out) return "nothing came from the peer any more";
  return {};
}

}  // namespace

std::string end_text(const replay::RecordedSide& side) {
  if (side.qpn == analysis::kUnknownQpn) return side.address.to_string();
  return fmt::format("{} QP 0x{:06x}", side.address.to_string(), side.qpn);
}

nlohmann::ordered_json end_json(const replay::RecordedSide& side) {
  using Json = nlohmann::ordered_json;
  return Json{{"address", side.address.to_string()},
              {"qpn", side.qpn == analysis::kUnknownQpn ? Json() : Json(side.qpn)}};
}

std::string roce_name(const replay::RecordedConnection& connection) {
  return connection.chosen.stream.version == wire::RoceVersion::v1 ? "v1" : "v2";
}

nlohmann::ordered_json memory_json(const replay::RecordedMemory& memory) {
  nlohmann::ordered_json ranges = nlohmann::ordered_json::array();
  for (const replay::RecordedRange& range : memory.ranges()) {
    ranges.push_back({{"offset", range.offset},
                      {"key", range.key},
                      {"begin", range.begin},
                      {"end", range.end},
                      {"refused", range.refused}});
  }
  return {{"size", memory.size()}, {"ranges", ranges}};
}

nlohmann::ordered_json side_replay_json(const SideReplayResult& result,
                                        const replay::RecordedConnection& connection,
                                        std::uint8_t side, const replay::SideReplay& replay) {
  using Json = nlohmann::ordered_json;
  const replay::SideReplayCounts& counts = replay.counts();
  const auto& list = replay.operations();
  Json kinds = Json::object();
  const auto kind_counts = count_kinds(list);
  for (std::size_t i = 0; i < kKinds.size(); ++i) {
    if (kind_counts[i] != 0) kinds[kKinds[i].name] = kind_counts[i];
  }
  Json json{
      {"file", result.path},
      {"as", result.mode},
      {"stream", result.stream},
      {"us", end_json(connection.sides[side])},
      {"peer", end_json(connection.sides[1 - side])},
      {"roce", roce_name(connection)},
      {"path_mtu", connection.path_mtu},
      {"completed", result.completed},
      {"operations",
       {{"captured", list.size()},
        {"posted", counts.posted},
        {"completed", counts.completed},
        {"left_out", connection.sides[side].left_out},
        {"by_kind", kinds},
        {"bytes", counts.bytes},
        {"unknown_bytes", counts.unknown_bytes},
        {"plain_sends", counts.plain_sends}}},
      {"answers",
       {{"taken", counts.answers},
        {"captured", counts.answers_captured},
        {"compared", counts.answers_compared},
        {"different", counts.answers_different},
        {"bytes_compared", counts.answer_bytes_compared}}},
      {"messages", {{"taken", counts.messages}, {"as_captured", counts.messages_as_captured}}},
      {"heard", {{"captured", replay.heard_in_capture()}, {"live", replay.heard()}}},
      {"captured_duration_ns", result.captured_duration.count()},
      {"live_duration_ns", result.live_duration.count()}};
  const std::string why = why_text(result, replay);
  json["why_not"] = why.empty() ? Json() : Json(why);
  if (const auto& different = replay.first_different()) {
    json["first_different_answer"] = {{"operation", different->operation + 1},
                                      {"frame", list[different->operation].first_frame},
                                      {"byte", different->offset}};
  }
  return json;
}

std::string side_replay_text(const SideReplayResult& result,
                             const replay::RecordedConnection& connection, std::uint8_t side,
                             const replay::SideReplay& replay) {
  const replay::SideReplayCounts& counts = replay.counts();
  const auto& list = replay.operations();
  std::string kinds;
  const auto kind_counts = count_kinds(list);
  for (std::size_t i = 0; i < kKinds.size(); ++i) {
    if (kind_counts[i] == 0) continue;
    kinds += fmt::format("{}{} {}", kinds.empty() ? ": " : ", ", kind_counts[i], kKinds[i].text);
  }
  std::string text =
      fmt::format("  {} of {} operations completed{}; {} bytes in {} (captured: {})\n",
                  counts.completed, list.size(), kinds, counts.bytes,
                  duration_text(result.live_duration), duration_text(result.captured_duration));
  if (counts.answers != 0) {
    text += fmt::format(
        "  {} answers to READs and atomics: {}", counts.answers,
        counts.answers_different == 0
            ? fmt::format("{} compared with the capture, all equal", counts.answers_compared)
            : fmt::format("{} compared with the capture, {} DIFFERENT", counts.answers_compared,
                          counts.answers_different));
    const std::uint32_t others = counts.answers - counts.answers_compared;
    text += others == 0 ? "\n" : fmt::format("; {} not comparable\n", others);
    if (const auto& different = replay.first_different()) {
      text += fmt::format("    the first: byte {} of the answer to {}\n", different->offset,
                          operation_text(list[different->operation], different->operation));
    }
  }
  if (counts.messages != 0 || replay.heard_in_capture() != 0) {
    text += fmt::format(
        "  {} operations of the peer served (captured: {}); {} messages taken, {} of them as "
        "captured\n",
        replay.heard(), replay.heard_in_capture(), counts.messages, counts.messages_as_captured);
  }
  if (replay.gave_up_hearing() && replay.heard() < replay.heard_in_capture()) {
    text += "    the others were waited for in vain (--patience)\n";
  }
  if (connection.sides[side].left_out != 0) {
    text += fmt::format("  {} messages left out: the capture has too little of them\n",
                        connection.sides[side].left_out);
  }
  if (counts.unknown_bytes != 0) {
    text += fmt::format("  {} bytes were sent as zeros: the capture lacks them\n",
                        counts.unknown_bytes);
  }
  if (counts.plain_sends != 0) {
    text += fmt::format("  {} SENDs with invalidate went as plain SENDs (see --invalidate)\n",
                        counts.plain_sends);
  }
  if (result.left_early) {
    text += "  the last message was not acknowledged: the client had left\n";
  }
  const std::string why = why_text(result, replay);
  if (!why.empty() && !result.completed) text += fmt::format("  NOT COMPLETED: {}\n", why);
  return text;
}

}  // namespace softrnic::tools
