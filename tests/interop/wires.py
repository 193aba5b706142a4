# SPDX-License-Identifier: BSD-3-Clause
"""A network namespace with a bridge that guests, the host's kernel and softrnic's links plug into."""

import os
import subprocess
import time

import processes

BRIDGE_IPV4 = "10.77.0.254"
BRIDGE_IPV6 = "fd00:77::254"
MTU = 9000  # of every device but the guest's, whose MTU decides the path's


class Wires:
    """Exists as long as the process that holds it: nothing is left behind, whatever happens."""

    def __init__(self):
        self._holder = processes.start(["unshare", "--net", "sh", "-c", "echo ready; exec cat"],
                                       stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        if self._holder.stdout.readline().strip() != "ready":
            raise RuntimeError("cannot make a network namespace")
        self._make_bridge()

    def close(self):
        processes.end(self._holder)
        self._holder.stdin.close()
        self._holder.stdout.close()

    def inside(self, command):
        """The command that runs `command` in the namespace."""
        return ["nsenter", f"--net=/proc/{self._holder.pid}/ns/net", "--", *command]

    def run(self, *command):
        done = subprocess.run(self.inside(command), stdin=subprocess.DEVNULL, capture_output=True,
                              text=True, check=False)
        if done.returncode != 0:
            raise RuntimeError(f"{' '.join(command)}: {done.stderr.strip()}")
        return done.stdout

    def start(self, command, **arguments):
        return processes.start(self.inside(command), **arguments)

    def _make_bridge(self):
        # No IPv6 on any device but the bridge, and there no address detection or solicitation: the
        # host's kernel adds no chatter of its own to what the tests see.
        self.run("sh", "-c", "cd /proc/sys/net/ipv6/conf && echo 1 > default/disable_ipv6"
                             " && echo 0 > default/accept_ra && echo 0 > default/accept_dad"
                             " && echo 0 > default/router_solicitations")
        self.run("ip", "link", "set", "lo", "up")
        self.run("ip", "link", "add", "br0", "type", "bridge", "forward_delay", "0",
                 "mcast_snooping", "0")
        self.run("ip", "link", "set", "br0", "mtu", str(MTU), "up")
        self.run("ip", "link", "set", "br0", "addrgenmode", "none")
        self.run("sh", "-c", "echo 0 > /proc/sys/net/ipv6/conf/br0/disable_ipv6")
        self.run("ip", "addr", "add", BRIDGE_IPV4 + "/24", "dev", "br0")
        self.run("ip", "addr", "add", BRIDGE_IPV6 + "/64", "dev", "br0", "nodad")

    def add_tap(self, name):
        self.run("ip", "tuntap", "add", name, "mode", "tap")
        self._plug(name)

    def add_address(self, address):
        """Of the namespace's own kernel, on the bridge."""
        self.run("ip", "addr", "add", address, "dev", "br0", *(["nodad"] if ":" in address else []))

    def add_veth(self, name):
        """A veth pair: `name` is free for a link to use, its other end is in the bridge."""
        self.run("ip", "link", "add", name, "mtu", str(MTU), "type", "veth",
                 "peer", "name", name + "-br")
        self.run("ip", "link", "set", name, "up")
        self._plug(name + "-br")
        self._await_carrier(name)

    def _plug(self, name):
        self.run("ip", "link", "set", name, "mtu", str(MTU), "master", "br0", "up")

    def _await_carrier(self, name):
        """The kernel takes a moment to act on a veth's carrier, and loses what is sent before."""
        deadline = time.monotonic() + 10
        while "state UP" not in self.run("ip", "link", "show", name):
            if time.monotonic() > deadline:
                raise RuntimeError(f"{name} does not come up")
            time.sleep(0.01)

    def capture(self, path, *expression):
        """Starts a capture of everything on the bridge, or of what tcpdump's `expression` names."""
        process = self.start(["tcpdump", "-q", "-n", "-U", "--immediate-mode",
                              "--time-stamp-precision=nano", "-s", "0", "-i", "br0", "-w", path,
                              *expression], stderr=subprocess.PIPE, text=True)
        if "listening on" not in process.stderr.readline():
            raise RuntimeError(f"tcpdump cannot capture to {path}: {process.stderr.read().strip()}")
        return process

    def await_listener(self, port, process, seconds):
        """Waits until a TCP socket of the namespace listens on `port`; False when `process` ended
        first or time ran out."""
        wanted = f":{port:04X} "
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline and process.poll() is None:
            for table in ("tcp", "tcp6"):
                if _listens(f"/proc/{self._holder.pid}/net/{table}", wanted):
                    return True
            time.sleep(0.01)
        return False


def _listens(table, wanted):
    if not os.path.exists(table):
        return False
    with open(table, encoding="ascii") as lines:
        for line in lines:
            fields = line.split()
            if len(fields) > 3 and fields[3] == "0A" and (fields[1] + " ").endswith(wanted):
                return True
    return False
