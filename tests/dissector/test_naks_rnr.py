# SPDX-License-Identifier: BSD-3-Clause
"""Negative answers: what each refers to, RNR and its wait, what follows an error."""

import frames as f
from case import case

DATA = bytes(64)


@case("each NAK at its frame, with the request it refuses")
def each(look):
    for syndrome, name in ((f.NAK_INVALID, "nak_invalid_request"),
                           (f.NAK_ACCESS, "nak_remote_access"),
                           (f.NAK_OPERATIONAL, "nak_remote_operational"),
                           (f.NAK_RD, "nak_invalid_rd")):
        talk = f.Talk().ask(f.SEND_ONLY, 0, payload=DATA, ack_request=1).ack(0, 1)
        talk.ask(f.SEND_ONLY, 1, payload=DATA, ack_request=1).ack(1, 1, syndrome)
        look.expect_findings(talk, [(4, name)])
        look.fields(talk, ["roce.analysis.related", "roce.acks"],
                    [[None, None], [None, 1], [None, None], [3, 3]])


@case("a syndrome without a meaning")
def reserved(look):
    talk = f.Talk().ask(f.SEND_ONLY, 0, payload=DATA, ack_request=1).ack(0, 0, 0x65)
    look.expect_findings(talk, [(2, "nak_reserved")])


@case("RNR NAK, the wait, the repetition")
def rnr(look):
    talk = f.Talk().ask(f.SEND_ONLY, 0, payload=DATA, ack_request=1).ack(0, 0, f.RNR_NAK + 12)
    talk.wait(700).ask(f.SEND_ONLY, 0, payload=DATA, ack_request=1).ack(0, 1)
    look.expect_findings(talk, [(2, "rnr_nak"), (3, "retransmission_rnr")])
    look.fields(talk, ["roce.aeth.rnr_timer", "roce.analysis.related", "roce.repetition"],
                [[None, None, None], ["0.64", 1, None], [None, 2, 1], [None, None, None]])


@case("sent again before the RNR timer ended")
def hasty(look):
    talk = f.Talk().ask(f.SEND_ONLY, 0, payload=DATA, ack_request=1).ack(0, 0, f.RNR_NAK + 14)
    talk.wait(300).ask(f.SEND_ONLY, 0, payload=DATA, ack_request=1).ack(0, 1)
    look.expect_findings(talk, [(2, "rnr_nak"), (3, "retransmission_rnr"), (3, "rnr_wait_short")])


@case("the last RNR repetition that CM allowed")
def exhausted(look):
    talk = f.connect(f.Talk(), rnr_retry=7)
    # The responder's REP carries the RNR retry count that holds for alice's requests.
    talk.frames[1] = (talk.frames[1][0], f.cm_frame(
        f.BOB, f.ALICE, f.CM_REP, 0x55, f.cm_reply(f.BOB, 0x202, 0x101, rnr_retry=2)))
    for _ in range(3):
        talk.ask(f.SEND_ONLY, 0, payload=DATA, ack_request=1).ack(0, 0, f.RNR_NAK + 1).wait(700)
    found = look.findings(talk)
    look.equal([item for item in found if item[1] == "retry_limit" and item[0] < 8], [], "too early")
    if not any(name == "retry_limit" for _, name in found):
        look.complain(f"retry_limit is not shown: {found}")


@case("requests after the error that ended the connection")
def after_error(look):
    talk = f.Talk().ask(f.WRITE_ONLY, 0, f.reth(1, 2, 64), DATA, ack_request=1)
    talk.ack(0, 0, f.NAK_ACCESS)
    talk.wait(100_000).ask(f.SEND_ONLY, 1, payload=DATA, ack_request=1)
    look.expect_findings(talk, [(2, "nak_remote_access"), (3, "request_after_error")])
    look.fields(talk, ["roce.analysis.related"], [[None], [1], [2]])


@case("memory learned from what succeeded: an unknown key, an address beyond")
def memory(look):
    def write(talk, offset, address, key, length=64):
        return talk.ask(f.WRITE_ONLY, offset, f.reth(address, key, length), DATA[:length],
                        ack_request=1)
    good = write(f.Talk(), 0, 0x10000, 7).ack(0, 1)
    write(good, 1, 0x10000, 8).ack(1, 1, f.NAK_ACCESS)
    look.expect_findings(good, [(4, "nak_remote_access"), (4, "key_unknown")])
    far = write(f.Talk(), 0, 0x10000, 7).ack(0, 1)
    write(far, 1, 0x90000, 7).ack(1, 1, f.NAK_ACCESS)
    look.expect_findings(far, [(4, "nak_remote_access"), (4, "address_out_of_bounds")])


@case("an ACK of something never sent, an ACK once more, an MSN that jumps")
def odd_acks(look):
    talk = f.Talk().ask(f.SEND_ONLY, 0, payload=DATA, ack_request=1).ack(0, 1)
    talk.ack(9, 2)
    look.expect_findings(talk, [(3, "ack_of_unsent")])
    talk = f.Talk().ask(f.SEND_ONLY, 0, payload=DATA, ack_request=1).ack(0, 1)
    talk.ack(0, 1, identification=7)  # a byte-identical one would be a copy
    look.expect_findings(talk, [(3, "duplicate_ack")])
    talk = f.Talk().ask(f.SEND_ONLY, 0, payload=DATA, ack_request=1).ack(0, 1)
    talk.ask(f.SEND_ONLY, 1, payload=DATA, ack_request=1).ack(1, 9)
    look.expect_findings(talk, [(4, "msn_jump")])


@case("a SEND beyond the last credit")
def credits(look):
    talk = f.Talk().ask(f.SEND_ONLY, 0, payload=DATA, ack_request=1).ack(0, 1, 1)  # one more
    talk.ask(f.SEND_ONLY, 1, payload=DATA).ask(f.SEND_ONLY, 2, payload=DATA, ack_request=1)
    look.expect_findings(talk, [(4, "credits_exhausted")])
