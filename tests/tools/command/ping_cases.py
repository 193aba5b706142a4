# SPDX-License-Identifier: BSD-3-Clause
"""softrnic ping against the host's kernel, and the other way round."""

import json
import re
import shutil

import network
import processes
from cases import Skipped, case, check


def _ping(context, *words):
    return context.run("ping", "--link", "tap:tap1", "--ip", "10.77.0.1/24", "--ip", "fd00:77::1/64",
                       *words, inside=context.network)


@case("ping/the kernel answers, IPv4 and IPv6")
def _(context):
    for target in (network.BRIDGE_IPV4, network.BRIDGE_IPV6):
        done = _ping(context, "-c", "3", "-i", "0.01", target)
        check(done.returncode == 0, f"{target}: {done.stdout}{done.stderr}")
        check(len(re.findall(rf"^64 bytes from {target}: icmp_seq=\d+ time=\d", done.stdout,
                             re.M)) == 3, done.stdout)
        check("3 packets transmitted, 3 received, 0% packet loss" in done.stdout, done.stdout)
        check("rtt min/avg/max/mdev = " in done.stdout, done.stdout)


@case("ping/any size, and JSON")
def _(context):
    for size in ("0", "1", "1472", "8000"):
        done = _ping(context, "-c", "2", "-i", "0.01", "-s", size, "--json", network.BRIDGE_IPV4)
        report = json.loads(done.stdout)
        check(done.returncode == 0 and report["received"] == 2 and report["damaged"] == 0,
              f"size {size}: {done.stdout}")


@case("ping/nobody there")
def _(context):
    for target in ("10.77.0.99", "fd00:77::99"):
        done = _ping(context, "-c", "1", "-W", "1", target)
        check(done.returncode == 1, f"exit status {done.returncode}\n{done.stdout}")
        check("1 packets transmitted, 0 received, 100% packet loss" in done.stdout, done.stdout)


@case("ping/an address of a kind the NIC does not have")
def _(context):
    done = context.run("ping", "--link", "tap:tap1", "--ip", "fd00:77::1/64", "-c", "1",
                       network.BRIDGE_IPV4, inside=context.network)
    check(done.returncode == 1 and done.stderr.count("\n") == 1 and "--ip" in done.stderr,
          done.stderr)


@case("ping/the kernel pings a peer")
def _(context):
    if shutil.which("ping") is None:
        raise Skipped("ping is not installed")
    inside = context.network
    peer = context.start("peer", "--service", "ud", "--link", "tap:tap1", "--ip", "10.77.0.1/24",
                         "--ip", "fd00:77::1/64", "--json", inside=inside)
    with processes.running(peer):
        check(json.loads(peer.stdout.readline())["event"] == "ready", "no ready line")
        for target in ("10.77.0.1", "fd00:77::1"):
            printed = inside.run("ping", "-c", "3", "-i", "0.2", target)
            check(" 0% packet loss" in printed, printed)
