# SPDX-License-Identifier: BSD-3-Clause
"""Programs as child processes: bounded in time, ended with everything they started."""

import os
import signal
import subprocess
import threading


_running = set()  # programs started and not yet ended
_interrupted = threading.Event()


class Interrupted(Exception):
    """The run is being broken off: nothing more is started."""


def interrupt():
    """Ends every running program; whoever waits for one then finds it gone."""
    _interrupted.set()
    for process in list(_running):
        _signal_group(process, signal.SIGTERM)


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
    _running.discard(process)


def _signal_group(process, number):
    try:
        os.killpg(process.pid, number)
    except ProcessLookupError:
        pass


def start(command, **arguments):
    """Starts a program as the leader of a group of its own; end it with end_group()."""
    if _interrupted.is_set():
        raise Interrupted
    process = subprocess.Popen(command, stdin=subprocess.DEVNULL, start_new_session=True,
                               **arguments)
    _running.add(process)
    return process


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
