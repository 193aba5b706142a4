// SPDX-License-Identifier: BSD-3-Clause
// Figures as people read them: times, sizes, rates, and the words of operations and services.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "wire/instant.hpp"
#include "wire/opcode.hpp"

namespace softrnic::explain {

std::string duration_text(wire::Duration time);                   // "12.3 us"
std::string size_text(std::uint64_t bytes);                       // "1.5 MiB"
std::string rate_text(std::uint64_t bytes, wire::Duration time);  // "3.2 Gbit/s"
std::string count_text(std::uint64_t n, std::string_view one);    // "3 losses"
std::string_view operation_text(wire::Operation operation);       // "WRITE"
std::string_view operation_name(wire::Operation operation);       // "write": JSON, CSV
std::string_view service_name(wire::Service service);             // "rc": JSON, CSV

}  // namespace softrnic::explain
