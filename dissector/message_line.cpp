// SPDX-License-Identifier: GPL-2.0-or-later
#include "dissector/message_line.hpp"

#include <fmt/format.h>

#include <iterator>

#include "dissector/fields.hpp"

namespace softrnic::dissector {
namespace {

std::string size_text(std::uint32_t bytes) {
  constexpr std::uint32_t kKibi = 1024;
  if (bytes == 1) return "1 byte";
  if (bytes < kKibi || bytes % kKibi != 0) return fmt::format("{} bytes", bytes);
  if (bytes % (kKibi * kKibi) == 0) return fmt::format("{} MiB", bytes / kKibi / kKibi);
  return fmt::format("{} KiB", bytes / kKibi);
}

std::string time_text(wire::Duration duration) {
  const auto ns = static_cast<double>(duration.count());
  if (ns < 1e3) return fmt::format("{:.0f} ns", ns);
  if (ns < 1e6) return fmt::format("{:.4g} us", ns / 1e3);
  if (ns < 1e9) return fmt::format("{:.4g} ms", ns / 1e6);
  return fmt::format("{:.4g} s", ns / 1e9);
}

// "to" what is written, "from" what is read, "at" what an atomic changes; SENDs go to a receive.
const char* preposition(wire::Operation operation) {
  switch (operation) {
    case wire::Operation::write:
      return "to";
    case wire::Operation::read_request:
      return "from";
    case wire::Operation::compare_swap:
    case wire::Operation::fetch_add:
    case wire::Operation::atomic_write:
    case wire::Operation::flush:
      return "at";
    default:
      return nullptr;
  }
}

bool has_length(const analysis::Message& message) {
  return message.operation != wire::Operation::compare_swap &&
         message.operation != wire::Operation::fetch_add &&
         (message.operation != wire::Operation::send || message.length != 0 ||
          message.state == analysis::MessageState::complete);
}

void add_end(std::string& line, const analysis::Message& message) {
  auto out = std::back_inserter(line);
  switch (message.state) {
    case analysis::MessageState::open:
      fmt::format_to(out, ", not complete yet");
      break;
    case analysis::MessageState::complete:
      if (message.completed_frame != 0) {
        fmt::format_to(out, ", completed in {}",
                       time_text(message.completed_time - message.first_time));
      }
      break;
    case analysis::MessageState::refused:
      fmt::format_to(out, ", refused in frame {}", message.completed_frame);
      break;
    case analysis::MessageState::abandoned:
      fmt::format_to(out, ", never completed");
      break;
  }
}

}  // namespace

std::string message_line(const analysis::Message& message) {
  std::string line = operation_name(message.operation);
  auto out = std::back_inserter(line);
  if (has_length(message)) fmt::format_to(out, " {}", size_text(message.length));
  if (const char* where = preposition(message.operation)) {
    fmt::format_to(out, " {} 0x{:x}, key 0x{:x}", where, message.virtual_address,
                   message.remote_key);
  }
  if (message.has_immediate) fmt::format_to(out, ", immediate 0x{:08x}", message.immediate);
  if (message.has_invalidate) fmt::format_to(out, ", invalidates 0x{:x}", message.invalidated_key);
  const std::uint32_t packets =
      message.operation == wire::Operation::read_request ? message.psn_count : message.packets;
  fmt::format_to(out, ", {} {}{}", packets,
                 message.operation == wire::Operation::read_request ? "response packet" : "packet",
                 packets == 1 ? "" : "s");
  if (message.repetitions != 0) fmt::format_to(out, ", {} repeated", message.repetitions);
  add_end(line, message);
  return line;
}

}  // namespace softrnic::dissector
