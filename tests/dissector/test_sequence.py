# SPDX-License-Identifier: BSD-3-Clause
"""The order of requests: gaps, repetitions and what caused them, duplicates, shapes of messages."""

import frames as f
from case import case

MTU = 256
DATA = bytes(range(256))


def write(talk, offset, packets, *, key=7, skip=(), begin=0, **options):
    """The packets of a WRITE that takes more than one, from `begin` on; ack-req on the last."""
    for number in range(begin, packets):
        if number in skip:
            continue
        last = number == packets - 1
        opcode = f.WRITE_FIRST if number == 0 else f.WRITE_LAST if last else f.WRITE_MIDDLE
        head = f.reth(0x10000, key, packets * MTU) if number == 0 else b""
        talk.ask(opcode, offset + number, head, DATA, ack_request=int(last), **options)
    return talk


@case("a gap: which PSN was expected, and how many are missing")
def gap(look):
    talk = write(f.Talk(), 0, 6, skip=(2, 3))
    look.expect_findings(talk, [(3, "psn_gap")])
    for two_pass, title in look.passes():
        text = look.output("-r", look.capture(talk), "-V", *(["-2"] if two_pass else []))
        if "2 packets are missing" not in text or "PSN 4098 was expected" not in text:
            look.complain(f"{title}: the sentence does not name two missing packets and PSN 4098")


@case("a gap while the PSN wraps")
def wrapped(look):
    alice = f.Host(f.ALICE.mac, f.ALICE.address, 0x11, 0xfffffe)
    talk = write(f.Talk(alice=alice), 0, 5, skip=(2,))
    look.expect_findings(talk, [(3, "psn_gap")])
    look.column(write(f.Talk(alice=alice), 0, 5), "roce.psn.relative", range(5))
    look.expect_findings(write(f.Talk(alice=alice), 0, 5), [])


@case("retransmission after a NAK, and which NAK")
def after_nak(look):
    talk = write(f.Talk(), 0, 4, skip=(1,))
    talk.ack(1, 0, f.NAK_SEQUENCE)
    write(talk, 0, 4, begin=1).ack(3, 1)
    look.expect_findings(talk, [(2, "psn_gap"), (4, "nak_psn_sequence"), (5, "retransmission_nak"),
                                (6, "retransmission_nak"), (7, "retransmission_nak")])
    look.fields(talk, ["roce.analysis.related", "roce.repetition", "roce.retransmission_of"],
                [[None, None, None]] * 2 + [[None, None, None], [2, None, None],
                                            [4, 1, None], [4, 1, 2], [4, 1, 3], [None, None, None]],
                where="", passes=[(False, "one pass")])


@case("retransmission after a timeout")
def after_timeout(look):
    talk = f.Talk().ask(f.SEND_ONLY, 0, payload=DATA, ack_request=1)
    talk.wait(67_000).ask(f.SEND_ONLY, 0, payload=DATA, ack_request=1)
    talk.wait(134_000).ask(f.SEND_ONLY, 0, payload=DATA, ack_request=1).ack(0, 1)
    look.expect_findings(talk, [(2, "retransmission_timeout"), (3, "retransmission_timeout")])
    look.fields(talk, ["roce.repetition", "roce.retransmission_of", "roce.message.number"],
                [[None, None, 1], [1, 1, 1], [2, 1, 1], [None, None, 1]])


@case("a doubled packet that nobody asked for")
def duplicate(look):
    talk = f.Talk(step_us=1).ask(f.SEND_ONLY, 0, payload=DATA)
    talk.ask(f.SEND_ONLY, 0, payload=DATA).ask(f.SEND_ONLY, 1, payload=DATA, ack_request=1)
    talk.ack(1, 2)
    look.expect_findings(talk, [(2, "duplicate")])
    look.fields(talk, ["roce.analysis.related"], [[None], [1], [None], [None]])


@case("out of order: the packet that came late, and the one that overtook it")
def late(look):
    talk = f.Talk(step_us=1).ask(f.UC | f.SEND_ONLY, 0, payload=DATA)
    talk.ask(f.UC | f.SEND_ONLY, 2, payload=DATA).ask(f.UC | f.SEND_ONLY, 1, payload=DATA)
    talk.ask(f.UC | f.SEND_ONLY, 3, payload=DATA)
    look.expect_findings(talk, [(2, "psn_gap"), (3, "out_of_order")])
    look.fields(talk, ["roce.analysis.related"], [[None], [None], [2], [None]])


@case("another packet under a PSN already used")
def reused(look):
    talk = f.Talk().ask(f.SEND_ONLY, 0, payload=DATA, ack_request=1).ack(0, 1)
    talk.ask(f.WRITE_ONLY, 0, f.reth(1, 2, 4), b"abcd", ack_request=1)
    look.expect_findings(talk, [(3, "reused_psn")])


@case("UC: a gap, and no NAK to wait for")
def unreliable(look):
    talk = f.Talk(service=f.UC)
    for offset in (0, 1, 3, 4):
        talk.ask(f.SEND_ONLY, offset, payload=DATA)
    look.expect_findings(talk, [(3, "psn_gap")])


@case("UD: PSNs count too, and a gap in them is no fault of the connection")
def datagrams(look):
    listed = [(offset * 10, f.frame(f.transport(f.UD | f.SEND_ONLY, 0x12, 0x1000 + offset,
                                                f.deth(5, 0x11), DATA)))
              for offset in range(4)]
    look.expect_findings(listed, [])


@case("MIDDLE or LAST without a FIRST, FIRST inside a message")
def wrong_order(look):
    talk = f.Talk().ask(f.SEND_ONLY, 0, payload=DATA)
    talk.ask(f.SEND_LAST, 1, payload=DATA)
    look.expect_findings(talk, [(2, "wrong_opcode_order")])
    talk = f.Talk().ask(f.SEND_FIRST, 0, payload=DATA).ask(f.SEND_FIRST, 1, payload=DATA)
    look.expect_findings(talk, [(2, "wrong_opcode_order")])
    talk = f.Talk().ask(f.SEND_FIRST, 0, payload=DATA).ask(f.WRITE_MIDDLE, 1, payload=DATA)
    look.expect_findings(talk, [(2, "wrong_opcode_order")])


@case("FIRST and MIDDLE of different sizes")
def sizes(look):
    talk = f.Talk().ask(f.SEND_FIRST, 0, payload=DATA).ask(f.SEND_MIDDLE, 1, payload=DATA[:128])
    talk.ask(f.SEND_LAST, 2, payload=DATA, ack_request=1).ack(2, 1)
    look.expect_findings(talk, [(2, "payload_not_mtu")])


@case("more bytes than the RETH announced, and fewer")
def announced(look):
    talk = f.Talk().ask(f.WRITE_FIRST, 0, f.reth(1, 2, 300), DATA)
    talk.ask(f.WRITE_LAST, 1, payload=DATA, ack_request=1)
    look.expect_findings(talk, [(2, "message_too_long")])
    talk = f.Talk().ask(f.WRITE_FIRST, 0, f.reth(1, 2, 600), DATA)
    talk.ask(f.WRITE_LAST, 1, payload=DATA, ack_request=1)
    look.expect_findings(talk, [(2, "message_too_short")])


@case("no answer to any of four tries")
def unanswered(look):
    talk = f.Talk()
    for number in range(4):
        talk.ask(f.SEND_ONLY, 0, payload=DATA, ack_request=1).wait(67_000 << number)
    look.expect_findings(talk, [(2, "retransmission_timeout"), (3, "retransmission_timeout"),
                                (4, "retransmission_timeout"), (4, "unanswered")])


@case("the last repetition that CM allowed")
def retry_limit(look):
    talk = f.connect(f.Talk(), retry_count=2)
    for number in range(3):
        talk.ask(f.SEND_ONLY, 0, payload=DATA, ack_request=1).wait(67_000 << number)
    look.expect_findings(talk, [(5, "retransmission_timeout"), (6, "retransmission_timeout"),
                                (6, "retry_limit")])


@case("a pad count that cannot be")
def pad(look):
    talk = f.Talk().ask(f.SEND_FIRST, 0, payload=DATA[:255])
    talk.ask(f.SEND_LAST, 1, payload=DATA, ack_request=1).ack(1, 1)
    found = look.findings(talk)
    if not any(frame == 1 for frame, _ in found):
        look.complain(f"a FIRST of 255 bytes and one of pad shows nothing: {found}")


@case("a wrong ICRC counts as lost")
def spoilt(look):
    talk = f.Talk().ask(f.SEND_ONLY, 0, payload=DATA, spoil=0x11, ack_request=1)
    talk.wait(67_000).ask(f.SEND_ONLY, 0, payload=DATA, ack_request=1).ack(0, 1)
    look.expect_findings(talk, [(1, "roce.icrc.bad"), (2, "retransmission_timeout")])
