# SPDX-License-Identifier: BSD-3-Clause
"""Links from frame to frame, and what time passed between them; what is in flight."""

import frames as f
from case import case

DATA = bytes(range(256))


def exchange():
    talk = f.Talk()
    talk.ask(f.SEND_ONLY, 0, payload=DATA)  # 1
    talk.ask(f.SEND_ONLY, 1, payload=DATA, ack_request=1)  # 2
    talk.wait(90).ack(1, 2)  # 3
    talk.ask(f.SEND_ONLY, 2, payload=DATA[:100], ack_request=1)  # 4
    talk.wait(40).ack(2, 3)  # 5
    return talk


@case("a request and its acknowledgement name each other")
def acknowledgement(look):
    look.column(exchange(), "roce.acks", [None, None, 2, None, 4])
    look.column(exchange(), "roce.acked_in", [3, 3, None, 5, None], passes=[(True, "-2")])


@case("what a response answers is linked as such, be the response empty")
def response(look):
    talk = f.Talk()
    talk.ask(f.READ_REQUEST, 0, f.reth(0x1000, 5, 64))  # 1
    talk.answer(f.READ_ONLY, 0, f.aeth(msn=1), bytes(64))  # 2
    talk.ask(f.FLUSH, 1, f.feth(0, 1) + f.reth(0x1000, 5, 64))  # 3
    talk.answer(f.READ_ONLY, 1, f.aeth(msn=2))  # 4
    talk.ask(f.ATOMIC_WRITE, 2, f.reth(0x1000, 5, 8), bytes(8))  # 5
    talk.answer(f.READ_ONLY, 2, f.aeth(msn=3))  # 6
    look.column(talk, "roce.request_in", [None, 1, None, 3, None, 5])
    look.column(talk, "roce.response_in", [2, None, 4, None, 6, None], passes=[(True, "-2")])
    look.column(talk, "roce.acked_in", [None] * 6)
    look.expect_findings(talk, [])


@case("the latency of an ACK, from the newest packet it acknowledges")
def latency(look):
    look.column(exchange(), "roce.ack_latency", [None, None, "0.000100000", None, "0.000050000"])


@case("time since the stream began, and since its previous packet")
def times(look):
    look.column(exchange(), "roce.time_relative",
                ["0.000000000", "0.000010000", "0.000110000", "0.000120000", "0.000170000"])
    look.column(exchange(), "roce.time_delta",
                [None, "0.000010000", "0.000100000", "0.000010000", "0.000050000"])
    look.column(exchange(), "roce.previous_frame", [None, 1, 2, 3, 4])


@case("two streams that take turns keep their own times")
def interleaved(look):
    one = f.Talk(step_us=20)
    other = f.Talk(alice=f.Host(f.ALICE.mac, f.ALICE.address, 0x21, 0x500),
                   bob=f.Host(f.BOB.mac, f.BOB.address, 0x22, 0x900), step_us=20, now_us=10)
    for offset in range(3):
        one.ask(f.SEND_ONLY, offset, payload=DATA)
        other.ask(f.SEND_ONLY, offset, payload=DATA)
    listed = sorted(one.frames + other.frames)
    look.column(listed, "roce.stream", [0, 1] * 3)
    look.column(listed, "roce.time_delta", [None, None] + ["0.000020000"] * 4)
    look.column(listed, "roce.previous_frame", [None, None, 1, 2, 3, 4])
    look.column(listed, "roce.psn.relative", [0, 0, 1, 1, 2, 2])


@case("bytes and packets in flight")
def in_flight(look):
    look.column(exchange(), "roce.bytes_in_flight", [256, 512, 0, 100, 0])
    look.column(exchange(), "roce.packets_in_flight", [1, 2, 0, 1, 0])


@case("links are frame numbers that the GUI can follow")
def kinds(look):
    known = look.shark.registered()
    for name in ("roce.acks", "roce.acked_in", "roce.request_in", "roce.response_in",
                 "roce.retransmission_of", "roce.previous_frame", "roce.message.begins_in",
                 "roce.message.completed_in", "roce.analysis.related"):
        look.equal(known.get(name), "FT_FRAMENUM", name)


@case("filters on times")
def filters(look):
    look.frames_where(exchange(), "roce.ack_latency > 0.00006", [3])
    look.frames_where(exchange(), "roce.time_delta >= 0.00005", [3, 5])
