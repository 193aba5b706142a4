# SPDX-License-Identifier: BSD-3-Clause
"""Streams: which packets belong together, and how that was found."""

import frames as f
from case import case

DATA = bytes(64)


@case("both directions of a connection that CM made")
def by_cm(look):
    talk = f.connect(f.Talk()).ask(f.SEND_ONLY, 0, payload=DATA, ack_request=1).ack(0, 1)
    talk.ask_back(f.SEND_ONLY, 0, payload=DATA, ack_request=1).ack_back(0, 1)
    rows = look.shark.fields(look.capture(talk), ["roce.stream", "roce.srcqp",
                                                  "roce.stream.paired_by", "roce.psn.relative"])
    look.equal(len({row[0][0] for row in rows[3:]}), 1, "streams of the data")
    look.equal([row[1] for row in rows[3:]],
               [["0x000011"], ["0x000012"], ["0x000012"], ["0x000011"]], "source queue pair")
    look.equal([row[2] for row in rows[3:]], [["cm"]] * 4, "paired by")
    look.equal([row[3] for row in rows[3:]], [["0"]] * 4, "relative PSN")
    look.expect_findings(talk, [])


@case("paired by the first answer, when the capture begins late")
def by_answer(look):
    talk = f.Talk().ask(f.SEND_ONLY, 0, payload=DATA, ack_request=1).ack(0, 1)
    talk.ask(f.SEND_ONLY, 1, payload=DATA, ack_request=1).ack(1, 2)
    look.column(talk, "roce.stream", [0] * 4)
    look.column(talk, "roce.srcqp", [None, "0x000012", "0x000011", "0x000012"],
                passes=[(False, "one pass")])
    look.column(talk, "roce.srcqp", ["0x000011", "0x000012", "0x000011", "0x000012"],
                passes=[(True, "-2")])


@case("UD: the DETH names both queue pairs")
def by_deth(look):
    def datagram(source, destination, to, own, psn):
        return f.frame(f.transport(f.UD | f.SEND_ONLY, to, psn, f.deth(0x11111111, own), DATA),
                       source, destination)
    listed = [datagram(f.ALICE, f.BOB, 0x12, 0x11, 5), datagram(f.BOB, f.ALICE, 0x11, 0x12, 9),
              datagram(f.ALICE, f.BOB, 0x12, 0x31, 5)]
    look.column(listed, "roce.stream", [0, 0, 1])
    look.column(listed, "roce.srcqp", ["0x000011", "0x000012", "0x000031"])


@case("several connections between two hosts stay apart")
def apart(look):
    listed = []
    for number in range(4):
        talk = f.Talk(alice=f.Host(f.ALICE.mac, f.ALICE.address, 0x100 + number, 0x1000 * number),
                      bob=f.Host(f.BOB.mac, f.BOB.address, 0x200 + number, 5), now_us=number * 1000)
        talk.ask(f.SEND_ONLY, 0, payload=DATA, ack_request=1).ack(0, 1)
        talk.ask(f.SEND_ONLY, 1, payload=DATA, ack_request=1).ack(1, 2)
        listed += talk.frames
    look.column(listed, "roce.stream", [number for number in range(4) for _ in range(4)])
    look.expect_findings(listed, [])


@case("the same queue pair number on another host is another stream")
def hosts(look):
    carol = f.Host("02:00:00:00:00:03", "10.0.0.3", 0x12, 0x2000)
    one = f.Talk().ask(f.SEND_ONLY, 0, payload=DATA)
    other = f.Talk(bob=carol, now_us=100).ask(f.SEND_ONLY, 0, payload=DATA)
    look.column(one.frames + other.frames, "roce.stream", [0, 1])


@case("paired by the user's table, without any answer")
def by_table(look):
    talk = f.Talk().ask(f.SEND_ONLY, 0, payload=DATA).ask_back(f.SEND_ONLY, 0, payload=DATA)
    table = 'uat:roce_queue_pairs:"10.0.0.1","0x11","10.0.0.2","0x12",""'
    look.column(talk, "roce.srcqp", ["0x000011", "0x000012"], options=("-o", table))
    look.column(talk, "roce.stream", [0, 0], options=("-o", table))
    look.column(talk, "roce.stream.paired_by", ["user", "user"], options=("-o", table))


@case("RoCE v1 and v2 of the same two hosts stay apart")
def versions(look):
    one = f.Talk().ask(f.SEND_ONLY, 0, payload=DATA)
    other = f.Talk(alice=f.Host(f.ALICE.mac, f.ALICE.address, 0x21, 0x1000),
                   bob=f.Host(f.BOB.mac, f.BOB.address, 0x22, 0x2000), version=1,
                   now_us=100).ask(f.SEND_ONLY, 0, payload=DATA)
    look.column(one.frames + other.frames, "roce.stream", [0, 1])
    look.expect_findings(one.frames + other.frames, [])


@case("the CM exchange: chat, and nothing louder")
def cm(look):
    talk = f.connect(f.Talk())
    talk.now_us += 10
    talk.frames.append((talk.now_us, f.cm_frame(f.ALICE, f.BOB, f.CM_DREQ, 0x56, f.cm_ids(
        0x101, 0x202, (0x12 << 8).to_bytes(4, "big")))))
    talk.frames.append((talk.now_us + 10, f.cm_frame(f.BOB, f.ALICE, f.CM_DREP, 0x56,
                                                     f.cm_ids(0x202, 0x101))))
    look.expect_findings(talk, [])
    for name, where in (("connection_request", [1]), ("connection_established", [2, 3]),
                        ("connection_closed", [4, 5])):
        look.frames_where(talk, f"roce.analysis.{name}", where)


@case("a connection refused")
def rejected(look):
    listed = [f.cm_frame(f.ALICE, f.BOB, f.CM_REQ, 1, f.cm_request(f.ALICE, f.BOB, 0x101)),
              f.cm_frame(f.BOB, f.ALICE, f.CM_REJ, 1, f.cm_reject(0, 0x101, 8))]
    look.expect_findings(listed, [])
    look.frames_where(listed, "roce.analysis.connection_rejected", [2])
    look.column(listed, "roce.analysis.related", [None, 1])


@case("the same queue pairs begin anew")
def restarted(look):
    talk = f.connect(f.Talk()).ask(f.SEND_ONLY, 0, payload=DATA, ack_request=1).ack(0, 1)
    talk.wait(10_000_000)
    again = f.Talk(alice=f.Host(f.ALICE.mac, f.ALICE.address, 0x11, 0x700000),
                   bob=f.Host(f.BOB.mac, f.BOB.address, 0x12, 0x600000), now_us=talk.now_us)
    f.connect(again, comm_ids=(0x103, 0x204), transaction=0x77)
    again.ask(f.SEND_ONLY, 0, payload=DATA, ack_request=1).ack(0, 1)
    both = talk.frames + again.frames
    look.expect_findings(both, [])
    rows = look.shark.fields(look.capture(both), ["roce.stream"])
    if rows[3][0] == rows[8][0]:
        look.complain(f"both connections are stream {rows[3][0]}")
