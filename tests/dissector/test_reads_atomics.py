# SPDX-License-Identifier: BSD-3-Clause
"""READs and atomics: their responses, what is missing of them, what is repeated."""

import frames as f
from case import case

DATA = bytes(range(256))


def read(talk, offset, length, address=0x10000):
    return talk.ask(f.READ_REQUEST, offset, f.reth(address, 7, length), ack_request=1)


def respond(talk, offset, packets, msn, *, skip=(), size=256):
    if packets == 1:
        return talk.answer(f.READ_ONLY, offset, f.aeth(msn=msn), DATA[:size])
    for number in range(packets):
        if number in skip:
            continue
        if number == 0:
            talk.answer(f.READ_FIRST, offset, f.aeth(msn=msn), DATA)
        elif number < packets - 1:
            talk.answer(f.READ_MIDDLE, offset + number, payload=DATA)
        else:
            talk.answer(f.READ_LAST, offset + number, f.aeth(msn=msn), DATA[:size])
    return talk


@case("a READ takes a PSN for each response: no gap after it")
def span(look):
    talk = respond(read(f.Talk(), 0, 1024), 0, 4, 1)
    talk.ask(f.SEND_ONLY, 4, payload=DATA, ack_request=1).ack(4, 2)
    respond(read(talk, 5, 0), 5, 1, 3, size=0)
    talk.ask(f.SEND_ONLY, 6, payload=DATA, ack_request=1).ack(6, 4)
    look.expect_findings(talk, [])


@case("responses point to their request, the request to its last response")
def links(look):
    talk = respond(read(f.Talk(), 0, 700), 0, 3, 1, size=188)
    look.fields(talk, ["roce.request_in", "roce.read_latency", "roce.message.offset"],
                [[None, None, None], [1, None, 0], [1, None, 256], [1, "0.000030000", 512]])
    look.fields(talk, ["roce.response_in"], [[4], [None], [None], [None]],
                passes=[(True, "-2")])


@case("a response is missing, and is asked for again")
def missing(look):
    talk = respond(read(f.Talk(), 0, 1024), 0, 4, 1, skip=(1,))
    talk.ask(f.READ_REQUEST, 1, f.reth(0x10100, 7, 768), ack_request=1)
    respond(talk, 1, 3, 1)
    look.expect_findings(talk, [(3, "read_response_missing"), (5, "retransmission_implied"),
                                (7, "response_repeated"), (8, "response_repeated")])
    look.fields(talk, ["roce.analysis.related"],
                [[None]] * 4 + [[3], [None], [3], [4]])


@case("a response with another number of bytes than asked for")
def wrong_size(look):
    talk = respond(read(f.Talk(), 0, 600), 0, 3, 1, size=100)
    look.expect_findings(talk, [(4, "read_response_wrong_size")])
    talk = respond(read(f.Talk(), 0, 64), 0, 1, 1, size=60)
    look.expect_findings(talk, [(2, "read_response_wrong_size")])


@case("a response to nothing")
def ghost(look):
    talk = f.Talk().ask(f.SEND_ONLY, 0, payload=DATA, ack_request=1).ack(0, 1)
    talk.answer(f.READ_ONLY, 0, f.aeth(msn=1), DATA)
    look.expect_findings(talk, [(3, "ghost")])


@case("an atomic repeated with the saved result, and with another")
def atomics(look):
    def fetch_add(talk, result):
        talk.ask(f.FETCH_ADD, 0, f.atomic_eth(0x10000, 7, 1), ack_request=1)
        return talk.answer(f.ATOMIC_ACKNOWLEDGE, 0, f.aeth(msn=1) + f.atomic_ack_eth(result))
    talk = fetch_add(fetch_add(f.Talk(), 5).wait(67_000), 5)
    look.expect_findings(talk, [(3, "retransmission_timeout"), (4, "response_repeated")])
    talk = fetch_add(fetch_add(f.Talk(), 5).wait(67_000), 6)
    look.expect_findings(talk, [(3, "retransmission_timeout"), (4, "atomic_changed")])
    look.fields(talk, ["roce.request_in", "roce.atomicacketh.original"],
                [[None, None], [1, "0x0000000000000005"], [None, None],
                 [3, "0x0000000000000006"]])


@case("more READs outstanding than CM allowed")
def outstanding(look):
    talk = f.connect(f.Talk(), resources=4)
    talk.frames[1] = (talk.frames[1][0], f.cm_frame(
        f.BOB, f.ALICE, f.CM_REP, 0x55, f.cm_reply(f.BOB, 0x202, 0x101, resources=2)))
    talk.ask(f.SEND_ONLY, 0, payload=DATA, ack_request=1).ack(0, 1)
    for number in range(3):
        read(talk, 1 + number, 64)
    look.expect_findings(talk, [(8, "too_many_outstanding")])
    rows = look.shark.fields(look.capture(talk), ["roce.outstanding_reads"])
    look.equal([row[0] for row in rows[5:]], [["1"], ["2"], ["3"]], "READs outstanding")


@case("READs in flight are answered in their order")
def several(look):
    talk = f.Talk()
    for number in range(3):
        read(talk, number, 64, 0x10000 + 64 * number)
    for number in range(3):
        respond(talk, number, 1, number + 1, size=64)
    look.expect_findings(talk, [])
    look.column(talk, "roce.request_in", [None] * 3 + [1, 2, 3])
    look.column(talk, "roce.outstanding_reads", [1, 2, 3, 2, 1, 0])
