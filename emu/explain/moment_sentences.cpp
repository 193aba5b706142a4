// SPDX-License-Identifier: BSD-3-Clause
// The sentences of a worst moment: what happened, what the standard says, what to look at.
#include <fmt/format.h>

#include "explain/figures.hpp"
#include "explain/worst_moments.hpp"

namespace softrnic::explain {

namespace {

using analysis::FindingKind;

std::string packets(std::uint64_t n) {
  return fmt::format("{} packet{}", n, n == 1 ? "" : "s");
}

std::string where_lost(const Loss& loss) {
  if (loss.shown_frame != 0) {
    return fmt::format("{} from PSN {} on {} missing in front of frame {}", packets(loss.packets),
                       loss.psn, loss.packets == 1 ? "is" : "are", loss.shown_frame);
  }
  if (loss.cause == LossCause::implied) {
    return fmt::format("The response to PSN {}{} is missing in front of frame {}", loss.psn,
                       loss.lost_frame == 0 ? "" : fmt::format(" (frame {})", loss.lost_frame),
                       loss.cause_frame);
  }
  if (loss.before_from != 0 && loss.rounds == 1) {
    return fmt::format("PSN {}, sent again between frames {} and {}, was lost once more", loss.psn,
                       loss.before_from, loss.before_to);
  }
  if (loss.late_frame != 0) {
    return fmt::format(
        "PSN {} in frame {} overtook a packet that came late, in frame {}, and was discarded",
        loss.psn, loss.lost_frame, loss.late_frame);
  }
  if (loss.lost_frame != 0) {
    const bool or_answer = loss.cause == LossCause::timeout;
    return fmt::format("PSN {} in frame {}{} was lost behind the capture", loss.psn,
                       loss.lost_frame, or_answer ? ", or its answer," : "");
  }
  return fmt::format("PSN {} was lost in front of the capture", loss.psn);
}

std::string how_mended(const Loss& loss) {
  const std::string rounds = loss.rounds == 1 ? "" : fmt::format(", in {} rounds", loss.rounds);
  const std::string again = fmt::format("{} sent again from frame {} on{}",
                                        packets(loss.packets_again), loss.again_frame, rounds);
  switch (loss.cause) {
    case LossCause::nak:
      if (loss.cause_frame == 0) return again + " soon, probably after a NAK that is not captured";
      return fmt::format(
          "the NAK in frame {} asks for it {} later and the sender reacts after {}: {}",
          loss.cause_frame, duration_text(loss.noticed_after()),
          duration_text(loss.reacted_after()), again);
    case LossCause::selective:
      return fmt::format(
          "the selective acknowledgement in frame {} tells of it {} later and the sender reacts "
          "after {}: {}",
          loss.cause_frame, duration_text(loss.noticed_after()),
          duration_text(loss.reacted_after()), again);
    case LossCause::timeout:
      return fmt::format("nothing told the sender, which waited for its timer: {}", again);
    case LossCause::implied:
      return fmt::format("the requester sees that after {} and asks again: {}",
                         duration_text(loss.reacted_after()), again);
    case LossCause::never:
      return "UC never sends them again: the message is lost";
    case LossCause::unknown:
    case LossCause::count:
      break;
  }
  return again;
}

std::string not_ready(const ReceiverNotReady& wait) {
  return fmt::format(
      "No receive was posted for PSN {}: {} RNR NAK{} from frame {} on asked for {} and the sender "
      "waited {}",
      wait.psn, wait.naks, wait.naks == 1 ? "" : "s", wait.first_frame, duration_text(wait.asked),
      duration_text(wait.waited));
}

std::string more_of_it(const Moment& m) {
  return m.times > 1 ? fmt::format(" ({} more of this kind in this connection)", m.times - 1) : "";
}

// Which part of the loss took the time.
std::string look_at_loss(const Loss& loss) {
  if (loss.late_frame != 0) {
    return "Nothing was lost, it came out of order, and a receiver takes packets in their order "
           "alone: look for several paths in front of the capture (ECMP, bonding, a change of "
           "route).";
  }
  switch (loss.cause) {
    case LossCause::timeout:
      if (loss.shown_frame != 0) {
        return "Why did no NAK answer the gap? Look at the receiver, and at the way back.";
      }
      return "A loss at the end of a burst is told by the timer alone: look for drops on both ways "
             "(ACKs too), and at the queue pair's timeout, which costs this much each time.";
    case LossCause::nak:
    case LossCause::selective:
      if (loss.cause == LossCause::nak && loss.reacted_after() > loss.noticed_after()) {
        return "The time went into the sender's reaction to the NAK: its NIC, or a slow firmware "
               "path. Then look for drops or reordering in front of the receiver.";
      }
      return loss.shown_frame != 0
                 ? "The packet was gone before it came here: look for drops on the sender's side "
                   "of the capture (queues, PFC, cabling)."
                 : "The packet passed here and did not arrive: look for drops between here and the "
                   "receiver (queues, PFC, cabling).";
    case LossCause::implied:
      return "Responses were lost: look for drops on the way from the responder to the requester.";
    case LossCause::never:
      return "Only the application can repeat it: look for drops in front of the capture.";
    case LossCause::unknown:
    case LossCause::count:
      break;
  }
  return "Look for what the capture lacks: answers on another port, or before its beginning.";
}

std::string rule_of(FindingKind kind) {
  switch (kind) {
    case FindingKind::nak_invalid_request:
      return "A request that its responder cannot carry out, or whose packets do not fit together, "
             "gets NAK invalid request, and the connection ends (IBTA vol. 1, 9.7.4.1, 9.9.3).";
    case FindingKind::nak_remote_access:
      return "Key, range and rights are checked for each request; what fails gets NAK remote "
             "access "
             "error, and the connection ends (IBTA vol. 1, 9.7.4.1.5).";
    case FindingKind::nak_remote_operational:
      return "A responder that fails for a reason of its own says NAK remote operational error, "
             "and "
             "the connection ends (IBTA vol. 1, 9.7.4.1.7).";
    case FindingKind::bad_icrc:
      return "A receiver drops a packet with a wrong ICRC without a word (IBTA vol. 1, 9.6.1.1).";
    case FindingKind::reused_psn:
      return "A PSN belongs to one packet; only that may be sent again under it (IBTA vol. 1, "
             "9.7.1).";
    case FindingKind::wrong_opcode_order:
      return "A message is ONLY, or FIRST, MIDDLEs and LAST; everything else gets NAK invalid "
             "request (IBTA vol. 1, 9.7.4.1.2).";
    case FindingKind::payload_not_mtu:
    case FindingKind::message_too_long:
    case FindingKind::message_too_short:
      return "FIRST and MIDDLE packets carry the path MTU and all packets together what the RETH "
             "announces (IBTA vol. 1, 9.7.4.1.6).";
    case FindingKind::wrong_pad:
      return "The pad count fills the payload up to a multiple of four (IBTA vol. 1, 9.2.3).";
    case FindingKind::too_many_outstanding:
      return "No more READs and atomics may be outstanding than the responder agreed to (IBTA vol. "
             "1, 9.7.3).";
    case FindingKind::credits_exhausted:
      return "Beyond its credits a requester sends one SEND and no second one (IBTA vol. 1, "
             "9.7.7.2.5).";
    case FindingKind::connection_rejected:
      return "REJ ends the exchange: no connection (IBTA vol. 1, 12.6.7).";
    case FindingKind::request_after_error:
      return "After a NAK that is no sequence NAK the queue pair is in error and sends nothing "
             "(IBTA vol. 1, 10.3.1.7).";
    case FindingKind::rate_changed:
      return "A CNP asks the sender to slow down (IBTA annex A17; DCQCN).";
    default:
      return "The order of PSNs and answers is that of IBTA vol. 1, 9.7.";
  }
}

std::string look_at(FindingKind kind) {
  switch (kind) {
    case FindingKind::nak_invalid_request:
      return "Is the receive too short, the operation allowed on this queue pair, the READ depth "
             "agreed?";
    case FindingKind::nak_remote_access:
      return "Compare R_Key, address and length of the request with what the peer registered, and "
             "when it was given up.";
    case FindingKind::nak_remote_operational:
      return "Look at the responder's log and counters: its own memory or NIC failed.";
    case FindingKind::bad_icrc:
      return "Something altered the packet on its way: a link, a switch, NAT, an offload that "
             "rewrites headers. softrnic check names the bit where one was flipped.";
    case FindingKind::connection_rejected:
      return "Is the service listening on that port, and are the parameters of the REQ acceptable?";
    case FindingKind::rate_changed:
      return "Look for the congested port on the flow's way, and at who else sends through it.";
    case FindingKind::credits_exhausted:
      return "The receiver posts receives too slowly, or the sender ignores its credits.";
    default:
      return "Look at the sender of this frame: its NIC, firmware or generator.";
  }
}

}  // namespace

std::string what_happened(const Moment& m) {
  switch (m.kind) {
    case MomentKind::loss:
      return fmt::format("{}; {}.", where_lost(m.loss), how_mended(m.loss));
    case MomentKind::not_ready:
      return not_ready(m.wait) + ".";
    case MomentKind::gave_up:
      if (m.loss.again_frame == 0) {
        return fmt::format("{}, and did not try again: with rnr_retry {} it gave up here.",
                           not_ready(m.wait), m.wait.naks - 1);
      }
      return fmt::format("{}; {}, and no answer came.", where_lost(m.loss), how_mended(m.loss));
    case MomentKind::refused: {
      const bool why = m.reason.kind != FindingKind::count;
      return fmt::format("{} (NAK in frame {}){}.", analysis::sentence(m.finding), m.frame,
                         why ? "; " + analysis::sentence(m.reason) : "");
    }
    case MomentKind::header_fault:
      return fmt::format("{} (frame {}){}.", m.text, m.frame, more_of_it(m));
    case MomentKind::slow_answer:
      return fmt::format("The {} in frame {} was answered in frame {} after {}, where {} is usual.",
                         operation_text(m.operation), m.frame, m.related,
                         duration_text(m.lost + m.usual), duration_text(m.usual));
    case MomentKind::rejected:
    case MomentKind::broken_rule:
    case MomentKind::slowed_down:
      break;
  }
  std::string sentence = analysis::sentence(m.finding);
  if (sentence.find("frame") == std::string::npos) sentence += fmt::format(" (frame {})", m.frame);
  return sentence + more_of_it(m) + ".";
}

std::string what_the_standard_says(const Moment& m) {
  switch (m.kind) {
    case MomentKind::loss:
    case MomentKind::gave_up:
      if (m.kind == MomentKind::gave_up && m.loss.again_frame == 0) {
        return "After rnr_retry repetitions the request fails with RNR retry exceeded (IBTA vol. "
               "1, "
               "9.7.5.2.8).";
      }
      if (m.kind == MomentKind::gave_up) {
        return "After retry_cnt repetitions the request fails with transport retry exceeded (IBTA "
               "vol. 1, 9.9.2.1.2).";
      }
      switch (m.loss.cause) {
        case LossCause::nak:
          return "A gap is answered by one NAK, and the requester goes back to the PSN it names "
                 "(IBTA vol. 1, 9.7.4.1.1, 9.7.5.2.8).";
        case LossCause::selective:
          return "The syndrome is reserved (IBTA vol. 1, table 44): two softrnics agreed on "
                 "selective repeat, where the responder keeps what comes early and says so, and "
                 "the requester sends only what is missing (docs/selective-repeat.md).";
        case LossCause::timeout:
          return "Without an answer everything is sent again after one to four times the timeout, "
                 "4.096 us x 2^n (IBTA vol. 1, 9.7.6.1.3).";
        case LossCause::implied:
          return "A response ahead of a missing one is an implied NAK (IBTA vol. 1, 9.7.6.1).";
        case LossCause::never:
          return "UC drops a message of which a packet is missing (IBTA vol. 1, 9.8.2.2).";
        case LossCause::unknown:
        case LossCause::count:
          break;
      }
      return "A requester sends again after a NAK, an implied NAK or a timeout (IBTA vol. 1, "
             "9.7.6.1).";
    case MomentKind::not_ready:
      return "An RNR NAK makes the sender wait at least the time it names (IBTA vol. 1, "
             "9.7.5.2.8).";
    case MomentKind::header_fault:
      return "A receiver drops a packet whose headers do not fit (IBTA vol. 1, 9.6; annex A17).";
    case MomentKind::slow_answer:
      return "The responder may take its time, up to the sender's timeout (IBTA vol. 1, "
             "9.7.6.1.3).";
    case MomentKind::refused:
    case MomentKind::rejected:
    case MomentKind::broken_rule:
    case MomentKind::slowed_down:
      break;
  }
  return rule_of(m.finding.kind);
}

std::string what_to_look_at(const Moment& m) {
  switch (m.kind) {
    case MomentKind::loss:
      return look_at_loss(m.loss);
    case MomentKind::gave_up:
      if (m.loss.again_frame == 0) return "Post receives before the peer sends, or more of them.";
      return "Is the peer's queue pair still there and in a state to receive, and does its path "
             "lead here? The answers may also have been lost.";
    case MomentKind::not_ready:
      return "Post receives earlier or more of them; a shorter min_rnr_timer costs less each time.";
    case MomentKind::header_fault:
      return "Look at what made or rewrote the frame.";
    case MomentKind::slow_answer:
      return "Look at the responder: its memory, PCIe, or a pause of its link (PFC); or at the "
             "queue on the way.";
    case MomentKind::refused:
    case MomentKind::rejected:
    case MomentKind::broken_rule:
    case MomentKind::slowed_down:
      break;
  }
  return look_at(m.finding.kind);
}

}  // namespace softrnic::explain
