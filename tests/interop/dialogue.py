# SPDX-License-Identifier: BSD-3-Clause
"""A dialogue between two queue pairs, one in the guest and one of softrnic: what each end shall do,
and what it must then print. The ends are guest/dialogue.c and dialogue/, which take the same steps.
"""

import dataclasses
import shlex
import struct
import tempfile
import zlib

import processes
import wires
from pingpong import GUEST_GID, softrnic_gid

MEMORY = 1 << 18  # of each end
_BLOCK = 8192
_FILL = {"active": 1, "passive": 77}
_LISTEN_SECONDS = 20
_ALL_ACCESS = 14  # remote write, read, atomic
RETRIES = "transport retry counter exceeded"


def _memory_line(memory):
    return "memory " + " ".join(f"{zlib.crc32(memory[at:at + _BLOCK]):08x}"
                                for at in range(0, MEMORY, _BLOCK))


@dataclasses.dataclass(frozen=True)
class Deviation:
    """What rxe prints where the standard, and so softrnic, has something else."""

    line: str
    what: str


class Party:
    """One end: its steps, a model of its memory, and the lines it must print."""

    def __init__(self, role, is_rxe, lossy):
        self.is_rxe = is_rxe
        self.steps = []
        self.memory = bytearray((i * 31 + (i >> 8) + _FILL[role]) & 255 for i in range(MEMORY))
        self.arguments = {"access": _ALL_ACCESS, "rnr_retry": 7, "rnr_timer": 12, "retries": 7,
                          "psn": 0x123456, "fill": _FILL[role]}
        self.shared_receives = False  # through a shared receive queue
        self.expected = []  # per line: what it may be; a Deviation is remarked upon
        self._lossy = lossy
        self._posted = 0

    def post(self, word, *flags, **options):
        """A request; its number."""
        self.steps.append(",".join([word, *flags, *(f"{key}={value}"
                                                    for key, value in options.items())]))
        self._posted += 1
        return self._posted

    def await_all(self, count):
        self.steps.append(f"done,{count}")

    def expect(self, number, text, deviation=None):
        """How a request ends: "success write". `deviation`: how rxe has it instead."""
        allowed = [f"done {number} {text}"]
        if deviation:
            allowed.append(Deviation(f"done {number} {deviation.line}", deviation.what))
        self.expected.append(allowed)

    def expect_refusal(self, number, text, deviation=None):
        """The request ends in an error that the other end's NAK tells. A lost NAK is not sent
        again, for that end is in ERR then: under loss the retries may be all that ends it."""
        self.expect(number, text, deviation)
        if self._lossy:
            self.arguments["retries"] = 6  # 7 is for ever to rxe
            self.expected[-1].append(f"done {number} {RETRIES}")

    def show_memory(self, deviant=None):
        """`deviant`: what rxe's memory holds instead, and why."""
        self.steps.append("memory")
        self.expected.append([_memory_line(self.memory)])
        if deviant:
            self.expected[-1].append(Deviation(_memory_line(deviant[0]), deviant[1]))

    def show_state(self, state, deviation=None):
        self.steps.append("state")
        self.expected.append([f"state {state}"])
        if deviation:
            self.expected[-1].append(Deviation(f"state {deviation.line}", deviation.what))

    def compare(self, printed):
        """What is wrong with what it printed, and which deviations it shows."""
        lines = [line for line in printed.splitlines() if line.split(" ")[0] in
                 ("done", "memory", "state") or "missing" in line]
        deviations = []
        for number, allowed in enumerate(self.expected):
            line = lines[number] if number < len(lines) else "nothing more"
            plain = [text for text in allowed if isinstance(text, str)]
            known = [text for text in allowed if isinstance(text, Deviation)]
            if line in plain:
                continue
            found = [text.what for text in known if text.line == line]
            if not found and line.startswith("memory ") and plain[0].startswith("memory "):
                differ = [f"{index * _BLOCK:#x}" for index, (is_so, should_be)
                          in enumerate(zip(line.split()[1:], plain[0].split()[1:]))
                          if is_so != should_be]
                return f"memory is wrong in the blocks of 8 KiB at {', '.join(differ)}", deviations
            if not found:
                return f"line {number + 1} is '{line}', not '{' or '.join(plain)}'", deviations
            deviations += found
        if len(lines) > len(self.expected):
            return f"it also printed '{lines[len(self.expected)]}'", deviations
        return "", deviations


class Dialogue:
    """What both ends shall do. `driver` ("softrnic" or "rxe") is the active end."""

    def __init__(self, driver, lossy):
        self.lossy = lossy
        self.active = Party("active", driver == "rxe", lossy)
        self.passive = Party("passive", driver != "rxe", lossy)
        self.service = "rc"
        self.path_mtu = 1024

    def meet(self):
        for party in (self.active, self.passive):
            party.steps.append("meet")

    def finish(self, active="RTS", passive="RTS", active_deviation=None, passive_deviation=None,
               deviant=None):
        """Both ends are done: their memory and states. The deviations are of rxe as passive end."""
        if not self.passive.is_rxe:
            active_deviation = passive_deviation = deviant = None
        self.meet()
        self.active.show_memory()
        self.active.show_state(active, active_deviation)
        self.passive.show_memory(deviant)
        self.passive.show_state(passive, passive_deviation)

    def rxe_serves(self, line, what):
        """A deviation that shows when rxe is the passive end."""
        return Deviation(line, what) if self.passive.is_rxe else None

    # What operations do to the memories.
    def copy(self, source, at, sink, to, length):
        sink.memory[to:to + length] = source.memory[at:at + length]

    def word(self, party, at):
        return struct.unpack_from("<Q", party.memory, at)[0]

    def set_word(self, party, at, value):
        struct.pack_into("<Q", party.memory, at, value & (1 << 64) - 1)

    # Requests of the active end that succeed, and what they do to the memories: `at` in its own,
    # `to` in the other's.
    def write(self, *flags, at, to, length, **more):
        number = self.active.post("write", *flags, at=at, to=to, len=length, **more)
        self.active.expect(number, "success write")
        self.copy(self.active, at, self.passive, to, length)

    def read(self, at, to, length, **more):
        number = self.active.post("read", at=at, to=to, len=length, **more)
        self.active.expect(number, "success read")
        self.copy(self.passive, to, self.active, at, length)

    def fetch_add(self, at, to, add, **more):
        self.active.expect(self.active.post("fadd", at=at, to=to, add=add, **more), "success fadd")
        before = self.word(self.passive, to)
        self.set_word(self.active, at, before)
        self.set_word(self.passive, to, before + add)


def run(dialogue, softrnic, network, guest, link, addresses, family, faults, port, seed, seconds,
        more=()):
    """Lets the two ends talk: what went wrong, and the deviations that were seen. `more`: options of
    softrnic's end alone."""
    drives = not dialogue.active.is_rxe
    ours, theirs = ((dialogue.active, dialogue.passive) if drives else
                    (dialogue.passive, dialogue.active))
    with tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace") as output, \
            tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace") as errors:
        command = [softrnic, "--link", link, "--seed", str(seed)]
        for address in addresses:
            command += ["--ip", address]
        for fault in faults:
            command += ["--fault", fault]
        command += more
        command += [*_options(dialogue, ours, port, softrnic_gid(link, family), 14), "--", *ours.steps]
        process = network.start(command, stdout=output, stderr=errors)
        try:
            if not network.await_listener(port, process, _LISTEN_SECONDS):
                errors.seek(0)
                return f"softrnic's end does not listen: {errors.read()}", []
            job = guest.start("exec " + shlex.join(
                ["dialogue", *_options(dialogue, theirs, port, GUEST_GID[family], 14),
                 wires.BRIDGE_IPV4, *theirs.steps]))
            try:
                processes.follow(lambda: (process.poll(), job.wait(0)), seconds)
                status = job.wait(0)
                printed = job.output()
            finally:
                job.end()
        finally:
            processes.end(process, patience=1)
        output.seek(0)
        errors.seek(0)
        said, trouble = output.read(), errors.read()
        complaints, deviations = [], []
        for name, party, code, text, more in (
                ("softrnic's end", ours, process.returncode, said, trouble),
                ("the guest's end", theirs, status, printed, "")):
            complaint, seen = party.compare(text)
            deviations += seen
            if code != 0:
                complaint += f" exit status {code}"
            if complaint:
                complaints.append(f"{name}: {complaint}\nsteps: {shlex.join(party.steps)}\n"
                                  f"{text}{more}")
        return "\n".join(complaints), deviations


def _options(dialogue, party, port, gid_index, ack_timeout):
    arguments = party.arguments
    return ["-p", str(port), "-g", str(gid_index), "-s", dialogue.service,
            "-m", str(dialogue.path_mtu), "-n", str(arguments["psn"]),
            "-a", str(arguments["access"]), "-r", str(arguments["rnr_retry"]),
            "-t", str(arguments["rnr_timer"]), "-l", str(ack_timeout),
            "-k", str(arguments["retries"]),
            "-f", str(arguments["fill"]), *(["-q"] if party.shared_receives else [])]
