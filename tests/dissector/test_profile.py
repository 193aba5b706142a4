# SPDX-License-Identifier: BSD-3-Clause
"""The profile "RoCE": its columns hold values, every filter in it compiles, nothing complains."""

import os
import re
import shutil

import frames as f
from case import TOP, case, sample

PROFILE = os.path.join(TOP, "dissector/profile")


def installed(look):
    """A home with the profile in it, as `softrnic wireshark install` leaves it."""
    home = look.shark.folder("profile-home")
    target = os.path.join(home, ".config/wireshark/profiles/RoCE")
    os.makedirs(os.path.dirname(target), exist_ok=True)
    if not os.path.isdir(target):
        scratch = target + f".{id(look)}"
        shutil.copytree(PROFILE, scratch)
        os.rename(scratch, target)
    return {"HOME": home, "XDG_CONFIG_HOME": os.path.join(home, ".config")}


def lines(name):
    with open(os.path.join(PROFILE, name), encoding="utf-8") as file:
        return [line.rstrip("\n") for line in file if line.strip() and not line.startswith("#")]


def compiles(look, name, text):
    try:
        look.output("-n", "-r", look.capture([f.frame(f.transport(f.ACKNOWLEDGE, 1, 1, f.aeth()))]),
                    "-Y", text)
    except RuntimeError as error:
        look.complain(f"{name}: '{text}': {str(error).splitlines()[-1]}")


@case("tshark loads it, and its columns hold values")
def columns(look):
    path = look.shark.copy(sample("loss-nak"))
    text = look.output("-n", "-r", path, "-C", "RoCE", "-T", "fields", "-e", "_ws.col.Stream", "-e",
                       "_ws.col.QP", "-e", "_ws.col.PSN", "-e", "_ws.col.Message", "-e",
                       "_ws.col.Info", **installed(look))
    rows = [line.split("\t") for line in text.splitlines()]
    look.equal(len(rows), 10, "frames")
    look.equal(rows[9][:4], ["0", "0x000011", "4100", "1"], "columns of the ACK")
    if not rows[5][4].endswith("RC NAK PSN Sequence Error QP=0x000011 PSN=4098 MSN=0"):
        look.complain(f"info: {rows[5][4]}")


@case("its colour rules compile, and colour the packets they name")
def colours(look):
    for line in lines("colorfilters"):
        match = re.fullmatch(r"!?@([^@]+)@(.+)@\[\d+,\d+,\d+\]\[\d+,\d+,\d+\]", line)
        if not match:
            look.complain(f"no colour rule: {line}")
            continue
        compiles(look, match.group(1), match.group(2))
    path = look.shark.copy(sample("loss-nak"))
    for two_pass, title in look.passes():
        text = look.output("-n", "-r", path, "-C", "RoCE", "-T", "fields", "-e",
                           "frame.coloring_rule.name", *(["-2"] if two_pass else []),
                           "--color", **installed(look))
        names = [re.sub(r"\x1b\[[0-9;]*[mK]", "", line).strip() for line in text.splitlines()]
        look.equal(names, ["RoCE WRITE"] * 5 + ["RoCE NAK"] + ["RoCE retransmission"] * 3 +
                   ["RoCE acknowledge"], f"{title}: rules")


@case("its filter buttons compile")
def buttons(look):
    seen = 0
    for line in lines("dfilter_buttons"):
        cells = re.findall(r'"([^"]*)"', line)
        text = re.sub(r"\\x([0-9a-f]{2})", lambda match: chr(int(match.group(1), 16)), cells[2])
        compiles(look, cells[1], text)
        seen += 1
    if seen < 5:
        look.complain(f"only {seen} buttons")


@case("its IO graphs' filters and fields are known")
def graphs(look):
    known = look.shark.registered()
    for line in lines("io_graphs"):
        cells = re.findall(r'"([^"]*)"', line)
        if cells[2]:
            compiles(look, cells[1], cells[2])
        if cells[6] and cells[6] not in known:
            look.complain(f"{cells[1]}: no field {cells[6]}")


@case("with it not even RoCE over IPv6 shows a remark")
def quiet(look):
    for name in ("rc-all-v6", "uc-all-v6", "ud-send-v6", "neighbors-v6"):
        text = look.output("-n", "-r", look.shark.copy(sample(name)), "-C", "RoCE", "-Y",
                           "_ws.expert.severity > chat", **installed(look))
        if text:
            look.complain(f"{name}: {text}")
