# SPDX-License-Identifier: BSD-3-Clause
"""ICMP echo between the guest's kernel and softrnic, both ways, IPv4 and IPv6."""

import dataclasses
import re
import subprocess
import tempfile
import time

import processes

_COUNT = 3
_SECONDS = 20


@dataclasses.dataclass(frozen=True)
class Case:
    name: str
    link: str
    sender: str  # guest, softrnic
    family: str

    def run(self, softrnic, network, guest, link, addresses, seed):
        """What went wrong, or an empty text."""
        # A peer for datagrams needs no other side to answer pings.
        start = ["ping"] if self.sender == "softrnic" else ["peer", "--service", "ud"]
        base = [softrnic, *start, "--link", link, "--seed", str(seed)]
        for address in addresses:
            base += ["--ip", address]
        if self.sender == "softrnic":
            target = guest.ipv4 if self.family == "ipv4" else guest.ipv6
            return _from_softrnic(network, [*base, "-c", str(_COUNT), target])
        index = 0 if self.family == "ipv4" else 1
        return _from_guest(network, base, guest, addresses[index].split("/")[0])


def cases():
    for link in ("tap", "packet", "xdp"):
        for sender in ("guest", "softrnic"):
            for family in ("ipv4", "ipv6"):
                yield Case(f"{link}/ping/from-{sender}/{family}", link, sender, family)


def _from_softrnic(network, command):
    process = network.start(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    try:
        printed, _ = process.communicate(timeout=_SECONDS)
    except subprocess.TimeoutExpired:
        processes.end(process)
        return f"{' '.join(command)}: still running after {_SECONDS} s"
    if process.returncode != 0:
        return f"{' '.join(command)}: exit status {process.returncode}\n{printed}"
    return ""


def _from_guest(network, command, guest, address):
    with tempfile.TemporaryFile("w+") as output:
        process = network.start(command, stdout=output, stderr=output)
        try:
            return _await_answer(guest, address, process)
        finally:
            processes.end(process)
            output.seek(0)
            said = output.read()
            if process.returncode not in (0, -15):
                raise RuntimeError(f"{' '.join(command)}: exit status {process.returncode}\n{said}")


def _await_answer(guest, address, process):
    """The NIC needs a moment to come up: the first answer may take some tries, then none is lost."""
    deadline = time.monotonic() + _SECONDS
    printed = ""
    while time.monotonic() < deadline and process.poll() is None:
        status, printed = guest.run(f"ping -c 1 -W 1 {address}")
        if status == 0:
            break
    status, printed = guest.run(f"ping -c {_COUNT} -i 0.2 {address}", _SECONDS + 10)
    lost = re.search(r"(\d+) packets transmitted, (\d+) packets received", printed)
    if status == 0 and lost and lost.group(1) == lost.group(2):
        return ""
    return f"guest's ping {address}: exit status {status}\n{printed}"
