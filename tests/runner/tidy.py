# SPDX-License-Identifier: BSD-3-Clause
"""clang-tidy over every source file of the release build, one case a file."""

import concurrent.futures
import json
import os
import subprocess
import time

import execution
from results import Case, Outcome


def run_all(top, results, selection, workers):
    folder = os.path.join(top, "build/release")
    with open(os.path.join(folder, "compile_commands.json"), encoding="utf-8") as file:
        entries = json.load(file)
    files = sorted({os.path.normpath(os.path.join(entry["directory"], entry["file"]))
                    for entry in entries})
    names = {path: "tidy/" + os.path.relpath(path, top) for path in files
             if not path.startswith(os.path.join(top, "build") + os.sep)}
    chosen = [path for path, name in names.items() if selection.wants(name)]
    with concurrent.futures.ThreadPoolExecutor(workers) as pool:
        for case in pool.map(lambda path: _check(top, folder, path, names[path]), chosen):
            results.add(case)


def _check(top, folder, path, name):
    began = time.monotonic()
    done = subprocess.run(["clang-tidy", "--quiet", "-p", folder, path], cwd=top, check=False,
                          stdin=subprocess.DEVNULL, capture_output=True, text=True)
    took = time.monotonic() - began
    if done.returncode == 0 and "warning:" not in done.stdout:
        return Case(name, Outcome.PASSED, "", took)
    return Case(name, Outcome.FAILED, execution.tail(done.stdout + done.stderr, 80), took)
