# SPDX-License-Identifier: BSD-3-Clause
"""The suite's own frames against what others made, and against tshark's built-in dissector."""

import struct

import frames as f
from case import case, sample, sample_names

# Frames of other devices and programs, from the network header to the ICRC.
GOLDEN = {
    "v2 over IPv4":
        "4501 0040 0478 4000 4011 b4d5 c0a80007 c0a80007 c000 12b7 002c aca2"
        "24 60 ffff 00 0000d3 00 cf1710 4630818be28935d90e9a95505401be885e50 0000 78f353f3",
    "v2 over IPv6":
        "6e21face 002c 11 ff 20220000000000000000000000001023 20230000000000000000000000001024"
        "c000 12b7 002c e7c5"
        "24 60 ffff 00 0000d3 00 cf1710 4630818be28935d90e9a95505401be885e50 0000 3e5b743b",
    "a CNP of a ConnectX-4 Lx":
        "45c2 003c 718c 4000 4011 9161 0a001101 0a001201 0000 12b7 0028 0000"
        "81 00 ffff 40 000118 00 000000 00000000 00000000 00000000 00000000 82fd002a",
}


def split(packet):
    """(network headers, BTH to pad, ICRC) of a RoCE packet; None when it is none."""
    if packet[0] >> 4 == 4:
        size = (packet[0] & 15) * 4 + 8
    else:
        size = 40 if packet[6] == 0x1b else 48
    return packet[:size], packet[size:-4], struct.unpack("<I", packet[-4:])[0]


@case("the ICRC of frames others made")
def golden(look):
    for title, text in GOLDEN.items():
        network, body, carried = split(bytes.fromhex(text))
        look.equal(f.icrc_of(network, body), carried, title)


@case("a frame laid out as others lay it out")
def same_bytes(look):
    host = f.Host("7c:fe:90:64:3b:32", "10.0.17.1"), f.Host("e4:1d:2d:ab:2b:c2", "10.0.18.1")
    ours = f.frame(f.transport(f.CNP, 0x118, 0, bytes(16), becn=1, migrated=0), *host, tos=0xc2,
                   identification=0x718c, source_port=0)
    theirs = bytes.fromhex("e41d2dab2bc2 7cfe90643b32 0800" + GOLDEN["a CNP of a ConnectX-4 Lx"])
    look.equal(ours.hex(), theirs.hex(), "CNP")


@case("the ICRC of every frame of the samples")
def samples(look):
    seen = 0
    for name in sample_names():
        if name in ("loss-icrc", "loss-ip-header", "loss-transport-header"):  # spoilt on purpose
            continue
        for number, data in enumerate(enhanced_packets(sample(name)), 1):
            at = 12
            kind = struct.unpack_from(">H", data, at)[0]
            if kind == 0x8100:
                at += 4
                kind = struct.unpack_from(">H", data, at)[0]
            packet = data[at + 2:]
            if kind == 0x0800 and (packet[9] != 17 or packet[22:24] != b"\x12\xb7") or (
                    kind == 0x86dd and (packet[6] != 17 or packet[42:44] != b"\x12\xb7")) or (
                    kind not in (0x0800, 0x86dd, 0x8915)):
                continue
            network, body, carried = split(packet)
            look.equal(f.icrc_of(network, body), carried, f"{name}, frame {number}")
            seen += 1
    if seen < 200:
        look.complain(f"only {seen} RoCE frames were seen")


def enhanced_packets(path):
    with open(path, "rb") as file:
        data = file.read()
    offset = 0
    while offset < len(data):
        kind, size = struct.unpack_from("<II", data, offset)
        if kind == 6:
            kept = struct.unpack_from("<I", data, offset + 20)[0]
            yield data[offset + 28:offset + 28 + kept]
        offset += size


@case("the built-in dissector reads the same values")
def built_in(look):
    talk = f.Talk()
    talk.ask(f.WRITE_FIRST, 0, f.reth(0x7f0012345678, 0xabcd, 1500), bytes(1024), solicited=1)
    talk.ask(f.WRITE_LAST_IMM, 1, f.immdt(0xdeadbeef), bytes(476), ack_request=1)
    talk.ack(1, 1)
    talk.ask(f.COMPARE_SWAP, 2, f.atomic_eth(0x1000, 0x5, 7, 9), ack_request=1)
    talk.answer(f.ATOMIC_ACKNOWLEDGE, 2, f.aeth(msn=2) + f.atomic_ack_eth(77))
    names = ["infiniband.bth.opcode", "infiniband.bth.destqp", "infiniband.bth.psn",
             "infiniband.bth.a", "infiniband.reth.va", "infiniband.reth.r_key",
             "infiniband.aeth.msn", "infiniband.atomiceth.cmpdt",
             "infiniband.atomicacketh.origremdt"]
    rows = look.shark.fields(look.capture(talk), names, plugin=False)
    expected = [
        ["6", "0x000012", "4096", "0", "0x00007f0012345678", "0x0000abcd", "", "", ""],
        ["9", "0x000012", "4097", "1", "", "", "", "", ""],
        ["17", "0x000011", "4097", "0", "", "", "1", "", ""],
        ["19", "0x000012", "4098", "1", "0x0000000000001000", "0x00000005", "", "9", ""],
        ["18", "0x000011", "4098", "0", "", "", "2", "", "77"]]
    look.equal([[(cell or [""])[0] for cell in row] for row in rows], expected, "fields")


@case("both kinds of capture file hold the same")
def kinds(look):
    talk = f.Talk().ask(f.SEND_ONLY, 0, payload=b"hello").wait(1_000_000).ack(0, 1)
    names = ["frame.time_epoch", "frame.len", "frame.cap_len", "roce.bth.psn"]
    for snap in (None, 60):
        old = look.shark.fields(look.capture(talk, snap=snap), names)
        new = look.shark.fields(look.capture(talk, snap=snap, kind="pcapng"), names)
        look.equal(new, old, f"snap length {snap}")
        look.equal(old[1][0], ["1700000001.000020000"], "time of the second frame")
