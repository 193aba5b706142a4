# SPDX-License-Identifier: BSD-3-Clause
"""A network namespace with a bridge that TAP links of softrnic and the host's kernel share."""

import os
import subprocess

import processes

BRIDGE_IPV4 = "10.77.0.254"
BRIDGE_IPV6 = "fd00:77::254"
_MTU = 9000


class Unavailable(Exception):
    """No such network can be made here; its text is the reason."""


class Network:
    """Exists as long as the process that holds it: nothing is left behind, whatever happens."""

    def __init__(self):
        if not os.path.exists("/dev/net/tun"):
            raise Unavailable("there is no /dev/net/tun")
        if not os.access("/dev/net/tun", os.R_OK | os.W_OK):
            raise Unavailable("/dev/net/tun is closed to this user")
        new_user = [] if os.geteuid() == 0 else ["--user", "--map-root-user"]
        self._holder = processes.start(
            ["unshare", *new_user, "--net", "sh", "-c", "echo ready; exec cat"],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        if self._holder.stdout.readline().strip() != "ready":
            reason = self._holder.stderr.read().strip()
            processes.end(self._holder)
            raise Unavailable(f"no network namespace can be made: {reason}")
        try:
            self._make_bridge()
        except RuntimeError as error:
            self.close()
            raise Unavailable(f"no bridge can be made: {error}") from error

    def close(self):
        processes.end(self._holder)

    def inside(self, command):
        """The command that runs `command` in the namespace."""
        user = [] if os.geteuid() == 0 else ["--user", "--preserve-credentials"]
        return ["nsenter", "--target", str(self._holder.pid), *user, "--net", "--", *command]

    def run(self, *command):
        done = subprocess.run(self.inside(command), stdin=subprocess.DEVNULL, capture_output=True,
                              text=True, check=False)
        if done.returncode != 0:
            raise RuntimeError(f"{' '.join(command)}: {done.stderr.strip()}")
        return done.stdout

    def _make_bridge(self):
        # No IPv6 on any device but the bridge: the kernel adds no chatter of its own.
        self.run("sh", "-c", "cd /proc/sys/net/ipv6/conf && echo 1 > default/disable_ipv6"
                             " && echo 0 > default/accept_dad")
        self.run("ip", "link", "set", "lo", "up")
        self.run("ip", "link", "add", "br0", "type", "bridge", "forward_delay", "0",
                 "mcast_snooping", "0")
        self.run("ip", "link", "set", "br0", "mtu", str(_MTU), "up")
        self.run("sh", "-c", "echo 0 > /proc/sys/net/ipv6/conf/br0/disable_ipv6")
        self.run("ip", "addr", "add", BRIDGE_IPV4 + "/24", "dev", "br0")
        self.run("ip", "addr", "add", BRIDGE_IPV6 + "/64", "dev", "br0", "nodad")
        for tap in ("tap1", "tap2"):
            self.run("ip", "tuntap", "add", tap, "mode", "tap")
            self.run("ip", "link", "set", tap, "mtu", str(_MTU), "master", "br0", "up")
