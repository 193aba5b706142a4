// SPDX-License-Identifier: BSD-3-Clause
#include "offline_replay/known_deviation.hpp"

#include <array>

namespace softrnic::offline_replay {
namespace {

using wire::NakCode;
using wire::Syndrome;

constexpr KnownDeviation kSendTooLong{
    "send-too-long-0x63",
    "refuses a SEND longer than its receive buffer with NAK 0x63 (remote operational error), as "
    "Linux rdma_rxe does",
    "NAK 0x61 (invalid request): the length is the requester's error (IBTA vol. 1, 9.9.3)"};
constexpr KnownDeviation kSequenceNakAfterRnr{
    "sequence-nak-after-rnr",
    "sends a NAK for PSN sequence error behind an RNR NAK of the same PSN, as Linux rdma_rxe does",
    "silence until the request that was not ready comes again (IBTA vol. 1, 9.7.5.2.8)"};

constexpr KnownDeviation kReadRetryTail{
    "read-retry-middle",
    "answers a repeated READ that asks for the tail of an earlier one from a Middle or Last packet "
    "on, as Linux rdma_rxe does",
    "a response of its own, from First or Only on (IBTA vol. 1, 9.7.5.1.3)"};

constexpr std::array kDeviations{kSendTooLong, kSequenceNakAfterRnr, kReadRetryTail};

}  // namespace

std::span<const KnownDeviation> known_deviations() {
  return kDeviations;
}

const KnownDeviation* explain_syndrome(const Packet& request, Syndrome captured,
                                       Syndrome expected) {
  if (request.opcode->operation == wire::Operation::send &&
      captured == Syndrome::nak(NakCode::remote_operational_error) &&
      expected == Syndrome::nak(NakCode::invalid_request)) {
    return &kDeviations[0];
  }
  return nullptr;
}

const KnownDeviation* explain_answer(const Step& step, Syndrome captured) {
  if (step.fate == Fate::not_ready && captured == Syndrome::nak(NakCode::psn_sequence_error)) {
    return &kDeviations[1];
  }
  return nullptr;
}

const KnownDeviation* explain_opcode(const Step& step, wire::Opcode captured,
                                     wire::Opcode expected) {
  using wire::Opcode;
  if (step.fate != Fate::duplicate) return nullptr;
  const bool middle =
      captured == Opcode::rc_read_response_middle && expected == Opcode::rc_read_response_first;
  const bool last =
      captured == Opcode::rc_read_response_last && expected == Opcode::rc_read_response_only;
  return middle || last ? &kDeviations[2] : nullptr;
}

}  // namespace softrnic::offline_replay
