# SPDX-License-Identifier: BSD-3-Clause
"""docs/tools.md: its examples print what it says.

An example is a block of ```console: a line "$ softrnic ..." that is run, and what it prints. Numbers,
addresses and the width of gaps are not compared, since times and drawn numbers differ; a line
"..." stands for any lines. A block after the comment <!-- background --> keeps running while the
next one is run.
"""

import os
import re
import shlex

import pingpong_cases
import processes
from cases import case, check

_DOCUMENT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../../docs/tools.md")
_BLOCK = re.compile(r"(<!-- background -->\n)?```console\n\$ softrnic (.*?)\n(.*?)```", re.S)


def _shape(text):
    text = re.sub(r"(0x)?[0-9a-f.:]*\d[0-9a-f.:]*", "#", text)
    return re.sub(r"[ \t]+", " ", text)


def _compare(command, printed, expected):
    position = 0
    got = _shape(printed)
    parts = [_shape(part) for part in re.split(r"^\.\.\.\n", expected, flags=re.M)]
    for number, part in enumerate(parts):
        at = got.find(part, position)
        check(at >= 0 and (number > 0 or at == 0),
              f"softrnic {command}\nprints\n{printed}\nand not\n{part}")
        position = at + len(part)
    check(parts[-1] == "" or position == len(got),
          f"softrnic {command}\nprints more than the document says\n{printed}")


@case("documentation/the examples of docs/tools.md")
def _(context):
    with open(_DOCUMENT, encoding="utf-8") as file:
        blocks = _BLOCK.findall(file.read())
    check(len(blocks) >= 6, f"only {len(blocks)} examples were found")
    waiting = None
    for background, command, expected in blocks:
        words = shlex.split(command)
        inside = context.network if "--link" in words else None
        if background:
            process = context.start(*words, inside=inside)
            begun = pingpong_cases.await_line(process, "local address")
            waiting = (process, command, begun, expected)
            continue
        done = context.run(*words, inside=inside)
        if waiting is not None:
            process, earlier, begun, earlier_expected = waiting
            with processes.running(process):
                _, output, errors = processes.finish(process)
            _compare(earlier, begun + output + errors, earlier_expected)
            waiting = None
        _compare(command, done.stdout + done.stderr, expected)
