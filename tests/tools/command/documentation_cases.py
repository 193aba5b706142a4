# SPDX-License-Identifier: BSD-3-Clause
"""docs/tools.md: its examples do what it says.

An example is a block of ```console; a line "$ softrnic ..." is run and the lines below it are what
it prints. Blocks after the comment <!-- shape --> are compared with every number replaced, since
times and drawn numbers differ; those after <!-- not run --> need another machine.
"""

import os
import re
import shlex

from cases import case, check

_DOCUMENT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../../docs/tools.md")
_BLOCK = re.compile(r"(?:<!-- (?P<mark>[^>]*) -->\n)?```console\n(?P<text>.*?)```", re.S)


def _examples():
    with open(_DOCUMENT, encoding="utf-8") as file:
        for block in _BLOCK.finditer(file.read()):
            if block.group("mark") == "not run":
                continue
            command, _, expected = block.group("text").partition("\n")
            yield command, expected, block.group("mark") == "shape"


def _shape(text):
    return re.sub(r"\s+", " ", re.sub(r"(0x)?[0-9a-f]*\d[0-9a-f.:]*", "#", text)).strip()


@case("documentation/the examples of docs/tools.md")
def _(context):
    count = 0
    for command, expected, by_shape in _examples():
        count += 1
        words = shlex.split(command.removeprefix("$ "))
        check(words[0] == "softrnic", f"no softrnic command: {command}")
        inside = context.network if "--link" in words else None
        done = context.run(*words[1:], inside=inside)
        printed = done.stdout + done.stderr
        same = _shape(printed) == _shape(expected) if by_shape else printed == expected
        check(same, f"{command}\nprints\n{printed}\nnot\n{expected}")
    check(count >= 5, f"only {count} examples were found")
