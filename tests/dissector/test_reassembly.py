# SPDX-License-Identifier: BSD-3-Clause
"""Messages put together from their packets, and exported."""

import os

import frames as f
from case import case

DATA = bytes(range(256))


def data(count):
    return (DATA * (count // 256 + 1))[:count]


def packets(talk, first, middle, last, offset, whole, head=b"", answers=False, size=256):
    """A message in as many packets as it takes."""
    add = talk.answer if answers else talk.ask
    cut = [whole[at:at + size] for at in range(0, len(whole), size)]
    for number, part in enumerate(cut):
        opcode = first if number == 0 else last if number == len(cut) - 1 else middle
        ends = head if number == 0 or (answers and number == len(cut) - 1) else b""
        more = {} if answers else {"ack_request": int(number == len(cut) - 1)}
        add(opcode, offset + number, ends, part, **more)
    return len(cut)


def everything():
    talk = f.Talk()
    packets(talk, f.SEND_FIRST, f.SEND_MIDDLE, f.SEND_LAST, 0, data(700))  # 1-3
    talk.ack(2, 1)  # 4
    packets(talk, f.WRITE_FIRST, f.WRITE_MIDDLE, f.WRITE_LAST, 3, data(600),
            f.reth(0x1000, 7, 600))  # 5-7
    talk.ack(5, 2)  # 8
    talk.ask(f.READ_REQUEST, 6, f.reth(0x1000, 7, 520), ack_request=1)  # 9
    packets(talk, f.READ_FIRST, f.READ_MIDDLE, f.READ_LAST, 6, data(520), f.aeth(msn=3), True)
    return talk  # 10-12


@case("SEND, WRITE and READ responses: the whole message at its last packet")
def whole(look):
    names = ["roce.message.reassembled.length", "roce.message.fragment.count"]
    expected = [[None, None] for _ in range(12)]
    expected[2], expected[6], expected[11] = [700, 3], [600, 3], [520, 3]
    look.fields(everything(), names, expected)
    rows = look.shark.fields(look.capture(everything()), ["roce.message.reassembled.data"])
    for frame, size in ((3, 700), (7, 600), (12, 520)):
        look.equal((rows[frame - 1][0] or [""])[0], data(size).hex(), f"bytes of frame {frame}")


@case("fragments are links to their frames")
def fragments(look):
    look.column(everything(), "roce.message.fragment",
                [[]] * 2 + [[1, 2, 3]] + [[]] * 3 + [[5, 6, 7]] + [[]] * 4 + [[10, 11, 12]])


@case("repeated packets do not make it longer")
def repeated(look):
    talk = f.Talk()
    talk.ask(f.SEND_FIRST, 0, payload=data(256)).ask(f.SEND_MIDDLE, 1, payload=data(256))
    talk.ask(f.SEND_LAST, 2, payload=data(100), ack_request=1)
    talk.ack(1, 0, f.NAK_SEQUENCE)
    talk.ask(f.SEND_MIDDLE, 1, payload=data(256))
    talk.ask(f.SEND_LAST, 2, payload=data(100), ack_request=1).ack(2, 1)
    for two_pass, title in look.passes():
        rows = look.shark.fields(look.capture(talk), ["roce.message.reassembled.length"],
                                 two_pass=two_pass)
        lengths = [cell for row in rows for cell in row[0]]
        if not lengths or set(lengths) != {"612"}:
            look.complain(f"{title}: lengths {lengths}")


@case("a packet that comes late finds its place")
def late(look):
    talk = f.Talk(step_us=1)
    talk.ask(f.SEND_FIRST, 0, payload=b"a" * 256).ask(f.SEND_LAST, 2, payload=b"c" * 8,
                                                      ack_request=1)
    talk.ask(f.SEND_MIDDLE, 1, payload=b"b" * 256)
    for two_pass, title in look.passes():
        rows = look.shark.fields(look.capture(talk), ["roce.message.reassembled.data"],
                                 two_pass=two_pass)
        found = [cell for row in rows for cell in row[0]]
        look.equal(found, [(b"a" * 256 + b"b" * 256 + b"c" * 8).hex()], title)


@case("messages exported as files, byte for byte")
def exported(look):
    for two_pass, title in look.passes():
        folder = look.shark.folder(f"export-{title.replace(' ', '')}", own=True)
        look.output("-n", "-r", look.capture(everything()), "-q", "--export-objects",
                    f"roce,{folder}", *(["-2"] if two_pass else []))
        found = {}
        for name in sorted(os.listdir(folder)):
            with open(os.path.join(folder, name), "rb") as file:
                found[name] = file.read()
        look.equal(sorted(len(content) for content in found.values()), [520, 600, 700],
                   f"{title}: sizes of {sorted(found)}")
        for name, content in found.items():
            look.equal(content, data(len(content)), f"{title}: {name}")


@case("a message with a hole is not put together")
def hole(look):
    talk = f.Talk(service=f.UC)
    talk.ask(f.SEND_FIRST, 0, payload=data(256)).ask(f.SEND_LAST, 2, payload=data(8))
    look.column(talk, "roce.message.reassembled.length", [None, None])
