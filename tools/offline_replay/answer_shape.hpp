// SPDX-License-Identifier: BSD-3-Clause
// What kind of answer a packet is, in what it must agree with another one, and how it is called in
// reports.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "wire/opcode.hpp"
#include "wire/transport_headers.hpp"

namespace softrnic::offline_replay {

enum class AnswerKind : std::uint8_t {
  acknowledge,
  rnr,
  sequence_nak,
  final_nak,  // ends the connection
  read,
  atomic,
};

struct AnswerShape {
  AnswerKind kind{};
  wire::Syndrome syndrome;           // ACK where there is no AETH
  std::optional<std::uint32_t> msn;  // where there is one

  // What of the syndrome must agree: a NAK's code, but neither credits nor an RNR timer.
  std::uint8_t syndrome_class() const;
  // A READ or atomic response.
  bool is_response() const { return kind == AnswerKind::read || kind == AnswerKind::atomic; }
};

AnswerShape shape_of(const wire::TransportHeaders& headers, const wire::OpcodeInfo& opcode);

std::string describe_answer(const wire::TransportHeaders& headers, const wire::OpcodeInfo& opcode,
                            std::size_t payload);

// What the standard says about answers of a kind, and about what they carry.
std::string_view rule_of(AnswerKind kind);
inline constexpr std::string_view kMsnRule =
    "IBTA vol. 1, 9.7.7: the MSN counts the messages that are complete";
inline constexpr std::string_view kPayloadRule =
    "IBTA vol. 1, 9.7.5.1.3: a READ response carries the bytes the memory holds";
inline constexpr std::string_view kAtomicRule =
    "IBTA vol. 1, 9.4.5: an atomic response carries the value from before the operation";

}  // namespace softrnic::offline_replay
