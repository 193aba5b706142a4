// SPDX-License-Identifier: BSD-3-Clause
#include "offline_replay/replay_report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <string_view>

namespace softrnic::offline_replay {
namespace {

// Differences shown of one conversation: the first matters most, later ones often follow from it.
constexpr std::size_t kShownDifferences = 5;
constexpr std::size_t kShownFailures = 5;

class TextReport {
 public:
  TextReport(const CaptureReplay& replay, bool verbose) : replay_(replay), verbose_(verbose) {}

  std::string write(const std::string& path) {
    write_frames(path);
    for (const ConversationResult& result : replay_.results) write_conversation(result);
    write_rest();
    write_verdict();
    return std::move(text_);
  }

 private:
  template <class... Arguments>
  void line(fmt::format_string<Arguments...> format, Arguments&&... arguments) {
    fmt::format_to(std::back_inserter(text_), format, std::forward<Arguments>(arguments)...);
    text_ += '\n';
  }

  void write_frames(const std::string& path) {
    const FrameSurvey& survey = replay_.survey;
    line(
        "{}: {} frames, {} of them RoCE: {} parsed, {} written anew to the same bytes, ICRC "
        "included{}",
        path, survey.frames, survey.roce + survey.cut, survey.parsed, survey.reserialised,
        survey.cut > 0 ? fmt::format(", {} cut by the capture", survey.cut) : "");
    const std::size_t shown =
        verbose_ ? survey.failures.size() : std::min(survey.failures.size(), kShownFailures);
    for (std::size_t i = 0; i < shown; ++i) {
      line("  frame {}: {}", survey.failures[i].frame, survey.failures[i].what);
    }
    if (shown < survey.failures.size()) {
      line("  and {} frames more (--verbose shows them)", survey.failures.size() - shown);
    }
  }

  static std::string name(const wire::Gid& address, std::optional<std::uint32_t> qpn) {
    return qpn ? fmt::format("{} QP {:#08x}", address.to_string(), *qpn)
               : fmt::format("{} QP unknown", address.to_string());
  }

  static std::string verdict(const ConversationResult& result) {
    const std::size_t differences = result.comparison.differences.size();
    if (differences > 0) {
      return fmt::format("{} difference{}", differences, differences == 1 ? "" : "s");
    }
    if (!result.refusal.empty()) return "not replayed";
    return "agrees";
  }

  void write_conversation(const ConversationResult& result) {
    const Conversation& conversation = *result.conversation;
    const Comparison& comparison = result.comparison;
    line("{} -> {}: {} requests, {} answers: {}",
         name(conversation.requester, conversation.requester_qpn),
         name(conversation.responder, conversation.responder_qpn), conversation.requests.size(),
         conversation.answers.size(), verdict(result));
    if (!result.refusal.empty()) line("  {}", result.refusal);
    write_differences(comparison.differences);
    for (const DeviationSeen& seen : comparison.deviations) {
      line(
          "  known deviation {} ({}x, first in frame {}): the captured peer {}; the standard asks "
          "for {}",
          seen.deviation->id, seen.count, seen.frame, seen.deviation->what, seen.deviation->rule);
    }
    for (const Note& note : comparison.notes) line("  frame {}: {}", note.frame, note.text);
    if (verbose_) write_details(result);
  }

  void write_differences(const std::vector<Difference>& differences) {
    const std::size_t shown =
        verbose_ ? differences.size() : std::min(differences.size(), kShownDifferences);
    for (std::size_t i = 0; i < shown; ++i) {
      const Difference& difference = differences[i];
      line("  frame {}: captured: {}", difference.frame, difference.captured);
      line("  {:>{}}  softrnic: {}", "", frame_width(difference.frame), difference.emulated);
      line("  {:>{}}  {}", "", frame_width(difference.frame), difference.rule);
    }
    if (shown < differences.size()) {
      line("  and {} differences more (--verbose shows them)", differences.size() - shown);
    }
  }

  static std::size_t frame_width(std::uint32_t frame) {
    return fmt::formatted_size("frame {}", frame);
  }

  void write_details(const ConversationResult& result) {
    const Conversation& conversation = *result.conversation;
    const Comparison& comparison = result.comparison;
    line(
        "  {} requests fed, {} withheld; {} answers compared one to one, {} cumulatively; {} "
        "answers given",
        result.fed, result.withheld, comparison.one_to_one, comparison.cumulative,
        result.emulated_answers);
    for (const Stretch& stretch : result.course.stretches) {
      line("  primed at frame {}: path MTU {}{}, expected PSN {}, MSN {}{}",
           result.course.steps[stretch.first_step].request->frame, conversation.path_mtu,
           conversation.path_mtu_known ? "" : " (not told)", stretch.expected_psn.value(),
           stretch.msn.value_or(0), stretch.in_message ? ", in the middle of a message" : "");
    }
  }

  void write_rest() {
    const FrameSurvey& survey = replay_.survey;
    if (!replay_.conversations.unclaimed.empty()) {
      line("{} answers belong to no captured request (first in frame {}): not compared",
           replay_.conversations.unclaimed.size(), replay_.conversations.unclaimed.front()->frame);
    }
    const auto others = [this](std::uint32_t count, std::string_view what) {
      if (count > 0) line("{} packets of {}: no answers to compare", count, what);
    };
    others(survey.unreliable, "unreliable connections (UC)");
    others(survey.datagrams, "unreliable datagrams (UD), connection management included");
    if (survey.extended > 0) {
      line("{} packets of extended reliable connections (XRC): not emulated, not compared",
           survey.extended);
    }
    if (survey.congestion > 0) {
      line("{} congestion notification packets (CNP): not compared", survey.congestion);
    }
  }

  void write_verdict() {
    if (!replay_.survey.failures.empty()) {
      line("{} of {} RoCE frames did not come out right", replay_.survey.failures.size(),
           replay_.survey.roce);
    }
    const auto replayed = replay_.results.size();
    const auto differing = std::count_if(replay_.results.begin(), replay_.results.end(),
                                         [](const auto& result) { return !result.agrees(); });
    if (replayed == 0) {
      line("no requests of a reliable connection in the capture: nothing to replay");
    } else if (differing == 0) {
      line("{} of {} conversations agree", replayed, replayed);
    } else {
      line("{} of {} conversations differ", differing, replayed);
    }
  }

  const CaptureReplay& replay_;
  bool verbose_;
  std::string text_;
};

}  // namespace

std::string text_report(const CaptureReplay& replay, const std::string& path, bool verbose) {
  return TextReport(replay, verbose).write(path);
}

}  // namespace softrnic::offline_replay
