# SPDX-License-Identifier: BSD-3-Clause
"""ECN marks, the CNPs they cause, and the sender that slows down: one chain."""

import frames as f
from case import case

DATA = bytes(256)


@case("a marked packet")
def marked(look):
    for hosts in ((f.ALICE, f.BOB), (f.ALICE6, f.BOB6)):
        talk = f.Talk(alice=hosts[0], bob=hosts[1])
        for number in range(3):
            talk.ask(f.SEND_ONLY, number, payload=DATA, tos=3 if number == 1 else 2)
        look.expect_findings(talk, [(2, "ecn_marked")])


@case("a CNP names the marked packet that caused it")
def cnp(look):
    talk = f.Talk()
    for number in range(3):
        talk.ask(f.SEND_ONLY, number, payload=DATA, tos=3 if number == 1 else 2)
    talk.cnp()
    look.expect_findings(talk, [(2, "ecn_marked"), (4, "cnp")])
    look.column(talk, "roce.analysis.related", [None, None, None, 2])


@case("the CNP belongs to the stream it slows")
def stream(look):
    talk = f.Talk().ask(f.SEND_ONLY, 0, payload=DATA, ack_request=1).ack(0, 1)
    talk.ask(f.SEND_ONLY, 1, payload=DATA, tos=3).cnp()
    look.column(talk, "roce.stream", [0, 0, 0, 0])


@case("a CNP without a marked packet")
def unexplained(look):
    talk = f.Talk().ask(f.SEND_ONLY, 0, payload=DATA, ack_request=1).ack(0, 1).cnp()
    look.expect_findings(talk, [(3, "cnp_without_mark")])


@case("the rate changes after the CNP")
def slower(look):
    talk = f.Talk(step_us=1)
    for number in range(400):
        talk.ask(f.SEND_ONLY, number, payload=DATA, tos=2)
    talk.ask(f.SEND_ONLY, 400, payload=DATA, tos=3).cnp()
    cnp = len(talk.frames)
    talk.step_us = 4
    for number in range(401, 800):
        talk.ask(f.SEND_ONLY, number, payload=DATA, tos=2)
    found = look.findings(talk)
    look.equal([item for item in found if item[1] in ("ecn_marked", "cnp")],
               [(cnp - 1, "ecn_marked"), (cnp, "cnp")], "mark and CNP")
    changes = [frame for frame, name in found if name == "rate_changed"]
    if not changes or changes[0] <= cnp:
        look.complain(f"rate_changed at {changes}, expected after frame {cnp}")


@case("an unmarked flow at a steady rate shows nothing")
def steady(look):
    talk = f.Talk(step_us=1)
    for number in range(400):
        talk.ask(f.SEND_ONLY, number, payload=DATA, tos=2)
    look.expect_findings(talk, [])
