# SPDX-License-Identifier: BSD-3-Clause
"""softrnic diff: on the samples, on runs of the demo, and on replays against peers that misbehave."""

import json
import os

import network
import processes
from cases import case, check

_PCAPS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../../pcaps")
_SAME, _DIFFERENT, _COULD_NOT = 0, 1, 2


def _demo(context, name, seed, *faults):
    path = os.path.join(context.folder, name + ".pcapng")
    words = [word for fault in faults for word in ("--fault", fault)]
    if not faults:
        words = ["--fault", "tx drop 1000000th"]
    done = context.run("demo", "--seed", str(seed), *words, "-w", path)
    check(done.returncode == 0 or faults, done.stdout + done.stderr)
    return path


def _sample(name):
    return os.path.join(_PCAPS, name + ".pcapng")


def _diff(context, *words):
    done = context.run("diff", *words, "--json")
    check(done.returncode in (_SAME, _DIFFERENT), f"{words}: {done.stdout}{done.stderr}")
    report = json.loads(done.stdout)
    check((report["differences"] == 0) == (done.returncode == _SAME), done.stdout)
    return report


def _first(report):
    for connection in report["connections"]:
        for each in connection["differences"]:
            return each["time_ns"], each["kind"], each["sentence"]
    return None


@case("diff/the same dialogue over v1, v2, IPv4 and IPv6")
def _(context):
    for name in ("rc-all-v6", "rc-all-v1-v6"):
        report = _diff(context, _sample("rc-all-v1"), _sample(name))
        check(report["differences"] == 0 and report["connections"][0]["messages"] > 10,
              json.dumps(report, indent=1))
    for first, second in (("uc-all-v4", "uc-all-v1"), ("ud-send-v4", "ud-send-v6"),
                          ("xrc-all-v4", "xrc-all-v1"), ("rc-send-v4", "vlan-v4")):
        report = _diff(context, _sample(first), _sample(second))
        check(report["differences"] == 0 and len(report["connections"]) >= 1,
              json.dumps(report, indent=1))


@case("diff/every sample is like itself")
def _(context):
    names = sorted(name for name in os.listdir(_PCAPS) if name.endswith(".pcapng"))
    check(len(names) > 30, str(names))
    for name in names:
        path = os.path.join(_PCAPS, name)
        report = _diff(context, path, path)
        check(report["differences"] == 0, name + json.dumps(report, indent=1))


@case("diff/two runs of the demo, with other numbers and payloads")
def _(context):
    report = _diff(context, _demo(context, "a", 7), _demo(context, "b", 7))
    check(report["differences"] == 0, json.dumps(report, indent=1))


@case("diff/what only the live sample shows comes first")
def _(context):
    for captured, live, kind, words in (
            ("loss-nak", "loss-icrc", "bad_icrc",
             "the live requester sent RC RDMA WRITE Middle at the WRITE of message 1"),
            ("loss-psn-wrap", "nak-write-refused", "other_operation", ""),
            ("loss-timeout", "rnr-exceeded", "rnr_nak", "was not ready for the SEND of message 1"),
            ("rc-send-v4", "loss-ack", "timeout", "was silent to the SEND of message 1"),
            ("rnr", "loss-timeout", "timeout", "and answered at last"),
            ("loss-timeout", "retry-exceeded", "timeout", "and never answered")):
        report = _diff(context, _sample(captured), _sample(live))
        said = f"{captured} and {live}\n{json.dumps(report, indent=1)}"
        first = _first(report)
        check(first is not None and first[1] == kind and words in first[2], said)


@case("diff/side by side")
def _(context):
    captured, live = _sample("rnr"), _sample("loss-timeout")
    done = context.run("diff", captured, live, "--side-by-side")
    check(done.returncode in (_SAME, _DIFFERENT), done.stdout + done.stderr)
    table = [line for line in done.stdout.splitlines() if "->" in line or "<-" in line]
    marks = {line[58:61].strip() for line in table}
    check("RNR NAK" in done.stdout and table and marks - {""}, done.stdout)
    same = context.run("diff", captured, captured, "--side-by-side", "--all")
    check(same.returncode == _SAME and same.stdout.count("RNR NAK") % 2 == 0, same.stdout)


@case("diff/what cannot be told gets one line and exit status 2")
def _(context):
    sample = _sample("rnr")
    empty = os.path.join(context.folder, "empty.pcap")
    with open(empty, "wb"):
        pass
    for words, what in (((sample,), "two captures"), ((), "two captures"),
                        ((sample, "/nowhere.pcap"), "/nowhere.pcap"), ((sample, empty), empty),
                        (("-", "-"), "standard input"),
                        ((sample, sample, "--captured", "9"), "no such"),
                        ((sample, sample, "--live", "x"), "--live x"),
                        ((sample, sample, "--late", "soon"), "--late soon")):
        done = context.run("diff", *words)
        check(done.returncode == _COULD_NOT and done.stdout == "" and done.stderr.count("\n") == 1
              and what in done.stderr, f"{words}: {done.returncode}\n{done.stdout}{done.stderr}")


# What a live peer does, and the kind and words of the first difference that it makes.
_MISBEHAVIOURS = (
    (None, None, ""),
    ("rx silence 1st WRITE", "timeout", "was silent to the WRITE of message 5"),
    ("tx rewrite syndrome 0x62 5th ACK", "refusal",
     "refused the WRITE of message 5 with NAK remote access error; the captured one acknowledged"),
    ("tx rewrite syndrome 0x2c 2nd ACK", "rnr_nak", "was not ready for the SEND of message 2"),
    ("tx rewrite msn +3 2nd ACK", "msn", "answered the SEND of message 2 with MSN 5, 3 more"),
    ("tx rewrite psn +1 2nd ACK", "stray_answer", "an acknowledgement of PSN +2 at the SEND"),
    ("tx corrupt payload 1st READ RESPONSE repair-icrc", "response_payload", "1 of 64"),
    ("tx drop 1st READ RESPONSE MIDDLE", "response_gap", "left out responses to the READ"),
    ("tx duplicate 3ms 2nd ACK", "repeated_answer", "answered the SEND of message 2 again"),
    ("tx rewrite opcode 0x0d 1st READ RESPONSE LAST", "response_opcode",
     "READ response First; the captured one with RC RDMA READ response Last"),
    ("tx corrupt icrc 2nd ACK", "bad_icrc", "an acknowledgement at the SEND of message 2 with a"),
    ("tx delay 500ms 2nd ACK", "timeout", "was silent to the SEND of message 2"),
)
_KEY, _ADDRESS, _PORT = 0x1234, 0x7000, "18741"


def _play_against_peer(context, sample, script, live):
    """Replays a sample's requester against a peer that follows a script; writes `live`."""
    memory = os.path.join(context.folder, "diff-memory")
    done = context.run("replay", sample, "--as", "requester", "--memory", memory, "--json")
    check(done.returncode == 0, done.stdout + done.stderr)
    prepared = json.loads(done.stdout)
    peer = context.start("peer", "--link", "tap:tap1", "--ip", "fd00:77::1/64", "--json",
                         "--listen", _PORT, "--no-echo", "--region",
                         str(max(prepared["memory"]["size"], 1)), "--key", str(_KEY), "--address",
                         str(_ADDRESS), "--load", memory, "--message-size", "1M", "--mtu",
                         str(prepared["path_mtu"]), *script, inside=context.network)
    with processes.running(peer):
        check("ready" in peer.stdout.readline(), "the peer does not start")
        return context.run("replay", sample, "--to", "tap:tap2", "--ip", "fd00:77::2/64", "--as",
                           "requester", "--peer", f"{network.BRIDGE_IPV4}:{_PORT}", "--peer-key",
                           str(_KEY), "--peer-address", str(_ADDRESS), "--primed", "--pace", "fast",
                           "--ack-timeout", "16", "-w", live, "--json", inside=context.network)


@case("diff/a live peer's misbehaviour is the first difference")
def _(context):
    sample = _sample("rc-all-v6")
    for number, (rule, kind, words) in enumerate(_MISBEHAVIOURS):
        script = os.path.join(context.folder, f"misbehaviour{number}.toml")
        with open(script, "w", encoding="utf-8") as file:
            file.write(f'fault = ["{rule}"]\n' if rule else "fault = []\n")
        live = os.path.join(context.folder, f"misbehaviour{number}.pcapng")
        done = _play_against_peer(context, sample, ["--script", script], live)
        report = _diff(context, sample, live, "--late", "0")
        first = _first(report)
        said = f"{rule}\n{json.dumps(report, indent=1)}\n{done.stdout}{done.stderr}"
        if kind is None:
            check(first is None and report["connections"][0]["messages"] > 10, said)
        else:
            check(first is not None and first[1] == kind and words in first[2], said)
