#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Unmodified programs on libibverbs.so.1: main.py SOFTRNIC FOLDER_OF_LIBRARIES [FILTER...].

Reports in the Test Anything Protocol. A filter is a part of a case's name.
"""

import os
import sys

sys.dont_write_bytecode = True
sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))

import abi_cases  # noqa: F401  (a module registers its cases when it is imported)
import cases
import device_cases  # noqa: F401
import failure_cases  # noqa: F401
import library_cases  # noqa: F401
import loss_cases  # noqa: F401
import perftest_cases  # noqa: F401
import pingpong_cases  # noqa: F401
import rdma_core_cases  # noqa: F401

if __name__ == "__main__":
    if len(sys.argv) < 3:
        sys.exit("usage: main.py SOFTRNIC FOLDER_OF_LIBRARIES [FILTER...]")
    sys.exit(cases.run_all(*map(os.path.abspath, sys.argv[1:3]), sys.argv[3:]))
