# SPDX-License-Identifier: BSD-3-Clause
"""rdma-core's own tests, file by file, against the table in docs/verbs.md.

What the table says passes must pass, and nothing is skipped but what it names.
"""

import gzip
import json
import os
import re
import shutil

import cases
import compiled
from stage import check
from tap import Skip

_TESTS = "/usr/share/doc/rdma-core/tests"
_TABLE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "docs", "verbs.md")
_ROW = re.compile(r"^\| `(test_\w+)` \| (\d+) \| (.*)\|$", re.MULTILINE)


def _rows():
    """(module, how many pass, names of what is skipped) of each row."""
    with open(_TABLE, encoding="utf-8") as file:
        return [(module, int(passes), re.findall(r"`(\w+)`", skips))
                for module, passes, skips in _ROW.findall(file.read())]


def _unpack(stage):
    """A copy with nothing compressed, as Debian's documentation is; the folder it is in."""
    if not os.path.isdir(_TESTS):
        raise Skip(f"no {_TESTS}: python3-pyverbs is not installed, or without its documentation")
    folder = stage.path("rdma-core")
    os.makedirs(os.path.join(folder, "tests"))
    for name in os.listdir(_TESTS):
        target = os.path.join(folder, "tests", name.removesuffix(".gz"))
        opened = gzip.open if name.endswith(".gz") else open
        with opened(os.path.join(_TESTS, name), "rb") as source, open(target, "wb") as copy:
            shutil.copyfileobj(source, copy)
    return folder


def _run(stage, module, passes, skips):
    text = stage.run("/usr/bin/python3", "-B", compiled.source("rdma_core_tests.py"),
                     _unpack(stage), module)
    reports = [line for line in text.splitlines() if line.startswith('{"passed"')]
    check(len(reports) == 1, text)
    report = json.loads(reports[0])
    check(not report["failed"], f"failed: {report['failed']}\n{text}")
    unexpected = [f"{test}: {reason}" for test, reason in report["skipped"]
                  if not set(test.split(".")) & set(skips)]
    check(not unexpected, "skipped, and not in the table: " + "; ".join(unexpected))
    check(len(report["passed"]) >= passes, f"{len(report['passed'])} of {passes} passed\n{text}")


for _module, _passes, _skips in _rows():
    cases.add(f"rdma-core/{_module}", _run, _module, _passes, _skips)


@cases.case("rdma-core/the table names every file but the vendors'")
def _(stage):
    folder = os.path.join(_unpack(stage), "tests")
    files = {name.removesuffix(".py") for name in os.listdir(folder) if name.startswith("test_")}
    others = {name for name in files if re.match(r"test_(mlx5|efa|cuda)", name)}
    listed = [module for module, _, _ in _rows()]
    check(sorted(files - others - {"test_rdmacm"}) == sorted(listed), f"{files}\n{listed}")
