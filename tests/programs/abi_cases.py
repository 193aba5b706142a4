# SPDX-License-Identifier: BSD-3-Clause
"""What libibverbs.so.1 exports, beside what the system's own does."""

import glob
import os
import re
import subprocess

from cases import case
from stage import check
from tap import Skip


def _exports(path):
    """name@node of each; a node itself is no export."""
    text = subprocess.run(["readelf", "--dyn-syms", "--wide", path], check=True,
                          stdin=subprocess.DEVNULL, capture_output=True, text=True).stdout
    found = set()
    for line in text.splitlines():
        match = re.search(r" (?:FUNC|NOTYPE|IFUNC) +(?:GLOBAL|WEAK) +DEFAULT +(\S+) +(\S+@\S+)",
                          line)
        if match and match.group(1) not in ("UND", "ABS"):
            found.add(match.group(2).replace("@@", "@"))
    check(len(found) > 150, f"{path}: only {len(found)} exports")
    return found


@case("abi/it exports whatever the system's libibverbs exports, and little else")
def _(stage):
    ours = _exports(os.path.join(stage.libraries, "libibverbs.so.1"))
    systems = glob.glob("/usr/lib/*/libibverbs.so.1") + glob.glob("/usr/lib64/libibverbs.so.1")
    if not systems:
        raise Skip("the system has no libibverbs.so.1")
    missing = _exports(systems[0]) - ours
    check(not missing, f"missing: {sorted(missing)}")
    nodes = ("IBVERBS_", "SOFTRNIC_")
    strange = {name for name in ours if not name.split("@")[1].startswith(nodes)}
    check(not strange, f"of no node of verbs: {sorted(strange)}")


@case("abi/it is found under both of its names, and needs nothing that is not there")
def _(stage):
    for name in ("libibverbs.so", "libibverbs.so.1"):
        check(os.path.exists(os.path.join(stage.libraries, name)), name)
    text = stage.run("ldd", "-r", os.path.join(stage.libraries, "libibverbs.so.1"), plain=True)
    check("not found" not in text and "undefined" not in text, text)
