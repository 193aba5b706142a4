# SPDX-License-Identifier: BSD-3-Clause
"""Programs on udp links: plain sockets on the loopback interface, no privilege."""

import contextlib
import json
import os
import shlex
import signal
import subprocess

import documentation_cases
import network
import processes
from cases import Skipped, case, check
from pingpong_cases import await_line

_NOBODY = 65534
_IPV4 = ("127.0.0.2", "127.0.0.3")
_IPV6 = ("fd00:4791::2", "fd00:4791::3")


class Loopback:
    """A network namespace of the case's own in which both pairs of addresses are free."""

    def __init__(self, context, prefix=()):
        try:
            self._network = network.Network()
        except network.Unavailable as error:
            raise Skipped(str(error)) from error
        self._prefix = list(prefix)
        self._program = context.program
        self._network.run("sh", "-c", "echo 0 > /proc/sys/net/ipv6/conf/lo/disable_ipv6")
        for address in _IPV6:
            self._network.run("ip", "addr", "add", f"{address}/128", "dev", "lo", "nodad")

    def close(self):
        self._network.close()

    def _command(self, words):
        return self._network.inside([*self._prefix, self._program, *words])

    def run(self, *words, seconds=60):
        return subprocess.run(self._command(words), stdin=subprocess.DEVNULL, capture_output=True,
                              text=True, timeout=seconds, check=False)

    def start(self, *words):
        return processes.start(self._command(words), stdin=subprocess.DEVNULL, text=True,
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE)


@contextlib.contextmanager
def _loopback(context, prefix=()):
    loopback = Loopback(context, prefix)
    try:
        yield loopback
    finally:
        loopback.close()


def _pingpong(loopback, addresses, *words, server_words=()):
    """Both sides of a pingpong; what each printed."""
    base = ["pingpong", "-n", "200", *words]
    server = loopback.start(*base, "--link", f"udp:{addresses[0]}", *server_words)
    with processes.running(server):
        begun = await_line(server, "local address")
        client = loopback.run(*base, "--link", f"udp:{addresses[1]}", "127.0.0.1")
        status, output, errors = processes.finish(server)
    for who, ended, text in (("server", status, begun + output + errors),
                             ("client", client.returncode, client.stdout + client.stderr)):
        check(ended == 0 and "every byte right" in text, f"{who}: exit status {ended}\n{text}")
    return begun + output, client.stdout


@case("udp/pingpong between two programs, IPv4 and IPv6, each service")
def _(context):
    with _loopback(context) as loopback:
        for addresses in (_IPV4, _IPV6):
            for words in (["-m", "4096", "-s", "65536"], ["--service", "uc"], ["--service", "ud"],
                          ["-m", "256", "-s", "100000", "-r", "20"]):
                server, client = _pingpong(loopback, addresses, *words)
                gid = addresses[0] if ":" in addresses[0] else f"::ffff:{addresses[0]}"
                check(f"GID {gid}" in server and f"GID {gid}" in client, server + client)


@case("udp/pingpong as an ordinary user")
def _(context):
    if os.geteuid() != 0:
        raise Skipped("only root can become another user")
    with _loopback(context, ["setpriv", f"--reuid={_NOBODY}", f"--regid={_NOBODY}",
                             "--clear-groups"]) as loopback:
        for addresses in (_IPV4, _IPV6):
            _pingpong(loopback, addresses)


@case("udp/faults and a capture that has right ICRCs, whatever the kernel puts on the wire")
def _(context):
    with _loopback(context) as loopback:
        for number, addresses in enumerate((_IPV4, _IPV6)):
            path = os.path.join(context.folder, f"udp{number}.pcapng")
            _pingpong(loopback, addresses, "-m", "1024", "-s", "30000", "--seed", "7",
                      server_words=("--fault", "drop 2%", "-w", path))
            done = context.run("check", path, "--json")
            icrc = json.loads(done.stdout)["icrc"]
            check(icrc["right"] > 1000 and icrc["wrong"] == 0 and icrc["unverified"] == 0, f"{icrc}")


@case("udp/the device: one GID, the address")
def _(context):
    with _loopback(context) as loopback:
        for address, gid in ((_IPV4[0], "127.0.0.2"), (_IPV6[0], "fd00:4791::2")):
            done = loopback.run("info", "--json", "--link", f"udp:{address}")
            check(done.returncode == 0, done.stderr)
            device = json.loads(done.stdout)["device"]
            check([entry["address"] for entry in device["gids"]] == [gid]
                  and device["gids"][0]["roce"] == "v2" and device["active_mtu"] == 4096,
                  done.stdout)
        small = loopback.run("info", "--json", "--link", f"udp:{_IPV4[0]}", "--link-mtu", "1500")
        check(json.loads(small.stdout)["device"]["active_mtu"] == 1024, small.stdout)


@case("udp/complaints")
def _(context):
    with _loopback(context) as loopback:
        for words, status, text in (
                (["info", "--link", "udp:"], 1, "write udp:ADDRESS"),
                (["info", "--link", "udp:lo"], 1, "not an IP address"),
                (["info", "--link", "udp:::"], 1, "stands for every address"),
                (["info", "--link", "udp:10.1.2.3"], 1, "not an address of this machine"),
                (["info", "--link", "udp:127.0.0.2", "--vlan", "5"], 2, "no VLAN tags"),
                (["info", "--link", "udp:127.0.0.2", "--ip", "10.0.0.1/24"], 2,
                 "leave --ip out"),
                (["info", "--link", "udp:127.0.0.2", "--host", "a"], 2, "only a link shm:NAME")):
            done = loopback.run(*words)
            check(done.returncode == status and text in done.stderr
                  and done.stderr.count("\n") == 1,
                  f"{words}: exit status {done.returncode}\n{done.stdout}{done.stderr}")
        peer = loopback.start("peer", "--link", "udp:127.0.0.2", "--listen", "18777")
        with processes.running(peer):
            await_line(peer, "waiting for")
            done = loopback.run("info", "--link", "udp:127.0.0.2")
            check(done.returncode == 1 and "give each process its own address" in done.stderr,
                  done.stdout + done.stderr)
            peer.send_signal(signal.SIGINT)
            processes.finish(peer)
        check(loopback.run("info", "--link", "udp:127.0.0.2").returncode == 0, "still held")


@case("documentation/the examples of docs/udp.md")
def _(context):
    blocks = documentation_cases.examples("udp.md")
    check(len(blocks) == 2, f"{len(blocks)} examples were found")
    (_, server_command, server_expected), (_, client_command, client_expected) = blocks
    with _loopback(context) as loopback:
        server = loopback.start(*shlex.split(server_command))
        with processes.running(server):
            begun = await_line(server, "local address")
            client = loopback.run(*shlex.split(client_command))
            _, output, errors = processes.finish(server)
        documentation_cases.compare(server_command, begun + output + errors, server_expected)
        documentation_cases.compare(client_command, client.stdout + client.stderr, client_expected)
