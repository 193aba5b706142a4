# SPDX-License-Identifier: BSD-3-Clause
"""softrnic replay with the real peer: captures' requesters against a target in the guest, and
ibv_rc_pingpong in the guest served from a capture."""

import dataclasses
import json
import os
import re
import shlex
import subprocess
import tempfile

import processes
import wires
from pingpong import GUEST_GID

_PCAPS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../pcaps")
_LISTEN_SECONDS = 20
# softrnic's GID indices: v1 and v2 of the link-local address, then of each --ip.
_OWN_V2_GID = {"ipv4": 3, "ipv6": 5}
# A path MTU that both sides' captures are about.
_REQUESTERS = ("rc-send-v4", "rc-write-v4", "rc-read-v4", "rc-atomic-v4", "rc-all-v6", "loss-nak",
               "loss-read-response", "nak-unknown-key", "rnr")


@dataclasses.dataclass(frozen=True)
class Case:
    name: str
    body: object

    def run(self, bench):
        return self.body(bench)


class _Replay:
    """A run of `softrnic replay` in the namespace."""

    def __init__(self, program, network, words):
        self.command = shlex.join([program, "replay", *words])
        self._output = tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace")
        self._process = network.start([program, "replay", *words], stdout=self._output,
                                      stderr=self._output)

    def finish(self, seconds):
        try:
            status = self._process.wait(seconds)
        except subprocess.TimeoutExpired:  # still running
            status = None
            processes.end(self._process, patience=2)
        self._output.seek(0)
        printed = self._output.read()
        self._output.close()
        return status, printed


def prepare(program, network, capture, guest):
    """Has the files made that a target is primed and compared with; what is in the capture."""
    words = [program, "replay", capture, "--as", "requester", "--json",
             "--memory", guest.shared("before"), "--expect-memory", guest.shared("after"),
             "--expect-messages", guest.shared("messages")]
    return json.loads(network.run(*words))


def against_target(program, network, guest, link, addresses, capture, port, seed, seconds):
    """Plays the capture's requester against the guest's target; what is wrong, empty if nothing."""
    for name in ("stop", "memory.got", "messages.got"):
        if os.path.exists(guest.shared(name)):
            os.unlink(guest.shared(name))
    about = prepare(program, network, capture, guest)
    size = max(about["memory"]["size"], 8)
    family = "ipv4" if "." in about["us"]["address"] else "ipv6"
    job = guest.start(f"exec target {GUEST_GID[family]} {port} {about['path_mtu']} {size} "
                      "/host/before /host/stop /host/memory.got /host/messages.got")
    if not guest.await_listener(port, job, _LISTEN_SECONDS):
        job.end()
        return f"the target does not listen: {job.output()}"
    key, address = re.search(r"region (\S+) (\S+)", job.output()).groups()
    ips = [word for ip in addresses for word in ("--ip", ip)]
    replay = _Replay(program, network, [
        capture, "--to", link, *ips, "--as", "requester", "--peer", f"{guest.ipv4}:{port}",
        "--gid-idx", str(_OWN_V2_GID[family]), "--peer-key", key, "--peer-address", address,
        "--primed", "--patience", "0.2", "--seed", str(seed), "--json"])
    status, printed = replay.finish(seconds)
    with open(guest.shared("stop"), "wb"):
        pass
    ended = job.wait(20)
    if ended is None:
        job.end()
    if status not in (0, 1) or ended != 0 or '"completed": true' not in printed:
        return f"{replay.command}: {status}\n{printed}\ntarget: {ended}\n{job.output()}"
    return _compare(guest, size, replay, printed)


def _compare(guest, size, replay, printed):
    del size
    report = json.loads(printed)
    if report["answers"]["different"] != 0:
        return f"{replay.command}: READs differ\n{printed}"
    for expected, got in (("after", "memory.got"), ("messages", "messages.got")):
        with open(guest.shared(expected), "rb") as one, open(guest.shared(got), "rb") as other:
            wanted, had = one.read(), other.read()
        if had[:len(wanted)] != wanted:
            return f"{replay.command}: {got} is not as captured\n{printed}"
    return ""


def record_pingpong(program, network, guest, link, addresses, capture, size, count, path_mtu, port,
                    seed, seconds):
    """A ping-pong of the guest's client with softrnic's server, captured; what is wrong."""
    ips = [word for ip in addresses for word in ("--ip", ip)]
    output = tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace")
    server = network.start([program, "pingpong", "--link", link, *ips, "-g",
                            str(_OWN_V2_GID["ipv4"]), "-p", str(port), "-s", str(size), "-n",
                            str(count), "-m", str(path_mtu), "--seed", str(seed), "-w", capture],
                           stdout=output, stderr=output)
    if not network.await_listener(port, server, _LISTEN_SECONDS):
        processes.end(server)
        return "softrnic pingpong does not listen"
    status, printed = guest.run(
        f"exec ibv_rc_pingpong -d rxe0 -g {GUEST_GID['ipv4']} -p {port} -s {size} -n {count} "
        f"-m {path_mtu} {wires.BRIDGE_IPV4}", seconds)
    try:
        server.wait(20)
    except subprocess.TimeoutExpired:  # still running
        processes.end(server)
    output.close()
    return "" if status == 0 else printed


def serve_pingpong(program, network, guest, link, addresses, capture, size, count, path_mtu, port,
                   seed, seconds):
    """Serves the guest's ibv_rc_pingpong from a capture; what is wrong, empty if nothing."""
    ips = [word for ip in addresses for word in ("--ip", ip)]
    words = [capture, "--to", link, *ips, "--as", "responder", "--listen", str(port), "--gid-idx",
             str(_OWN_V2_GID["ipv4"]), "--mtu", str(path_mtu), "--seed", str(seed)]
    replay = _Replay(program, network, words)
    if not network.await_listener(port, replay._process, _LISTEN_SECONDS):
        return f"{replay.command}\n{replay.finish(1)[1]}"
    status, printed = guest.run(
        f"exec ibv_rc_pingpong -d rxe0 -g {GUEST_GID['ipv4']} -p {port} -s {size} -n {count} "
        f"-m {path_mtu} {wires.BRIDGE_IPV4}", seconds)
    ended, said = replay.finish(20)
    if status != 0 or f"{count} iters in" not in printed:
        return f"guest: {status}\n{printed}\n{replay.command}: {ended}\n{said}"
    if ended not in (0, 1) or f"{count} of {count} operations completed" not in said:
        return f"{replay.command}: {ended}\n{said}"
    return ""


def cases():
    for name in _REQUESTERS:
        yield Case(f"replay/requester/{name}",
                   lambda bench, name=name: bench.replay_requester(
                       os.path.join(_PCAPS, name + ".pcapng")))
    yield Case("replay/responder/ibv_rc_pingpong", lambda bench: bench.replay_responder())
