# SPDX-License-Identifier: BSD-3-Clause
"""Runs one file of rdma-core's tests: rdma_core_tests.py FOLDER MODULE; the last line is a report.

FOLDER has their package, `tests`, in it.
"""

import json
import os
import sys
import unittest


class Result(unittest.TextTestResult):
    def __init__(self, *arguments, **options):
        super().__init__(*arguments, **options)
        self.passed = []

    def addSuccess(self, test):
        super().addSuccess(test)
        self.passed.append(test.id())


def main():
    folder, module = sys.argv[1:3]
    # As their own run_tests.py finds its modules and reads its arguments.
    sys.path[:0] = [folder, os.path.join(folder, "tests")]
    sys.argv[1:] = ["--dev", "softrnic0", "--port", "1", "--gid", "1"]
    from args_parser import parser
    parser.parse_args()
    suite = unittest.defaultTestLoader.loadTestsFromName(f"tests.{module}")
    result = unittest.TextTestRunner(verbosity=2, resultclass=Result).run(suite)
    failed = [test.id() for test, _ in result.failures + result.errors]
    skipped = [(test.id(), reason) for test, reason in result.skipped]
    print(json.dumps({"passed": result.passed, "failed": failed, "skipped": skipped}), flush=True)


if __name__ == "__main__":
    main()
