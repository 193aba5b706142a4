// SPDX-License-Identifier: BSD-3-Clause
#include "difference_report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "one_line.hpp"

namespace softrnic::tools {

namespace {

using replay::ConnectionDifference;
using replay::DialogueDifference;
using replay::DifferenceReport;

std::string counted(std::size_t count, const char* noun) {
  return fmt::format("{} {}{}", count, noun, count == 1 ? "" : "s");
}

std::string show_time(wire::Duration duration) {
  return fmt::format("{:.3f} us", static_cast<double>(duration.count()) / 1e3);
}

std::string capitalised(std::string sentence) {
  if (!sentence.empty() && sentence[0] >= 'a' && sentence[0] <= 'z') {
    sentence[0] = static_cast<char>(sentence[0] - ('a' - 'A'));
  }
  return sentence;
}

// "frame 7 (captured 9), 20.100 us".
std::string place_of(const DialogueDifference& difference) {
  std::string place;
  if (difference.live_frame != 0) {
    place = fmt::format("frame {}", difference.live_frame);
    if (difference.captured_frame != 0) {
      place += fmt::format(" (captured {})", difference.captured_frame);
    }
  } else if (difference.captured_frame != 0) {
    place = fmt::format("captured frame {}", difference.captured_frame);
  } else {
    place = "no frame";
  }
  return place + ", " + show_time(difference.at);
}

std::string line_of(const DialogueDifference& difference, const char* begin) {
  std::string line = fmt::format("{}{}: {} [{}]\n", begin, place_of(difference),
                                 capitalised(difference.sentence), difference.kind);
  if (!difference.rule.empty() && !difference.note) {
    line += fmt::format("      {}\n", difference.rule);
  }
  return line;
}

std::string connection_text(const ConnectionDifference& connection, std::size_t most) {
  std::string text;
  if (connection.captured && connection.live) {
    text = fmt::format("{} {}\n  live {}{}: {} compared, ", connection.service,
                       connection.captured_ends, connection.live_ends,
                       connection.turned ? ", the other way round" : "",
                       counted(connection.messages, "message"));
    text += connection.differences.empty()
                ? std::string("no difference\n")
                : counted(connection.differences.size(), "difference") + "\n";
  } else {
    text = fmt::format("{} {}\n", connection.service,
                       connection.captured ? connection.captured_ends : connection.live_ends);
  }
  std::size_t shown = 0;
  for (const DialogueDifference& difference : connection.differences) {
    if (most != 0 && shown++ == most) {
      text += fmt::format("  and {} (--all shows them)\n",
                          counted(connection.differences.size() - most, "more difference"));
      break;
    }
    text += line_of(difference, "  ");
  }
  for (const DialogueDifference& note : connection.notes) text += line_of(note, "  note: ");
  return text;
}

nlohmann::ordered_json difference_object(const DialogueDifference& difference) {
  nlohmann::ordered_json json;
  json["kind"] = difference.kind;
  json["sentence"] = difference.sentence;
  json["rule"] = nullptr;
  if (!difference.rule.empty()) json["rule"] = difference.rule;
  const auto frame = [](std::uint32_t number) {
    return number == 0 ? nlohmann::ordered_json() : nlohmann::ordered_json(number);
  };
  json["live_frame"] = frame(difference.live_frame);
  json["captured_frame"] = frame(difference.captured_frame);
  json["message"] = frame(difference.message);
  json["requester"] = difference.requester;
  json["time_ns"] = difference.at.count();
  return json;
}

}  // namespace

std::string difference_text(const DifferenceReport& report, const DifferenceNames& names,
                            std::size_t most) {
  std::string text = fmt::format("captured: {}, {}; live: {}, {}\n", one_line(names.captured),
                                 counted(report.captured_frames, "frame"), one_line(names.live),
                                 counted(report.live_frames, "frame"));
  for (const ConnectionDifference& connection : report.connections) {
    text += connection_text(connection, most);
  }
  if (report.connections.empty()) text += "neither of them has a connection with messages\n";
  return text;
}

std::string difference_json(const DifferenceReport& report, const DifferenceNames& names) {
  nlohmann::ordered_json json;
  json["captured"] = {{"file", names.captured}, {"frames", report.captured_frames}};
  json["live"] = {{"file", names.live}, {"frames", report.live_frames}};
  json["differences"] = report.differences();
  json["connections"] = nlohmann::ordered_json::array();
  for (const ConnectionDifference& connection : report.connections) {
    nlohmann::ordered_json object;
    object["service"] = connection.service;
    const auto end = [](const std::optional<std::uint32_t>& stream, const std::string& ends) {
      nlohmann::ordered_json side;
      if (stream) side = {{"stream", *stream}, {"ends", ends}};
      return side;
    };
    object["captured"] = end(connection.captured, connection.captured_ends);
    object["live"] = end(connection.live, connection.live_ends);
    object["turned"] = connection.turned;
    object["messages"] = connection.messages;
    for (const auto& [key, list] :
         {std::pair{"differences", &connection.differences}, {"notes", &connection.notes}}) {
      object[key] = nlohmann::ordered_json::array();
      for (const DialogueDifference& difference : *list) {
        object[key].push_back(difference_object(difference));
      }
    }
    json["connections"].push_back(std::move(object));
  }
  return json.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
}

}  // namespace softrnic::tools
