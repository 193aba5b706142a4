# SPDX-License-Identifier: BSD-3-Clause
"""rdma-core's ping-pongs on softrnic's verbs against the same in the guest; each end checks every byte."""

import dataclasses

from verbs_program import Case

_ROUNDS = 40


@dataclasses.dataclass(frozen=True)
class Traffic:
    service: str  # rc, uc, ud, srq
    family: str  # ipv4, ipv6
    size: int
    package = "ibverbs-utils"

    @property
    def name(self):
        return f"{self.program}/{self.family}/{self.size}B"

    @property
    def program(self):
        return f"ibv_{self.service}_pingpong"

    @property
    def messages(self):
        return 2 * _ROUNDS

    def options(self, port, gid_index):
        words = ["-p", str(port), "-g", str(gid_index), "-n", str(_ROUNDS), "-s", str(self.size),
                 "-c"]
        return words + ([] if self.service == "ud" else ["-m", "1024"])

    def is_right(self, printed, is_client):
        del is_client
        return ("invalid data" not in printed
                and f"\n{2 * _ROUNDS * self.size} bytes in " in f"\n{printed}")


def cases():
    for role in ("client", "server"):
        for service, size in (("rc", 20000), ("uc", 3000), ("ud", 1000), ("srq", 3000)):
            for family in ("ipv4", "ipv6"):
                yield Case("tap", role, Traffic(service, family, size))
