# SPDX-License-Identifier: BSD-3-Clause
"""Runs any other test program.

One that speaks the Test Anything Protocol ("ok 1 - name", "not ok 2 - name", "# SKIP reason") has
its cases counted one by one; any other is one case, judged by its exit status.
"""

import re
import subprocess
import threading
import time

import execution
from results import Case, Outcome

_RESULT = re.compile(r"^(not )?ok\b\s*\d*\s*(?:- )?(.*?)(?:\s+#\s*(skip|todo)\b:?\s*(.*))?$", re.I)
_PLAN = re.compile(r"^1\.\.(\d+)(?:\s*#\s*skip\b:?\s*(.*))?$", re.I)


def run(name, command, *, environment, directory, limit, skip_status, on_case):
    reader = _Reader(name, on_case)
    process = execution.start(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              env=environment, cwd=directory, text=True, errors="replace")
    overtime = threading.Event()

    def end():
        overtime.set()
        execution.end_group(process)

    timer = threading.Timer(limit, end)
    timer.daemon = True
    timer.start()
    try:
        for line in process.stdout:
            reader.take(line.rstrip("\n"))
        status = process.wait()
    finally:
        timer.cancel()
        execution.end_group(process)
    reader.finish(status, limit if overtime.is_set() else 0, skip_status)


class _Reader:
    def __init__(self, name, on_case):
        self._name = name
        self._on_case = on_case
        self._began = self._last = time.monotonic()
        self._lines = []  # since the last result
        self._pending = None  # a failed case waits for the "# ..." lines that explain it
        self._planned = None
        self._seen = 0
        self._failures = 0

    def take(self, line):
        plan = _PLAN.match(line)
        result = _RESULT.match(line)
        if plan:
            self._planned = int(plan.group(1))
            if plan.group(2) is not None:  # the whole program is skipped
                self._seen = 1
                self._on_case(Case(self._name, Outcome.SKIPPED, plan.group(2)))
        elif result:
            self._flush()
            self._result(*result.groups())
        else:
            self._lines.append(line)

    def _result(self, negation, title, directive, explanation):
        self._seen += 1
        now = time.monotonic()
        name, seconds = f"{self._name}/{title.strip()}", now - self._last
        self._last = now
        if negation:
            self._pending = Case(name, Outcome.FAILED, "", seconds)
        elif directive:
            self._on_case(Case(name, Outcome.SKIPPED, explanation or "", seconds))
        else:
            self._on_case(Case(name, Outcome.PASSED, "", seconds))
        self._lines = [] if not negation else self._lines

    def _flush(self):
        if self._pending is not None:
            self._pending.reason = execution.tail("\n".join(self._lines)) or "not ok"
            self._failures += 1
            self._on_case(self._pending)
            self._pending = None
            self._lines = []

    def finish(self, status, limit, skip_status):
        printed = execution.tail("\n".join(self._lines))
        self._flush()
        seconds = time.monotonic() - self._began
        if limit:
            self._fail(f"still running after {limit} s: ended\n{printed}", seconds)
        elif self._planned == 0 and status == 0:
            return  # nothing of it was asked for
        elif self._seen == 0:
            self._whole(status, skip_status, printed, seconds)
        elif self._planned is not None and self._planned > self._seen:
            self._fail(f"{self._seen} of {self._planned} cases reported, then "
                       f"{execution.status_text(status)}\n{printed}", seconds)
        elif status != 0 and self._failures == 0:
            self._fail(f"{execution.status_text(status)}\n{printed}", seconds)

    def _whole(self, status, skip_status, printed, seconds):
        if status == 0:
            self._on_case(Case(self._name, Outcome.PASSED, "", seconds))
        elif skip_status is not None and status == skip_status:
            reason = (printed.splitlines() or ["no reason given"])[-1]
            self._on_case(Case(self._name, Outcome.SKIPPED, reason, seconds))
        else:
            reason = f"{execution.status_text(status)}\n{printed}"
            self._on_case(Case(self._name, Outcome.FAILED, reason, seconds))

    def _fail(self, reason, seconds):
        self._on_case(Case(f"{self._name}/(program)", Outcome.FAILED, reason, seconds))
