# SPDX-License-Identifier: BSD-3-Clause
"""softrnic edit, on the sample captures: every option there and back, seen by tshark and by an ICRC
of our own."""

import glob
import json
import os
import shutil
import struct
import subprocess
import zlib

from cases import Skipped, case, check

_PCAPS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../../pcaps")
_CANNOT = 2


def _samples(*parts):
    found = [path for path in sorted(glob.glob(os.path.join(_PCAPS, "*.pcapng")))
             if not parts or any(part in os.path.basename(path) for part in parts)]
    check(found, f"no samples of {parts}")
    return found


def _edit(context, source, name, *words):
    out = os.path.join(context.folder, name)
    done = context.run("edit", source, out, "--json", *words)
    check(done.returncode == 0 and done.stderr == "",
          f"edit {source} {words}: {done.returncode}\n{done.stdout}{done.stderr}")
    return out, json.loads(done.stdout)


def _bytes(path):
    with open(path, "rb") as file:
        return file.read()


def _faults(context, path):
    done = context.run("check", path, "--json")
    check(done.returncode in (0, 1), f"check {path}: {done.stderr}")
    report = json.loads(done.stdout)
    return report["icrc"], [(fault["frame"], fault["kind"]) for fault in report["faults"]]


def _frames(path):
    """(time, bytes) of each frame of a pcap file as softrnic writes it."""
    contents, offset = _bytes(path), 24
    while offset < len(contents):
        seconds, fraction, size = struct.unpack_from("<III", contents, offset)
        yield seconds * 10**9 + fraction, contents[offset + 16:offset + 16 + size]
        offset += 16 + size


def _wrong_icrcs(path):
    """How many frames carry another ICRC than this independent sum over them (annexes A16, A17)."""
    wrong = 0
    for _, frame in _frames(path):
        at = 12
        while frame[at:at + 2] in (b"\x81\x00", b"\x88\xa8"):
            at += 4
        kind, at = frame[at:at + 2], at + 2
        if kind == b"\x08\x00" and frame[at + 9] == 17:
            size, transport, masked = struct.unpack(">H", frame[at + 2:at + 4])[0], 28, [1, 8, 10, 11]
        elif kind == b"\x86\xdd" and frame[at + 6] == 17:
            size, transport, masked = struct.unpack(">H", frame[at + 4:at + 6])[0] + 40, 48, [1, 2, 3, 7]
        elif kind == b"\x89\x15":
            size, transport, masked = struct.unpack(">H", frame[at + 4:at + 6])[0] + 40, 40, [1, 2, 3, 7]
        else:
            continue
        if kind != b"\x89\x15" and frame[at + transport - 6:at + transport - 4] != b"\x12\xb7":
            continue
        packet = bytearray(frame[at:at + size])
        for index in masked + [transport + 4]:
            packet[index] = 0xff
        if kind != b"\x08\x00":
            packet[0] |= 0x0f
        if kind != b"\x89\x15":
            packet[transport - 2:transport] = b"\xff\xff"
        right = zlib.crc32(bytes(8 * [0xff]) + packet[:-4])
        wrong += packet[-4:] != struct.pack("<I", right)
    return wrong


def _tshark(path, *fields, where=None):
    if shutil.which("tshark") is None:
        raise Skipped("needs tshark")
    command = ["tshark", "-r", path, "-T", "fields"]
    for field in fields:
        command += ["-e", field]
    if where is not None:
        command += ["-Y", where]
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True,
                          check=False)
    check(done.returncode == 0, f"{command}: {done.stderr}")
    return [line.split("\t") for line in done.stdout.splitlines()]


# Words, words that undo them, parts of the names of the samples, and what tshark then shows
# somewhere: a field and a value that the sample did not have. The identification of IPv4 is put to
# 0 first where what comes between has no place for it.
_MANY = ["rc-all-v6", "rc-write-v4", "rc-atomic", "ud-send-v4", "cm-connect", "cm-sidr", "vlan-v1",
         "loss-icrc", "cnp", "neighbors-v4", "xrc-all-v1"]
_NO_ID = ["--rule", "rewrite identification 0"]
_THERE_AND_BACK = [
    (["--mac", "02:00:00=52:54:00"], ["--mac", "52:54:00=02:00:00"], [], [],
     ("eth.src", "52:54:00:")),
    (["--vlan", "none=77", "--priority", "0=3"], ["--vlan", "77=none"], [], ["rc-send", "rc-all"],
     ("vlan.id", "77")),
    (["--vlan", "100=200"], ["--vlan", "200=100"], [], ["vlan"], None),
    (["--ip", "10.0.0.0/16=192.168.0.0/16"], ["--ip", "192.168.0.0/16=10.0.0.0/16"], [], [],
     ("ip.src", "192.168.0.")),
    (["--ip", "fd00::/64=2001:db8::/64"], ["--ip", "2001:db8::/64=fd00::/64"], [], ["v6"],
     ("ipv6.src", "2001:db8::")),
    (["--ip", "10.0.0.0/8=fd00:1::/64"], ["--ip", "fd00:1::/64=10.0.0.0/8"], _NO_ID, ["rc-read-v4", "cm-connect", "loss-icrc", "vlan-v4", "neighbors-v4"],
     ("ipv6.src", "fd00:1::")),
    (["--ip", "10.0.0.0/8=fd00:1::/64", "--keep-identification"],
     ["--ip", "fd00:1::/64=10.0.0.0/8", "--keep-identification"], [], ["rc-read-v4", "cm-connect", "loss-nak", "uc-all-v4"],
     ("ipv6.src", "fd00:1::")),
    (["--roce", "v1"], ["--roce", "v2"], _NO_ID, ["rc-read-v4", "ud-send-v4", "rc-all-v6", "cm-connect", "loss-icrc"],
     ("infiniband.grh.nxthdr", "27")),
    (["--roce", "v2"], ["--roce", "v1"], [], ["-v1"], ("udp.dstport", "4791")),
    (["--udp-port=+1"], ["--udp-port=-1"], [], [], None),
    (["--dscp", "0=26"], ["--dscp", "26=0"], [], [], ("ip.dsfield.dscp", "26")),
    (["--ecn", "0=1"], ["--ecn", "1=0"], [], ["rc-send"], ("ip.dsfield.ecn", "1")),
    (["--ttl", "64=3"], ["--ttl", "3=64"], [], [], ("ip.ttl", "3")),
    (["--flow-label=+5"], ["--flow-label=-5"], [], ["v6", "-v1"], None),
    (["--qpn", "0x11=0x99"], ["--qpn", "0x99=0x11"], [], [], ("infiniband.bth.destqp", "0x000099")),
    (["--qpn=+0x1000"], ["--qpn=-0x1000"], [], [], None),
    (["--psn=+0x1234"], ["--psn=-0x1234"], [], [], None),
    (["--rkey=+0x55"], ["--rkey=-0x55"], [], [], None),
    (["--address=+0x100000"], ["--address=-0x100000"], [], [], None),
    (["--pkey", "0xffff=0x8001"], ["--pkey", "0x8001=0xffff"], [], [],
     ("infiniband.bth.p_key", "32769")),
    (["--qkey=+1"], ["--qkey=-1"], [], ["ud", "cm"], None),
    (["--immediate=+1"], ["--immediate=-1"], [], ["all", "send"], None),
    (["--shift", "1.000000001"], ["--shift=-1.000000001"], [], [], None),
    (["--scale", "4"], ["--scale", "0.25"], [], [], None),
    (["--rule", "rewrite reserved7 +1"], ["--rule", "rewrite reserved7 -1"], [], [], None),
    (["--rule", "rewrite psn 5 keep-icrc"], None, [], ["rc-send"], None),
    (["--only", "of QP 0x12", "--pkey", "0x8002"], ["--only", "of QP 0x12", "--pkey", "0xffff"], [],
     ["rc-"], ("infiniband.bth.p_key", "32770")),
]


@case("edit/every option there and back gives the same file, checks as before, and tshark sees it")
def _(context):
    for there, back, first, parts, seen in _THERE_AND_BACK:
        shown = False
        for path in _samples(*(parts or _MANY)):
            name = f"{os.path.basename(path)} {there}"
            before, _ = _edit(context, path, "before.pcap", *first)
            edited, report = _edit(context, before, "edited.pcap", *there)
            if back is None:
                check(_wrong_icrcs(edited) > 0, f"{name}: the ICRC was mended")
                continue
            again, _ = _edit(context, edited, "again.pcap", *back)
            check(_bytes(before) == _bytes(again), f"{name}: undone it is another file")
            check(_faults(context, before) == _faults(context, edited), f"{name}: other faults")
            check(_wrong_icrcs(before) == _wrong_icrcs(edited), f"{name}: ICRC")
            check((_bytes(before) != _bytes(edited)) == (report["changed"] > 0
                  or there[0].startswith(("--shift", "--scale"))), f"{name}: {report}")
            if seen is not None and not shown:
                shown = any(value[0].startswith(seen[1]) for value in _tshark(edited, seen[0]))
        check(seen is None or shown, f"{there}: tshark sees no {seen}")


@case("edit/no option at all writes the same frames, with the same checks")
def _(context):
    for path in _samples():
        out, report = _edit(context, path, "plain.pcap")
        again, _ = _edit(context, out, "plain2.pcap")
        check(report["changed"] == 0 and _bytes(out) == _bytes(again), f"{path}: {report}")
        check(_faults(context, path) == _faults(context, out), path)


@case("edit/an ICRC that was wrong stays so by the same bits, unless it is to be repaired")
def _(context):
    path = os.path.join(_PCAPS, "loss-icrc.pcapng")
    out, report = _edit(context, path, "wrong.pcap", "--pkey", "0x8001")
    check(report["wrong_icrc"] == 1 and _wrong_icrcs(out) == 1, f"{report}")
    out, _ = _edit(context, path, "right.pcap", "--pkey", "0x8001", "--repair-icrc")
    check(_wrong_icrcs(out) == 0, "not repaired")
    frames = len(list(_frames(out)))
    out, _ = _edit(context, path, "kept.pcap", "--pkey", "0x8001", "--keep-icrc")
    check(_wrong_icrcs(out) == frames, "not left wrong")


@case("edit/which frames stay")
def _(context):
    path = os.path.join(_PCAPS, "loss-nak.pcapng")
    whole, report = _edit(context, path, "whole.pcap")
    frames = list(_frames(whole))
    begin = frames[0][0]

    def kept(*words):
        out, done = _edit(context, path, "kept.pcap", *words)
        left = list(_frames(out))
        check(done["written"] == len(left) and done["left_out"] == len(frames) - len(left), f"{done}")
        return [frames.index(frame) + 1 for frame in left]
    check(kept("--frames", "2-3,5,9-") == [2, 3, 5, 9, 10], "frames")
    check(kept("--stream", "0") == list(range(1, len(frames) + 1)), "stream 0")
    seconds = [(at - begin) / 1e9 for at, _ in frames]
    check(kept("--from", f"{seconds[3]:.9f}", "--to", f"{seconds[6]:.9f}") == [4, 5, 6, 7], "time")
    check(kept("--from", f"@{frames[8][0] // 10**9}.{frames[8][0] % 10**9:09}") == [9, 10], "epoch")
    acks = [int(row[0]) for row in _tshark(path, "frame.number", where="infiniband.aeth")]
    check(kept("--keep", "ACKNOWLEDGE") == acks and acks, f"keep {acks}")
    check(kept("--drop", "ACKNOWLEDGE") == [n + 1 for n in range(len(frames)) if n + 1 not in acks],
          "drop")
    check(kept("--keep", "first 2") == [1, 2], "first")


@case("edit/payload and snap length")
def _(context):
    path = os.path.join(_PCAPS, "rc-all-v6.pcapng")
    out, _ = _edit(context, path, "zero.pcap", "--payload", "zero")
    check(_faults(context, out)[1] == [] and _wrong_icrcs(out) == 0, "zeros")
    out, _ = _edit(context, path, "cut.pcap", "--payload", "cut")
    icrc, faults = _faults(context, out)
    check(faults == [] and icrc["wrong"] == 0, f"cut: {faults} {icrc}")
    out, _ = _edit(context, path, "removed.pcap", "--payload", "remove")
    check(_wrong_icrcs(out) == 0, "removed")
    out, _ = _edit(context, path, "snap.pcap", "--snap", "96")
    check(max(len(frame) for _, frame in _frames(out)) == 96, "snap")
    # What was cut is edited as far as it goes, and can be undone.
    edited, _ = _edit(context, out, "snapped.pcap", "--qpn=+5", "--ip", "fd00::/64=10.0.0.0/8")
    again, _ = _edit(context, edited, "again.pcap", "--qpn=-5", "--ip", "10.0.0.0/8=fd00::/64")
    check(_bytes(out) == _bytes(again), "a cut capture there and back")


@case("edit/through pipes, and a dry run writes nothing")
def _(context):
    path = os.path.join(_PCAPS, "rc-send-v4.pcapng")
    out, report = _edit(context, path, "file.pcapng", "--qpn", "0x11=5")
    with open(path, "rb") as file:
        done = subprocess.run([context.program, "edit", "-", "-", "--qpn", "0x11=5"], stdin=file,
                              capture_output=True, check=False)
    check(done.returncode == 0 and done.stdout == _bytes(out), f"{done.stderr}")
    done = context.run("edit", path, "--dry-run", "--json", "--qpn", "0x11=5")
    dry = json.loads(done.stdout)
    check(dry.pop("out") is None and report.pop("out") == out and dry == report, f"{dry}")


@case("edit/what cannot be done is said in one line, and the old file stays")
def _(context):
    out = os.path.join(context.folder, "good.pcap")
    path = os.path.join(_PCAPS, "rc-send-v4.pcapng")
    damaged = os.path.join(context.folder, "damaged.pcapng")
    with open(damaged, "wb") as file:
        file.write(_bytes(path)[:-7])
    with open(out, "wb") as file:
        file.write(b"good")
    for words in (["missing.pcap", out], [path], [], [damaged, out], [path, out, "x"],
                  [path, out, "--qpn", "x"], [path, out, "--ip", "10.0.0.1=fd00::1"],
                  [path, out, "--mtu", "100"], [path, out, "--keep", "nonsense"],
                  [path, out, "--rule", "delay 5ms"], [path, out, "--keep-icrc", "--repair-icrc"],
                  [path, out, "--script", "missing.toml"], [path, out, "--anonymise", "env:NO_SUCH"],
                  [path, out, "--vlan", "5000"], [path, out, "--frames", "9-5"],
                  [path, "/nonexistent/x.pcap"], [path, out, "--roce", "v3"]):
        done = context.run("edit", *words)
        check(done.returncode == _CANNOT and done.stderr.count("\n") == 1 and done.stdout == "",
              f"{words}: {done.returncode}\n{done.stdout}{done.stderr}")
        check(_bytes(out) == b"good", f"{words}: the old file is gone")


def _kinds(context, path):
    """The kinds of faults: of those that every packet sent again is, there are as many as packets."""
    icrc, faults = _faults(context, path)
    return sorted({kind for _, kind in faults}), icrc["wrong"]


def _repeats_as_one(context, path):
    """The faults by kind; of packets sent again after a timeout one, as their number is that of the
    message's packets."""
    kinds, wrong = _kinds(context, path)
    others = [kind for kind in kinds if kind != "retransmission_timeout"]
    return others, "retransmission_timeout" in kinds, wrong


@case("edit/messages cut to another path MTU: as right as before, and tshark counts the packets")
def _(context):
    for path in _samples("rc-all-v1", "rc-read-v4", "uc-all-v4", "xrc-all-v4", "cm-connect", "rnr.",
                         "nak-out", "nak-unknown", "loss-nak", "loss-psn-wrap"):
        before, _ = _edit(context, path, "before.pcap")
        for mtu in ("256", "512", "4096"):
            name = f"{path} --mtu {mtu}"
            done = context.run("edit", before, os.path.join(context.folder, "mtu.pcap"), "--mtu", mtu)
            if done.returncode == _CANNOT and "loss-" in path and mtu == "4096":
                check("repeats a message from where" in done.stderr, f"{name}: {done.stderr}")
                continue
            edited, report = _edit(context, before, "mtu.pcap", "--mtu", mtu)
            check(_repeats_as_one(context, before) == _repeats_as_one(context, edited),
                  f"{name}: other faults")
            check(_wrong_icrcs(before) == _wrong_icrcs(edited), name)
            check(report["messages"]["left_out"] == 0, f"{report}")
            if mtu != "256":
                continue
            largest = max(int(row[0] or 0) for row in _tshark(edited, "data.len") or [["0"]])
            check(largest <= 256, f"{name}: {largest}")


@case("edit/to a smaller path MTU and back is the same file")
def _(context):
    for path in _samples("rc-read-v4", "rc-write-v4", "uc-all-v4", "rc-all-v1"):
        large, _ = _edit(context, path, "large.pcap", "--mtu", "1024")
        small, _ = _edit(context, large, "small.pcap", "--mtu", "256")
        again, _ = _edit(context, small, "again.pcap", "--mtu", "1024")
        check(_bytes(large) == _bytes(again), f"{path}: undone it is another file")


@case("edit/thinned captures are right")
def _(context):
    for path in _samples("rc-all", "uc-all", "ud-send", "xrc-all"):
        out, report = _edit(context, path, "thin.pcap", "--thin", "2")
        check(_kinds(context, out) == ([], 0) and _wrong_icrcs(out) == 0, path)
        kept, left_out = report["messages"]["kept"], report["messages"]["left_out"]
        check(left_out > 0 and kept >= left_out, f"{path}: {report}")


@case("edit/anonymised: nobody's address is left, the same key says the same, the faults are those")
def _(context):
    key = os.path.join(context.folder, "secret.key")
    with open(key, "w", encoding="utf-8") as file:
        file.write("a secret\n")
    for path in _samples(*_MANY, "neighbors-v6", "nak-out-of-bounds"):
        before, _ = _edit(context, path, "before.pcap")
        out, _ = _edit(context, path, "hidden.pcap", "--anonymise", "a secret")
        again, _ = _edit(context, path, "hidden2.pcap", "--anonymise", f"file:{key}")
        other, _ = _edit(context, path, "hidden3.pcap", "--anonymise", "another")
        check(_bytes(out) == _bytes(again) and _bytes(out) != _bytes(other), path)
        check(_faults(context, before) == _faults(context, out), f"{path}: other faults")
        check(_wrong_icrcs(before) == _wrong_icrcs(out), path)
        hidden = _bytes(out)
        for word in (b"\x0a\x00\x00\x01", b"\x0a\x00\x00\x02", bytes.fromhex("020000000001"),
                     bytes.fromhex("fd00000000000000")):
            check(word not in hidden, f"{path}: {word.hex()} is still there")


@case("edit/scripts in TOML and JSON do what options do, stage by stage")
def _(context):
    path = os.path.join(_PCAPS, "rc-write-v4.pcapng")
    toml = os.path.join(context.folder, "edit.toml")
    with open(toml, "w", encoding="utf-8") as file:
        file.write('qpn = "0x12=0x99"\n[[edit]]\nonly = "of QP 0x99"\ndscp = 26\n'
                   '[[edit]]\nrule = "rewrite partition_key 5 WRITE"\n')
    script = os.path.join(context.folder, "edit.json")
    with open(script, "w", encoding="utf-8") as file:
        json.dump({"qpn": ["0x12=0x99"], "edit": [
            {"only": "of QP 0x99", "dscp": 26},
            {"do": "rewrite", "packet": "WRITE", "fields": {"partition_key": 5}}]}, file)
    from_toml, _ = _edit(context, path, "toml.pcap", "--script", toml)
    from_json, _ = _edit(context, path, "json.pcap", "--script", script)
    check(_bytes(from_toml) == _bytes(from_json) and _wrong_icrcs(from_toml) == 0, "differ")
    rows = _tshark(from_toml, "infiniband.bth.destqp", "ip.dsfield.dscp", "infiniband.bth.p_key")
    check({tuple(row) for row in rows} >= {("0x000099", "26", "5"), ("0x000011", "0", "65535")},
          f"{rows}")
    for text, words in (("nonsense = 1", "line 1"), ("[[edit]]\nmtu = 256", "line 2"),
                        ("keep_icrc = 5", "true or false")):
        with open(toml, "w", encoding="utf-8") as file:
            file.write(text + "\n")
        done = context.run("edit", path, "--dry-run", "--script", toml)
        check(done.returncode == _CANNOT and done.stderr.count("\n") == 1 and words in done.stderr,
              f"{text}: {done.stderr}")
