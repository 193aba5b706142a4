# SPDX-License-Identifier: BSD-3-Clause
"""Programs on a shared-memory segment, and softrnic capture: no network, no privilege."""

import contextlib
import json
import os
import re
import shlex
import signal
import socket
import subprocess
import tempfile

import documentation_cases
import processes
from cases import Skipped, case, check
from pingpong_cases import await_line

_NOBODY = 65534


class Segments:
    """A directory of segments that is this case's own."""

    def __init__(self, context, folder, prefix=()):
        self._program = context.program
        self._prefix = list(prefix)
        self.folder = folder
        self._environment = dict(os.environ, SOFTRNIC_SHM_DIR=folder)

    def run(self, *words, seconds=60):
        return subprocess.run([*self._prefix, self._program, *words], env=self._environment,
                              stdin=subprocess.DEVNULL, capture_output=True, text=True,
                              timeout=seconds, check=False)

    def start(self, *words, **arguments):
        arguments.setdefault("stdout", subprocess.PIPE)
        return processes.start([*self._prefix, self._program, *words], env=self._environment,
                               stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
                               **arguments)

    def empty(self):
        return not os.path.exists(self.folder) or not os.listdir(self.folder)


@contextlib.contextmanager
def segments_of(context, prefix=()):
    where = "/dev/shm" if os.path.isdir("/dev/shm") else None
    with tempfile.TemporaryDirectory(prefix="softrnic-test-", dir=where) as parent:
        os.chmod(parent, 0o777)
        yield Segments(context, os.path.join(parent, "segments"), prefix)


def _free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return str(listener.getsockname()[1])


def _pingpong(segments, *words, hosts=("a", "b"), server_words=()):
    """Both sides of a pingpong; what each printed."""
    port = _free_port()
    base = ["pingpong", "--link", "shm:lab", "-p", port, "-n", "200", *words]
    server = segments.start(*base, "--host", hosts[0], *server_words)
    with processes.running(server):
        begun = await_line(server, "local address")
        client = segments.run(*base, "--host", hosts[1], "127.0.0.1")
        status, output, errors = processes.finish(server)
    for who, ended, text in (("server", status, begun + output + errors),
                             ("client", client.returncode, client.stdout + client.stderr)):
        check(ended == 0 and "every byte right" in text, f"{who}: exit status {ended}\n{text}")
    return begun + output, client.stdout


@case("shm/pingpong between two programs, each service, then nothing is left")
def _(context):
    with segments_of(context) as segments:
        for words in (["-m", "4096", "-s", "65536"], ["--service", "uc"], ["--service", "ud"],
                      ["-g", "0"], ["-g", "5"]):
            server, client = _pingpong(segments, *words)
            check("shm:lab" in server, server)
            check("shm:lab" in client, client)
        check(segments.empty(), os.listdir(segments.folder) if not segments.empty() else "")


@case("shm/pingpong between two programs of one host, which is one NIC")
def _(context):
    with segments_of(context) as segments:
        printed = _pingpong(segments, hosts=("a", "a"))
        macs = {re.search(r"MAC ([0-9a-f:]+)", text).group(1) for text in printed}
        numbers = {re.search(r"local address: .*QPN (0x[0-9a-f]+)", text).group(1)
                   for text in printed}
        check(len(macs) == 1 and len(numbers) == 2, f"{macs} {numbers}")


@case("shm/pingpong under loss, captured by itself and from outside")
def _(context):
    with segments_of(context) as segments:
        outside = os.path.join(context.folder, "outside.pcapng")
        own = os.path.join(context.folder, "own.pcapng")
        capture = segments.start("capture", "--from", "shm:lab", "-o", outside, "--json")
        with processes.running(capture):
            _await_segment(segments)
            _pingpong(segments, "--ack-timeout", "8",
                      server_words=["--fault", "tx drop 5%", "--seed", "7", "-w", own])
            capture.send_signal(signal.SIGINT)
            status, output, errors = processes.finish(capture)
        check(status == 0, f"exit status {status}: {errors}")
        report = json.loads(output)
        check(report["dropped"] == 0 and report["frames"] > 800, output)
        done = context.run("check", outside, "--json")
        found = json.loads(done.stdout)
        check(found["icrc"]["wrong"] == 0, done.stdout)
        check(found["frames"] == report["frames"], done.stdout)


def _await_segment(segments):
    while not os.path.exists(os.path.join(segments.folder, "lab:0")):
        pass


@case("shm/capture of one host has directions, and ends after so many frames")
def _(context):
    with segments_of(context) as segments:
        capture = segments.start("capture", "--from", "shm:lab", "--host", "b", "-c", "50",
                                 "-o", "-", stdout=open(f"{context.folder}/b.pcapng", "wb"))
        with processes.running(capture):
            _await_segment(segments)
            _pingpong(segments)
            status, _, errors = processes.finish(capture)
        check(status == 0 and ": 50 frames, " in errors, f"exit status {status}: {errors}")
    with open(f"{context.folder}/b.pcapng", "rb") as file:
        content = file.read()
    check(content.startswith(b"\x0a\x0d\x0d\x0a"), "not a pcapng file")
    check(content.count(b"b\x00\x00\x00") >= 1, "no interface of host b")


@case("shm/peer and ping, addresses by name")
def _(context):
    with segments_of(context) as segments:
        peer = segments.start("peer", "--link", "shm:lab", "--host", "node9", "--qps", "1",
                              "--listen", _free_port())
        with processes.running(peer):
            begun = await_line(peer, "waiting for")
            address = re.search(r"GID (10\.\d+\.\d+\.9) ", begun)
            check(address, begun)
            done = segments.run("ping", "--link", "shm:lab", "-c", "2", "-i", "0.01",
                                address.group(1))
            check(done.returncode == 0 and "2 received" in done.stdout, done.stdout + done.stderr)
            done = segments.run("info", "--link", "shm:lab", "--host", "node9", "--json")
            device = json.loads(done.stdout)["device"]
            check(address.group(1) in [gid["address"] for gid in device["gids"]], done.stdout)
            check(device["active_mtu"] == 4096 and device["max_qp"] == 65536, done.stdout)
            peer.send_signal(signal.SIGINT)
            processes.finish(peer)
        check(segments.empty(), "something is left")


@case("shm/a program that is killed leaves nothing to the next")
def _(context):
    with segments_of(context) as segments:
        peer = segments.start("peer", "--link", "shm:lab", "--host", "a", "--listen", _free_port())
        with processes.running(peer):
            await_line(peer, "waiting for")
            peer.kill()
            peer.wait()
        check(not segments.empty(), "a killed program took its segment away")
        _pingpong(segments)
        check(segments.empty(), "something is left")


@case("shm/an ordinary user, and another who is kept out")
def _(context):
    if os.geteuid() != 0:
        raise Skipped("needs root, to be two users")
    if subprocess.run(["setpriv", "--reuid", str(_NOBODY), "--clear-groups", "--", "test", "-x",
                       context.program], check=False).returncode != 0:
        raise Skipped("an ordinary user cannot read the program")
    become = ["setpriv", "--reuid", str(_NOBODY), "--regid", str(_NOBODY), "--clear-groups", "--"]
    with segments_of(context, become) as segments:
        _pingpong(segments)
        peer = segments.start("peer", "--link", "shm:lab", "--listen", _free_port())
        with processes.running(peer):
            await_line(peer, "waiting for")
            done = Segments(context, segments.folder).run("info", "--link", "shm:lab")
            check(done.returncode == 1 and "it belongs to another user" in done.stderr,
                  done.stdout + done.stderr)


@case("shm/complaints")
def _(context):
    with segments_of(context) as segments:
        for words, status, text in (
                (["info", "--link", "shm:"], 1, "cannot name a segment"),
                (["info", "--link", "shm:lab,port=3"], 1, "host=NAME"),
                (["info", "--link", "tap:t0", "--host", "a"], 2, "only a link shm:NAME has hosts"),
                (["info", "--link", "shm:lab", "--host", "a b"], 1, "letters, digits"),
                (["capture", "-o", "x"], 2, "--from is missing"),
                (["capture", "--from", "tap:t0", "-o", "x"], 2, "-w FILE"),
                (["capture", "--from", "shm:lab"], 2, "-o is missing"),
                (["capture", "--from", "shm:lab", "-o", "/none/x"], 1, "/none/x")):
            done = segments.run(*words)
            check(done.returncode == status and text in done.stderr
                  and done.stderr.count("\n") == 1,
                  f"{words}: exit status {done.returncode}\n{done.stdout}{done.stderr}")
        check(segments.empty(), "something is left")


@case("shm/capture to a full disk, and to a reader who has gone")
def _(context):
    with segments_of(context) as segments:
        full = segments.start("capture", "--from", "shm:lab", "-o", "/dev/full")
        with processes.running(full):
            _, _, errors = processes.finish(full)
        check(full.returncode == 2 and "is incomplete" in errors, errors)
        reader, writer = os.pipe()
        os.close(reader)
        gone = segments.start("capture", "--from", "shm:lab", "-o", "-", stdout=writer)
        os.close(writer)
        with processes.running(gone):
            _, _, errors = processes.finish(gone)
        check(gone.returncode == 0 and "0 frames" in errors, errors)
        check(segments.empty(), "something is left")


@case("documentation/the examples of docs/shm.md")
def _(context):
    blocks = documentation_cases.examples("shm.md")
    check(len(blocks) >= 2, f"only {len(blocks)} examples were found")
    port = _free_port()
    waiting = None
    with segments_of(context) as segments:
        for background, command, expected in blocks:
            words = [word.replace("18515", port) for word in shlex.split(command)]
            if background:
                process = segments.start(*words)
                waiting = (process, command, await_line(process, "local address"), expected)
                continue
            done = segments.run(*words)
            if waiting is not None:
                process, earlier, begun, earlier_expected = waiting
                with processes.running(process):
                    _, output, errors = processes.finish(process)
                documentation_cases.compare(earlier, begun + output + errors, earlier_expected)
                waiting = None
            documentation_cases.compare(command, done.stdout + done.stderr, expected)
