# SPDX-License-Identifier: BSD-3-Clause
"""One run of an unmodified verbs program: one end of it on softrnic's libibverbs, in the namespace,
the other in a guest. perftest.py and rdma_core.py say which, and what is right about them."""

import dataclasses
import json
import os
import shlex
import shutil
import subprocess
import tempfile

import pingpong
import processes
import wires

_LISTEN_SECONDS = 20


class GuestEnd(pingpong.GuestEnd):
    """The program in a guest. These, too, tell each other of their queue pairs over TCP and IPv4."""

    def start(self, traffic, port, server_host=None):
        self._traffic, self._is_client = traffic, server_host is not None
        words = [traffic.program, "-d", "rxe0",
                 *traffic.options(port, pingpong.GUEST_GID[traffic.family])]
        words += [server_host] if server_host else []
        self._job = self._guest.start("exec " + shlex.join(words))

    def complaint(self):
        status, printed = self.status(), self._job.output()
        if status == 0 and self._traffic.is_right(printed, self._is_client):
            return ""
        return f"the guest's: exit status {status}\n{printed}"


class SoftrnicEnd:
    """The program in the namespace, whose TCP goes through the kernel's own address on the bridge."""

    def __init__(self, softrnic, network, link, addresses, capture, seed):
        self._network = network
        self._link = link
        self._run = [softrnic, "run", "--link", link, "--seed", str(seed), "--capture", capture]
        for address in addresses:
            self._run += ["--address", address]
        self._command = ""
        self._process = None
        self._output = None
        self._traffic = None
        self._is_client = False

    def start(self, traffic, port, server_host=None):
        self._traffic, self._is_client = traffic, server_host is not None
        words = [*self._run, "--", traffic.program,
                 *traffic.options(port, pingpong.softrnic_gid(self._link, traffic.family))]
        words += [server_host] if server_host else []
        self._command = shlex.join(words)
        self._output = tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace")
        self._process = self._network.start(words, stdout=self._output, stderr=self._output)

    def await_listener(self, port):
        return self._network.await_listener(port, self._process, _LISTEN_SECONDS)

    def host_for(self, family):
        del family
        return wires.BRIDGE_IPV4

    def status(self):
        return self._process.poll()

    def complaint(self):
        self._output.seek(0)
        status, printed = self.status(), self._output.read()
        if status == 0 and self._traffic.is_right(printed, self._is_client):
            return ""
        return f"{self._command}\nexit status {status}\n{printed}"

    def end(self):
        processes.end(self._process, patience=1)
        self._output.close()


def lacking(guest, case):
    """Why the case's program cannot run here; empty when it can."""
    program = case.traffic.program
    if not shutil.which(program):
        return f"needs the program {program} (Debian package {case.traffic.package})"
    if guest.run(f"command -v {program}")[0] != 0:
        return f"the guest has no {program}"
    return ""


def _is_fault(fault, link, guest):
    if link == "udp" and fault["severity"] == "warning":
        return False  # the kernel has little room for packets to a neighbour it has yet to find
    # rxe's retransmission timer runs on when all is acknowledged, and goes off amid what comes next.
    return (fault["kind"] != "retransmission_timeout"
            or fault["source"] not in (guest.ipv4, guest.ipv6))


def _check(softrnic, capture, case, guest):
    """What is wrong with the capture, which must have all of the case's messages; empty when
    nothing is."""
    done = subprocess.run([softrnic, "check", capture, "--json"], stdin=subprocess.DEVNULL,
                          capture_output=True, text=True, check=False)
    report = json.loads(done.stdout) if done.returncode in (0, 1) else {}
    faults = [fault for fault in report.get("faults", []) if _is_fault(fault, case.link, guest)]
    if report and not faults and report["messages"] >= case.traffic.messages:
        return ""
    return (f"softrnic check: exit status {done.returncode}, {report.get('messages')} messages of "
            f"{case.traffic.messages}\n{json.dumps(faults[:3], indent=1)}\n{done.stderr}")


@dataclasses.dataclass(frozen=True)
class Case:
    link: str
    role: str  # softrnic's
    traffic: object  # what one of the two modules above calls Traffic

    @property
    def name(self):
        return f"{self.link}/verbs/{self.role}/{self.traffic.name}"

    def run(self, softrnic, network, guest, link, addresses, port, seed, scratch, seconds):
        """Both programs, and the capture of softrnic's; what went wrong, or an empty text."""
        capture = os.path.join(scratch, "verbs.pcapng")
        ours = SoftrnicEnd(softrnic, network, link, addresses, capture, seed)
        theirs = GuestEnd(guest)
        server, client = (ours, theirs) if self.role == "server" else (theirs, ours)
        return (pingpong.exchange(self.traffic, server, client, port, seconds)
                or _check(softrnic, capture, self, guest))
