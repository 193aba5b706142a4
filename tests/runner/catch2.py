# SPDX-License-Identifier: BSD-3-Clause
"""Runs a Catch2 (version 2) program case by case, by its XML report, which grows as cases end.

A case that cannot run here says so with WARN("skipped: REASON") and returns; it counts as skipped.
"""

import os
import re
import subprocess
import tempfile
import time
import xml.etree.ElementTree as ElementTree

import execution
from results import Case, Outcome

SKIP_MARK = "skipped:"


def case_names(program, environment):
    listed = subprocess.run([*program, "--list-test-names-only"], stdin=subprocess.DEVNULL,
                            capture_output=True, text=True, env=environment, check=False)
    return [line.strip() for line in listed.stdout.splitlines() if line.strip()]


def run(name, program, *, only, environment, directory, limit, on_case):
    """Runs `program`; `only` restricts it to these case names (None: all). Calls on_case(Case)."""
    with tempfile.TemporaryDirectory() as folder:
        report = os.path.join(folder, "report.xml")
        output = os.path.join(folder, "output.txt")
        command = [*program, "-r", "xml", "-d", "yes", "-o", report]
        if only is not None:
            command.append(",".join(map(_escaped, only)))
        with open(output, "w", encoding="utf-8") as sink:
            process = execution.start(command, stdout=sink, stderr=subprocess.STDOUT,
                                      env=environment, cwd=directory)
        reader = _ReportReader(name, report, on_case)
        try:
            overtime = _follow(process, reader, limit)
        finally:
            execution.end_group(process)
        with open(output, encoding="utf-8", errors="replace") as source:
            printed = execution.tail(source.read())
        reader.finish(process.returncode, overtime and limit, printed)


def _escaped(case):
    """A case's name as Catch2's test specification takes it literally."""
    return re.sub(r'([\\,\[\]"])', r"\\\1", case)


def _follow(process, reader, limit):
    """Waits for the end of the process, reading along; true when it had to be ended."""
    deadline = time.monotonic() + limit
    while True:
        try:
            process.wait(0.2)
            return False
        except subprocess.TimeoutExpired:
            reader.read()
            if time.monotonic() > deadline:
                return True


class _ReportReader:
    def __init__(self, name, path, on_case):
        self._name = name
        self._path = path
        self._on_case = on_case
        self._offset = 0
        self._parser = ElementTree.XMLPullParser(["start", "end"])
        self._broken = ""
        self._open_case = None  # name of the case that runs now
        self._began = 0.0
        self._failures = 0
        self._complete = False

    def read(self):
        if self._broken or not os.path.exists(self._path):
            return
        with open(self._path, "rb") as file:
            file.seek(self._offset)
            data = file.read()
        self._offset += len(data)
        try:
            self._parser.feed(data)
            for event, element in self._parser.read_events():
                self._take(event, element)
        except ElementTree.ParseError as error:
            self._broken = f"unreadable test report: {error}"

    def _take(self, event, element):
        if element.tag == "TestCase":
            if event == "start":
                self._open_case = element.get("name", "?").strip()
                self._began = time.monotonic()
            else:
                result = element.find("OverallResult")
                took = result.get("durationInSeconds", "0") if result is not None else "0"
                self._emit(_case_of(element), float(took))
                self._open_case = None
                element.clear()
        elif element.tag == "Catch" and event == "end":
            self._complete = True

    def _emit(self, verdict, seconds):
        outcome, reason = verdict
        self._failures += outcome is Outcome.FAILED
        self._on_case(Case(f"{self._name}/{self._open_case}", outcome, reason, seconds))

    def finish(self, status, limit, printed):
        """The program has ended: reads the rest and accounts for what the report does not tell."""
        self.read()
        if limit:
            cause = f"still running after {limit} s: ended"
        elif self._broken:
            cause = self._broken
        elif not self._complete or (status != 0 and self._failures == 0):
            cause = f"the program stopped early: {execution.status_text(status)}"
        else:
            return
        if self._open_case is None:
            self._open_case = "(program)"
        self._emit((Outcome.FAILED, f"{cause}\n{printed}"), time.monotonic() - self._began)


def _case_of(element):
    result = element.find("OverallResult")
    if result is not None and result.get("success") == "true":
        for warning in element.iter("Warning"):
            text = (warning.text or "").strip()
            if text.startswith(SKIP_MARK):
                return Outcome.SKIPPED, text[len(SKIP_MARK):].strip()
        return Outcome.PASSED, ""
    return Outcome.FAILED, "\n".join(_failures_of(element)) or "failed"


def _failures_of(element):
    """The failed assertions of a case, as file:line: expression, expansion, messages."""
    for item in element.iter():
        text = (item.text or "").strip()
        if item.tag == "Expression" and item.get("success") == "false":
            original = (item.findtext("Original") or "").strip()
            expanded = (item.findtext("Expanded") or "").strip()
            yield f"{item.get('filename')}:{item.get('line')}: {original}"
            yield f"  with {expanded}"
        elif item.tag in ("Failure", "Exception", "FatalErrorCondition"):
            yield f"{item.get('filename', '')}:{item.get('line', '')}: {item.tag}: {text}"
        elif item.tag in ("Info", "StdErr", "StdOut") and text:
            yield f"  {item.tag.lower()}: {execution.tail(text)}"
