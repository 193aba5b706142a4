# SPDX-License-Identifier: BSD-3-Clause
"""The test programs CTest knows of, from a built preset, run several at a time."""

import concurrent.futures
import dataclasses
import json
import os
import subprocess

import anything
import catch2
from results import Case, Outcome

# A sanitizer's report must end the program, and a leak is an error.
SANITIZER_ENVIRONMENT = {
    "ASAN_OPTIONS": "abort_on_error=0:detect_leaks=1:strict_string_checks=1",
    "UBSAN_OPTIONS": "print_stacktrace=1:halt_on_error=1",
    "TSAN_OPTIONS": "halt_on_error=1:second_deadlock_stack=1",
}


@dataclasses.dataclass
class Program:
    name: str
    target: str  # what to build for it
    command: list  # empty as long as it is not built
    directory: str
    environment: dict
    is_catch2: bool
    is_sanitized: bool  # built and run by the sanitizers' groups too
    skip_status: int | None
    alone: bool  # must not share the machine with another


def of_build(top, preset):
    """The programs of the build, as Program."""
    folder = os.path.join(top, "build", preset)
    listed = subprocess.run(["ctest", "--test-dir", folder, "--show-only=json-v1"], check=True,
                            stdin=subprocess.DEVNULL, capture_output=True, text=True)
    return [_program(test, folder) for test in json.loads(listed.stdout)["tests"]]


def _program(test, folder):
    properties = {item["name"]: item["value"] for item in test.get("properties", [])}
    labels = properties.get("LABELS", [])
    named = [label.removeprefix("target=") for label in labels if label.startswith("target=")]
    variables = dict(item.split("=", 1) for item in properties.get("ENVIRONMENT", []))
    skip_status = properties.get("SKIP_RETURN_CODE")
    return Program(
        name=test["name"], target=(named or [test["name"]])[0], command=test.get("command", []),
        directory=properties.get("WORKING_DIRECTORY", folder),
        environment={**SANITIZER_ENVIRONMENT, **os.environ, **variables},
        is_catch2="catch2" in labels,
        is_sanitized=not {"catch2", "sanitized"}.isdisjoint(labels),
        skip_status=None if skip_status is None else int(skip_status),
        alone=bool(properties.get("RUN_SERIAL", False)))


def sanitized_targets(top, preset):
    """What the sanitizers' groups build: each program once, however many tests it makes."""
    return sorted({program.target for program in of_build(top, preset) if program.is_sanitized})


def run_all(programs, group, results, selection, limit, workers):
    """Runs the programs (those marked alone at the end, one by one), adding cases to results."""
    together = [program for program in programs if not program.alone]
    with concurrent.futures.ThreadPoolExecutor(workers) as pool:
        jobs = [pool.submit(run, program, group, results, selection, limit)
                for program in together]
        for job in jobs:
            job.result()
    for program in programs:
        if program.alone:
            run(program, group, results, selection, limit)


def run(program, group, results, selection, limit):
    name = f"{group}/{program.name}"
    cases = []

    def on_case(case):
        cases.append(case)
        results.add(case)

    if not program.command or not os.path.exists(program.command[0]):
        on_case(Case(name, Outcome.FAILED, f"not built: {' '.join(program.command) or name}"))
    elif program.is_catch2:
        _run_catch2(program, name, selection, limit, on_case)
    elif selection.wants(name):
        anything.run(name, program.command, environment=program.environment,
                     directory=program.directory, limit=limit, skip_status=program.skip_status,
                     on_case=on_case)
    if cases:
        passed = sum(case.outcome is Outcome.PASSED for case in cases)
        results.say(f"  {name}: {passed} of {len(cases)} passed")


def _run_catch2(program, name, selection, limit, on_case):
    only = None
    if selection.is_partial(name):
        only = [case for case in catch2.case_names(program.command, program.environment)
                if selection.wants(f"{name}/{case}")]
        if not only:
            return
    catch2.run(name, program.command, only=only, environment=program.environment,
               directory=program.directory, limit=limit, on_case=on_case)
