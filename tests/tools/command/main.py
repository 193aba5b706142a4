#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""The softrnic command as a user runs it: main.py SOFTRNIC REGION_CLIENT [FILTER...].

Reports in the Test Anything Protocol. A filter is a part of a case's name.
"""

import sys

sys.dont_write_bytecode = True

import cases
import check_cases  # noqa: F401
import complaint_cases  # noqa: F401  (a module registers its cases when it is imported)
import craft_cases  # noqa: F401
import demo_cases  # noqa: F401
import diff_cases  # noqa: F401
import documentation_cases  # noqa: F401
import explain_cases  # noqa: F401
import explain_page_cases  # noqa: F401
import extcap_cases  # noqa: F401
import edit_cases  # noqa: F401
import information_cases  # noqa: F401
import peer_cases  # noqa: F401
import pingpong_cases  # noqa: F401
import live_replay_cases  # noqa: F401
import ping_cases  # noqa: F401
import replay_cases  # noqa: F401
import run_cases  # noqa: F401
import shm_cases  # noqa: F401
import sysfs_cases  # noqa: F401
import udp_cases  # noqa: F401
import wire_replay_cases  # noqa: F401
import wireshark_cases  # noqa: F401

if __name__ == "__main__":
    if len(sys.argv) < 3:
        sys.exit("usage: main.py SOFTRNIC REGION_CLIENT [FILTER...]")
    sys.exit(cases.run_all(sys.argv[1], sys.argv[2], sys.argv[3:]))
