# SPDX-License-Identifier: BSD-3-Clause
"""Child processes that cannot outlive the suite."""

import contextlib
import subprocess

# The kernel ends such a child when this process dies, however it dies.
_TIED = ["setpriv", "--pdeathsig", "KILL", "--"]


def start(command, **arguments):
    return subprocess.Popen([*_TIED, *command], **arguments)


def end(process, patience=5):
    """Ends a child, gently first."""
    if process.poll() is None:
        process.terminate()
        try:
            process.wait(patience)
        except subprocess.TimeoutExpired:
            process.kill()
    process.wait()
    for pipe in (process.stdin, process.stdout, process.stderr):
        if pipe is not None and not pipe.closed:
            pipe.close()


@contextlib.contextmanager
def running(process):
    """Ends the child at the end of the block."""
    try:
        yield process
    finally:
        end(process)


def finish(process, seconds=60, text=None):
    """Gives it its last input and waits for its end; its exit status, output and errors."""
    try:
        output, errors = process.communicate(text, timeout=seconds)
    except subprocess.TimeoutExpired:
        process.kill()
        output, errors = process.communicate()
        raise AssertionError(f"{process.args}: still running after {seconds} s\n{output}{errors}")
    return process.returncode, output, errors
