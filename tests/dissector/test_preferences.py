# SPDX-License-Identifier: BSD-3-Clause
"""The plugin's preferences."""

import frames as f
from case import case

DATA = bytes(64)


def lossy():
    talk = f.Talk().ask(f.SEND_ONLY, 0, payload=DATA).ask(f.SEND_ONLY, 2, payload=DATA)
    return talk


@case("the analysis can be switched off; headers and ICRC stay")
def analysis(look):
    look.fields(lossy(), ["roce.bth.psn", "roce.icrc.status", "roce.stream",
                          "roce.analysis.psn_gap"],
                [[0x1000, 1, 0, None], [0x1002, 1, 0, True]])
    look.fields(lossy(), ["roce.bth.psn", "roce.icrc.status", "roce.stream",
                          "roce.analysis.psn_gap"],
                [[0x1000, 1, None, None], [0x1002, 1, None, None]],
                options=("-o", "roce.analyze:FALSE"))


@case("RD or Mellanox DC")
def reliable_datagram(look):
    talk = f.Talk(service=f.RD)
    talk.ask(f.SEND_ONLY, 0, f.rdeth(0x33) + f.deth(5, 0x77), DATA)
    look.fields(talk, ["roce.bth.opcode", "roce.bth.psn", "roce.icrc.status"],
                [["0x44", 0x1000, 1]])
    look.fields(talk, ["roce.bth.opcode", "roce.bth.psn", "roce.icrc.status", "_ws.malformed"],
                [["0x44", 0x1000, 1, None]], options=("-o", "roce.rd:rd"))


@case("a table of queue pairs that cannot be is refused")
def bad_table(look):
    for row in ('"10.0.0.1","0x1000000","10.0.0.2","0x12",""', '"no address","1","10.0.0.2","2",""',
                '"10.0.0.1","1","10.0.0.2","2","1000"'):
        try:
            look.output("-n", "-r", look.capture(lossy()), "-o", f"uat:roce_queue_pairs:{row}")
        except RuntimeError:
            continue
        look.complain(f"{row} is taken")


@case("another UDP port by the built-in's preference")
def port(look):
    talk = f.Talk().ask(f.SEND_ONLY, 0, payload=DATA, port=5000)
    look.column(talk, "roce.bth.psn", [0x1000], options=("-o", "infiniband.rroce.port:5000"))
