# SPDX-License-Identifier: BSD-3-Clause
"""The cases of the suite: functions of a Stage."""

import os
import signal

import compiled
import tap
from stage import Failure, Stage

_CASES = []
_stages = set()  # those in use


def add(title, function, *arguments):
    """Registers function(stage, *arguments) as a case."""
    _CASES.append((title, function, arguments))


def case(title):
    """Registers a function of a Stage as a case."""
    def register(function):
        add(title, function)
        return function
    return register


def _break_off(number, _):
    """Who is told to end leaves no program and no folder behind."""
    for stage in list(_stages):
        stage.abandon()
    compiled.remove()
    os._exit(128 + number)


def run_all(softrnic, libraries, filters):
    def body_of(function, arguments):
        def body():
            with Stage(softrnic, libraries) as stage:
                _stages.add(stage)
                try:
                    function(stage, *arguments)
                finally:
                    _stages.discard(stage)
            return ()
        return body

    titled = [(title, body_of(function, arguments)) for title, function, arguments in _CASES]
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, _break_off)
    # Both ends of a case spin.
    return tap.run(titled, filters, workers=max(1, tap.processors() // 2),
                   expected_errors=(Failure, OSError))
