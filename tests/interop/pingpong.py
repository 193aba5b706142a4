# SPDX-License-Identifier: BSD-3-Clause
"""One ping-pong between two ends, each either rdma-core's program in a guest or softrnic's."""

import dataclasses
import re
import shlex
import tempfile

import processes
import wires

# GID indices. A guest has link-local, IPv4, IPv6, all RoCE v2; softrnic has a v1 and a v2 entry of
# each, in the order of its --ip options.
GUEST_GID = {"ipv4": 1, "ipv6": 2}
SOFTRNIC_GID = {"ipv4": 3, "ipv6": 5}
_LISTEN_SECONDS = 20


def softrnic_gid(link, family):
    """A udp link has its address alone."""
    return 0 if link.startswith("udp:") else SOFTRNIC_GID[family]


@dataclasses.dataclass(frozen=True)
class Traffic:
    service: str  # rc, uc, ud
    family: str  # ipv4, ipv6
    size: int
    path_mtu: int  # 0 for ud, whose messages are one packet
    iterations: int
    events: bool = False  # sleep on completion events instead of polling
    offers: tuple = ()  # options of softrnic's that its peer knows nothing of

    def options(self, port, gid_index, check):
        """What both programs take, in rdma-core's letters."""
        words = ["-p", str(port), "-s", str(self.size), "-n", str(self.iterations),
                 "-g", str(gid_index)]
        words += ["-m", str(self.path_mtu)] if self.path_mtu else []
        words += ["-e"] if self.events else []
        return words + (["-c"] if check else [])


class GuestEnd:
    """ibv_*_pingpong, unmodified, in a guest."""

    def __init__(self, guest):
        self._guest = guest
        self._job = None
        self._traffic = None

    def start(self, traffic, port, server_host=None):
        self._traffic = traffic
        words = [f"ibv_{traffic.service}_pingpong", "-d", "rxe0",
                 *traffic.options(port, GUEST_GID[traffic.family], check=True)]
        words += [server_host] if server_host else []
        self._job = self._guest.start("exec " + shlex.join(words))

    def await_listener(self, port):
        return self._guest.await_listener(port, self._job, _LISTEN_SECONDS)

    def host_for(self, family):
        """Where a client finds this end's TCP socket: rdma-core's servers listen on IPv4 alone."""
        del family
        return self._guest.ipv4

    def status(self):
        return self._job.wait(0)

    def complaint(self):
        """What is wrong with how it ended; empty when nothing is."""
        status, printed = self._job.wait(0), self._job.output()
        if status != 0:
            return f"guest's program: exit status {status}\n{printed}"
        if "invalid data" in printed or f"{self._traffic.iterations} iters in" not in printed:
            return f"guest's program:\n{printed}"
        return ""

    def end(self):
        self._job.end()


class SoftrnicEnd:
    """softrnic pingpong on a link in the namespace."""

    def __init__(self, program, network, link, addresses, faults, seed):
        self._network = network
        self._link = link
        self._command = [program, "pingpong", "--link", link, "--seed", str(seed)]
        for address in addresses:
            self._command += ["--ip", address]
        for fault in faults:
            self._command += ["--fault", fault]
        self._process = None
        self._output = None

    def start(self, traffic, port, server_host=None):
        patience = 15 if traffic.service == "rc" else 5  # seconds without a message
        words = [*self._command, "--service", traffic.service, "--timeout", str(patience),
                 *traffic.options(port, softrnic_gid(self._link, traffic.family), check=True),
                 *traffic.offers]
        words += [server_host] if server_host else []
        self.command = shlex.join(words)
        self._output = tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace")
        self._process = self._network.start(words, stdout=self._output, stderr=self._output)

    def await_listener(self, port):
        return self._network.await_listener(port, self._process, _LISTEN_SECONDS)

    def host_for(self, family):
        return wires.BRIDGE_IPV4 if family == "ipv4" else wires.BRIDGE_IPV6

    def status(self):
        return self._process.poll()

    def complaint(self):
        self._output.seek(0)
        printed = self._output.read()
        if self._process.poll() != 0 or not re.search(r"payload.*\bright\b", printed, re.I):
            return (f"{self.command}\nsoftrnic: exit status {self._process.poll()}\n{printed}")
        return ""

    def end(self):
        processes.end(self._process, patience=1)
        self._output.close()


def lost_a_message(traffic, complaint):
    """Whether the complaint is that a message never came, of a service that may lose one."""
    return traffic.service != "rc" and "nothing came for" in complaint


def exchange(traffic, server, client, port, seconds):
    """Runs the traffic between two ends; what went wrong, or an empty text."""
    server.start(traffic, port)
    try:
        if not server.await_listener(port):
            return "the server does not listen\n" + server.complaint()
        client.start(traffic, port, server.host_for(traffic.family))
        try:
            return _outcome(server, client, seconds)
        finally:
            client.end()
    finally:
        server.end()


def _outcome(server, client, seconds):
    processes.follow(lambda: (server.status(), client.status()), seconds)
    complaints = []
    for role, end in (("server", server), ("client", client)):
        if end.status() is None:
            end_text = "still running: ended"
            complaint = end.complaint()
            complaints.append(f"{role}: {end_text}\n{complaint}")
        elif end.complaint():
            complaints.append(f"{role}: {end.complaint()}")
    return "\n".join(complaints)
