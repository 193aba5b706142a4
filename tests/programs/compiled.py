# SPDX-License-Identifier: BSD-3-Clause
"""The programs of sources/, compiled when the first case needs one."""

import atexit
import os
import shutil
import subprocess
import tempfile
import threading

from stage import check
from tap import Skip

_SOURCES = os.path.join(os.path.dirname(os.path.abspath(__file__)), "sources")
_lock = threading.Lock()
_folder = None


@atexit.register
def remove():
    if _folder is not None:
        shutil.rmtree(_folder, ignore_errors=True)


def source(name):
    return os.path.join(_SOURCES, name)


def program(name, compiler="cc", libraries=()):
    """The path of the program that sources/NAME.c makes."""
    global _folder
    with _lock:
        if _folder is None:
            _folder = tempfile.mkdtemp(prefix="softrnic-programs-")
            os.chmod(_folder, 0o755)
        path = os.path.join(_folder, name)
        if not os.path.exists(path):
            if shutil.which(compiler) is None:
                raise Skip(f"no {compiler} on this machine")
            done = subprocess.run([compiler, "-O2", "-Wall", "-Wextra", "-Werror", "-o", path,
                                   source(name + ".c"), *libraries], stdin=subprocess.DEVNULL,
                                  capture_output=True, text=True, check=False)
            check(done.returncode == 0, f"{compiler} {name}.c:\n{done.stdout}{done.stderr}")
        return path
