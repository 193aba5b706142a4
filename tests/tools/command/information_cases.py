# SPDX-License-Identifier: BSD-3-Clause
"""softrnic itself, its help, and softrnic info."""

import json
import re

from cases import case, check

_SUBCOMMANDS = ["check", "demo", "info", "peer", "ping", "pingpong", "replay", "wireshark"]


@case("help/of the command")
def _(context):
    for words in (["--help"], ["-h"], ["help"]):
        done = context.run(*words)
        check(done.returncode == 0 and done.stderr == "", done.stderr)
        for name in _SUBCOMMANDS:
            check(re.search(rf"^  {name} +\S", done.stdout, re.M), f"{name} is missing")


@case("help/version")
def _(context):
    done = context.run("--version")
    check(done.returncode == 0 and re.fullmatch(r"softrnic \d+\.\d+\.\d+\n", done.stdout),
          done.stdout)


@case("help/of every subcommand has usage, options and an example")
def _(context):
    for name in _SUBCOMMANDS:
        done = context.run(name, "--help")
        check(done.returncode == 0 and done.stderr == "", f"{name}: {done.stderr}")
        for words in (f"Usage: softrnic {name}", "Options:", "Examples:", f"  softrnic {name}"):
            check(words in done.stdout, f"{name}: '{words}' is missing in\n{done.stdout}")
        for line in done.stdout.splitlines():
            check(len(line) <= 100, f"{name}: a line of {len(line)} characters: {line}")


@case("help/pingpong has the letters of ibv_rc_pingpong")
def _(context):
    text = context.run("pingpong", "--help").stdout
    for letter, name in (("p", "port"), ("d", "ib-dev"), ("i", "ib-port"), ("s", "size"),
                         ("m", "mtu"), ("r", "rx-depth"), ("n", "iters"), ("l", "sl"),
                         ("e", "events"), ("g", "gid-idx"), ("c", "chk")):
        check(f"-{letter} [ --{name} ]" in text, f"-{letter}, --{name} is missing in\n{text}")


@case("info/shows the device and its GIDs in Linux's order")
def _(context):
    words = ["info", "--mac", "02:00:00:00:00:07", "--ip", "10.0.0.7/24", "--ip", "fd00::7/64"]
    text = context.run(*words).stdout
    for part in ("hca_id:", "active_mtu:", "1024 (3)", "PORT_ACTIVE (4)", "0000:00ff:fe00:0007",
                 "Links on this machine:", "ICRC by "):
        check(part in text, f"'{part}' is missing in\n{text}")
    device = json.loads(context.run(*words, "--json").stdout)["device"]
    found = [(gid["address"], gid["roce"]) for gid in device["gids"]]
    expected = [(address, version) for address in ("fe80::ff:fe00:7", "10.0.0.7", "fd00::7")
                for version in ("v1", "v2")]
    check(found == expected, f"GIDs {found}")


@case("info/the active MTU is the largest that fits the link")
def _(context):
    for link_mtu, active in (("1500", 1024), ("2200", 2048), ("4200", 4096), ("9000", 4096),
                             ("600", 512)):
        report = json.loads(context.run("info", "--link-mtu", link_mtu, "--json").stdout)
        check(report["device"]["active_mtu"] == active,
              f"link MTU {link_mtu}: active MTU {report['device']['active_mtu']}")


@case("info/tells which links can be opened, or why not")
def _(context):
    done = context.run("info", "--json")
    check(done.returncode == 0, done.stderr)
    links = json.loads(done.stdout)["links"]
    check(set(links) == {"shm", "udp", "tap", "packet", "xdp"}, f"{links}")
    for kind, link in links.items():
        check(link["usable"] == (link["reason"] == ""), f"{kind}: {link}")


def _interfaces(inside):
    return [line.split(": ")[1] for line in inside.run("ip", "-o", "link").splitlines()]


@case("info/leaves no interface behind")
def _(context):
    inside = context.network
    before = _interfaces(inside)
    done = context.run("info", "--json", inside=inside)
    links = json.loads(done.stdout)["links"]
    check(links["tap"]["usable"] and links["packet"]["usable"], f"{links}")
    after = _interfaces(inside)
    check(after == before, f"before {before}, after {after}")
