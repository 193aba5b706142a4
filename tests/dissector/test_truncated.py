# SPDX-License-Identifier: BSD-3-Clause
"""Packets cut by the capture, cut by their sender, or shorter than any packet may be."""

import frames as f
from case import case

GOOD, UNVERIFIED = 1, 2


@case("every snap length from the Ethernet header to the whole frame")
def all_lengths(look):
    body = f.transport(f.WRITE_FIRST, 0x12, 0x1000, f.reth(0x1234, 5, 400), bytes(256))
    whole = f.frame(body)
    headers = 14 + 28 + 12 + 16
    for snap in range(14, len(whole) + 1):
        if snap > headers + 8 and snap < len(whole) - 8:
            continue
        rows = look.shark.fields(look.capture([whole], snap=snap),
                                 ["roce.bth.psn", "roce.reth.dmalen", "roce.payload.length",
                                  "roce.icrc.status", "_ws.malformed"])
        psn, announced, length, status, malformed = rows[0]
        if malformed:
            look.complain(f"{snap} bytes: malformed")
        look.equal(psn, ["4096"] if snap >= 14 + 28 + 12 else [], f"{snap} bytes: PSN")
        look.equal(announced, ["400"] if snap >= headers else [], f"{snap} bytes: RETH")
        if snap >= headers:
            look.equal(length, ["256"], f"{snap} bytes: payload length")
        if snap >= 14 + 28 + 12:
            look.equal(status, [str(GOOD if snap == len(whole) else UNVERIFIED)],
                       f"{snap} bytes: ICRC status")


@case("a cut capture is analysed like a whole one")
def analysed(look):
    talk = f.connect(f.Talk())
    talk.ask(f.WRITE_FIRST, 0, f.reth(0x1000, 5, 2048), bytes(1024))
    talk.ask(f.WRITE_LAST, 1, payload=bytes(1024), ack_request=1).ack(1, 1)
    talk.ask(f.READ_REQUEST, 2, f.reth(0x1000, 5, 2048))
    talk.answer(f.READ_FIRST, 2, f.aeth(msn=2), bytes(1024))
    talk.answer(f.READ_LAST, 3, f.aeth(msn=2), bytes(1024))
    for snap in (70, 90, 128):
        look.expect_findings(talk, [], snap=snap)


@case("no repetition is seen where the bytes that would show it were cut")
def unknown_repetition(look):
    listed = [f.frame(f.transport(f.UD | f.SEND_ONLY, 0x12, 7, f.deth(5, 0x11), bytes([number]) *
                                  200)) for number in range(3)]
    look.expect_findings(listed, [], snap=80)


@case("responses to a READ whose address was cut are no ghosts")
def unknown_request(look):
    talk = f.Talk().ask(f.READ_REQUEST, 0, f.reth(0x1000, 5, 2048))
    talk.answer(f.READ_FIRST, 0, f.aeth(msn=1), bytes(1024))
    talk.answer(f.READ_LAST, 1, f.aeth(msn=1), bytes(1024))
    look.expect_findings(talk, [], snap=64)


@case("a sender's packet too short for its headers")
def short_headers(look):
    listed = [f.frame(f.transport(f.WRITE_ONLY, 0x12, 1, bytes(8)))]
    look.fields(listed, ["roce.bth.psn", "roce.headers_too_long"], [[1, True]])


@case("a datagram too short for a BTH")
def no_header(look):
    listed = [f.frame(bytes(4)), f.frame(b"")]
    look.fields(listed, ["roce.too_short", "roce.bth.psn"], [[True, None]] * 2)


@case("a pad count that does not fit")
def pad_count(look):
    listed = [f.frame(f.transport(f.SEND_ONLY, 0x12, 1, payload=b"", pad=3, pad_bytes=b"")),
              f.frame(f.transport(f.SEND_ONLY, 0x12, 2, payload=b"abcde", pad=0)),
              f.frame(f.transport(f.SEND_ONLY, 0x12, 3, payload=b"abc", pad_bytes=b"\x55"))]
    look.fields(listed, ["roce.pad.bad", "roce.pad.not_zero"],
                [[True, None], [True, None], [None, True]])


@case("over IPv6")
def ipv6(look):
    talk = f.Talk(alice=f.ALICE6, bob=f.BOB6)
    talk.ask(f.SEND_ONLY, 0, payload=bytes(100)).ack(0, 1)
    look.fields(talk, ["roce.bth.psn", "_ws.malformed"], [[0x1000, None], [0x1000, None]], snap=74)
