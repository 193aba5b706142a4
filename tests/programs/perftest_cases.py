# SPDX-License-Identifier: BSD-3-Clause
"""perftest's ib_*: every operation, service and way to wait.

It checks no payload, so what is checked is that both ends end well and report every size with all of
its iterations.
"""

import re

import cases
import pair
from stage import check

_ROUNDS = {"bw": 100, "lat": 25}
_ALL_SIZES = [1 << power for power in range(1, 24)]
_ROUNDS_OF_ALL_SIZES = 5  # the fewest there can be; 80 MB

_SERVICES = {"send": ("RC", "UC", "UD", "XRC"), "write": ("RC", "UC", "XRC"),
             "read": ("RC", "XRC"), "atomic": ("RC", "XRC")}


def _rows(text):
    """The table: [(bytes, iterations)].

    A time is `inf` where perftest could not measure how fast the processor's clock goes, which it tries
    anew for each size: it gives up when others keep the processor.
    """
    return [(int(size), int(rounds)) for size, rounds in
            re.findall(r"^\s*(\d+)\s+(\d+)\s+(?:[\d.]+|inf)\s+(?:[\d.]+|inf)", text, re.MULTILINE)]


def measure(stage, program, words, ends=pair.SAME_HOST, sizes=None, queue_pairs=1,
            both_report=False, rounds=None, **arguments):
    """Both ends of a perftest program; each end that reports must report all."""
    rounds = rounds or _ROUNDS[program.rpartition("_")[2]]
    texts = pair.run(stage, [program, "-F", "-x", ends.gid, "-n", rounds, *words], ends,
                     private_tmp=True, **arguments)
    for text in texts if both_report else texts[1:]:
        rows = _rows(text)
        check(rows, f"no result in\n{text}")
        check(sizes is None or [size for size, _ in rows] == sizes, text)
        check(all(found == rounds * queue_pairs for _, found in rows), text)
    return texts


def _words_of(operation, kind, service):
    """The variants that perftest has of it: (words, arguments of measure())."""
    yield [], {}
    is_bandwidth = kind == "bw"
    if operation != "write":  # for WRITE perftest has no events
        yield ["-e"], {}
    if operation != "atomic":
        # A datagram is a packet: its sizes end sooner.
        sizes = _ALL_SIZES[:12] if service == "UD" else _ALL_SIZES
        yield ["-a"], {"sizes": sizes, "rounds": _ROUNDS_OF_ALL_SIZES}
    if is_bandwidth:
        yield ["-q", "8"], {"queue_pairs": 8}
        yield ["-b"], {"both_report": True}
        yield ["-l", "4"], {}
    if operation in ("send", "write"):
        yield ["-I", "64", "-s", "64"], {"sizes": [64]}
    if operation == "send" and service in ("RC", "UD"):
        yield ["--use-srq"], {}
    yield ["--use_old_post_send"], {}


def _add(operation, kind, service, words, arguments, ends=pair.SAME_HOST):
    program = f"ib_{operation}_{kind}"
    told = ["-c", service, *words]
    where = "" if ends is pair.SAME_HOST else f"{ends.title}/"
    cases.add(f"perftest/{where}{program} {' '.join(told)}",
              lambda stage: measure(stage, program, told, ends, **arguments))


for _operation, _services in _SERVICES.items():
    for _kind in ("bw", "lat"):
        for _service in _services:
            for _words, _arguments in _words_of(_operation, _kind, _service):
                _add(_operation, _kind, _service, _words, _arguments)
            for _ends in (pair.TWO_HOSTS, *pair.UDP):
                _add(_operation, _kind, _service, [], {}, _ends)
        if _operation == "atomic":
            _add(_operation, _kind, "RC", ["-A", "CMP_AND_SWAP"], {})
            _add(_operation, _kind, "RC", ["-A", "FETCH_AND_ADD"], {})

# Of the options, over udp those that change what is on the wire or who waits.
for _ends in pair.UDP:
    for _operation, _words, _arguments in (("send", ["-e"], {}), ("write", ["-b"], {"both_report": True}),
                                           ("read", ["-q", "8"], {"queue_pairs": 8}),
                                           ("write", ["-I", "64", "-s", "64"], {"sizes": [64]})):
        _add(_operation, "bw", "RC", _words, _arguments, _ends)
