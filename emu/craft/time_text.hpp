// SPDX-License-Identifier: BSD-3-Clause
// Times as descriptions write them, to the nanosecond: "1.5ms", "250ns"; and an instant as seconds
// since 1970, "1700000000.123456789".
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "wire/instant.hpp"

namespace softrnic::craft {

std::optional<wire::Duration> read_time(std::string_view text);
std::string time_text(wire::Duration time);  // not negative

std::optional<wire::Instant> read_instant(std::string_view text);
std::string instant_text(wire::Instant at);

}  // namespace softrnic::craft
