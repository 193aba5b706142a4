# SPDX-License-Identifier: BSD-3-Clause
"""Captures changed at random: some bytes anywhere, some fields where they hurt, some order.

Half of the changed frames get a right ICRC again, so that they are not dropped at the door.
"""

import struct

import frames as f

_EDGES = (0, 1, 2, 3, 4, 0x7f, 0x80, 0xff)
_WORDS = (0, 1, 0xff, 0x7fffff, 0x800000, 0xffffff, 0x7fffffff, 0x80000000, 0xffffffff)
_OPCODES = tuple(service | low for service in (f.RC, f.UC, f.RD, f.UD, f.XRC)
                 for low in range(0x20)) + (f.CNP, 0xe0, 0xff)


def place(frame):
    """(offset of the network header, of the BTH) in a RoCE frame; None when it is none."""
    at = 12
    if frame[at:at + 2] == b"\x81\x00":
        at += 4
    kind, at = frame[at:at + 2], at + 2
    if kind == b"\x89\x15" and len(frame) >= at + 56:
        return at, at + 40
    if kind == b"\x08\x00" and len(frame) >= at + 44 and frame[at + 9] == 17 and frame[at] & 15 >= 5:
        return at, at + (frame[at] & 15) * 4 + 8
    if kind == b"\x86\xdd" and len(frame) >= at + 64 and frame[at + 6] == 17:
        return at, at + 48
    return None


def mend(frame):
    """The frame with lengths and an ICRC that fit it."""
    found = place(frame)
    if found is None or len(frame) < found[1] + 16:
        return frame
    network, bth = found
    out = bytearray(frame)
    length = len(out) - bth
    if out[network - 2:network] == b"\x08\x00":
        struct.pack_into(">H", out, network + 2, len(out) - network)
        struct.pack_into(">H", out, bth - 4, 8 + length)
        out[network + 10:network + 12] = b"\0\0"
        struct.pack_into(">H", out, network + 10, f.internet_sum(bytes(out[network:bth - 8])))
    else:
        struct.pack_into(">H", out, network + 4, len(out) - network - 40)
        if out[network - 2:network] == b"\x86\xdd":
            struct.pack_into(">H", out, bth - 4, 8 + length)
    head, body = bytes(out[network:bth]), bytes(out[bth:-4])
    if head:
        struct.pack_into("<I", out, len(out) - 4, f.icrc_of(head, body))
    return bytes(out)


class Mutator:
    def __init__(self, random, seeds):
        self._random = random
        self._seeds = seeds  # lists of (us, frame)

    def capture(self):
        """A seed's frames, changed: [(us, frame)]."""
        random = self._random
        listed = list(random.choice(self._seeds))
        begin = random.randrange(len(listed))
        listed = listed[begin:begin + 24] if random.random() < .3 else listed[:24]
        for _ in range(random.choice((1, 1, 2, 4, 8))):
            random.choice((self._change, self._change, self._change, self._reorder))(listed)
        if random.random() < .1:
            snap = random.randrange(14, 120)
            listed = [(us, frame[:snap]) for us, frame in listed]
        return listed or list(self._seeds[0])

    def _reorder(self, listed):
        random = self._random
        one, other = random.randrange(len(listed)), random.randrange(len(listed))
        kind = random.randrange(4)
        if kind == 0:
            listed[one], listed[other] = listed[other], listed[one]
        elif kind == 1:
            listed.insert(other, listed[one])
        elif kind == 2 and len(listed) > 1:
            del listed[one]
        else:  # time jumps, either way
            listed[one] = (max(0, listed[one][0] + random.choice((-10**6, -1, 10**6, 10**9))),
                           listed[one][1])

    def _change(self, listed):
        random = self._random
        number = random.randrange(len(listed))
        us, frame = listed[number]
        frame = random.choice((self._bytes, self._field, self._field, self._size))(frame)
        if random.random() < .5:
            frame = mend(frame)
        listed[number] = (us, frame)

    def _bytes(self, frame):
        random = self._random
        out = bytearray(frame)
        for _ in range(random.choice((1, 1, 2, 8))):
            at = random.randrange(len(out))
            out[at] = random.choice((out[at] ^ 1 << random.randrange(8), random.choice(_EDGES),
                                     random.randrange(256)))
        return bytes(out)

    def _field(self, frame):
        """Opcode, flags and pad, queue pair, PSN, or a word of what follows the BTH."""
        random = self._random
        found = place(frame)
        if found is None or len(frame) < found[1] + 16:
            return self._bytes(frame)
        out, bth = bytearray(frame), found[1]
        kind = random.randrange(6)
        if kind == 0:
            out[bth] = random.choice(_OPCODES)
        elif kind == 1:
            out[bth + 1] = random.randrange(256)
        elif kind == 2:
            out[bth + 5:bth + 8] = random.choice((0, 1, 0x11, 0x12, 0xffffff,
                                                  random.randrange(1 << 24))).to_bytes(3, "big")
        elif kind == 3:
            psn = int.from_bytes(out[bth + 9:bth + 12], "big")
            psn = random.choice((psn + random.randrange(-8, 9), psn + (1 << 23), psn - (1 << 22),
                                 random.randrange(1 << 24))) & 0xffffff
            out[bth + 9:bth + 12] = psn.to_bytes(3, "big")
        elif kind == 4 and len(out) >= bth + 20:
            at = bth + 12 + 4 * random.randrange((len(out) - bth - 16) // 4)
            struct.pack_into(">I", out, at, random.choice((*_WORDS, random.randrange(1 << 32))))
        elif len(out) >= bth + 17:
            out[bth + 12] = random.choice((f.ACK, *range(0x20, 0x24), *range(0x60, 0x66),
                                           random.randrange(256)))
        return bytes(out)

    def _size(self, frame):
        random = self._random
        if random.random() < .5:
            return frame[:random.randrange(1, len(frame) + 1)]
        return frame + random.randbytes(random.choice((1, 2, 3, 4, 60, 1500)))
