# SPDX-License-Identifier: BSD-3-Clause
"""Messages: their number, their place in the packets, the line that sums them up."""

import frames as f
from case import case

DATA = bytes(range(256))


def exchange():
    talk = f.Talk()
    talk.ask(f.WRITE_FIRST, 0, f.reth(0x7f0000001000, 0x1234, 600), DATA)  # 1
    talk.ask(f.WRITE_MIDDLE, 1, payload=DATA)  # 2
    talk.ask(f.WRITE_LAST, 2, payload=DATA[:88], ack_request=1)  # 3
    talk.ack(2, 1)  # 4
    talk.ask(f.SEND_ONLY_IMM, 3, f.immdt(5), DATA[:10], ack_request=1)  # 5
    talk.ack(3, 2)  # 6
    talk.ask(f.READ_REQUEST, 4, f.reth(0x7f0000001000, 0x1234, 100), ack_request=1)  # 7
    talk.answer(f.READ_ONLY, 4, f.aeth(msn=3), DATA[:100])  # 8
    return talk


@case("the number of the message, of requests and of answers")
def numbers(look):
    look.column(exchange(), "roce.message.number", [1, 1, 1, 1, 2, 2, 3, 3])


@case("where a packet's payload stands in its message")
def offsets(look):
    look.fields(exchange(), ["roce.message.offset"],
                [[0], [256], [512], [None], [0], [None], [None], [0]])


@case("where the message begins")
def begins(look):
    look.column(exchange(), "roce.message.begins_in", [1, 1, 1, 1, 5, 5, 7, 7])


@case("the line of a WRITE, a SEND and a READ")
def lines(look):
    rows = look.shark.fields(look.capture(exchange()), ["roce.message"], two_pass=True)
    texts = [row[0][0] if row[0] else "" for row in rows]
    for number, words in ((1, ("RDMA WRITE", "600 bytes", "0x7f0000001000", "0x1234", "3 packets",
                               "completed in 30 us")),
                          (5, ("SEND", "10 bytes", "completed in 10 us")),
                          (7, ("RDMA READ", "100 bytes", "0x7f0000001000", "completed in 10 us"))):
        for word in words:
            if word not in texts[number - 1]:
                look.complain(f"frame {number}: '{word}' is not in '{texts[number - 1]}'")


@case("the answer that completes a message knows its time in one pass too")
def completion(look):
    look.fields(exchange(), ["roce.message.completion_time"],
                [["0.000030000"]] * 4 + [["0.000010000"]] * 4,
                passes=[(True, "-2")])
    rows = look.shark.fields(look.capture(exchange()), ["roce.message.state"])
    look.equal([row[0] for row in (rows[3], rows[5], rows[7])], [["complete"]] * 3, "one pass")


@case("a message refused")
def refused(look):
    talk = f.Talk().ask(f.WRITE_ONLY, 0, f.reth(1, 2, 4), b"abcd", ack_request=1)
    talk.ack(0, 0, f.NAK_ACCESS)
    look.column(talk, "roce.message.state", ["refused", "refused"], passes=[(True, "-2")])


@case("repetitions are counted and change nothing else")
def repeated(look):
    talk = f.Talk().ask(f.SEND_FIRST, 0, payload=DATA).ask(f.SEND_LAST, 1, payload=DATA[:8],
                                                          ack_request=1)
    talk.wait(67_000).ask(f.SEND_FIRST, 0, payload=DATA)
    talk.ask(f.SEND_LAST, 1, payload=DATA[:8], ack_request=1).ack(1, 1)
    look.column(talk, "roce.message.number", [1] * 5)
    rows = look.shark.fields(look.capture(talk), ["roce.message"], two_pass=True)
    for word in ("264 bytes", "2 packets", "2 repeated"):
        if word not in rows[0][0][0]:
            look.complain(f"'{word}' is not in '{rows[0][0][0]}'")


@case("both directions count their own messages")
def both(look):
    talk = f.Talk().ask(f.SEND_ONLY, 0, payload=DATA, ack_request=1).ack(0, 1)
    talk.ask_back(f.SEND_ONLY, 0, payload=DATA, ack_request=1).ack_back(0, 1)
    talk.ask(f.SEND_ONLY, 1, payload=DATA, ack_request=1).ack(1, 2)
    look.column(talk, "roce.message.number", [1, 1, 1, 1, 2, 2])
