// SPDX-License-Identifier: BSD-3-Clause
// Findings: what is worth a remark about a packet, with its severity and its sentence.
//
// The table in finding.cpp holds every kind once: its name (filters, JSON), how serious it is and
// what it means. A finding belongs to the frame that shows it and never changes afterwards.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace softrnic::analysis {

// chat: how the protocol normally goes. note: worth knowing. warning: something was lost, refused
// or late, and the protocol mends it. error: the connection breaks, or a rule is broken.
enum class Severity : std::uint8_t { chat, note, warning, error };

std::string_view to_string(Severity severity);

enum class FindingKind : std::uint8_t {
  // Order of requests (IBTA vol. 1, 9.7.2 to 9.7.5).
  psn_gap,                   // a: the PSN expected, b: how many are missing
  out_of_order,              // fills a gap that was seen before; related: the frame after the gap
  duplicate,                 // the same packet again, that nobody asked for; related: the first one
  reused_psn,                // another packet with a PSN already used; related: the first one
  retransmission_nak,        // related: the NAK, 0 when the capture does not show it; a: which
                             // repetition, b: ns since the original, 0 when it was not captured
  retransmission_rnr,        // related: the RNR NAK; a: which repetition, b: ns since it
  retransmission_timeout,    // related: the original, 0 when it was not captured; a, b: as above
  retransmission_implied,    // a READ or atomic asked again as a response was lost; related: the
                             // response that showed the loss
  retransmission_selective,  // related: the selective acknowledgement; a, b: as above
  retry_limit,               // a: repetitions; the sender gives up after this one (CM told), or the
                             // field allows no more
  unanswered,                // a: repetitions; nothing at all came back since the original; related
  rnr_wait_short,            // sent again before the RNR timer ended; a: ns waited, b: ns asked for
  request_after_error,       // related: the NAK that ended the connection

  // Shape of requests (IBTA vol. 1, 9.6 and 9.7.4).
  wrong_opcode_order,    // FIRST inside a message, MIDDLE or LAST outside of one; related: before
  payload_not_mtu,       // FIRST or MIDDLE of another size than the message's; a: size, b: MTU
  wrong_pad,             // pad count that does not fit, or pad where none may be; a: pad count
  message_too_long,      // a: bytes so far, b: bytes announced
  message_too_short,     // a: bytes, b: bytes announced
  too_many_outstanding,  // a: outstanding READs and atomics, b: what CM allowed

  // Answers (IBTA vol. 1, 9.7.5.1 and 9.7.5.2).
  nak_psn_sequence,     // a: the PSN the responder waits for; related: the packet that showed it
  nak_invalid_request,  // related: the request refused, as of every NAK below
  nak_remote_access,
  nak_remote_operational,
  nak_invalid_rd,
  nak_reserved,   // a: the syndrome
  rnr_nak,        // a: ns to wait, b: how many in a row
  selective_ack,  // softrnic's own (docs/selective-repeat.md): a: the PSN the responder waits for,
                  // b: packets that came before their turn; related: the last of them
  duplicate_ack,  // acknowledges again what is acknowledged; related: the first ACK
  ack_of_unsent,  // a: PSN; nothing was sent with it yet
  ghost,          // a response to nothing that is outstanding, or of a PSN long past
  msn_jump,       // a: MSN expected, b: MSN seen
  read_response_missing,     // a: the PSN expected, b: how many are missing
  read_response_wrong_size,  // a: bytes, b: bytes asked for
  response_repeated,         // a READ or atomic response again; related: the first one
  atomic_changed,  // a repeated atomic answered with another value; related: the first one

  // Memory, learned from what succeeded.
  key_unknown,            // a: the R_Key; no request with it succeeded before the NAK
  address_out_of_bounds,  // a: the first address beyond what succeeded with this R_Key, b: how
                          // many bytes of the request lie beyond
  write_refused,          // the same key and place could be read but not written

  // End-to-end credits (IBTA vol. 1, 9.7.7.2).
  credits_exhausted,  // SEND beyond the last credit; a: the limit MSN, b: how far, 1 being allowed

  // Congestion (IBTA annex A17; RFC 3168).
  ecn_marked,        // congestion experienced
  cnp,               // related: the newest marked packet of the flow it slows; a: ns since it
  cnp_without_mark,  // no marked packet was seen
  rate_changed,      // related: the CNP; a: rate before, b: rate after, bytes per second

  // Connection.
  connection_request,      // CM REQ, chat; a: local QPN, b: PSN the other is to begin with.
                           // SIDR REQ: b is kNone
  connection_established,  // CM REP; a, b: as of the REQ, which is related. RTU: related: the REP.
                           // SIDR REP: a: QPN, b: kNone; related: the SIDR REQ
  connection_rejected,     // CM REJ; a: reason; related: the REQ. SIDR REP: a: status, b: kNone
  connection_closed,       // CM DREQ; related: the REQ. DREP: a: 1; related: the DREQ
  connection_restarted,    // the same QP numbers begin anew with another PSN

  bad_icrc,  // taken for lost: its receiver drops it
  count,
};

inline constexpr std::size_t kFindingKinds = static_cast<std::size_t>(FindingKind::count);

struct FindingInfo {
  FindingKind kind{};
  std::string_view name;   // "psn_gap": filter roce.analysis.psn_gap, key in JSON
  std::string_view title;  // "PSN gap": column, tables
  std::string_view
      meaning;  // one or two sentences for a learner: what it is, what usually causes it
  Severity severity{};
};

const FindingInfo& info(FindingKind kind);
std::span<const FindingInfo, kFindingKinds> all_findings();

struct Finding {
  FindingKind kind{};
  std::uint32_t related = 0;  // another frame, see the kind; 0 for none
  std::uint64_t a = 0;        // see the kind
  std::uint64_t b = 0;

  friend bool operator==(const Finding&, const Finding&) = default;
};

// The finding in one sentence with its figures, without a full stop: "3 packets are missing before
// this one: PSN 4097 was expected".
std::string sentence(const Finding& finding);

}  // namespace softrnic::analysis
