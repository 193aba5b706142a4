// SPDX-License-Identifier: BSD-3-Clause
#include "analysis/finding.hpp"

#include <fmt/format.h>

#include <array>

#include "analysis/packet_record.hpp"
#include "wire/aeth.hpp"
#include "wire/cm_message.hpp"

namespace softrnic::analysis {

namespace {

using enum FindingKind;
using enum Severity;

constexpr std::array<FindingInfo, kFindingKinds> kFindings{{
    {psn_gap, "psn_gap", "PSN gap",
     "Each request packet carries the next packet sequence number; here numbers are missing. The "
     "packets were lost, or are late, before they reached the place of this capture. RC asks for "
     "them again; UC drops the rest of the message.",
     warning},
    {out_of_order, "out_of_order", "Out of order",
     "This packet fills a gap seen before, without having been asked for: it was overtaken on its "
     "way. Several paths, or a switch that spreads packets over them, do that. RC takes it for a "
     "loss and sends everything from the gap on again.",
     note},
    {duplicate, "duplicate", "Duplicate",
     "The same packet once more, although nobody asked for it and no timer can have run out. The "
     "network doubled it, or the capture sees one port twice. The receiver knows it by its PSN.",
     note},
    {reused_psn, "reused_psn", "Reused PSN",
     "A different packet under a PSN that was used before. A sender may repeat a packet, but never "
     "put another one in its place: the receiver would take it for the old one and drop it.",
     error},
    {retransmission_nak, "retransmission_nak", "Retransmission after NAK",
     "The receiver missed a packet and said so with a NAK (PSN sequence error). The sender goes "
     "back to the PSN that the NAK names and sends everything from there on again (go-back-N).",
     note},
    {retransmission_rnr, "retransmission_rnr", "Retransmission after RNR",
     "The receiver had no receive posted (RNR NAK), asked for a pause, and the sender tries again. "
     "Post receives earlier, or more of them.",
     note},
    {retransmission_timeout, "retransmission_timeout", "Retransmission after timeout",
     "No acknowledgement came before the sender's timer ran out (4.096 us x 2^timeout), so it "
     "sends again. The packet, or the answer to it, was lost, and nothing behind it showed that "
     "earlier.",
     warning},
    {retransmission_implied, "retransmission_implied", "Retransmission of a READ or atomic",
     "A later response arrived without the one that should come before it: the sender takes that "
     "for a NAK and asks again for what it did not get.",
     note},
    {retransmission_selective, "retransmission_selective", "Retransmission of what is missing",
     "The receiver said with a selective acknowledgement what it has, and the sender sends only "
     "the "
     "rest again: two softrnics agreed on selective repeat.",
     note},
    {retry_limit, "retry_limit", "Retry limit reached",
     "The sender has repeated this packet as often as it may (retry_count, or rnr_retry for RNR). "
     "Unless this one is answered, the work request fails (RETRY_EXC_ERR or RNR_RETRY_EXC_ERR) and "
     "the queue pair goes to the error state.",
     error},
    {unanswered, "unanswered", "No answer at all",
     "The same packet was sent again and again, and not one packet came back. The peer is out of "
     "reach, has no such queue pair, or has it in a state that cannot receive. The sender gives up "
     "after its retry_count, 7 at most.",
     warning},
    {rnr_wait_short, "rnr_wait_short", "RNR wait too short",
     "The receiver's RNR NAK says how long to wait at least; the sender came back sooner.", note},
    {request_after_error, "request_after_error", "Request after an error",
     "The connection ended with a NAK that cannot be mended, and yet new requests follow. The "
     "receiver's queue pair is in the error state and drops them.",
     warning},

    {wrong_opcode_order, "wrong_opcode_order", "Wrong opcode order",
     "A message is one ONLY packet, or FIRST, any number of MIDDLE, and LAST, all of one "
     "operation. This opcode may not follow the one before it. The receiver answers NAK (invalid "
     "request).",
     error},
    {payload_not_mtu, "payload_not_mtu", "Payload is not the path MTU",
     "FIRST and MIDDLE packets are filled to the path MTU exactly; only the last packet of a "
     "message may be shorter. The two sides may disagree on the path MTU.",
     error},
    {wrong_pad, "wrong_pad", "Wrong pad count",
     "Payload is padded with 0 to 3 bytes to a multiple of four, and the pad count says how many. "
     "It does not fit this packet.",
     error},
    {message_too_long, "message_too_long", "Message too long",
     "The packets carry more bytes than the RETH at the message's beginning announced.", error},
    {message_too_short, "message_too_short", "Message too short",
     "The message ends before all the bytes came that its RETH announced.", error},
    {too_many_outstanding, "too_many_outstanding", "Too many READs outstanding",
     "The responder told at connection time for how many READs and atomics it keeps resources "
     "(responder resources). More are outstanding here; it may refuse them.",
     error},

    {nak_psn_sequence, "nak_psn_sequence", "NAK: PSN sequence error",
     "The receiver got a packet ahead of the PSN it waits for: something before it was lost or "
     "late. It drops everything until the missing PSN comes, and asks once.",
     warning},
    {nak_invalid_request, "nak_invalid_request", "NAK: invalid request",
     "The receiver cannot take this request: it is longer than the posted receive, of an operation "
     "not enabled on the queue pair, or its packets are in a wrong order. The connection ends.",
     error},
    {nak_remote_access, "nak_remote_access", "NAK: remote access error",
     "The R_Key is not valid, or does not cover this address and length, or does not permit this "
     "operation. Nothing was read or written, and the connection ends.",
     error},
    {nak_remote_operational, "nak_remote_operational", "NAK: remote operational error",
     "The receiver failed on its own side while it executed the request, for instance as its "
     "receive buffer is not writable. The connection ends.",
     error},
    {nak_invalid_rd, "nak_invalid_rd", "NAK: invalid RD request",
     "The reliable datagram request cannot be taken: Q_Key or RD domain do not fit.", error},
    {nak_reserved, "nak_reserved", "NAK: reserved code",
     "The syndrome is one that the standard has not given a meaning.", error},
    {rnr_nak, "rnr_nak", "RNR NAK",
     "Receiver not ready: a SEND (or WRITE with immediate) found no receive posted. The sender is "
     "to wait at least the time named here and then try again.",
     warning},
    {selective_ack, "selective_ack", "Selective acknowledgement",
     "The receiver got packets ahead of the PSN it waits for and keeps them: something before them "
     "was lost or late. Of softrnic's own, by a reserved syndrome that every other requester "
     "drops.",
     warning},
    {duplicate_ack, "duplicate_ack", "Duplicate ACK",
     "Acknowledges once more what was acknowledged before. A receiver does that when it gets a "
     "packet it has had already.",
     note},
    {ack_of_unsent, "ack_of_unsent", "ACK of something not sent",
     "Acknowledges a PSN that no request has used yet. Either the capture misses requests, or the "
     "two sides do not agree on the sequence.",
     warning},
    {ghost, "ghost", "Ghost response",
     "A response to nothing that is outstanding: its PSN is long past, or was not used by such a "
     "request. It may stem from an earlier connection of the same queue pair; the requester drops "
     "it.",
     warning},
    {msn_jump, "msn_jump", "MSN jump",
     "The message sequence number counts the messages that the responder completed. It does not "
     "fit the messages that were sent.",
     warning},
    {read_response_missing, "read_response_missing", "Response missing",
     "The responses to READs and atomics come in the order of their PSNs; one was left out. It was "
     "lost, and the requester asks for it again.",
     warning},
    {read_response_wrong_size, "read_response_wrong_size", "READ response of a wrong size",
     "The READ asked for another number of bytes than its responses carry.", error},
    {response_repeated, "response_repeated", "Response repeated",
     "The same part of a READ, or the result of an atomic, once more, as the request was repeated.",
     note},
    {atomic_changed, "atomic_changed", "Repeated atomic with another result",
     "An atomic operation must be executed once, and its saved result sent again when the request "
     "is repeated. Another value means that it was executed twice.",
     error},

    {key_unknown, "key_unknown", "R_Key never seen to work",
     "No request with this R_Key succeeded before. It may be mistyped, stale (the region was "
     "deregistered or invalidated), or of another protection domain.",
     note},
    {address_out_of_bounds, "address_out_of_bounds", "Address beyond what worked",
     "Requests with this R_Key succeeded, but none reached this far: the request probably leaves "
     "the memory region.",
     note},
    {write_refused, "write_refused", "Readable, but not writable",
     "The same place could be read with this R_Key. The region was probably registered without "
     "remote write or atomic access.",
     note},

    {credits_exhausted, "credits_exhausted", "SEND beyond the last credit",
     "Acknowledgements carry credits: the number of receives posted. The sender went beyond them, "
     "which is allowed for one message; it is likely to be answered with an RNR NAK.",
     note},

    {ecn_marked, "ecn_marked", "Congestion experienced",
     "A switch on the way found its queue long and marked this packet (ECN 3) instead of dropping "
     "it. The receiver is to tell the sender with a CNP.",
     note},
    {cnp, "cnp", "Congestion notification",
     "The receiver of a marked packet tells its sender to slow down (congestion notification "
     "packet).",
     note},
    {cnp_without_mark, "cnp_without_mark", "CNP without a marked packet",
     "A congestion notification, although the capture shows no marked packet of this flow before. "
     "The packet was marked behind the place of the capture, or another counter caused it.",
     note},
    {rate_changed, "rate_changed", "Rate changed",
     "After a congestion notification the sender transmits at another rate.", note},

    {connection_request, "connection_request", "Connection request",
     "The communication manager asks for a connection (CM REQ) and names its queue pair and its "
     "first PSN.",
     chat},
    {connection_established, "connection_established", "Connection established",
     "The communication manager accepts the connection (CM REP) or confirms it (RTU).", chat},
    {connection_rejected, "connection_rejected", "Connection rejected",
     "The communication manager refuses the connection (CM REJ). Reason 8 means that nobody "
     "listens "
     "there, 28 that the application said no.",
     chat},
    {connection_closed, "connection_closed", "Connection closed",
     "The communication manager ends the connection (CM DREQ, DREP).", chat},
    {connection_restarted, "connection_restarted", "Connection restarted",
     "The same queue pair numbers begin anew at a PSN far from where they were: another connection "
     "uses them now. A new stream begins here.",
     chat},

    {bad_icrc, "bad_icrc", "Wrong ICRC",
     "The checksum over the packet is wrong: it was altered on its way. The receiver drops it "
     "without a word, so for the protocol it is lost.",
     error},
}};

consteval bool in_order_of_kinds() {
  for (std::size_t i = 0; i < kFindings.size(); ++i) {
    if (kFindings[i].kind != static_cast<FindingKind>(i) || kFindings[i].name.empty()) return false;
  }
  return true;
}
static_assert(in_order_of_kinds());

std::string duration(std::uint64_t ns) {
  if (ns < 1'000) return fmt::format("{} ns", ns);
  if (ns < 1'000'000) return fmt::format("{:.4g} us", static_cast<double>(ns) / 1e3);
  if (ns < 1'000'000'000) return fmt::format("{:.4g} ms", static_cast<double>(ns) / 1e6);
  return fmt::format("{:.4g} s", static_cast<double>(ns) / 1e9);
}

// "1 packet is", "3 packets are".
std::string packets_are(std::uint64_t n) {
  return n == 1 ? "1 packet is" : fmt::format("{} packets are", n);
}

std::string in_frame(std::uint32_t frame) {
  return frame == 0 ? "" : fmt::format(" (frame {})", frame);
}

std::string since_original(const Finding& f) {
  if (f.b == 0) return ", the original of which the capture does not show";
  return fmt::format(", {} after the original", duration(f.b));
}

// What the sender does now if its limit is this one: a capture without CM does not show the limit,
// and the silence that follows has no frame. 7 is without end for RNR.
std::string gives_up(std::string_view limit, std::uint64_t repetitions, std::string_view when) {
  if (repetitions < 2 || repetitions >= 7) return "";
  return fmt::format(": a sender with {} {} gives up {}", limit, repetitions, when);
}

std::string refused(const Finding& f, std::string_view why) {
  if (f.related == 0) return fmt::format("Refused ({}): a request that is not in the capture", why);
  return fmt::format("The request in frame {} is refused: {}", f.related, why);
}

std::string established(const Finding& f) {
  if (f.b == kNone) return fmt::format("Queue pair 0x{:06x} serves it{}", f.a, in_frame(f.related));
  if (f.a == 0) return "Ready to use: the connection is established";
  return fmt::format("Accepts{} with queue pair 0x{:06x}, the other to begin at PSN {}",
                     f.related == 0 ? "" : fmt::format(" the request in frame {}", f.related), f.a,
                     f.b);
}

std::string rejected(const Finding& f) {
  if (f.b == kNone) {
    const auto status = static_cast<wire::CmSidrStatus>(f.a);
    return fmt::format("No queue pair: {} (status {}){}", to_string(status), f.a,
                       in_frame(f.related));
  }
  const auto reason = static_cast<wire::CmRejectReason>(f.a);
  return fmt::format("Refuses the connection{}: {} (reason {})",
                     f.related == 0 ? "" : fmt::format(" asked for in frame {}", f.related),
                     to_string(reason), f.a);
}

std::string rate(std::uint64_t bytes_per_second) {
  return fmt::format("{:.4g} Mbit/s", static_cast<double>(bytes_per_second) * 8 / 1e6);
}

}  // namespace

std::string_view to_string(Severity severity) {
  switch (severity) {
    case chat:
      return "chat";
    case note:
      return "note";
    case warning:
      return "warning";
    case error:
      break;
  }
  return "error";
}

const FindingInfo& info(FindingKind kind) {
  return kFindings[static_cast<std::size_t>(kind)];
}

std::span<const FindingInfo, kFindingKinds> all_findings() {
  return kFindings;
}

std::string sentence(const Finding& f) {
  switch (f.kind) {
    case psn_gap:
      return fmt::format("{} missing before this one: PSN {} was expected", packets_are(f.b), f.a);
    case out_of_order:
      return f.related == 0
                 ? "Came late: overtaken by packets with a higher PSN"
                 : fmt::format("Came late: the packet in frame {} overtook it", f.related);
    case duplicate:
      return fmt::format("The same packet as in frame {}, and nothing asked for it", f.related);
    case reused_psn:
      return fmt::format("Another packet than the one with the same PSN in frame {}", f.related);
    case retransmission_nak:
      if (f.related == 0) {
        return fmt::format(
            "Sent again (repetition {}), probably after a NAK that is not in the "
            "capture",
            f.a);
      }
      return fmt::format("Sent again (repetition {}) as the NAK in frame {} asks{}", f.a, f.related,
                         since_original(f));
    case retransmission_rnr:
      return fmt::format("Sent again (repetition {}), {} after the RNR NAK in frame {}", f.a,
                         duration(f.b), f.related);
    case retransmission_timeout:
      return fmt::format("Sent again (repetition {}) after a timeout{}{}", f.a, since_original(f),
                         in_frame(f.related));
    case retransmission_implied:
      return fmt::format("Asked again: the response in frame {} came without the one before it",
                         f.related);
    case retransmission_selective:
      return fmt::format(
          "Sent again (repetition {}) as the selective acknowledgement in frame {} asks{}", f.a,
          f.related, since_original(f));
    case retry_limit:
      return fmt::format("Repetition {} is the last one the sender may make", f.a);
    case unanswered:
      return fmt::format("Sent {} times now, and nothing came back{}", f.a + 1,
                         gives_up("retry_count", f.a, "after this one"));
    case rnr_wait_short:
      return fmt::format("Sent again after {}, but the RNR NAK asked for {}", duration(f.a),
                         duration(f.b));
    case request_after_error:
      return fmt::format("A request, although the NAK in frame {} ended the connection", f.related);
    case wrong_opcode_order:
      return fmt::format("This opcode may not follow the one in frame {}", f.related);
    case payload_not_mtu:
      return f.b == 0 ? fmt::format("{} bytes of payload: no path MTU is of that size", f.a)
                      : fmt::format("{} bytes of payload where the path MTU is {}", f.a, f.b);
    case wrong_pad:
      return fmt::format("Pad count {} does not fit the payload", f.a);
    case message_too_long:
      return fmt::format("{} bytes so far, but the message announced {}", f.a, f.b);
    case message_too_short:
      return fmt::format("The message ends after {} bytes, but announced {}", f.a, f.b);
    case too_many_outstanding:
      return fmt::format("{} READs and atomics outstanding, but the peer takes {}", f.a, f.b);
    case nak_psn_sequence:
      return f.related == 0
                 ? fmt::format("The receiver misses PSN {} and asks for it", f.a)
                 : fmt::format("The receiver misses PSN {}, as the packet in frame {} showed it",
                               f.a, f.related);
    case selective_ack:
      return fmt::format(
          "The receiver misses PSN {} and keeps {} that came behind it{}", f.a,
          f.b == 1 ? "a packet" : fmt::format("{} packets", f.b),
          f.related == 0 ? "" : fmt::format(", up to the one in frame {}", f.related));
    case nak_invalid_request:
      return refused(f, "invalid request");
    case nak_remote_access:
      return refused(f, "remote access error");
    case nak_remote_operational:
      return refused(f, "remote operational error");
    case nak_invalid_rd:
      return refused(f, "invalid RD request");
    case nak_reserved:
      return fmt::format("Reserved syndrome 0x{:02x}", f.a);
    case rnr_nak:
      return fmt::format(
          "No receive is posted for the request{}: try again after {} (RNR NAK {} "
          "in a row{})",
          f.related == 0 ? "" : fmt::format(" in frame {}", f.related), duration(f.a), f.b,
          gives_up("rnr_retry", f.b == 0 ? 0 : f.b - 1, "now"));
    case duplicate_ack:
      return f.related == 0 ? "Acknowledges again what is acknowledged"
                            : fmt::format("Acknowledges again what frame {} did", f.related);
    case ack_of_unsent:
      return fmt::format("PSN {} is acknowledged, but nothing was sent with it yet", f.a);
    case ghost:
      return "A response to nothing that is outstanding";
    case msn_jump:
      return fmt::format("MSN {} where {} was expected", f.b, f.a);
    case read_response_missing:
      return fmt::format("{} response{} missing before this one: PSN {} was expected", f.b,
                         f.b == 1 ? " is" : "s are", f.a);
    case read_response_wrong_size:
      return fmt::format("{} bytes in the response, but {} were asked for", f.a, f.b);
    case response_repeated:
      return f.related == 0 ? "The same response once more"
                            : fmt::format("The same response as in frame {} once more", f.related);
    case atomic_changed:
      return fmt::format("Another result than in frame {} for the same atomic", f.related);
    case key_unknown:
      return "No request with this R_Key succeeded before";
    case address_out_of_bounds:
      return fmt::format("{} byte{} from 0x{:x} on lie{} beyond what succeeded with this R_Key",
                         f.b, f.b == 1 ? "" : "s", f.a, f.b == 1 ? "s" : "");
    case write_refused:
      return "This place could be read with the same R_Key, but may not be written";
    case credits_exhausted:
      return fmt::format("Beyond the last credit: the receiver has receives up to message {}{}",
                         f.a, f.b > 1 ? fmt::format(", and {} are beyond it now", f.b) : "");
    case ecn_marked:
      return "Marked on its way: congestion experienced";
    case cnp:
      return f.related == 0 ? "The sender is told to slow down"
                            : fmt::format(
                                  "The sender is told to slow down, {} after the marked "
                                  "packet in frame {}",
                                  duration(f.a), f.related);
    case cnp_without_mark:
      return "The sender is told to slow down, but no marked packet was seen";
    case rate_changed:
      return fmt::format("Rate {} after the CNP in frame {}, before it {}", rate(f.b), f.related,
                         rate(f.a));
    case connection_request:
      if (f.b == kNone) return "Asks which queue pair serves a datagram service";
      return fmt::format(
          "Asks for a connection with queue pair 0x{:06x}, the other to begin at PSN {}", f.a, f.b);
    case connection_established:
      return established(f);
    case connection_rejected:
      return rejected(f);
    case connection_closed:
      if (f.a != 0)
        return fmt::format("The end of the connection is confirmed{}", in_frame(f.related));
      return f.related == 0 ? "The connection ends"
                            : fmt::format("The connection asked for in frame {} ends", f.related);
    case connection_restarted:
      return "Begins anew with another PSN: a new connection of the same queue pairs";
    case bad_icrc:
      return "The ICRC is wrong: the receiver drops this packet";
    case count:
      break;
  }
  return "";
}

}  // namespace softrnic::analysis
