# SPDX-License-Identifier: BSD-3-Clause
"""Builds softrnic and runs its tests: the body of tests/run."""

import argparse
import os
import signal
import sys
import time

import anything
import build
import execution
import fuzz
import programs
import tidy
from results import Case, Outcome, Results
from selection import Selection

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

# In the order they run: what each group is, and whether it runs only with --all or when named.
GROUPS = {
    "house": ("rules of the tree: licence lines, floors, format", False),
    "release": ("every test program, built as users get it", False),
    "dissector": ("the Wireshark plugin, as tshark shows captures with it", False),
    "sanitized": ("the test programs under Clang's address and undefined-behaviour sanitizers",
                  False),
    "fuzz": ("the fuzz targets, a minute each (--all: ten minutes)", False),
    "interop": ("a real RoCE peer: Linux rdma_rxe in a small guest", False),
    "tidy": ("clang-tidy over every source file", True),
    "thread": ("the same under the thread sanitizer", True),
    "soak": ("ten million operations over a bad link; fewer with the sanitizers", True),
}

FUZZ_SECONDS, FUZZ_SECONDS_ALL = 60, 600
# A program that runs this long hangs.
PROGRAM_SECONDS, PROGRAM_SECONDS_ALL = 600, 3600
SCRIPT_SECONDS = 1800


class Run:
    def __init__(self, options):
        self.all = options.all
        self.named = {text.split("/", 1)[0].lower() for text in options.filters}
        self.selection = Selection(options.filters, GROUPS)
        self.results = Results(options.verbose)
        self.workers = os.cpu_count() or 1
        self.program_seconds = PROGRAM_SECONDS_ALL if self.all else PROGRAM_SECONDS
        self._built = {}

    def wants(self, group):
        _, only_on_request = GROUPS[group]
        asked = self.all or group in self.named or not only_on_request
        return asked and self.selection.wants_group(group)

    def build(self, preset, targets=None):
        """Whether the preset is built; a failure counts as a failed case, once."""
        if preset not in self._built:
            began = time.monotonic()
            try:
                build.build(TOP, preset, targets or (lambda: []), self.results.say)
                self._built[preset] = True
            except build.BuildError as error:
                self._built[preset] = False
                self.results.add(Case(f"build/{preset}", Outcome.FAILED, str(error),
                                      time.monotonic() - began))
        return self._built[preset]

    def heading(self, group):
        self.results.say(f"== {group}: {GROUPS[group][0]}")

    def script(self, group, command):
        """A script of ours that reports case by case; it takes the filters as arguments."""
        filters = [] if group in self.selection.filters else [
            text.removeprefix(group + "/") for text in self.selection.filters
            if text.startswith(group + "/") or text.split("/", 1)[0] not in GROUPS]
        anything.run(group, [*command, *filters], environment=dict(os.environ), directory=TOP,
                     limit=SCRIPT_SECONDS, skip_status=None,
                     on_case=lambda case: self.results.add(case, tell=True))

    def sanitized(self, group, preset):
        chosen = [program for program in programs.of_build(TOP, preset) if program.is_sanitized]
        programs.run_all(chosen, group, self.results, self.selection, self.program_seconds,
                         self.workers)


def fuzz_preset_targets():
    targets = programs.sanitized_targets(TOP, "fuzz")
    if os.path.isdir(os.path.join(TOP, "tests/fuzz")):
        targets.append("tests/fuzz/all")
    return targets


def run_house(run):
    run.heading("house")
    run.script("house", [os.path.join(TOP, "tests/house/check")])


def run_release(run):
    if run.build("release"):
        run.heading("release")
        programs.run_all(programs.of_build(TOP, "release"), "release", run.results, run.selection,
                         run.program_seconds, run.workers)


def run_dissector(run):
    if run.build("release"):
        run.heading("dissector")
        run.script("dissector", [os.path.join(TOP, "tests/dissector/run")])


def run_sanitized(run):
    if run.build("fuzz", fuzz_preset_targets):
        run.heading("sanitized")
        run.sanitized("sanitized", "fuzz")


def run_fuzz(run):
    if run.build("fuzz", fuzz_preset_targets):
        run.heading("fuzz")
        fuzz.run_all(TOP, FUZZ_SECONDS_ALL if run.all else FUZZ_SECONDS, run.results,
                     run.selection, run.workers)


def run_interop(run):
    if run.build("release"):
        run.heading("interop")
        run.script("interop", [os.path.join(TOP, "tests/interop/run"),
                               *(["--all"] if run.all else [])])


def run_tidy(run):
    if run.build("release"):
        run.heading("tidy")
        tidy.run_all(TOP, run.results, run.selection, run.workers)


def run_thread(run):
    if run.build("tsan", lambda: programs.sanitized_targets(TOP, "tsan")):
        run.heading("thread")
        run.sanitized("thread", "tsan")


# The whole soak: what the short form in `release`, `sanitized` and `thread` is a part of.
SOAKS = {"release": ["--operations", "10000000"],
         "fuzz": ["--operations", "1000000"],
         "tsan": ["--operations", "200000", "--threads"]}


def run_soak(run):
    run.heading("soak")
    for preset, options in SOAKS.items():
        if run.selection.wants(f"soak/{preset}") and run.build(preset, lambda: ["test_soak"]):
            program = os.path.join(TOP, "build", preset, "bin/test_soak")
            anything.run(f"soak/{preset}", [program, *options], skip_status=None,
                         environment={**programs.SANITIZER_ENVIRONMENT, **os.environ},
                         directory=TOP, limit=SCRIPT_SECONDS,
                         on_case=lambda case: run.results.add(case, tell=True))


def parse(arguments):
    parser = argparse.ArgumentParser(
        prog="tests/run", formatter_class=argparse.RawDescriptionHelpFormatter,
        description="Installs what is needed, builds softrnic and runs its tests.",
        epilog="groups:\n" + "\n".join(f"  {name:10} {text}{' (only with --all or when named)' * late}"
                                       for name, (text, late) in GROUPS.items()))
    parser.add_argument("--all", action="store_true", help="also what takes longer than 25 minutes")
    parser.add_argument("-v", "--verbose", action="store_true", help="a line for every case")
    parser.add_argument("filters", nargs="*", metavar="FILTER",
                        help="run only cases whose name, GROUP/PROGRAM/CASE, contains it")
    return parser.parse_args(arguments)


def main(arguments):
    run = Run(parse(arguments))
    began = time.monotonic()
    bodies = {"house": run_house, "release": run_release, "dissector": run_dissector,
              "sanitized": run_sanitized, "fuzz": run_fuzz, "interop": run_interop,
              "tidy": run_tidy, "thread": run_thread, "soak": run_soak}
    for group in GROUPS:
        if run.wants(group):
            bodies[group](run)
    run.results.say(f"== done in {time.monotonic() - began:.0f} s")
    if not run.results.cases:
        run.results.say("nothing ran: no case's name contains " + " or ".join(run.named or ["-"]))
    return run.results.close()


def interrupted(*_):
    execution.interrupt()
    raise KeyboardInterrupt


if __name__ == "__main__":
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, interrupted)
    try:
        sys.exit(main(sys.argv[1:]))
    except (KeyboardInterrupt, execution.Interrupted):
        print("tests/run: interrupted", file=sys.stderr)
        sys.exit(130)
