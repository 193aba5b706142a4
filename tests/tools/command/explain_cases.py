# SPDX-License-Identifier: BSD-3-Clause
"""softrnic explain, on the sample captures and on captures of its own making."""

import csv
import glob
import json
import os
import re
import shutil
import subprocess

import check_cases
import processes
from cases import Skipped, case, check

_TREE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../..")
_PCAPS = os.path.join(_TREE, "pcaps")
_UNREADABLE = 2

# How the connections of a sample end that do not stay open.
_ENDS = {
    "nak-invalidated-key": "refused",
    "nak-invalid-request": "refused",
    "nak-out-of-bounds": "refused",
    "nak-remote-access-read": "refused",
    "nak-remote-access-write": "refused",
    "nak-remote-operational": "refused",
    "nak-unknown-key": "refused",
    "nak-write-refused": "refused",
    "retry-exceeded": "exhausted",
    "rnr-exceeded": "exhausted",
}
# What mended the losses of a sample, and how many there were.
_LOSSES = {
    "loss-ack": {"timeout": 1},
    "loss-icrc": {"nak": 1},
    "loss-nak": {"nak": 1},
    "loss-psn-wrap": {"nak": 1},
    "loss-read-response": {"implied": 1},
    "loss-timeout": {"timeout": 1},
}


def _sample(name):
    return os.path.join(_PCAPS, name + ".pcapng")


def _explain(context, *words):
    return context.run("explain", *words)


def _report(context, *words):
    done = _explain(context, *words, "--json")
    check(done.returncode == 0 and done.stderr == "",
          f"{words}: exit status {done.returncode}\n{done.stdout}{done.stderr}")
    return json.loads(done.stdout)


def _causes(report):
    sums = {}
    for connection in report["connections"]:
        for cause, n in connection["losses"]["by_cause"].items():
            if n != 0:
                sums[cause] = sums.get(cause, 0) + n
    return sums


@case("explain/every sample: as many faults as check finds, and the ends and losses it is to show")
def _(context):
    paths = sorted(glob.glob(_sample("*")))
    check(len(paths) > 10, f"only {len(paths)} samples in {_PCAPS}")
    for path in paths:
        name = os.path.basename(path).removesuffix(".pcapng")
        report = _report(context, path)
        checked = json.loads(context.run("check", path, "--json").stdout)
        check(report["faults"] == checked["errors"] + checked["warnings"], f"{name}: {report}")
        check(report["icrc"] == checked["icrc"] and report["traffic"] == checked["traffic"], name)
        check(report["connection_count"] == len(report["connections"]) == checked["streams"], name)
        check(report["messages"] == checked["messages"], name)
        ends = {one["ended"] for one in report["connections"]} - {"open", "disconnected"}
        check(ends == ({_ENDS[name]} if name in _ENDS else set()), f"{name}: {ends}")
        if name in _LOSSES:
            check(_causes(report) == _LOSSES[name], f"{name}: {_causes(report)}")
        if checked["errors"] + checked["warnings"] != 0:
            check(report["worst_moments"], f"{name} has faults and no worst moment")
        for moment in report["worst_moments"]:
            check(re.search(r"\bframe \d", moment["what"]) and "IBTA" in moment["standard"]
                  and moment["look_at"], f"{name}: {moment}")


@case("explain/a connection set up and ended by CM")
def _(context):
    report = _report(context, _sample("cm-connect"))
    found = [one for one in report["connections"] if one["service"] == "rc"]
    check(len(found) == 1 and found[0]["established"] == "cm", f"{found}")
    check(found[0]["ended"] == "disconnected" and found[0]["cm"]["request_frame"], f"{found}")


@case("explain/analyze is the same command")
def _(context):
    words = (_sample("loss-nak"),)
    check(context.run("analyze", *words).stdout == _explain(context, *words).stdout, "differs")


def _columns(heading):
    """The names in the first column of the table that docs/explain.md has under a heading."""
    with open(os.path.join(_TREE, "docs/explain.md"), encoding="utf-8") as file:
        text = file.read()
    check(f"## {heading}\n" in text, f"docs/explain.md has no {heading}")
    part = text.split(f"## {heading}\n", 1)[1].split("\n## ", 1)[0]
    rows = [line for line in part.split("\n") if line.startswith("| `")]
    return [name for row in rows for name in re.findall(r"`(\w+)`", row.split("|")[1])]


def _rows(path):
    with open(path, encoding="utf-8", newline="") as file:
        reader = csv.DictReader(file)
        rows = list(reader)
    check(all(None not in row and None not in row.values() for row in rows), f"{path} is ragged")
    return reader.fieldnames, rows


@case("explain/tables of packets, messages and losses agree with the report and the document")
def _(context):
    paths = {kind: os.path.join(context.folder, kind + ".csv")
             for kind in ("packets", "messages", "losses")}
    capture = os.path.join(context.folder, "explained.pcapng")
    done = context.run("demo", "--seed", "3", "--fault", "drop 3%", "-w", capture)
    check(done.returncode == 0, done.stderr)
    options = [word for kind, path in paths.items() for word in (f"--{kind}-csv", path)]
    report = _report(context, capture, *options)
    tables = {}
    for kind, path in paths.items():
        names, tables[kind] = _rows(path)
        check(names == _columns(f"Packets, messages and losses as tables: {kind}"),
              f"{kind}: {names}")
    with open(paths["messages"], encoding="utf-8") as file:
        check(_explain(context, capture, "--messages-csv", "-").stdout == file.read(),
              "standard output gets another table, or the report besides")
    roce = report["traffic"]["roce_v1"] + report["traffic"]["roce_v2"]
    check(len(tables["packets"]) == roce, f"{len(tables['packets'])} packets of {roce}")
    check(len(tables["messages"]) == report["messages"], f"{len(tables['messages'])} messages")
    check(len(tables["losses"]) == report["loss_count"] > 0, f"{len(tables['losses'])} losses")
    frames = [int(row["first_frame"]) for row in tables["messages"]]
    check(frames == sorted(frames), "messages are out of order")
    by_outcome = sum(row["outcome"] == "completed" for row in tables["messages"])
    check(by_outcome == sum(one["completed"] for one in report["operations"]), f"{by_outcome}")
    for one in report["connections"]:
        lost = [int(row["time_lost_ns"]) for row in tables["losses"]
                if row["connection"] == str(one["id"])]
        told = one["losses"]["time_lost_ns"]  # what two share counts once
        check(max(lost, default=0) <= told <= sum(lost), f"{told} ns of {lost}")
        check(one["losses"]["losses"] == len(lost), f"{one['losses']}")
    again = sum(row["repetition"] != "0" for row in tables["packets"])
    sent_again = sum(side["retransmitted_packets"] for one in report["connections"]
                     for side in one["directions"])
    check(again == sent_again, f"{again} packets sent again in the table, {sent_again} told")


@case("explain/--messages: a line for each, the same as text and as lines of JSON")
def _(context):
    path = _sample("rc-all-v6")
    lines = _explain(context, path, "--messages").stdout.splitlines()
    objects = [json.loads(line)
               for line in _explain(context, path, "--messages", "--json").stdout.splitlines()]
    check(len(objects) == _report(context, path)["messages"] == len(lines) - 1, f"{lines}")
    for line, one in zip(lines[1:], objects):
        check(int(line.split()[0]) == one["first_frame"] and one["outcome"] in line, line)


@case("explain/filters leave what they name")
def _(context):
    path = _sample("cm-connect")
    everything = _report(context, path)
    check(everything["connection_count"] > 1, f"{everything['connection_count']} connections")
    one = everything["connections"][1]
    for words in (("--stream", "1"), ("--qpn", str(one["ends"][0]["qpn"]))):
        report = _report(context, path, *words)
        check([c["id"] for c in report["connections"]] == [1], f"{words}: {report}")
    other = next(c for c in everything["connections"] if c["ends"][0]["qpn"] != one["ends"][0]["qpn"])
    done = context.run("explain", path, "--stream", str(other["id"]), "--qpn",
                       str(one["ends"][0]["qpn"]))
    check(done.returncode == 2 and "all that" in done.stderr, f"{done}")


@case("explain/through a pipe, as classic pcap, and cut to 64 bytes a frame")
def _(context):
    path = _sample("loss-nak")
    expected = _report(context, path)
    with open(path, "rb") as file:
        done = subprocess.run([context.program, "explain", "-", "--json"], stdin=file,
                              capture_output=True, check=False)
    piped = json.loads(done.stdout)
    check(piped.pop("file") == "-" and expected.pop("file") == path, f"{piped}")
    check(piped == expected, "a pipe gives another report")
    if shutil.which("editcap") is None:
        raise Skipped("needs editcap")
    for words in (("-F", "nsecpcap"), ("-s", "64")):
        changed = os.path.join(context.folder, "changed.pcap")
        subprocess.run(["editcap", *words, path, changed], check=True, capture_output=True)
        report = _report(context, changed)
        check(_causes(report) == {"nak": 1} and report["faults"] == 1, f"{words}: {report}")
        check(report["icrc"]["wrong"] == 0, f"{words}: {report['icrc']}")


@case("explain/a file that ends in the middle is explained as far as it goes")
def _(context):
    with open(_sample("loss-nak"), "rb") as file:
        whole = file.read()
    path = os.path.join(context.folder, "half.pcapng")
    with open(path, "wb") as file:
        file.write(whole[:-5])
    table = os.path.join(context.folder, "half.csv")
    done = _explain(context, path, "--packets-csv", table)
    said = f"{done.returncode}\n{done.stdout}{done.stderr}"
    check(done.returncode == _UNREADABLE and done.stderr.count("\n") == 1, said)
    check("Not read to the end" in done.stdout and "Worst moments" in done.stdout, said)
    check(len(_rows(table)[1]) >= 8, said)
    report = json.loads(_explain(context, path, "--json").stdout)
    check(report["complete"] is False, f"{report}")


@case("explain/what cannot be done gets one line and exit status 2")
def _(context):
    missing = os.path.join(context.folder, "missing.pcap")
    sample = _sample("loss-nak")
    nowhere = os.path.join(context.folder, "no-folder", "packets.csv")
    for words in ([], [missing], [context.folder], [sample, "--address", "here"],
                  [sample, "--qpn", "0x1000000"], [sample, "--stream", "first"],
                  [sample, "--packets-csv", nowhere],
                  [sample, "--packets-csv", "-", "--losses-csv", "-"]):
        done = _explain(context, *words)
        said = f"{words}: {done.returncode}\n{done.stdout}{done.stderr}"
        check(done.returncode == _UNREADABLE and done.stderr.count("\n") == 1, said)
        check(done.stderr.startswith("softrnic explain: ") and done.stdout == "", said)


@case("explain/Ctrl-C in an endless pipe gives what was seen until then")
def _(context):
    with open(_sample("loss-nak"), "rb") as file:
        whole = file.read()
    process = processes.start([context.program, "explain", "-"], stdin=subprocess.PIPE,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    with processes.running(process):
        process.stdin.write(whole)
        process.stdin.flush()
        check_cases._await_empty(process.stdin)
        # The beginning of one more record: taken only when those before it were looked at.
        process.stdin.write(b"\x06\x00\x00\x00")
        process.stdin.flush()
        check_cases._await_empty(process.stdin)
        check_cases._interrupt(process)
        output, errors = process.stdout.read().decode(), process.stderr.read().decode()
        said = f"{process.returncode}\n{output}{errors}"
        check(process.returncode == _UNREADABLE and "interrupted after frame" in errors, said)
        check("10 frames" in output and "Worst moments" in output, said)


@case("explain/colours on a terminal alone, and not where NO_COLOR says so")
def _(context):
    path = _sample("loss-nak")
    check("\x1b[" not in _explain(context, path).stdout, "colours in a pipe")
    if shutil.which("script") is None:
        raise Skipped("needs script, to make a terminal")
    environment = {k: v for k, v in os.environ.items() if k != "NO_COLOR"}
    for changes, coloured in (({}, True), ({"NO_COLOR": "1"}, False)):
        done = subprocess.run(["script", "-qec", f"{context.program} explain {path}", "/dev/null"],
                              stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False,
                              env=environment | changes)
        check(("\x1b[1m" in done.stdout) == coloured, done.stdout)
        check("Worst moments" in done.stdout, done.stdout)
