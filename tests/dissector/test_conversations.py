# SPDX-License-Identifier: BSD-3-Clause
"""Conversations and endpoints by address and queue pair; following a stream."""

import re

import frames as f
from case import case

DATA = bytes(range(32))


def two():
    one = f.Talk().ask(f.SEND_ONLY, 0, payload=DATA, ack_request=1).ack(0, 1)
    other = f.Talk(alice=f.Host(f.ALICE.mac, f.ALICE.address, 0x21, 5),
                   bob=f.Host(f.BOB.mac, f.BOB.address, 0x22, 6), now_us=100)
    other.ask(f.SEND_ONLY, 0, payload=DATA).ask(f.SEND_ONLY, 1, payload=DATA, ack_request=1)
    return one.frames + other.ack(1, 2).frames


@case("conversations name both queue pairs")
def conversations(look):
    for two_pass, title in look.passes():
        text = look.output("-n", "-r", look.capture(two()), "-q", "-z", "conv,roce",
                           *(["-2"] if two_pass else []))
        found = re.findall(r"(\S+ QP 0x\w+)\s+<-> (\S+ QP 0x\w+)\s+(\d+) \d+ bytes\s+(\d+) ", text)
        look.equal(sorted(found), [("10.0.0.1 QP 0x11", "10.0.0.2 QP 0x12", "1", "1"),
                                   ("10.0.0.1 QP 0x21", "10.0.0.2 QP 0x22", "1", "2")],
                   f"{title}: conversations")


@case("endpoints")
def endpoints(look):
    for two_pass, title in look.passes():
        text = look.output("-n", "-r", look.capture(two()), "-q", "-z", "endpoints,roce",
                           *(["-2"] if two_pass else []))
        found = re.findall(r"^(\S+ QP 0x\w+)\s+(\d+)\s", text, re.M)
        look.equal(sorted(found), [("10.0.0.1 QP 0x11", "2"), ("10.0.0.1 QP 0x21", "3"),
                                   ("10.0.0.2 QP 0x12", "2"), ("10.0.0.2 QP 0x22", "3")],
                   f"{title}: endpoints")


@case("following a stream shows the messages of both sides, repetitions left out")
def follow(look):
    talk = f.Talk().ask(f.SEND_ONLY, 0, payload=b"question", ack_request=1)
    talk.wait(67_000).ask(f.SEND_ONLY, 0, payload=b"question", ack_request=1).ack(0, 1)
    talk.ask_back(f.SEND_ONLY, 0, payload=b"the answer", ack_request=1).ack_back(0, 1)
    for two_pass, title in look.passes():
        text = look.output("-n", "-r", look.capture(talk), "-q", "-z", "follow,roce,ascii,0",
                           *(["-2"] if two_pass else []))
        look.equal(text.count("question"), 1, f"{title}: questions")
        look.equal(text.count("the answer"), 1, f"{title}: answers")
