# SPDX-License-Identifier: BSD-3-Clause
"""The cases of the suite, and what they share: the program, a network, a scratch folder."""

import subprocess
import tempfile
import traceback

import network
import processes

_CASES = []


class Skipped(Exception):
    """The case cannot run here; its text is the reason."""


def case(name):
    """Registers a function of one Context as a case."""
    def register(function):
        _CASES.append((name, function))
        return function
    return register


def check(condition, text):
    if not condition:
        raise AssertionError(text)


class Context:
    """What a case gets."""

    def __init__(self, program, region_client, folder):
        self.program = program
        self.region_client = region_client
        self.folder = folder
        self._network = None

    def run(self, *words, inside=None, seconds=60, text_in=None):
        """Runs `softrnic WORDS...`, in a network if one is given."""
        command = [self.program, *words]
        if inside is not None:
            command = inside.inside(command)
        return subprocess.run(command, input=text_in, capture_output=True, text=True,
                              timeout=seconds, check=False,
                              stdin=subprocess.DEVNULL if text_in is None else None)

    def start(self, *words, inside, **arguments):
        """Starts it, with its output on pipes."""
        arguments.setdefault("stdin", subprocess.DEVNULL)
        return processes.start(inside.inside([self.program, *words]), stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE, text=True, **arguments)

    @property
    def network(self):
        """A network namespace with a bridge, kept for the whole suite."""
        if self._network is None:
            try:
                self._network = network.Network()
            except network.Unavailable as error:
                raise Skipped(str(error)) from error
        return self._network

    def close(self):
        if self._network is not None:
            self._network.close()


def run_all(program, region_client, filters):
    chosen = [(name, function) for name, function in _CASES
              if not filters or any(word in name for word in filters)]
    failures = 0
    print(f"1..{len(chosen)}", flush=True)
    with tempfile.TemporaryDirectory(prefix="softrnic-") as folder:
        context = Context(program, region_client, folder)
        try:
            for number, (name, function) in enumerate(chosen, 1):
                failures += not _run(context, number, name, function)
        finally:
            context.close()
    return 1 if failures else 0


def _run(context, number, name, function):
    try:
        function(context)
    except Skipped as reason:
        print(f"ok {number} - {name} # SKIP {reason}", flush=True)
    except Exception as error:  # whatever it is, the next case still runs
        print(f"not ok {number} - {name}")
        text = str(error) if isinstance(error, AssertionError) else traceback.format_exc()
        for line in text.splitlines():
            print(f"# {line}")
        print(end="", flush=True)
        return False
    else:
        print(f"ok {number} - {name}", flush=True)
    return True
