# SPDX-License-Identifier: BSD-3-Clause
"""Child processes that cannot outlive the harness."""

import subprocess
import time

# The kernel ends such a child when this process dies, however it dies. (It counts as dead when
# the thread that started the child ends: start children from the main thread.)
_TIED = ["setpriv", "--pdeathsig", "KILL", "--"]


def start(command, **arguments):
    arguments.setdefault("stdin", subprocess.DEVNULL)
    return subprocess.Popen([*_TIED, *command], **arguments)


def end(process, patience=5):
    """Ends a child started with start(), gently first."""
    if process.poll() is None:
        process.terminate()
        try:
            process.wait(patience)
        except subprocess.TimeoutExpired:
            process.kill()
    process.wait()


def follow(statuses, seconds):
    """Waits until `statuses()` (exit statuses, None for who still runs) tells that all have ended.

    Once one has failed, the others have little time left to say why.
    """
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        now = statuses()
        if None not in now:
            return
        if any(status not in (None, 0) for status in now):
            deadline = min(deadline, time.monotonic() + 2)
        time.sleep(0.01)
