// SPDX-License-Identifier: BSD-3-Clause
// One message as a row: what was asked, by whom, when, and what became of it; for a terminal, as
// CSV and as a line of JSON (docs/explain.md has the columns).
#pragma once

#include <string>
#include <string_view>

#include "analysis/message.hpp"
#include "analysis/stream.hpp"
#include "wire/aeth.hpp"

namespace softrnic::explain {

// "completed", "refused", "unanswered" (reliable services), "partial".
std::string_view outcome_name(const analysis::Message& message, const analysis::Stream& stream);
// "ACK", "RNR NAK, wait 1.28 ms", "NAK: remote access error".
std::string syndrome_text(wire::Syndrome syndrome);

// Each appends one line. Times in the text are since `begin`.
std::string_view message_text_header();
void add_message_text(std::string& out, const analysis::Message& message,
                      const analysis::Stream& stream, wire::Instant begin);
std::string_view message_csv_header();
void add_message_csv(std::string& out, const analysis::Message& message,
                     const analysis::Stream& stream);
void add_message_json(std::string& out, const analysis::Message& message,
                      const analysis::Stream& stream);

}  // namespace softrnic::explain
