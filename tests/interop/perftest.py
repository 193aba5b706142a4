# SPDX-License-Identifier: BSD-3-Clause
"""perftest on softrnic's verbs against perftest in the guest. It checks no payload: what is checked is
that both ends end well, that all rounds are reported, and that the capture has no fault."""

import dataclasses
import re

from verbs_program import Case

# A bandwidth test has up to 128 messages under way; few, since the guest is emulated.
_ROUNDS = {8: 100, 64: 200, 65536: 40}
_PATH_MTU = {"ipv4": 1024, "ipv6": 4096}
# 1 s: the emulated guest can be late by more than perftest's own 67 ms, and what is sent again for
# that would be a fault in the capture.
_TIMEOUT = 18
_QUEUE_PAIRS = 4


@dataclasses.dataclass(frozen=True)
class Traffic:
    program: str
    family: str  # ipv4, ipv6
    size: int
    more: tuple = ()  # words
    package = "perftest"

    @property
    def name(self):
        return "/".join([" ".join([self.program, *self.more]), self.family, f"{self.size}B"])

    @property
    def messages(self):
        return _ROUNDS[self.size] * (_QUEUE_PAIRS if "-q" in self.more else 1)

    def options(self, port, gid_index):
        words = ["-F", "-p", str(port), "-x", str(gid_index), "-n", str(_ROUNDS[self.size]),
                 "-m", str(_PATH_MTU[self.family]), "-u", str(_TIMEOUT), *self.more]
        # An atomic's operand has one size.
        return words + ([] if "atomic" in self.program else ["-s", str(self.size)])

    def is_right(self, printed, is_client):
        if not is_client and "-b" not in self.more:
            return True  # says nothing of its own
        # `inf`: it could not measure how fast the processor's clock goes.
        rows = re.findall(r"^\s*(\d+)\s+(\d+)\s+(?:[\d.]+|inf)\s+(?:[\d.]+|inf)", printed,
                          re.MULTILINE)
        return rows == [(str(self.size), str(self.messages))]


def cases():
    for link in ("tap", "packet"):
        for role in ("client", "server"):
            for program in ("ib_send_bw", "ib_write_bw", "ib_read_bw", "ib_atomic_bw",
                            "ib_send_lat"):
                for family, size in (("ipv4", 65536), ("ipv6", 64)):
                    size = 8 if "atomic" in program else size
                    yield Case(link, role, Traffic(program, family, size))
    for role in ("client", "server"):
        for family in ("ipv4", "ipv6"):
            yield Case("udp", role, Traffic("ib_write_bw", family, 65536))
        for program, *more in (("ib_send_bw", "-b"), ("ib_write_bw", "-b"), ("ib_send_bw", "-e"),
                               ("ib_read_bw", "-q", str(_QUEUE_PAIRS)), ("ib_write_lat", "-I", "64"),
                               ("ib_send_bw", "-l", "4"), ("ib_atomic_lat", "-A", "CMP_AND_SWAP"),
                               ("ib_send_lat", "-c", "UC"), ("ib_send_lat", "-c", "UD"),
                               ("ib_send_bw", "--use-srq")):
            yield Case("tap", role, Traffic(program, "ipv4", 8 if "atomic" in program else 64,
                                            tuple(more)))
