#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Writes the seeds of fuzz_nic: tests/fuzz/make_nic_seeds.py tests/fuzz/corpus/nic

Each seed is a few records (see fuzz_nic.cpp). Checksums and ICRC are left to the flags.
"""

import os
import socket
import struct
import sys

FIX, ADDRESS, SPLIT, LATER, POST, FAIL = 1, 2, 4, 2 << 3, 32, 64
SECOND = 3 << 3
RC, UC, UD = 0x11, 0x12, 0x13
SHARED, INITIATOR, TARGET = 0x14, 0x15, 0x16  # RC on a shared receive queue; XRC
QUEUE = struct.pack(">I", 2)  # XRCETH: the queue of the target's domain
OPEN, SHOWN, HIDDEN = 0x123456, 0x234567, 0x345678
BASE = 0x10000
OWN, PEER = bytes.fromhex("020000000001"), bytes.fromhex("020000000009")
OWN4, PEER4 = socket.inet_aton("10.0.0.1"), socket.inet_aton("10.0.0.9")
OWN6 = socket.inet_pton(socket.AF_INET6, "fd00::1")
PEER6 = socket.inet_pton(socket.AF_INET6, "fd00::9")


def record(frame, flags=FIX):
    return struct.pack("<BH", flags, len(frame)) + frame


def ethernet(ethertype, rest, to=OWN):
    return to + PEER + struct.pack(">H", ethertype) + rest


def ipv4(protocol, rest):
    return struct.pack(">BBHHHBBH", 0x45, 0, 20 + len(rest), 1, 0x4000, 64, protocol, 0) \
        + PEER4 + OWN4 + rest


def ipv6(next_header, rest, hop_limit=64):
    return struct.pack(">IHBB", 6 << 28, len(rest), next_header, hop_limit) + PEER6 + OWN6 + rest


def transport(opcode, qpn, psn, extension=b"", payload=b"", ack=True, pkey=0xffff):
    pad = -len(payload) % 4
    return struct.pack(">BBHII", opcode, 0x40 | pad << 4, pkey, qpn, (ack << 31) | psn) \
        + extension + payload + bytes(pad) + bytes(4)


def v4(*arguments, **options):
    packet = transport(*arguments, **options)
    udp = struct.pack(">HHHH", 0xc000, 4791, 8 + len(packet), 0)
    return ethernet(0x0800, ipv4(17, udp + packet))


def v6(*arguments, **options):
    packet = transport(*arguments, **options)
    udp = struct.pack(">HHHH", 0xc000, 4791, 8 + len(packet), 0)
    return ethernet(0x86dd, ipv6(17, udp + packet))


def v1(*arguments, **options):
    return ethernet(0x8915, ipv6(0x1b, transport(*arguments, **options)))


def reth(address=BASE, key=OPEN, length=8):
    return struct.pack(">QII", address, key, length)


def atomic(address=BASE, key=OPEN, swap_add=1, compare=0):
    return struct.pack(">QIQQ", address, key, swap_add, compare)


def aeth(syndrome, msn=0):
    return struct.pack(">I", syndrome << 24 | msn)


def deth(key=0x11111111, qpn=0x99):
    return struct.pack(">II", key, qpn)


def icmp(body, pseudo_header=b""):
    total = sum(struct.unpack(f">{len(pseudo_header + body) // 2}H", pseudo_header + body))
    total = (total & 0xffff) + (total >> 16)
    total = ~((total & 0xffff) + (total >> 16)) & 0xffff
    return body[:2] + struct.pack(">H", total) + body[4:]


def arp(operation, target_mac, to):
    return ethernet(0x0806, struct.pack(">HHBBH", 1, 0x800, 6, 4, operation) + PEER + PEER4
                    + target_mac + OWN4, to)


PAGE = bytes(range(256))
SEEDS = {
    "rc-write": [v4(0x0a, RC, 0, reth(), PAGE[:8])],
    "rc-write-message": [v4(0x06, RC, 0, reth(length=600), PAGE), v4(0x07, RC, 1, payload=PAGE),
                         v4(0x08, RC, 2, payload=PAGE[:88])],
    "rc-write-immediate": [v4(0x0b, RC, 0, reth(length=4) + PAGE[:4], PAGE[:4])],
    "rc-send-message": [v4(0x00, RC, 0, payload=PAGE), v4(0x01, RC, 1, payload=PAGE),
                        v4(0x03, RC, 2, PAGE[:4], PAGE[:3])],
    "rc-send": [v4(0x04, RC, 0, payload=PAGE[:7]), v4(0x05, RC, 1, PAGE[:4], PAGE[:9])],
    "rc-send-invalidate": [v4(0x17, RC, 0, struct.pack(">I", OPEN), PAGE[:8])],
    "rc-read": [v4(0x0c, RC, 0, reth(key=SHOWN, length=1000)),
                v4(0x0c, RC, 1, reth(BASE + 256, SHOWN, 744))],
    "rc-atomics": [v4(0x13, RC, 0, atomic()), v4(0x14, RC, 1, atomic(BASE + 8)),
                   v4(0x14, RC, 0, atomic())],
    "rc-flush": [v4(0x1c, RC, 0, PAGE[:4] + reth())],
    "rc-atomic-write": [v4(0x1d, RC, 0, reth(), PAGE[:8])],
    "rc-gap-duplicate": [v4(0x0a, RC, 0, reth(), PAGE[:8]), v4(0x0a, RC, 5, reth(), PAGE[:8]),
                         v4(0x0a, RC, 0, reth(), PAGE[:8]), v4(0x0a, RC, 1, reth(), PAGE[:8])],
    "rc-bad-key": [v4(0x0a, RC, 0, reth(key=HIDDEN), PAGE[:8])],
    "rc-bad-bounds": [v4(0x0a, RC, 0, reth(address=BASE + 2044), PAGE[:8])],
    "rc-bad-address": [v4(0x0c, RC, 0, reth(address=2**64 - 4))],
    "rc-acks": [v4(0x11, RC, 3, aeth(0x1f, 1), ack=False),
                v4(0x11, RC, 7, aeth(0x1f, 2), ack=False)],
    "rc-nak-sequence": [v4(0x11, RC, 1, aeth(0x60), ack=False)],
    "rc-nak-access": [v4(0x11, RC, 0, aeth(0x62), ack=False)],
    "rc-rnr-nak": [v4(0x11, RC, 0, aeth(0x21), ack=False)],
    "rc-read-responses": [v4(0x0d, RC, 8, aeth(0x1f, 2), PAGE, ack=False),
                          v4(0x0e, RC, 9, payload=PAGE, ack=False),
                          v4(0x0e, RC, 10, payload=PAGE, ack=False),
                          v4(0x0f, RC, 11, aeth(0x1f, 3), PAGE, ack=False),
                          v4(0x12, RC, 12, aeth(0x1f, 4) + PAGE[:8], ack=False)],
    "uc-send-write": [v4(0x20, UC, 0, payload=PAGE), v4(0x22, UC, 1, payload=PAGE[:5]),
                      v4(0x2a, UC, 2, reth(), PAGE[:8]), v4(0x26, UC, 9, reth(length=300), PAGE)],
    "ud-send": [v4(0x64, UD, 0, deth(), PAGE[:100]), v4(0x65, UD, 1, deth() + PAGE[:4], PAGE[:8])],
    "ud-v6-v1": [v6(0x64, UD, 0, deth(), PAGE[:100]), v1(0x64, UD, 0, deth(), PAGE[:100])],
    "rc-v6-v1": [v6(0x0a, RC, 0, reth(), PAGE[:8]), v1(0x0a, RC, 0, reth(), PAGE[:8])],
    "srq-send": [v4(0x00, SHARED, 0, payload=PAGE), v4(0x02, SHARED, 1, payload=PAGE[:5]),
                 v4(0x05, SHARED, 2, PAGE[:4], PAGE[:9])],
    "xrc-send": [v4(0xa0, TARGET, 0, QUEUE, PAGE), v4(0xa3, TARGET, 1, QUEUE + PAGE[:4], PAGE[:5]),
                 v4(0xa4, TARGET, 2, QUEUE, PAGE[:7])],
    "xrc-one-sided": [v4(0xaa, TARGET, 0, QUEUE + reth(), PAGE[:8]),
                      v4(0xac, TARGET, 1, QUEUE + reth(key=SHOWN, length=600)),
                      v4(0xb4, TARGET, 4, QUEUE + atomic(BASE + 8)),
                      v4(0xac, TARGET, 2, QUEUE + reth(BASE + 256, SHOWN, 344))],
    "xrc-no-queue": [v4(0xa4, TARGET, 0, struct.pack(">I", 1), PAGE[:7])],
    "xrc-answers": [v4(0xb1, INITIATOR, 7, aeth(0x1f, 1), ack=False),
                    v4(0xad, INITIATOR, 8, aeth(0x1f, 2), PAGE, ack=False),
                    v4(0xb1, INITIATOR, 8, aeth(0x60), ack=False)],
    "cnp": [v4(0x81, RC, 0, bytes(16), ack=False)],
    "arp": [arp(1, bytes(6), b"\xff" * 6), arp(2, OWN, OWN)],
    "ping": [ethernet(0x0800, ipv4(1, icmp(struct.pack(">BBHHH", 8, 0, 0, 7, 1) + PAGE[:56])))],
    "solicitation": [ethernet(0x86dd, ipv6(58, icmp(
        struct.pack(">BBHI", 135, 0, 0, 0) + OWN6 + b"\x01\x01" + PEER,
        PEER6 + OWN6 + struct.pack(">II", 32, 58)), 255))],
}


def main():
    folder = sys.argv[1]
    os.makedirs(folder, exist_ok=True)
    for name, frames in SEEDS.items():
        # Plain first, then in segments with work posted and time passing between.
        plain = b"".join(record(frame) for frame in frames)
        busy = b"".join(record(frame, FIX | ADDRESS | SPLIT | POST | LATER) for frame in frames)
        with open(os.path.join(folder, name), "wb") as file:
            file.write(plain)
        with open(os.path.join(folder, name + "-busy"), "wb") as file:
            file.write(busy + record(frames[0], FIX | FAIL | SECOND))


main()
