// SPDX-License-Identifier: BSD-3-Clause
#include "offline_replay/answer_shape.hpp"

#include <fmt/format.h>

namespace softrnic::offline_replay {
namespace {

using wire::NakCode;
using wire::Operation;
using wire::Syndrome;

constexpr std::string_view kAnswerRule = "IBTA vol. 1, 9.7.5: every request is answered so";
constexpr std::string_view kSequenceRule =
    "IBTA vol. 1, 9.7.5.2.8: a request beyond the expected PSN is answered by one NAK that names "
    "the expected one";
constexpr std::string_view kFatalRule = "IBTA vol. 1, 9.9.3: errors a responder finds in a request";
constexpr std::string_view kRnrRule =
    "IBTA vol. 1, 9.7.5.2.8: a request that finds no receive is answered by an RNR NAK";

std::string describe_syndrome(Syndrome syndrome) {
  switch (syndrome.kind()) {
    case Syndrome::Kind::ack:
      return "ACK";
    case Syndrome::Kind::rnr_nak:
      return fmt::format("RNR NAK (timer {})", syndrome.value());
    case Syndrome::Kind::nak:
      return fmt::format("NAK {:#04x} ({})", syndrome.raw(),
                         to_string(static_cast<NakCode>(syndrome.value())));
    case Syndrome::Kind::reserved:
      break;
  }
  return fmt::format("reserved syndrome {:#04x}", syndrome.raw());
}

}  // namespace

std::uint8_t AnswerShape::syndrome_class() const {
  constexpr std::uint8_t kKindBits = 0xe0;
  const bool only_kind = syndrome.is_ack() || syndrome.is_rnr_nak();
  return only_kind ? static_cast<std::uint8_t>(syndrome.raw() & kKindBits) : syndrome.raw();
}

AnswerShape shape_of(const wire::TransportHeaders& headers, const wire::OpcodeInfo& opcode) {
  AnswerShape shape;
  const bool has_aeth = opcode.has(wire::kAeth);
  shape.syndrome = has_aeth ? headers.aeth.syndrome : Syndrome::ack();
  if (has_aeth) shape.msn = headers.aeth.msn;
  if (opcode.operation == Operation::read_response) {
    shape.kind = AnswerKind::read;
  } else if (opcode.operation == Operation::atomic_acknowledge) {
    shape.kind = AnswerKind::atomic;
  } else if (shape.syndrome.is_rnr_nak()) {
    shape.kind = AnswerKind::rnr;
  } else if (shape.syndrome == Syndrome::nak(NakCode::psn_sequence_error)) {
    shape.kind = AnswerKind::sequence_nak;
  } else if (!shape.syndrome.is_ack()) {
    shape.kind = AnswerKind::final_nak;
  }
  return shape;
}

std::string describe_answer(const wire::TransportHeaders& headers, const wire::OpcodeInfo& opcode,
                            std::size_t payload) {
  std::string text = opcode.operation == Operation::acknowledge
                         ? describe_syndrome(headers.aeth.syndrome)
                         : std::string(opcode.name);
  text += fmt::format(", PSN {}", headers.bth.psn.value());
  if (opcode.has(wire::kAeth)) text += fmt::format(", MSN {}", headers.aeth.msn);
  if (opcode.has(wire::kAtomicAckEth)) {
    text += fmt::format(", original {:#018x}", headers.atomic_ack_eth.original);
  }
  if (opcode.operation == Operation::read_response) text += fmt::format(", {} bytes", payload);
  return text;
}

std::string_view rule_of(AnswerKind kind) {
  switch (kind) {
    case AnswerKind::acknowledge:
    case AnswerKind::read:
    case AnswerKind::atomic:
      return kAnswerRule;
    case AnswerKind::rnr:
      return kRnrRule;
    case AnswerKind::sequence_nak:
      return kSequenceRule;
    case AnswerKind::final_nak:
      return kFatalRule;
  }
  return kAnswerRule;
}

}  // namespace softrnic::offline_replay
