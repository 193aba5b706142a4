# SPDX-License-Identifier: BSD-3-Clause
"""The plugin as such: loaded, its fields described, quiet where there is no RoCE."""

import json
import subprocess
import xml.etree.ElementTree as tree

import frames as f
from case import case


@case("tshark lists it with its version")
def listed(look):
    text = look.output("-G", "plugins")
    rows = [line.split("\t") for line in text.splitlines() if line.startswith("softrnic.so")]
    look.equal(len(rows), 1, "rows")
    if rows and rows[0][2] != "dissector":
        look.complain(f"it is no dissector: {rows[0]}")


@case("no field is registered twice, and each has a title")
def fields(look):
    seen = {}
    for line in look.output("-G", "fields").splitlines():
        row = line.split("\t")
        if row[0] == "F" and row[2].startswith("roce"):
            if row[2] in seen:
                look.complain(f"{row[2]} is registered twice")
            seen[row[2]] = row[1]
            if not row[1]:
                look.complain(f"{row[2]} has no title")
    if len(seen) < 100:
        look.complain(f"only {len(seen)} fields")


@case("starting up says nothing on stderr")
def quiet(look):
    done = subprocess.run(look.shark.command("tshark", "-G", "protocols"), capture_output=True,
                          text=True, check=False, env=look.shark.environment())
    look.equal((done.returncode, done.stderr.strip()), (0, ""), "status and stderr")


@case("frames that are no RoCE are as they were")
def foreign(look):
    listed = [f.ethernet(f.ALICE, f.BOB, 0x0806, bytes(28)),
              f.frame(f.transport(f.SEND_ONLY, 1, 1), port=53),
              f.ethernet(f.ALICE, f.BOB, 0x0800, f.ipv4(f.ALICE, f.BOB, 20, protocol=6) + bytes(20))]
    path = look.capture(listed)
    look.equal(look.output("-n", "-r", path, "-V"), look.output("-n", "-r", path, "-V",
                                                                plugin=False), "details")


@case("JSON and PDML of every header are well formed")
def outputs(look):
    path = look.capture("rc-all-v6")
    look.equal(len(json.loads(look.output("-n", "-r", path, "-T", "json"))), 38, "JSON frames")
    look.equal(len(tree.fromstring(look.output("-n", "-r", path, "-T", "pdml")).findall("packet")),
               38, "PDML frames")


@case("a RoCE packet quoted by an ICMP error is no packet of its stream")
def quoted(look):
    inner = f.frame(f.transport(f.SEND_ONLY, 0x12, 0x1000, payload=bytes(8)))[14:]
    error = bytes((3, 3, 0, 0, 0, 0, 0, 0)) + inner
    listed = [f.frame(f.transport(f.SEND_ONLY, 0x12, 0x1000, payload=bytes(8))),
              f.ethernet(f.BOB, f.ALICE, 0x0800, f.ipv4(f.BOB, f.ALICE, len(error), protocol=1) +
                         error)]
    look.column(listed, "roce.stream", [0, None])
    look.expect_findings(listed[:1], [])
