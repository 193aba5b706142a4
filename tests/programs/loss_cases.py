# SPDX-License-Identifier: BSD-3-Clause
"""Ping-pongs over a link that loses 2 % of what each end sends, and what a capture of one shows."""

import dataclasses
import glob
import json

import cases
import pair
import pingpong_cases
from cases import case
from stage import check

# Acknowledgements come through: the last one of a run is of a program that ends as soon as it has
# sent it, and nobody is left to send it again, on any NIC.
_RULE = "tx drop 2% SEND\n"
# A lost message ends the ping-pong of an unreliable service, on any NIC: both ends wait for ever.
_RELIABLE = (("rc", []), ("rc", ["-e"]), ("rc", ["-N"]), ("rc", ["-m", "256", "-s", "20000"]),
             ("srq", []), ("srq", ["-e"]), ("xsrq", []), ("xsrq", ["-e"]))


def _lossy(stage, ends, **variables):
    faults = stage.write("loss", _RULE)
    return dataclasses.replace(
        ends, server=dict(ends.server, SOFTRNIC_FAULTS=faults, SOFTRNIC_SEED="1", **variables),
        client=dict(ends.client, SOFTRNIC_FAULTS=faults, SOFTRNIC_SEED="2"))


def _under_loss(stage, program, words, ends):
    size = int(words[words.index("-s") + 1]) if "-s" in words else None
    pingpong_cases.exchange(stage, program, words, _lossy(stage, ends), size=size)


for _ends in (*pair.SHM, *pair.UDP):
    for _program, _words in _RELIABLE if _ends in pair.SHM else _RELIABLE[:1]:
        cases.add(f"loss/{_ends.title}/{' '.join([f'ibv_{_program}_pingpong', *_words])}",
                  _under_loss, _program, _words, _ends)


@case("loss/a capture of one has right ICRCs and shows the retransmissions")
def _(stage):
    ends = _lossy(stage, pair.TWO_HOSTS, SOFTRNIC_CAPTURE=stage.path("server-%p.pcapng"))
    pingpong_cases.exchange(stage, "rc", ["-m", "256"], ends)
    captures = glob.glob(stage.path("server-*.pcapng"))
    check(len(captures) == 1, captures)
    # Its exit status is 1: losses are faults, though none that the protocol does not mend.
    report = json.loads(stage.command("check", captures[0], "--json", status=1))
    icrc = report["icrc"]
    check(icrc["right"] > 3000 and icrc["wrong"] == 0 and report["errors"] == 0,
          f"{icrc}, {report['errors']} errors")
    told = json.loads(stage.command("explain", captures[0], "--json"))
    for direction in (way for one in told["connections"] for way in one["directions"]):
        check(direction["retransmitted_packets"] > 0, direction)
