# SPDX-License-Identifier: BSD-3-Clause
"""Runs the libFuzzer programs for a time, each beginning with its kept corpus."""

import concurrent.futures
import glob
import os
import re
import subprocess
import time

import execution
from programs import SANITIZER_ENVIRONMENT
from results import Case, Outcome

_DONE = re.compile(r"^stat::number_of_executed_units:\s*(\d+)", re.M)
_PROGRESS = re.compile(r"^#\d+\s.*\n", re.M)  # a line for each input that is kept


def run_all(top, seconds, results, selection, workers):
    programs = sorted(path for path in glob.glob(os.path.join(top, "build/fuzz/bin/fuzz_*"))
                      if os.access(path, os.X_OK))
    chosen = [path for path in programs if selection.wants(_case_name(path))]
    if not programs:
        results.add(Case("fuzz", Outcome.FAILED, "the fuzz preset built no fuzz_* program"))
    with concurrent.futures.ThreadPoolExecutor(workers) as pool:
        for case in pool.map(lambda path: _run(top, path, seconds), chosen):
            results.add(case)


def _case_name(path):
    return "fuzz/" + os.path.basename(path).removeprefix("fuzz_")


def _run(top, path, seconds):
    began = time.monotonic()
    name = os.path.basename(path).removeprefix("fuzz_")
    found = os.path.join(top, "build/fuzz/corpus", name)  # what this machine's runs add
    crashes = os.path.join(top, "build/fuzz/crashes", name)
    os.makedirs(found, exist_ok=True)
    os.makedirs(crashes, exist_ok=True)
    corpora = [found]
    kept = os.path.join(top, "tests/fuzz/corpus", name)
    if os.path.isdir(kept):
        corpora.append(kept)
    # A seed of its own choice each run: libFuzzer prints it, and a crash leaves its input behind.
    command = [path, f"-max_total_time={seconds}", "-timeout=20", "-rss_limit_mb=2048",
               "-print_final_stats=1", f"-artifact_prefix={crashes}/", *corpora]
    process = execution.start(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                              errors="replace", env={**SANITIZER_ENVIRONMENT, **os.environ})
    try:
        printed, _ = process.communicate(timeout=seconds + 120)
    except subprocess.TimeoutExpired:
        execution.end_group(process)
        printed, _ = process.communicate()
        printed += f"\nstill running {seconds + 120} s after its start: ended"
    finally:
        execution.end_group(process)
    took = time.monotonic() - began
    executed = _DONE.search(printed)
    if process.returncode != 0 or executed is None or int(executed.group(1)) == 0:
        reason = (f"{execution.status_text(process.returncode)}; inputs that fail are in {crashes},"
                  f" run one with: {path} FILE\n{execution.tail(_PROGRESS.sub('', printed), 60)}")
        return Case(_case_name(path), Outcome.FAILED, reason, took)
    return Case(_case_name(path), Outcome.PASSED, "", took)
