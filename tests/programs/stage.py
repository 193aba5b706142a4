# SPDX-License-Identifier: BSD-3-Clause
"""Where a case plays: a folder and a segment of its own, and unmodified programs on it."""

import functools
import glob
import os
import re
import shutil
import signal
import socket
import subprocess
import tempfile
import time

import tap

_NOBODY = 65534
# No case asserts a time: this is only when a program that will never end is given up.
PATIENCE = 120
_LOOK_AGAIN = 0.005
_LISTENS = "0A"  # as /proc/net/tcp says it
# Addresses for udp:ADDRESS; 127.0.0.0/8 is there anyway.
_NETWORK = "ip link set lo up && for a in fd00::2 fd00::3; do ip addr add $a/128 dev lo nodad; done"


class Failure(RuntimeError):
    """What a case found wrong."""


def check(condition, text):
    if not condition:
        raise Failure(text)


def await_until(condition, what, seconds=PATIENCE):
    """Looks again and again until condition() is true."""
    deadline = time.monotonic() + seconds
    while True:
        found = condition()
        if found:
            return found
        if time.monotonic() > deadline:
            raise Failure(f"{what() if callable(what) else what}: not within {seconds} s")
        time.sleep(_LOOK_AGAIN)


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


def _is_listened_at(port, process):
    for table in (f"/proc/{process}/net/tcp", f"/proc/{process}/net/tcp6"):
        try:
            with open(table, encoding="ascii") as lines:
                for line in list(lines)[1:]:
                    words = line.split()
                    if words[3] == _LISTENS and int(words[1].rpartition(":")[2], 16) == port:
                        return True
        except OSError:
            pass
    return False


class Program:
    """One that was started; its output and its errors go to one file."""

    def __init__(self, words, command, environment, folder, output):
        self.words = words
        self._output = output
        with open(output, "wb") as file:
            self._process = subprocess.Popen(command, env=environment, cwd=folder,
                                             stdin=subprocess.DEVNULL, stdout=file, stderr=file,
                                             start_new_session=True)

    @property
    def id(self):
        return self._process.pid

    def text(self):
        with open(self._output, encoding="utf-8", errors="replace") as file:
            return file.read()

    def status(self):
        """None while it runs."""
        return self._process.poll()

    def finish(self, seconds=PATIENCE):
        """Waits for its end; its exit status."""
        try:
            return self._process.wait(seconds)
        except subprocess.TimeoutExpired:
            raise Failure(f"{self.told()}\nstill running after {seconds} s") from None

    def await_text(self, pattern):
        """Waits until it has printed that; the match."""
        def found():
            match = re.search(pattern, self.text())
            if match is None and self.status() is not None:
                match = re.search(pattern, self.text())
                check(match, f"{self.told()}\nended without {pattern!r}")
            return match
        return await_until(found, lambda: f"{self.told()}\n{pattern!r}")

    def await_port(self, port):
        """Waits until something listens there."""
        def ready():
            check(self.status() is None, f"{self.told()}\nended before it listened")
            return _is_listened_at(port, self.id)
        await_until(ready, lambda: f"{self.told()}\nlistening at {port}")

    def kill(self):
        """As a crash: no chance to say goodbye. All that it started goes with it."""
        try:
            os.killpg(self._process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        status = self._process.wait()
        # What it started dies by itself, and holds its locks until it has.
        deadline = time.monotonic() + PATIENCE
        while _lives(self._process.pid) and time.monotonic() < deadline:
            time.sleep(_LOOK_AGAIN)
        return status

    def signal(self, number):
        self._process.send_signal(number)

    def told(self):
        status = self.status()
        return f"$ {' '.join(self.words)}   [{'runs' if status is None else status}]\n" \
               f"{self.text().rstrip()}"


def _lives(group):
    """Whether any process of the group has not ended yet."""
    for stat in glob.glob("/proc/[0-9]*/stat"):
        try:
            with open(stat, encoding="utf-8", errors="replace") as file:
                state, _, its_group = file.read().rpartition(")")[2].split()[:3]
        except OSError:
            continue  # it has just ended
        if int(its_group) == group and state not in "ZX":
            return True
    return False


class Stage:
    """A context: when it is left, what it started is ended, and nothing may be left in memory."""

    def __init__(self, softrnic, libraries):
        self.softrnic = softrnic
        self.libraries = libraries
        self._programs = []
        self._network = []  # the words that enter it

    def __enter__(self):
        where = "/dev/shm" if os.path.isdir("/dev/shm") else None
        self.folder = tempfile.mkdtemp(prefix="softrnic-programs-", dir=where)
        os.chmod(self.folder, 0o777)
        self.segments = os.path.join(self.folder, "segments")
        return self

    def __exit__(self, kind, error, trace):
        try:
            self.end_all()
            if kind is None:
                left = self.left_in_shared_memory()
                check(not left, f"left in shared memory: {left}")
        finally:
            shutil.rmtree(self.folder, ignore_errors=True)

    def abandon(self):
        self.end_all()
        shutil.rmtree(self.folder, ignore_errors=True)

    def end_all(self):
        for program in self._programs:
            program.kill()

    def left_in_shared_memory(self):
        return sorted(os.listdir(self.segments)) if os.path.isdir(self.segments) else []

    def enter_network(self):
        """What is started from now on is in a network of the stage's own."""
        if self._network:
            return
        own = [] if os.geteuid() == 0 else ["--user", "--map-root-user"]
        words = ["unshare", *own, "--net", "--", "sh", "-c",
                 f"{_NETWORK} && echo ready && exec sleep infinity"]
        holder = Program(words, words, dict(os.environ), self.folder, self.path("network"))
        self._programs.append(holder)
        try:
            holder.await_text("ready")
        except Failure as failure:
            raise tap.Skip(f"no network of its own: {str(failure).splitlines()[-1]}") from failure
        self._network = ["nsenter", f"--target={holder.id}", "--net",
                         *(["--user", "--preserve-credentials"] if own else []), "--"]

    def path(self, name):
        return os.path.join(self.folder, name)

    def write(self, name, text):
        """A file that programs can read; its path."""
        path = self.path(name)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        return path

    def read(self, name):
        with open(self.path(name), encoding="utf-8", errors="replace") as file:
            return file.read()

    def _environment(self, variables):
        environment = {name: value for name, value in os.environ.items()
                       if not name.startswith(("SOFTRNIC_", "LD_", "UCX_", "OMPI_"))}
        environment.update(HOME=self.folder, TMPDIR=self.folder, SOFTRNIC_SHM_DIR=self.segments,
                           SOFTRNIC_LINK="shm:stage")
        environment.update(variables)
        return environment

    def start(self, *words, plain=False, private_tmp=False, **variables):
        """Starts a program on the emulated NIC, as an ordinary user: with `softrnic run`.

        `plain`: with nothing but the library in its LD_LIBRARY_PATH.
        `private_tmp`: with a /tmp of its own, where that can be (perftest has files of fixed names
        there, which may be another user's).
        """
        words = [str(word) for word in words]
        run = [self.softrnic, "run", "--"]
        if plain:
            run = []
            variables.setdefault("LD_LIBRARY_PATH", self.libraries)
        command = [*self._network, *ordinary_user(), "--pdeathsig", "KILL", "--", *run, *words]
        if private_tmp and _has_own_mounts() and not self.libraries.startswith("/tmp/"):
            tmp = self.path("tmp")
            os.makedirs(tmp, exist_ok=True)
            os.chmod(tmp, 0o1777)
            command = ["unshare", "--mount", "--", "sh", "-c",
                       'mount --bind "$0" /tmp && exec "$@"', tmp, *command]
        program = Program(words, command, self._environment(variables), self.folder,
                          self.path(f"output-{len(self._programs)}"))
        self._programs.append(program)
        return program

    def run(self, *words, status=0, **arguments):
        """Starts it and waits for its end, which must be with this status; what it printed."""
        program = self.start(*words, **arguments)
        ended = program.finish()
        check(status is None or ended == status, f"{program.told()}\nexit status {ended}")
        return program.text()

    def command(self, *words, status=0):
        """Runs `softrnic WORDS...` on the same segments; what it printed."""
        return self.run(self.softrnic, *words, status=status, plain=True)


@functools.lru_cache
def _has_own_mounts():
    """Whether a program can be given mounts of its own: as root, and not where the root is no mount."""
    return os.geteuid() == 0 and subprocess.run(
        ["unshare", "--mount", "--", "true"], capture_output=True, check=False).returncode == 0


def ordinary_user():
    """The beginning of a setpriv command that runs a program as one."""
    if os.geteuid() != 0:
        return ["setpriv"]
    return ["setpriv", f"--reuid={_NOBODY}", f"--regid={_NOBODY}", "--clear-groups"]
