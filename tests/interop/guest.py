# SPDX-License-Identifier: BSD-3-Clause
"""A running guest: the real RoCE peer (see guest/build and guest/init)."""

import hashlib
import os
import shutil
import socket
import subprocess
import tempfile
import time

import processes

HERE = os.path.dirname(os.path.abspath(__file__))
# A guest MTU that leaves room for a path MTU of 4096 with all headers.
MTU = 4200
_BOOT_SECONDS = 120
_KERNEL_ARGUMENTS = (
    "console=ttyS0 quiet panic=-1 mitigations=off nokaslr tsc=reliable no_timer_check "
    "random.trust_cpu=on reboot=t,force cryptomgr.notests net.ifnames=0 rcupdate.rcu_expedited=1")


class GuestError(Exception):
    pass


def make_image(folder, say):
    """Builds the image in `folder` unless it is there and made by the scripts as they are now."""
    digest = hashlib.sha256()
    for name in ("guest/build", "guest/init", "guest/dialogue.c", "guest/target.c"):
        with open(os.path.join(HERE, name), "rb") as file:
            digest.update(file.read())
    stamp = os.path.join(folder, "made-by")
    if os.path.exists(stamp):
        with open(stamp, encoding="ascii") as file:
            if file.read() == digest.hexdigest():
                return
    say("building the guest's image (once)")
    made = subprocess.run([os.path.join(HERE, "guest/build"), folder], stdin=subprocess.DEVNULL,
                          capture_output=True, text=True, check=False)
    if made.returncode != 0:
        raise GuestError("guest/build failed: " + (made.stdout + made.stderr).strip())
    with open(stamp, "w", encoding="ascii") as file:
        file.write(digest.hexdigest())


class Guest:
    """Guest `number` has the addresses 10.77.0.number and fd00:77::number on eth0, under rxe0."""

    def __init__(self, wires, image, scratch, number=1, processors=1):
        self.ipv4 = f"10.77.0.{number}"
        self.ipv6 = f"fd00:77::{number}"
        self._folder = tempfile.mkdtemp(prefix=f"guest{number}-", dir=scratch)
        self._jobs = 0
        self._ended = {}  # job number -> exit status
        self._input = b""
        with open(self._path("settings"), "w", encoding="ascii") as file:
            file.write(f"number={number}\nmtu={MTU}\n")
        tap = f"guest{number}"
        wires.add_tap(tap)
        self._port, theirs = socket.socketpair()
        self._port.setblocking(False)
        with theirs, open(self._path("qemu.txt"), "w", encoding="ascii") as errors:
            self._qemu = wires.start(
                self._command(image, number, tap, theirs.fileno(), processors),
                pass_fds=[theirs.fileno()], stdout=errors, stderr=errors)
        if not self._await(lambda: "ready" in self._ended, _BOOT_SECONDS):
            reason = self._last_words()
            self.stop()
            raise GuestError(f"guest {number} did not come up: {reason}")

    def _path(self, name):
        return os.path.join(self._folder, name)

    def _command(self, image, number, tap, port, processors):
        return [
            "qemu-system-x86_64", "-machine", "pc", "-accel", "tcg,thread=multi", "-cpu", "max",
            "-smp", str(processors), "-m", "384", "-nodefaults", "-no-user-config", "-nographic",
            "-no-reboot", "-kernel", os.path.join(image, "vmlinux"),
            "-initrd", os.path.join(image, "initramfs.cpio"), "-append", _KERNEL_ARGUMENTS,
            "-chardev", f"file,id=log,path={self._path('console.txt')}", "-serial", "chardev:log",
            "-device", "virtio-serial-pci", "-chardev", f"socket,id=jobs,fd={port}",
            "-device", "virtserialport,chardev=jobs,name=jobs",
            "-fsdev", f"local,id=host,path={self._folder},security_model=none",
            "-device", "virtio-9p-pci,fsdev=host,mount_tag=host",
            "-netdev", f"tap,id=wire,ifname={tap},script=no,downscript=no,vhost=off",
            "-device", f"virtio-net-pci,netdev=wire,romfile=,mac=52:54:00:00:00:{number:02x}"]

    def shared(self, name):
        """A file of the folder that the guest has as /host."""
        return self._path(name)

    def start(self, command):
        """Starts a shell command in the guest."""
        self._jobs += 1
        number = self._jobs
        with open(self._path(f"{number}.job"), "w", encoding="utf-8") as file:
            file.write(command + "\n")
        self._port.sendall(f"{number}\n".encode())
        return Job(self, number)

    def run(self, command, seconds=30):
        """Runs a shell command to its end: its exit status and what it printed."""
        job = self.start(command)
        status = job.wait(seconds)
        if status is None:
            raise GuestError(f"still running after {seconds} s in the guest: {command}")
        return status, job.output()

    def await_listener(self, port, job, seconds):
        """Waits until a TCP socket of the guest listens on `port`; False when `job` ended first or
        time ran out."""
        tries = max(1, int(seconds / 0.05))
        status, _ = self.run(
            f"n=0; until grep -q ':{port:04X} [0-9A-F]*:0000 0A' /proc/net/tcp /proc/net/tcp6; do"
            f" n=$((n + 1)); [ $n -lt {tries} ] && [ -e /proc/$(cat /tmp/{job.number}.pid) ]"
            " || exit 1; sleep 0.05; done", seconds * 3 + 10)
        return status == 0

    def stop(self):
        """Shuts the guest down, by force if it must be, and forgets its files."""
        if self._qemu.poll() is None:
            try:
                self._port.sendall(b"stop\n")
                self._qemu.wait(10)
            except (OSError, subprocess.TimeoutExpired):
                pass
        processes.end(self._qemu)
        self._port.close()
        shutil.rmtree(self._folder, ignore_errors=True)

    def status_of(self, number, seconds):
        self._await(lambda: number in self._ended, seconds)
        return self._ended.get(number)

    def _await(self, done, seconds):
        deadline = time.monotonic() + seconds
        while self._receive() and not done() and time.monotonic() < deadline:
            time.sleep(0.01)
        return done()

    def _receive(self):
        """Takes what the guest has said; False when it is gone."""
        try:
            received = self._port.recv(4096)
        except BlockingIOError:
            return self._qemu.poll() is None
        self._input += received
        *lines, self._input = self._input.split(b"\n")
        for line in lines:
            self._take(line.decode("ascii", "replace").split())
        return bool(received)

    def _take(self, words):
        if words == ["ready"]:
            self._ended["ready"] = 0
        elif len(words) == 2 and all(word.isdigit() for word in words):
            self._ended[int(words[0])] = int(words[1])

    def printed(self, number):
        try:
            with open(self._path(f"{number}.out"), encoding="utf-8", errors="replace") as file:
                return file.read()
        except FileNotFoundError:
            return ""

    def _last_words(self):
        words = []
        for name in ("qemu.txt", "console.txt"):
            if os.path.exists(self._path(name)):
                with open(self._path(name), encoding="utf-8", errors="replace") as file:
                    words += file.read().splitlines()[-5:]
        return " / ".join(words) or "it said nothing"


class Job:
    """A command running in a guest."""

    def __init__(self, guest, number):
        self._guest = guest
        self.number = number

    def wait(self, seconds):
        """Its exit status, or None when it still runs after that long (0: a glance)."""
        return self._guest.status_of(self.number, seconds)

    def output(self):
        return self._guest.printed(self.number)

    def end(self):
        if self.wait(0) is None:
            self._guest.run(f"kill -9 $(cat /tmp/{self.number}.pid)")
            self.wait(5)
