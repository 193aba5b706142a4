# SPDX-License-Identifier: BSD-3-Clause
"""Runs tshark with the plugin and nothing else of this machine's: no preferences, no other plugins.

Wireshark ignores plugins outside its own folders when root runs it, so root becomes nobody here,
and everything it reads stands in a folder that nobody can read.
"""

import hashlib
import os
import shutil
import subprocess
import tempfile
import threading

NOBODY = 65534
SECONDS = 120  # tshark hangs when it takes longer for a small capture
SEPARATOR = "\x1f"  # between the occurrences of a field


class TsharkError(RuntimeError):
    pass


def missing():
    """Why tshark cannot be tested here; empty when it can."""
    if not shutil.which("tshark"):
        return "needs tshark"
    if os.geteuid() == 0 and not shutil.which("setpriv"):
        return "needs setpriv (Debian package util-linux): as root, tshark ignores the plugin"
    return ""


class Wireshark:
    """A folder with the plugin, an empty home and captures; close() removes it."""

    def __init__(self, plugin, programs=""):
        self.top = tempfile.mkdtemp(prefix="softrnic-dissector.")
        os.chmod(self.top, 0o755)
        self.home = self.folder("home", own=True)
        self.captures = self.folder("captures")
        self._programs = programs
        folder = self.folder("plugins")
        series = os.path.basename(os.path.dirname(os.path.dirname(os.path.abspath(plugin))))
        target = os.path.join(folder, series, "epan")
        os.makedirs(target)
        shutil.copy(plugin, target)
        os.chmod(os.path.join(target, os.path.basename(plugin)), 0o755)
        self._plugins = folder
        self._empty = self.folder("none")
        self._lock = threading.Lock()
        self._kinds = None

    def close(self):
        shutil.rmtree(self.top, ignore_errors=True)

    def folder(self, name, own=False):
        path = os.path.join(self.top, name)
        os.makedirs(path, exist_ok=True)
        os.chmod(path, 0o755)
        if own and os.geteuid() == 0:
            os.chown(path, NOBODY, NOBODY)
        return path

    def capture(self, content, ending="pcap"):
        """A file of these bytes, for tshark to read."""
        path = os.path.join(self.captures, hashlib.sha1(content).hexdigest() + "." + ending)
        if not os.path.exists(path):
            with open(path + f".{id(content)}", "wb") as file:
                file.write(content)
            os.chmod(file.name, 0o644)
            os.rename(file.name, path)
        return path

    def copy(self, path):
        """The file, where tshark may read it."""
        with open(path, "rb") as file:
            return self.capture(file.read(), path.rsplit(".", 1)[-1])

    def environment(self, plugin=True, **more):
        return {"PATH": os.environ.get("PATH", "/usr/bin:/bin"), "HOME": self.home,
                "XDG_CONFIG_HOME": os.path.join(self.home, ".config"), "LC_ALL": "C.UTF-8",
                "TZ": "UTC", "XDG_RUNTIME_DIR": self.home,
                "WIRESHARK_PLUGIN_DIR": self._plugins if plugin else self._empty, **more}

    def command(self, program, *arguments):
        command = [os.path.join(self._programs, program) if self._programs else program,
                   *arguments]
        if os.geteuid() == 0:
            command = ["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups",
                       *command]
        return command

    def run(self, *arguments, program="tshark", plugin=True, seconds=SECONDS, **environment):
        """What it printed; raises when it failed, complained, or did not end."""
        try:
            done = subprocess.run(self.command(program, *arguments), stdin=subprocess.DEVNULL,
                                  capture_output=True, text=True, errors="replace", check=False,
                                  cwd=self.home, timeout=seconds,
                                  env=self.environment(plugin, **environment))
        except subprocess.TimeoutExpired:
            raise TsharkError(f"{program} did not end within {seconds} s") from None
        if done.returncode != 0 or done.stderr.strip():
            raise TsharkError(f"{program} {' '.join(arguments)}: status {done.returncode}: "
                              f"{done.stderr.strip()}")
        return done.stdout

    def fields(self, path, names, *, two_pass=False, where="", options=(), plugin=True):
        """A row a frame, of lists: what each of the fields holds there."""
        command = ["-n", "-r", path, "-T", "fields", "-E", f"aggregator={SEPARATOR}",
                   *options, *(["-2"] if two_pass else []), *(["-Y", where] if where else [])]
        for name in names:
            command += ["-e", name]
        rows = self.run(*command, plugin=plugin).split("\n")[:-1]
        return [[cell.split(SEPARATOR) if cell else [] for cell in row.split("\t")]
                for row in rows]

    def registered(self, prefix="roce"):
        """Name to type of every field the plugin registers."""
        with self._lock:
            if self._kinds is None:
                rows = [line.split("\t") for line in self.run("-G", "fields").splitlines()]
                self._kinds = {row[2]: row[3] for row in rows if row[0] == "F"}
        return {name: kind for name, kind in self._kinds.items() if name.startswith(prefix + ".")}
