// SPDX-License-Identifier: BSD-3-Clause
// Times as users write them, exact to the nanosecond: "1.5" and "1.5s" are seconds, "300us", "2ms",
// "40ns"; a moment may be "@1700000000.25", seconds since 1970.
#pragma once

#include <string>
#include <string_view>

#include "edit/edit_plan.hpp"
#include "wire/expected.hpp"

namespace softrnic::edit {

wire::Expected<wire::Duration, std::string> read_signed_duration(std::string_view text);
wire::Expected<Moment, std::string> read_moment(std::string_view text);

}  // namespace softrnic::edit
