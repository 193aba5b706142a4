# SPDX-License-Identifier: BSD-3-Clause
"""Programs as child processes: bounded in time, ended with everything they started."""

import os
import signal
import subprocess


def end_group(process, patience=10):
    """Ends a process started with start(), and all that it started."""
    if process.poll() is None:
        _signal_group(process, signal.SIGTERM)
        try:
            process.wait(patience)
        except subprocess.TimeoutExpired:
            pass
    _signal_group(process, signal.SIGKILL)
    process.wait()


def _signal_group(process, number):
    try:
        os.killpg(process.pid, number)
    except ProcessLookupError:
        pass


def start(command, **arguments):
    return subprocess.Popen(command, stdin=subprocess.DEVNULL, start_new_session=True, **arguments)


def status_text(status):
    """An exit status in words."""
    if status < 0:
        try:
            return f"ended by {signal.Signals(-status).name}"
        except ValueError:
            return f"ended by signal {-status}"
    return f"exit status {status}"


def tail(text, lines=40):
    kept = text.rstrip().splitlines()[-lines:]
    return "\n".join(kept)
