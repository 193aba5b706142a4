# SPDX-License-Identifier: BSD-3-Clause
"""docs/wireshark.md: its examples print what it says, its names exist, its pictures are there."""

import os
import re
import shlex

import case as suite
from case import case

_FOLDER = os.path.join(suite.TOP, "docs")
_EXAMPLE = re.compile(r"<!-- tshark -->\n```console\n\$ tshark (.*?)\n(.*?)```", re.S)
_NO_FIELDS = {"roce.qp", "roce.reassemble_largest", "roce.reassemble_memory"}  # table, preferences
_NAME = re.compile(r"`(roce(?:\.[a-z_]+)+)")


def _document():
    with open(os.path.join(_FOLDER, "wireshark.md"), encoding="utf-8") as file:
        return file.read()


@case("the examples print what the page says")
def examples(look):
    found = _EXAMPLE.findall(_document())
    if len(found) < 4:
        look.complain(f"only {len(found)} examples were found")
    for command, expected in found:
        words = [look.shark.copy(os.path.join(suite.TOP, word)) if word.startswith("pcaps/") else word
                 for word in shlex.split(command)]
        printed = look.output("-n", *words).strip("\n")
        look.equal(printed.splitlines(), expected.strip("\n").splitlines(), f"tshark {command}")


@case("every field it names is registered")
def names(look):
    registered = set(look.shark.registered())
    for name in sorted(set(_NAME.findall(_document()))):
        if name not in _NO_FIELDS and name not in registered:
            look.complain(f"there is no field {name}")


@case("it lists every finding, and none that is not")
def findings(look):
    registered = {name.removeprefix("roce.analysis.") for name in look.finding_fields()
                  if name.startswith("roce.analysis.")}
    listed = set()
    for line in re.findall(r"^- \*\*(?:error|warning|note|chat)\*\*: (.*)$", _document(), re.M):
        listed |= set(re.findall(r"`(\w+)`", line))
    look.equal(sorted(listed), sorted(registered), "findings")


@case("its pictures and pages are there")
def links(look):
    for target in re.findall(r"\]\(([^)#]+)\)", _document()):
        if not os.path.exists(os.path.join(_FOLDER, target)):
            look.complain(f"{target} is missing")
