#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""What `softrnic check` and `softrnic explain` take for large captures, beside tshark.

Makes captures of several sizes with large_capture (the emulator's traffic, with losses) and reads each
in turn with tshark, which prints two fields of every frame, and with both commands. Prints medians of
the time and of the processor time, how many times tshark's each is, and the most memory. The captures
are in the page cache before the first run, and gone at the end.

    tests/bench/capture.py build/release/bin
    tests/bench/capture.py build/release/bin --mib 512 --connections 1000 --rounds 5
"""

import argparse
import os
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

FIELDS = ("-T", "fields", "-e", "frame.number", "-e", "infiniband.bth.psn")


class Cost:
    """Seconds by the clock, seconds of the processor and the most MiB of some runs."""

    def __init__(self):
        self.elapsed, self.processor, self.memory = [], [], []

    def add(self, elapsed, usage):
        self.elapsed.append(elapsed)
        self.processor.append(usage.ru_utime + usage.ru_stime)
        self.memory.append(usage.ru_maxrss / 1024)

    def medians(self):
        return statistics.median(self.elapsed), statistics.median(self.processor), max(self.memory)


def run(words, statuses=(0,)):
    """Runs a program with its output thrown away; the time it took, and what it used."""
    began = time.monotonic()
    program = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                               stderr=subprocess.DEVNULL)
    _, status, usage = os.wait4(program.pid, 0)
    elapsed = time.monotonic() - began
    program.returncode = os.waitstatus_to_exitcode(status)
    if program.returncode not in statuses:
        sys.exit(f"{' '.join(words)}: exit status {program.returncode}")
    return elapsed, usage


def fill_cache(path):
    with open(path, "rb") as file:
        while file.read(1 << 22):
            pass


def measure(programs, rounds):
    costs = {name: Cost() for name in programs}
    for number in range(rounds):
        order = list(programs) if number % 2 == 0 else list(programs)[::-1]
        for name in order:
            words, statuses = programs[name]
            costs[name].add(*run(words, statuses))
    return costs


def report(path, connections, costs, frames):
    size = os.path.getsize(path)
    print(f"\n{size / (1 << 20):.0f} MiB, {frames} frames, {connections} connections")
    print(f"{'':10}{'seconds':>9}{'processor':>11}{'us/frame':>10}{'MiB/s':>8}"
          f"{'x tshark: time':>16}{'processor':>11}{'memory':>11}")
    base = costs["tshark"].medians() if "tshark" in costs else None
    for name, cost in costs.items():
        elapsed, processor, memory = cost.medians()
        times = [f"{of / own:.1f}" for of, own in zip(base, (elapsed, processor))] if base else "--"
        print(f"{name:10}{elapsed:9.2f}{processor:11.2f}{1e6 * processor / frames:10.2f}"
              f"{size / (1 << 20) / processor:8.0f}{times[0]:>16}{times[1]:>11}{memory:7.0f} MiB",
              flush=True)


def frames_of(softrnic, path):
    done = subprocess.run([softrnic, "check", path], capture_output=True, text=True, check=False)
    return int(done.stdout.split(": ")[1].split(" ")[0])


def bench(options, folder, mib, connections):
    path = os.path.join(folder, "large.pcapng")
    run([os.path.join(options.programs, "large_capture"), path, str(mib), str(connections),
         str(options.loss), "1"])
    fill_cache(path)
    softrnic = os.path.join(options.programs, "softrnic")
    programs = {}
    if not options.no_tshark:
        programs["tshark"] = (["tshark", "-r", path, *FIELDS], (0,))
    for command in ("check", "explain"):
        # An older build may not have it.
        if subprocess.run([softrnic, command, "--help"], capture_output=True,
                          check=False).returncode == 0:
            programs[command] = ([softrnic, command, path], (0, 1))
    report(path, connections, measure(programs, options.rounds), frames_of(softrnic, path))
    os.remove(path)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("programs", help="the folder of softrnic and large_capture")
    parser.add_argument("--mib", type=int, nargs="+", default=[256, 512, 2048])
    parser.add_argument("--connections", type=int, nargs="+", default=[1000, 100_000])
    parser.add_argument("--loss", type=float, default=0.2, help="percent of the frames")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--no-tshark", action="store_true", help="for a look at the commands alone")
    options = parser.parse_args()
    if not options.no_tshark and shutil.which("tshark") is None:
        sys.exit("needs tshark, or --no-tshark")
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    with tempfile.TemporaryDirectory(prefix="softrnic-bench-") as folder:
        for connections in options.connections:
            for mib in options.mib:
                bench(options, folder, mib, connections)


if __name__ == "__main__":
    main()
