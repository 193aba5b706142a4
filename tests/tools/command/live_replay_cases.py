# SPDX-License-Identifier: BSD-3-Clause
"""softrnic replay --as requester and --as responder: in memory, and against softrnic peer."""

import glob
import json
import os
import signal

import network
import pingpong_cases
import processes
from cases import case, check

_PCAPS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../../pcaps")
_ALIKE, _DIFFERS, _COULD_NOT = 0, 1, 2
_KEY, _ADDRESS, _PORT = 0x1234, 0x7000, "18740"


def _samples():
    """Every capture with a reliable connection."""
    for path in sorted(glob.glob(os.environ.get("SOFTRNIC_CAPTURES",
                                                os.path.join(_PCAPS, "*.pcapng")))):
        name = os.path.basename(path)
        if name.startswith(("uc-", "ud-", "xrc-", "udaddy", "cm-sidr", "cm-reject", "cm-retry",
                            "peer-cm-reject", "peer-udaddy", "srq-x")):
            continue
        yield path


def _replayed(context, *words, status=_ALIKE, inside=None):
    done = context.run("replay", *words, "--json", inside=inside)
    said = f"softrnic replay {' '.join(words)}: exit status {done.returncode}\n"
    said += done.stdout + done.stderr
    check(done.returncode in ((_ALIKE, _DIFFERS) if status is None else (status,))
          and done.stderr == "", said)
    return json.loads(done.stdout), said


def _check_complete(report, said):
    operations = report["operations"]
    check(report["completed"] and report["why_not"] is None, said)
    check(operations["completed"] == operations["captured"], said)
    check(report["answers"]["different"] == 0, said)


@case("live replay/both ends of every sample, in memory")
def _(context):
    for path in _samples():
        for mode in ("requester", "responder"):
            report, said = _replayed(context, path, "--to", "memory", "--as", mode, "--seed", "7",
                                     status=None)
            _check_complete(report, said)
            # What was refused is not refused again; nothing else is otherwise than captured.
            for connection in report["difference"]["connections"]:
                kinds = {difference["kind"] for difference in connection["differences"]}
                check(kinds <= {"accepted"}, said)
            messages = report["messages"]
            check(messages["taken"] == messages["as_captured"], said)
            check(report["heard"]["live"] == report["heard"]["captured"], said)
            # What was refused in the capture has no answer there.
            check(report["answers"]["compared"] == report["answers"]["captured"], said)


_MISBEHAVIOURS = (  # of the peer, seen by us; and what the first difference is called
    ("rx rewrite syndrome 0x62 2nd ACK", "refusal"),
    ("rx rewrite msn +1 2nd ACK", "msn"),
    ("rx corrupt payload repair-icrc 2nd READ RESPONSE", "response_payload"),
    ("rx corrupt icrc 2nd ACK", "bad_icrc"),
    ("tx answer rnr 1 first 1 SEND", "rnr_nak"),
)


@case("live replay/what a peer does wrong is the first difference")
def _(context):
    path = os.path.join(_PCAPS, "rc-all-v6.pcapng")
    report, said = _replayed(context, path, "--to", "memory", "--as", "requester", "--seed", "7")
    check(report["difference"]["differences"] == 0, said)
    for fault, kind in _MISBEHAVIOURS:
        report, said = _replayed(context, path, "--to", "memory", "--as", "requester", "--seed", "7",
                                 "--fault", fault, status=_DIFFERS)
        first = report["difference"]["connections"][0]["differences"][0]
        check(first["kind"] == kind, f"{fault}: expected {kind} first\n{said}")


def _against_peer(context, path):
    def file(name):
        return os.path.join(context.folder, name)
    prepared, _ = _replayed(context, path, "--as", "requester", "--memory", file("before"),
                            "--expect-memory", file("after"), "--expect-messages", file("messages"))
    ipv4 = "." in prepared["us"]["address"]
    address = ["10.77.0.1/24", "10.77.0.2/24"] if ipv4 else ["fd00:77::1/64", "fd00:77::2/64"]
    size = max(prepared["memory"]["size"], 1)
    peer = context.start("peer", "--link", "tap:tap1", "--ip", address[0], "--json", "--listen",
                         _PORT, "--no-echo", "--gid-idx", "2" if prepared["roce"] == "v1" else "3",
                         "--region", str(size), "--key", str(_KEY), "--address", str(_ADDRESS),
                         "--access", "read,write,atomic,flush",
                         "--load", file("before"), "--save", file("saved"),
                         "--save-messages", file("taken"), "--message-size", "1M",
                         "--mtu", str(prepared["path_mtu"]),
                         inside=context.network)
    with processes.running(peer):
        check("ready" in peer.stdout.readline(), f"{path}: the peer does not start")
        report, said = _replayed(context, path, "--to", "tap:tap2", "--ip", address[1], "--as",
                                 "requester", "--peer", f"{network.BRIDGE_IPV4}:{_PORT}", "--peer-key", str(_KEY),
                                 "--peer-address", str(_ADDRESS), "--primed", "--pace", "fast",
                                 "--patience", "0.05", "--no-diff", inside=context.network)
        peer.send_signal(signal.SIGINT)
        status, output, errors = processes.finish(peer)
        check(status == 0 and errors == "", f"{path}: {output}{errors}")
    _check_complete(report, said)
    for expected, got in (("after", "saved"), ("messages", "taken")):
        with open(file(expected), "rb") as one, open(file(got), "rb") as other:
            wanted, had = one.read(), other.read()
        check(wanted == had[:len(wanted)] and len(had) == max(len(wanted), got == "saved"),
              f"{path}: the peer's {got} is not as captured\n{said}\n{output}")
    return report


@case("live replay/every sample against softrnic peer, with the captured payloads delivered")
def _(context):
    count = 0
    for path in _samples():
        _against_peer(context, path)
        count += 1
    check(count > 10, f"only {count} samples")


@case("live replay/Ctrl-C ends it while it waits, and while it plays")
def _(context):
    path = os.path.join(_PCAPS, "rc-all-v6.pcapng")
    waits = ["--as", "responder", "--listen", "18741"]
    plays = ["--as", "requester", "--peer-qpn", "0x99", "--peer-gid", "fd00:77::9", "--captured-keys",
             "--ack-timeout", "0", "--timeout", "0"]
    for words, line in ((waits, "waiting for the client"), (plays, "us: ")):
        replay = context.start("replay", path, "--to", "tap:tap2", "--ip", "fd00:77::2/64", *words,
                               inside=context.network)
        with processes.running(replay):
            said = pingpong_cases.await_line(replay, line)
            replay.send_signal(signal.SIGINT)
            status, output, errors = processes.finish(replay)
        check(status == _DIFFERS and errors.count("\n") <= 1, f"{status}\n{said}{output}{errors}")
        check("interrupted" in output + errors, f"{said}{output}{errors}")


@case("live replay/what does not go together gets one line")
def _(context):
    path = os.path.join(_PCAPS, "rc-all-v6.pcapng")
    memory = ["--to", "memory", "--as", "requester"]
    for words in (["--as", "requester"], ["--to", "memory", "--as", "king"],
                  [*memory, "--stream", "9"], [*memory, "--connection", "x-y"],
                  [*memory, "--stream", "0", "--connection", "[fd00::1]-[fd00::2]"],
                  [*memory, "--pace", "0"], [*memory, "--map", "1=2"], [*memory, "--qpn", "1"],
                  [*memory, "--peer", "host"], [*memory, "--captured-keys", "--peer-key", "1"],
                  ["--to", "tap:x", "--as", "requester"],
                  ["--to", "tap:x", "--as", "requester", "--peer", "host:0"],
                  ["--to", "tap:x", "--as", "responder", "--peer", "host"],
                  ["--as", "requester", "--memory", "/nowhere/at/all"]):
        done = context.run("replay", path, *words)
        said = f"replay {words}: {done.returncode}\n{done.stdout}{done.stderr}"
        check(done.returncode == _COULD_NOT and done.stderr.count("\n") == 1, said)
        check(done.stderr.startswith("softrnic replay: "), said)
