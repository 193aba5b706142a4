# SPDX-License-Identifier: BSD-3-Clause
"""The ICRC's verdict, what it should be, and why it is wrong."""

import struct
import zlib

import frames as f
from case import case

BAD, GOOD, UNVERIFIED = 0, 1, 2
BODY = f.transport(f.WRITE_ONLY, 0x12, 0x1000, f.reth(0x10000, 0x77, 21), bytes(range(21)))


def network_of(frame):
    """Network headers of a frame without VLAN tag."""
    packet = frame[14:]
    if packet[0] >> 4 == 4:
        return packet[:28]
    return packet[:40] if packet[6] == 0x1b else packet[:48]


def swapped(value):
    return struct.unpack(">I", struct.pack("<I", value))[0]


@case("good over IPv4, IPv6 and v1, whatever may change in flight")
def good(look):
    listed = []
    for source, destination, version in ((f.ALICE, f.BOB, 2), (f.ALICE6, f.BOB6, 2),
                                         (f.ALICE6, f.BOB6, 1)):
        for options in ({}, {"tos": 0xff}, {"ttl": 1}, {"flow": 0xfffff}, {"udp_sum": 0x1234}):
            listed.append(f.frame(BODY, source, destination, version=version, **options))
        listed.append(f.frame(f.transport(f.SEND_ONLY, 1, 1, fecn=1, becn=1, reserved6=63),
                              source, destination, version=version))
    look.fields(listed, ["roce.icrc.status", "roce.icrc.hint", "roce.icrc.bad"],
                [[GOOD, None, None]] * len(listed))


@case("the value carried and the one that should be")
def values(look):
    right = f.icrc_of(network_of(f.frame(BODY)), BODY)
    look.fields([f.frame(BODY), f.frame(BODY, icrc=right ^ 0x01020304)],
                ["roce.icrc", "roce.icrc.calculated", "roce.icrc.status"],
                [[f"0x{right:08x}", f"0x{right:08x}", GOOD],
                 [f"0x{right ^ 0x01020304:08x}", f"0x{right:08x}", BAD]])


@case("bad: an error in the expert information, with the frame in the filter")
def bad(look):
    talk = f.Talk().ask(f.SEND_ONLY, 0, payload=b"abcd").ask(f.SEND_ONLY, 1, payload=b"efgh",
                                                             spoil=0xffff)
    look.frames_where(talk, "roce.icrc.status == 0", [2])
    look.frames_where(talk, "roce.icrc.bad", [2])
    look.frames_where(talk, "_ws.expert.severity == error", [2])


def hint(look, frame, words):
    for two_pass, title in look.passes():
        rows = look.shark.fields(look.capture([frame]), ["roce.icrc.status", "roce.icrc.hint"],
                                 two_pass=two_pass)
        look.equal(rows[0][0], [str(BAD)], f"{title}: status")
        text = rows[0][1][0].lower() if rows[0][1] else ""
        if not any(word in text for word in words):
            look.complain(f"{title}: the hint is '{text}', none of {words} in it")


@case("why: the bytes in the other order")
def byte_order(look):
    right = f.icrc_of(network_of(f.frame(BODY)), BODY)
    hint(look, f.frame(BODY, icrc=swapped(right)), ["order", "swap", "most significant byte"])


@case("why: left out")
def left_out(look):
    hint(look, f.frame(BODY, icrc=0), ["zero", "left out"])


@case("why: a masked field was not masked")
def not_masked(look):
    network = network_of(f.frame(BODY, tos=0x28))
    plain = zlib.crc32(b"\xff" * 8 + network + BODY)
    hint(look, f.frame(BODY, tos=0x28, icrc=plain), ["mask"])


@case("why: without the eight bytes of ones")
def no_route_header(look):
    whole = bytearray(network_of(f.frame(BODY)) + BODY)
    whole[1] = whole[8] = whole[10] = whole[11] = whole[26] = whole[27] = whole[32] = 0xff
    hint(look, f.frame(BODY, icrc=zlib.crc32(bytes(whole))), ["lrh", "route header", "eight"])


@case("why: over the payload without its pad")
def without_pad(look):
    network = network_of(f.frame(BODY))
    hint(look, f.frame(BODY, icrc=f.icrc_of(network, BODY[:-3])), ["pad"])


@case("why: one bit flipped, and where")
def flipped(look):
    whole = bytearray(f.frame(BODY))
    whole[14 + 28 + 12 + 16 + 5] ^= 0x10  # in the payload
    hint(look, bytes(whole), ["payload byte 5"])
    whole = bytearray(f.frame(BODY))
    whole[14 + 28 + 9] ^= 0x02  # in the PSN
    hint(look, bytes(whole), ["psn"])


@case("why: NAT rewrote the source port, or an address")
def rewritten(look):
    network = network_of(f.frame(BODY, source_port=0xd123))
    hint(look, f.frame(BODY, source_port=0xc001, icrc=f.icrc_of(network, BODY)),
         ["port", "nat", "rewritten"])
    other = f.Host("02:00:00:00:00:01", "192.168.77.9", 0x11)
    network = network_of(f.frame(BODY, other))
    hint(look, f.frame(BODY, icrc=f.icrc_of(network, BODY)), ["address", "nat"])


@case("unverified when the capture cut the packet")
def cut(look):
    talk = f.Talk().ask(f.SEND_ONLY, 0, payload=bytes(400)).ack(0, 1)
    look.fields(talk, ["roce.icrc.status", "roce.icrc", "roce.icrc.calculated"],
                [[UNVERIFIED, None, None],
                 [GOOD, *[f"0x{f.icrc_of(network_of(talk.frames[1][1]), talk.frames[1][1][42:-4]):08x}"]
                  * 2]], snap=100)


@case("the sample with a flipped bit, at its frame alone")
def sample(look):
    path = look.capture("loss-icrc")
    for two_pass, title in look.passes():
        rows = look.shark.fields(path, ["frame.number"], two_pass=two_pass,
                                 where="roce.icrc.status == 0")
        look.equal(len(rows), 1, f"{title}: frames with a wrong ICRC")
