// SPDX-License-Identifier: BSD-3-Clause
#include "explain/figures.hpp"

#include <fmt/format.h>

#include <array>
#include <cmath>

namespace softrnic::explain {

namespace {

// Three digits that mean something: "1.23", "12.3", "123".
std::string three_digits(double value) {
  const int decimals = value < 9.995 ? 2 : value < 99.95 ? 1 : 0;
  return fmt::format("{:.{}f}", value, decimals);
}

}  // namespace

std::string duration_text(wire::Duration time) {
  const auto ns = static_cast<double>(time.count());
  const double size = std::abs(ns);
  const std::string_view sign = ns < 0 ? "-" : "";
  if (size < 1e3) return fmt::format("{}{:.0f} ns", sign, size);
  if (size < 999.5e3) return fmt::format("{}{} us", sign, three_digits(size / 1e3));
  if (size < 999.5e6) return fmt::format("{}{} ms", sign, three_digits(size / 1e6));
  return fmt::format("{}{} s", sign, three_digits(size / 1e9));
}

std::string size_text(std::uint64_t bytes) {
  if (bytes < 1024) return std::to_string(bytes) + " B";
  constexpr std::array<std::string_view, 6> kUnits{"KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  double value = static_cast<double>(bytes) / 1024;
  std::size_t unit = 0;
  while (value >= 1023.5 && unit + 1 < kUnits.size()) {
    value /= 1024;
    ++unit;
  }
  return fmt::format("{} {}", three_digits(value), kUnits[unit]);
}

std::string rate_text(std::uint64_t bytes, wire::Duration time) {
  if (time.count() <= 0) return "-";
  double bits = static_cast<double>(bytes) * 8e9 / static_cast<double>(time.count());
  constexpr std::array<std::string_view, 5> kUnits{"bit/s", "kbit/s", "Mbit/s", "Gbit/s", "Tbit/s"};
  std::size_t unit = 0;
  while (bits >= 999.5 && unit + 1 < kUnits.size()) {
    bits /= 1000;
    ++unit;
  }
  return fmt::format("{} {}", three_digits(bits), kUnits[unit]);
}

std::string count_text(std::uint64_t n, std::string_view one) {
  const std::string_view plural = one.ends_with('s') ? "es" : "s";
  return fmt::format("{} {}{}", n, one, n == 1 ? "" : plural);
}

std::string_view operation_text(wire::Operation operation) {
  switch (operation) {
    case wire::Operation::send:
      return "SEND";
    case wire::Operation::write:
      return "WRITE";
    case wire::Operation::read_request:
      return "READ";
    case wire::Operation::compare_swap:
      return "CMP&SWAP";
    case wire::Operation::fetch_add:
      return "FETCH&ADD";
    case wire::Operation::flush:
      return "FLUSH";
    case wire::Operation::atomic_write:
      return "ATOMIC WRITE";
    default:
      return "other";
  }
}

std::string_view operation_name(wire::Operation operation) {
  switch (operation) {
    case wire::Operation::send:
      return "send";
    case wire::Operation::write:
      return "write";
    case wire::Operation::read_request:
      return "read";
    case wire::Operation::compare_swap:
      return "compare_swap";
    case wire::Operation::fetch_add:
      return "fetch_add";
    case wire::Operation::flush:
      return "flush";
    case wire::Operation::atomic_write:
      return "atomic_write";
    default:
      return "other";
  }
}

std::string_view service_name(wire::Service service) {
  switch (service) {
    case wire::Service::reliable_connection:
      return "rc";
    case wire::Service::unreliable_connection:
      return "uc";
    case wire::Service::reliable_datagram:
      return "rd";
    case wire::Service::unreliable_datagram:
      return "ud";
    case wire::Service::congestion_notification:
      return "cnp";
    case wire::Service::extended_reliable_connection:
      return "xrc";
    case wire::Service::unknown:
      break;
  }
  return "unknown";
}

}  // namespace softrnic::explain
