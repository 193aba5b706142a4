// SPDX-License-Identifier: BSD-3-Clause
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "offline_replay/replay_report.hpp"

namespace softrnic::offline_replay {
namespace {

using Json = nlohmann::ordered_json;

Json survey_json(const FrameSurvey& survey) {
  Json failures = Json::array();
  for (const FrameFailure& failure : survey.failures) {
    failures.push_back({{"frame", failure.frame}, {"what", failure.what}});
  }
  return {{"total", survey.frames},   {"roce", survey.roce + survey.cut},
          {"parsed", survey.parsed},  {"reserialised", survey.reserialised},
          {"cut", survey.cut},        {"other", survey.other},
          {"rc", survey.reliable},    {"uc", survey.unreliable},
          {"ud", survey.datagrams},   {"xrc", survey.extended},
          {"cnp", survey.congestion}, {"failures", failures}};
}

Json end_json(const wire::Gid& address, std::optional<std::uint32_t> qpn) {
  Json end{{"address", address.to_string()}};
  end["qpn"] = qpn ? Json(*qpn) : Json();
  return end;
}

Json comparison_json(const Comparison& comparison) {
  Json differences = Json::array();
  for (const Difference& difference : comparison.differences) {
    differences.push_back({{"frame", difference.frame},
                           {"captured", difference.captured},
                           {"softrnic", difference.emulated},
                           {"rule", difference.rule}});
  }
  Json notes = Json::array();
  for (const Note& note : comparison.notes) {
    notes.push_back({{"frame", note.frame}, {"text", note.text}});
  }
  Json deviations = Json::array();
  for (const DeviationSeen& seen : comparison.deviations) {
    deviations.push_back({{"id", seen.deviation->id},
                          {"count", seen.count},
                          {"first_frame", seen.frame},
                          {"peer", seen.deviation->what},
                          {"standard", seen.deviation->rule}});
  }
  return {{"one_to_one", comparison.one_to_one},
          {"cumulative", comparison.cumulative},
          {"differences", differences},
          {"known_deviations", deviations},
          {"notes", notes}};
}

Json conversation_json(const ConversationResult& result) {
  const Conversation& conversation = *result.conversation;
  Json json{{"requester", end_json(conversation.requester, conversation.requester_qpn)},
            {"responder", end_json(conversation.responder, conversation.responder_qpn)},
            {"roce_version", conversation.version == wire::RoceVersion::v1 ? 1 : 2},
            {"path_mtu", conversation.path_mtu},
            {"requests", conversation.requests.size()},
            {"fed", result.fed},
            {"withheld", result.withheld},
            {"captured_answers", conversation.answers.size()},
            {"softrnic_answers", result.emulated_answers},
            {"agrees", result.agrees()}};
  if (!result.refusal.empty()) json["not_replayed"] = result.refusal;
  json.update(comparison_json(result.comparison));
  return json;
}

}  // namespace

std::string json_report(const CaptureReplay& replay, const std::string& path) {
  Json conversations = Json::array();
  for (const ConversationResult& result : replay.results) {
    conversations.push_back(conversation_json(result));
  }
  const Json json{{"file", path},
                  {"agrees", replay.agrees()},
                  {"frames", survey_json(replay.survey)},
                  {"conversations", conversations},
                  {"unclaimed_answers", replay.conversations.unclaimed.size()}};
  // A path need not be UTF-8.
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + '\n';
}

}  // namespace softrnic::offline_replay
