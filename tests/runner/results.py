# SPDX-License-Identifier: BSD-3-Clause
"""What became of each test case, and how it is told."""

import dataclasses
import enum
import sys
import threading


class Outcome(enum.Enum):
    PASSED = "passed"
    FAILED = "failed"
    SKIPPED = "skipped"


@dataclasses.dataclass
class Case:
    name: str  # group/program/case
    outcome: Outcome
    reason: str = ""  # why it failed or was skipped
    seconds: float = 0.0


class Results:
    """Collects cases from several threads and prints progress as they come."""

    # A log may be kept by its end alone: there a few failures are told once more, in short.
    RETOLD_CASES = 10
    RETOLD_LINES = 25

    SLOW_SECONDS = 2.0  # a passed case that took longer earns a line of its own

    def __init__(self, verbose=False):
        self.cases = []
        self._verbose = verbose
        self._lock = threading.Lock()

    def say(self, text):
        with self._lock:
            print(text, flush=True)

    def add(self, case, tell=False):
        """`tell`: this case earns a line of its own, however it ended."""
        tell = tell or self._verbose or case.outcome is Outcome.FAILED
        with self._lock:
            self.cases.append(case)
            if tell or case.seconds >= self.SLOW_SECONDS:
                print(f"  {case.outcome.value:7} {case.name} ({case.seconds:.1f} s)", flush=True)
            if case.outcome is Outcome.FAILED:
                print(_indented(case.reason), flush=True)

    def count(self, outcome):
        return sum(case.outcome is outcome for case in self.cases)

    def close(self):
        """Prints the end of the report; returns the exit status of the run."""
        skipped = [case for case in self.cases if case.outcome is Outcome.SKIPPED]
        failed = [case for case in self.cases if case.outcome is Outcome.FAILED]
        if skipped:
            print("\nSkipped:")
        for line in _by_reason(skipped):
            print(f"  {line}")
        if failed:
            print("\nFailed:")
        for case in failed:
            print(f"  {case.name}: {_first_line(case.reason)}")
            last = _last_lines(case.reason, self.RETOLD_LINES)
            if last and len(failed) <= self.RETOLD_CASES:
                print(_indented(last))
        passed = self.count(Outcome.PASSED)
        print(f"\n{passed} passed, {len(failed)} failed, {len(skipped)} skipped")
        sys.stdout.flush()
        return 0 if passed and not failed else 1


def _first_line(text):
    return (text.strip() or "no reason given").splitlines()[0]


def _last_lines(text, count):
    """The last lines behind the first one."""
    return "\n".join(text.strip().splitlines()[1:][-count:])


def _by_reason(cases):
    """A line for each case, or for all cases of a group that have one reason."""
    alike = {}
    for case in cases:
        alike.setdefault((case.name.split("/")[0], _first_line(case.reason)), []).append(case.name)
    for (group, reason), names in alike.items():
        yield f"{names[0] if len(names) == 1 else f'{group} ({len(names)} cases)'}: {reason}"


def _indented(text):
    return "\n".join("    | " + line for line in text.rstrip().splitlines())
