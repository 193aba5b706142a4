# SPDX-License-Identifier: BSD-3-Clause
"""The cases of the suite: functions of a Stage."""

import tap
from stage import Failure, Stage

_CASES = []


def add(title, function, *arguments):
    """Registers function(stage, *arguments) as a case."""
    _CASES.append((title, function, arguments))


def case(title):
    """Registers a function of a Stage as a case."""
    def register(function):
        add(title, function)
        return function
    return register


def run_all(softrnic, libraries, filters):
    def body_of(function, arguments):
        def body():
            with Stage(softrnic, libraries) as stage:
                function(stage, *arguments)
            return ()
        return body

    titled = [(title, body_of(function, arguments)) for title, function, arguments in _CASES]
    # Both ends of a case spin.
    return tap.run(titled, filters, workers=max(1, tap.processors() // 2),
                   expected_errors=(Failure, OSError))
