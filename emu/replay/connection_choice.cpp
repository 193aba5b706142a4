// SPDX-License-Identifier: BSD-3-Clause
#include "replay/connection_choice.hpp"

#include <fmt/format.h>

#include <charconv>

#include "analysis/analyzer.hpp"
#include "capture/packet_reading.hpp"

namespace softrnic::replay {

namespace {

constexpr std::size_t kMostNamed = 8;  // connections that a complaint lists

std::optional<std::uint32_t> parse_qpn(std::string_view text) {
  int base = 10;
  if (text.starts_with("0x") || text.starts_with("0X")) {
    text.remove_prefix(2);
    base = 16;
  }
  std::uint32_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, base);
  if (error != std::errc{} || end != text.data() + text.size() || value > 0xffffff) return {};
  return value;
}

bool is_reliable(const analysis::Stream& stream) {
  return stream.service == wire::Service::reliable_connection;
}

std::string end_text(const analysis::StreamSide& side) {
  const std::string address = side.address.is_ipv4_mapped()
                                  ? side.address.to_string()
                                  : fmt::format("[{}]", side.address.to_string());
  if (side.qpn == analysis::kUnknownQpn) return address;
  return fmt::format("{}:{:#x}", address, side.qpn);
}

std::string list_of(const analysis::Analyzer& analyzer) {
  std::string text;
  std::size_t named = 0;
  std::size_t left_out = 0;
  for (std::uint32_t i = 0; i < analyzer.stream_count(); ++i) {
    const analysis::Stream& stream = analyzer.stream(i);
    if (!is_reliable(stream) || stream.sides[0].packets + stream.sides[1].packets == 0) continue;
    if (named == kMostNamed) {
      ++left_out;
      continue;
    }
    ++named;
    text += fmt::format("{}{} ({}-{})", text.empty() ? "" : ", ", i, end_text(stream.sides[0]),
                        end_text(stream.sides[1]));
  }
  if (left_out != 0) text += fmt::format(" and {} more", left_out);
  return text.empty() ? "it has none" : "it has " + text;
}

wire::Expected<ChosenConnection, std::string> choose(const analysis::Analyzer& analyzer,
                                                     const ConnectionChoice& choice) {
  for (std::uint32_t i = 0; i < analyzer.stream_count(); ++i) {
    const analysis::Stream& stream = analyzer.stream(i);
    if (choice.stream && *choice.stream != i) continue;
    if (!is_reliable(stream)) {
      if (!choice.stream) continue;
      return wire::Unexpected{fmt::format("stream {} is {}: only reliable connections are replayed",
                                          i, wire::to_string(stream.service))};
    }
    if (stream.sides[0].requests + stream.sides[1].requests == 0) continue;
    ChosenConnection chosen{stream,
                            stream.sides[0].requests != 0 ? std::uint8_t{0} : std::uint8_t{1}};
    if (!choice.ends) return chosen;
    for (const std::uint8_t requester : {std::uint8_t{0}, std::uint8_t{1}}) {
      if ((*choice.ends)[0].names(stream.sides[requester]) &&
          (*choice.ends)[1].names(stream.sides[1 - requester])) {
        chosen.requester = requester;
        return chosen;
      }
    }
  }
  return wire::Unexpected{fmt::format(
      "no such reliable connection with requests is in the capture: {}", list_of(analyzer))};
}

}  // namespace

std::optional<EndName> EndName::from_string(std::string_view text) {
  EndName name;
  std::string_view address = text;
  const std::size_t bracket = text.rfind(']');
  const std::size_t colon = text.find(':', bracket == std::string_view::npos ? 0 : bracket);
  if (colon != std::string_view::npos) {
    name.qpn = parse_qpn(text.substr(colon + 1));
    if (!name.qpn) return {};
    address = text.substr(0, colon);
  }
  if (address.size() > 2 && address.front() == '[' && address.back() == ']') {
    address = address.substr(1, address.size() - 2);
  }
  if (!address.empty()) {
    name.address = wire::Gid::from_string(address);
    if (!name.address) return {};
  }
  if (!name.address && !name.qpn) return {};
  return name;
}

bool EndName::names(const analysis::StreamSide& side) const {
  if (address && *address != side.address) return false;
  return !qpn || *qpn == side.qpn;
}

std::optional<ConnectionChoice> ConnectionChoice::from_string(std::string_view text) {
  const std::size_t dash = text.find('-');
  if (dash == std::string_view::npos) return {};
  const auto requester = EndName::from_string(text.substr(0, dash));
  const auto responder = EndName::from_string(text.substr(dash + 1));
  if (!requester || !responder) return {};
  ConnectionChoice choice;
  choice.ends = {*requester, *responder};
  return choice;
}

wire::Expected<ChosenConnection, std::string> find_connection(const std::string& path,
                                                              const ConnectionChoice& choice,
                                                              const OnRecord& on_record) {
  auto file = capture::CaptureFile::open(path);
  if (!file) return wire::Unexpected{file.error()};
  analysis::Analyzer analyzer({.connections = {}, .forgets = true});
  while (const capture::Record* record = file->next()) {
    if (on_record && !on_record(*file, *record)) return wire::Unexpected{std::string(kInterrupted)};
    const capture::PacketReading reading = capture::read_packet(file->link_type(), *record);
    if (reading.analysable()) analyzer.on_packet(reading.frame);
  }
  if (!file->damage().empty()) return wire::Unexpected{file->damage()};
  return choose(analyzer, choice);
}

}  // namespace softrnic::replay
