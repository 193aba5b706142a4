# SPDX-License-Identifier: BSD-3-Clause
"""softrnic replay, on the sample captures and on captures of its own making."""

import glob
import json
import os
import struct

from cases import case, check

_PCAPS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../../pcaps")
_AGREES, _DIFFERS, _BAD = 0, 1, 2
# Samples with a frame damaged on purpose, which no parser may call right.
_DAMAGED = {"loss-icrc.pcapng", "loss-ip-header.pcapng", "loss-transport-header.pcapng"}
# The emulated responder is primed with regions, not with windows and rights to FLUSH, and agrees on
# no extension (docs/replay.md).
_BEYOND = ("rc-flush-", "rc-window-", "nak-invalidated-key", "selective-repeat")


def _replay(context, *words):
    return context.run("replay", *words)


@case("replay/every sample capture agrees")
def _(context):
    samples = sorted(glob.glob(os.path.join(_PCAPS, "*.pcapng")))
    check(len(samples) > 10, f"only {len(samples)} samples in {_PCAPS}")
    for path in samples:
        if os.path.basename(path).startswith(_BEYOND):
            continue
        expected = _DIFFERS if os.path.basename(path) in _DAMAGED else _AGREES
        done = _replay(context, path, "--json")
        check(done.returncode == expected and done.stderr == "",
              f"{path}: exit status {done.returncode}\n{done.stdout}{done.stderr}")
        report = json.loads(done.stdout)
        check(report["agrees"] == (expected == _AGREES), done.stdout)
        frames = report["frames"]
        check(frames["parsed"] == frames["roce"], f"{path}: {frames}")
        for conversation in report["conversations"]:
            check(conversation["agrees"] and conversation["differences"] == [], done.stdout)


@case("replay/what the demo captures, with its losses")
def _(context):
    path = os.path.join(context.folder, "demo.pcapng")
    for seed in ("1", "2", "3"):
        done = context.run("demo", "--seed", seed, "--fault", "drop 2%", "-w", path)
        check(done.returncode == 0, done.stdout + done.stderr)
        done = _replay(context, path)
        check(done.returncode == _AGREES, f"seed {seed}\n{done.stdout}{done.stderr}")


@case("replay/bad files get one line and exit status 2")
def _(context):
    sample = sorted(glob.glob(os.path.join(_PCAPS, "*.pcapng")))[0]
    with open(sample, "rb") as file:
        whole = file.read()
    cut = struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 65535, 1) + struct.pack("<IIII", 0, 0, 60, 74)
    cut += bytes.fromhex("020000000002" "020000000001" "0800"
                         "4500003c000040004011" "26ad" "0a000001" "0a000002"
                         "c000" "12b7" "0028" "0000" "0c40ffff" "00000011" "80000000"
                         "000000000000")
    files = {"missing": None, "empty": b"", "text": b"not a capture\n", "truncated": whole[:-5],
             "cut": cut}
    for name, contents in files.items():
        path = os.path.join(context.folder, f"bad-{name}.pcap")
        if contents is not None:
            with open(path, "wb") as file:
                file.write(contents)
        done = _replay(context, path)
        said = f"{name}: exit status {done.returncode}\n{done.stdout}{done.stderr}"
        check(done.returncode == _BAD, said)
        check(done.stderr.startswith("softrnic replay: ") and done.stderr.count("\n") == 1, said)
        check(path in done.stderr, said)


@case("replay/the folder and other words are refused")
def _(context):
    for words in ([], [context.folder], ["a", "b"]):
        done = _replay(context, *words)
        check(done.returncode == _BAD and done.stderr.count("\n") == 1,
              f"{words}: {done.returncode}\n{done.stdout}{done.stderr}")
