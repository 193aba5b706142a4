// SPDX-License-Identifier: BSD-3-Clause
#include "explain/message_row.hpp"

#include <fmt/format.h>

#include <array>
#include <iterator>
#include <nlohmann/json.hpp>

#include "explain/connection_account.hpp"
#include "explain/figures.hpp"

namespace softrnic::explain {

std::string_view outcome_name(const analysis::Message& message, const analysis::Stream& stream) {
  const bool reliable = stream.service == wire::Service::reliable_connection ||
                        stream.service == wire::Service::extended_reliable_connection;
  switch (message.state) {
    case analysis::MessageState::complete:
      return "completed";
    case analysis::MessageState::refused:
      return "refused";
    case analysis::MessageState::open:
      return reliable ? "unanswered" : "partial";
    case analysis::MessageState::abandoned:
      break;
  }
  return "partial";
}

// By NAK code.
constexpr std::array<std::string_view, 5> kNaks{"PSN sequence error", "invalid request",
                                                "remote access error", "remote operational error",
                                                "invalid RD request"};

std::string syndrome_text(wire::Syndrome syndrome) {
  if (syndrome.is_ack()) {
    const auto receives = wire::credit_count(syndrome.value());
    return receives ? fmt::format("ACK, {}", count_text(*receives, "credit")) : "ACK";
  }
  if (syndrome.is_rnr_nak()) {
    return fmt::format("RNR NAK, wait {}", duration_text(wire::rnr_timer(syndrome.value())));
  }
  if (syndrome.is_nak() && syndrome.value() < kNaks.size()) {
    return fmt::format("NAK: {}", kNaks[syndrome.value()]);
  }
  if (syndrome.is_selective()) return "selective ACK";
  return fmt::format("reserved 0x{:02x}", syndrome.raw());
}

namespace {

using analysis::Message;
using analysis::Stream;
using analysis::StreamSide;

std::string qpn_text(std::uint32_t qpn) {
  return qpn == analysis::kUnknownQpn ? "" : fmt::format("{}", qpn);
}

std::string end_text(const StreamSide& side) {
  if (side.qpn == analysis::kUnknownQpn) return side.address.to_string();
  return fmt::format("{}:0x{:06x}", side.address.to_string(), side.qpn);
}

bool has_address(wire::Operation operation) {
  return operation != wire::Operation::send && operation != wire::Operation::unknown;
}

}  // namespace

std::string_view message_text_header() {
  return "   frame            time  conn  operation        bytes     latency  outcome\n";
}

void add_message_text(std::string& out, const Message& m, const Stream& stream,
                      wire::Instant begin) {
  const wire::Duration latency = latency_of(m);
  const StreamSide& from = stream.sides[m.requester];
  const StreamSide& to = stream.sides[1 - m.requester];
  std::string outcome(outcome_name(m, stream));
  if (m.state == analysis::MessageState::refused) outcome += ", " + syndrome_text(m.answer);
  if (m.completed_frame != 0) outcome += fmt::format(" in frame {}", m.completed_frame);
  if (m.repetitions != 0) outcome += fmt::format(", {} sent again", m.repetitions);
  fmt::format_to(
      std::back_inserter(out), "{:>8} {:>15.9f} {:>5}  {:<12} {:>9}  {:>10}  {}; {} -> {}\n",
      m.first_frame, static_cast<double>((m.first_time - begin).count()) / 1e9, m.stream,
      operation_text(m.operation), m.length != 0 ? m.length : m.payload_bytes,
      latency.count() < 0 ? "-" : duration_text(latency), outcome, end_text(from), end_text(to));
}

std::string_view message_csv_header() {
  return "connection,requester,message,service,operation,source,source_qpn,destination,"
         "destination_qpn,first_frame,last_frame,completed_frame,begin_ns,end_ns,latency_ns,bytes,"
         "payload_bytes,packets,repetitions,first_psn,psns,virtual_address,remote_key,immediate,"
         "invalidated_key,outcome,syndrome\n";
}

void add_message_csv(std::string& out, const Message& m, const Stream& stream) {
  const StreamSide& from = stream.sides[m.requester];
  const StreamSide& to = stream.sides[1 - m.requester];
  const bool answered = m.completed_frame != 0;
  const wire::Duration latency = latency_of(m);
  auto at = std::back_inserter(out);
  at = fmt::format_to(at, "{},{},{},{},{},{},{},{},{},{},{},", m.stream, m.requester, m.number,
                      service_name(stream.service), operation_name(m.operation),
                      from.address.to_string(), qpn_text(from.qpn), to.address.to_string(),
                      qpn_text(to.qpn), m.first_frame, m.last_frame);
  if (answered) at = fmt::format_to(at, "{}", m.completed_frame);
  at = fmt::format_to(at, ",{},", m.first_time.time_since_epoch().count());
  if (answered) at = fmt::format_to(at, "{}", m.completed_time.time_since_epoch().count());
  out += ',';
  if (latency.count() >= 0) at = fmt::format_to(at, "{}", latency.count());
  at = fmt::format_to(at, ",{},{},{},{},{},{},", m.length, m.payload_bytes, m.packets,
                      m.repetitions, m.first_psn, m.psn_count);
  if (has_address(m.operation) && !m.headers_cut) {
    at = fmt::format_to(at, "{},{},", m.virtual_address, m.remote_key);
  } else {
    out += ",,";
  }
  if (m.has_immediate) at = fmt::format_to(at, "{}", m.immediate);
  out += ',';
  if (m.has_invalidate) at = fmt::format_to(at, "{}", m.invalidated_key);
  at = fmt::format_to(at, ",{},", outcome_name(m, stream));
  if (answered) at = fmt::format_to(at, "{}", m.answer.raw());
  out += '\n';
}

void add_message_json(std::string& out, const Message& m, const Stream& stream) {
  using Json = nlohmann::ordered_json;
  const bool answered = m.completed_frame != 0;
  const wire::Duration latency = latency_of(m);
  Json json{
      {"connection", m.stream},
      {"requester", m.requester},
      {"message", m.number},
      {"service", service_name(stream.service)},
      {"operation", operation_name(m.operation)},
      {"first_frame", m.first_frame},
      {"last_frame", m.last_frame},
      {"completed_frame", answered ? Json(m.completed_frame) : Json(nullptr)},
      {"begin_ns", m.first_time.time_since_epoch().count()},
      {"end_ns", answered ? Json(m.completed_time.time_since_epoch().count()) : Json(nullptr)},
      {"latency_ns", latency.count() >= 0 ? Json(latency.count()) : Json(nullptr)},
      {"bytes", m.length},
      {"payload_bytes", m.payload_bytes},
      {"packets", m.packets},
      {"repetitions", m.repetitions},
      {"first_psn", m.first_psn},
      {"psns", m.psn_count},
      {"outcome", outcome_name(m, stream)}};
  if (has_address(m.operation) && !m.headers_cut) {
    json["virtual_address"] = m.virtual_address;
    json["remote_key"] = m.remote_key;
  }
  if (m.has_immediate) json["immediate"] = m.immediate;
  if (m.has_invalidate) json["invalidated_key"] = m.invalidated_key;
  if (answered) json["syndrome"] = m.answer.raw();
  out += json.dump();
  out += '\n';
}

}  // namespace softrnic::explain
