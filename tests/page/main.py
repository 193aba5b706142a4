#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""The page of `softrnic explain --html` in a real browser: main.py SOFTRNIC PAGE_OF [FILTER...].

Reports in the Test Anything Protocol. A filter is a part of a case's name. Pictures of the pages are
written to the folder that SOFTRNIC_PICTURES names, for whoever wants to look at them.
"""

import os
import sys
import tempfile

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[1:1] = [os.path.dirname(HERE)]

import browser  # noqa: E402
import cases  # noqa: E402
import keyboard_cases  # noqa: E402,F401  (registers its cases when it is imported)
import tap  # noqa: E402


def main(softrnic, page_of, filters):
    def without_browser():
        raise tap.Skip("needs Chromium (Debian package chromium)")

    if not browser.find():
        return tap.run([(name, without_browser) for name, _ in cases.CASES], filters)
    pictures = os.environ.get("SOFTRNIC_PICTURES")
    if pictures:
        os.makedirs(pictures, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="softrnic-page-") as folder:
        bench = cases.Bench(softrnic, page_of, folder, pictures)
        try:
            return tap.run([(name, lambda body=body: body(bench)) for name, body in cases.CASES],
                           filters, expected_errors=(browser.BrowserError, RuntimeError, ValueError))
        finally:
            bench.close()


if __name__ == "__main__":
    if len(sys.argv) < 3:
        sys.exit("usage: main.py SOFTRNIC PAGE_OF [FILTER...]")
    sys.exit(main(os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2]), sys.argv[3:]))
