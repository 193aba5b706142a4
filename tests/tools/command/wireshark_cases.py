# SPDX-License-Identifier: BSD-3-Clause
"""softrnic wireshark: into a user's folders and out again."""

import json
import os
import subprocess
import tempfile

from cases import Skipped, case, check

_PROFILE = ("preferences", "colorfilters", "dfilter_buttons", "io_graphs")


class _Home:
    """An empty home folder, and the command run in it."""

    def __init__(self, context, folder):
        self._program = context.program
        self.folder = folder

    def run(self, *words, **variables):
        environment = {name: value for name, value in os.environ.items()
                       if name != "XDG_CONFIG_HOME"}
        environment.update({"HOME": self.folder, **variables})
        return subprocess.run([self._program, "wireshark", *words], env=environment, check=False,
                              stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60)

    def outcomes(self, *words):
        done = self.run(*words, "--json")
        check(done.returncode == 0 and done.stderr == "", done.stderr)
        return {os.path.basename(item["path"]): item["outcome"]
                for item in json.loads(done.stdout)["files"]}

    def profile(self, name):
        return os.path.join(self.folder, ".config/wireshark/profiles/RoCE", name)

    def files(self):
        return sorted(name for _, _, names in os.walk(self.folder) for name in names)


def home_case(name):
    def register(function):
        def body(context):
            plugin = os.path.join(os.path.dirname(context.program), "../wireshark")
            if not os.path.isdir(plugin):
                raise Skipped("this build has no Wireshark plugin (SOFTRNIC_DISSECTOR is off)")
            with tempfile.TemporaryDirectory(prefix="softrnic-home-") as folder:
                function(_Home(context, folder))
        return case(name)(body)
    return register


@home_case("wireshark/install, again, and uninstall")
def _(home):
    every = {"softrnic.so", "softrnic", *_PROFILE}
    check(home.outcomes("install") == dict.fromkeys(every, "installed"), "first")
    check(set(home.files()) == every, f"left over: {home.files()}")
    check(home.outcomes("status") == dict.fromkeys(every, "installed"), "status")
    check(home.outcomes("install") == dict.fromkeys(every, "unchanged"), "second")
    check(home.outcomes("uninstall") == dict.fromkeys(every, "removed"), "uninstall")
    check(home.files() == [], f"left over: {home.files()}")
    check(home.outcomes("status") == dict.fromkeys(every, "absent"), "status at the end")


@home_case("wireshark/what the user changed in the profile stays")
def _(home):
    home.outcomes("install")
    with open(home.profile("colorfilters"), "a", encoding="utf-8") as file:
        file.write("# mine\n")
    check(home.outcomes("install")["colorfilters"] == "kept", "install took it away")
    check(home.outcomes("uninstall")["colorfilters"] == "kept", "uninstall took it away")
    check(home.files() == ["colorfilters"], str(home.files()))
    check(home.outcomes("install", "--force")["colorfilters"] == "replaced", "--force")


@home_case("wireshark/the plugin alone is replaced when it is another")
def _(home):
    home.outcomes("install")
    folder = next(folder for folder, _, names in os.walk(home.folder) if "softrnic.so" in names)
    with open(os.path.join(folder, "softrnic.so"), "wb") as file:
        file.write(b"an older one")
    check(home.outcomes("status")["softrnic.so"] == "different", "status")
    check(home.outcomes("install")["softrnic.so"] == "replaced", "install")


@home_case("wireshark/the profile alone")
def _(home):
    outcomes = home.outcomes("install", "--profile-only")
    check(set(outcomes) == set(_PROFILE), str(outcomes))


@home_case("wireshark/complaints are one line and leave nothing")
def _(home):
    for words, variables, status, text in (
            ((), {}, 2, "install, uninstall or status"),
            (("upgrade",), {}, 2, "upgrade"),
            (("install",), {"HOME": ""}, 1, "HOME"),
            (("install",), {"PATH": "/nonexistent"}, 1, "no Wireshark"),
            (("install",), {"HOME": "/proc/1"}, 1, "cannot write")):
        done = home.run(*words, **variables)
        check(done.returncode == status, f"{words} {variables}: {done.returncode}")
        check(done.stderr.count("\n") == 1 and text in done.stderr, done.stderr)
    check(home.files() == [], str(home.files()))
