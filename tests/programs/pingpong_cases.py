# SPDX-License-Identifier: BSD-3-Clause
"""rdma-core's ibv_*_pingpong, each of which checks its payload."""

import re

import cases
import pair
from stage import check

_ROUNDS = 100
_QUEUE_PAIRS = 16  # of ibv_srq_pingpong


def exchange(stage, program, words, ends, gid=None, rounds=_ROUNDS, size=None, **arguments):
    """Both ends of ibv_PROGRAM_pingpong: every byte must have come, and the right ones."""
    gid = ends.gid if gid is None else gid
    if program == "xsrq":  # has no option to check: says itself how many messages it saw
        return pair.run(stage, ["ibv_xsrq_pingpong", "-g", gid, *words], ends, **arguments)
    sized = [] if size is None else ["-s", size]
    texts = pair.run(stage, [f"ibv_{program}_pingpong", "-g", gid, "-c", "-n", rounds, *sized,
                             *words], ends, **arguments)
    size = size or (1024 if program == "ud" else 4096)
    for text in texts:
        check("invalid data" not in text, text)
        found = re.search(r"^(\d+) bytes in ", text, re.MULTILINE)
        check(found and int(found.group(1)) == 2 * size * rounds, f"{size} x {rounds}:\n{text}")
    return texts


def _plain(stage, program, words, ends, gid, size):
    exchange(stage, program, words, ends, gid=gid, size=size)


def _add(program, ends, words=(), gid=None, size=None):
    told = [*words, *([] if size is None else ["-s", str(size)]),
            *([] if gid is None else ["-g", str(gid)])]
    cases.add(f"pingpong/{ends.title}/{' '.join([f'ibv_{program}_pingpong', *told])}",
              _plain, program, words, ends, gid, size)


def _matrix(ends):
    for program in ("rc", "uc", "ud", "srq", "xsrq"):
        _add(program, ends)
        _add(program, ends, ["-e"])
    for words in (["-t"], ["-N"], ["-N", "-e"], ["-N", "-t"], ["-o"], ["-j"]):
        _add("rc", ends, words)
    if ends in pair.SHM:
        for gid in (0, 2, 3, 4, 5):  # each address, RoCE v1 and v2
            _add("rc", ends, gid=gid)
        for gid in (0, 3, 5):
            _add("ud", ends, gid=gid)
    for mtu, size in ((256, 1), (256, 100_000), (512, 4096), (2048, 65_537), (4096, 1 << 20)):
        _add("rc", ends, ["-m", str(mtu)], size=size)
        _add("uc", ends, ["-m", str(mtu)], size=size)
    _add("srq", ends, ["-q", "64", "-m", "4096"], size=10_000)
    _add("ud", ends, size=1)
    _add("ud", ends, size=4096)
    _add("xsrq", ends, ["-m", "256"], size=9000)


for _ends in (*pair.SHM, *pair.UDP):
    _matrix(_ends)
