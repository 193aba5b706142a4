# SPDX-License-Identifier: BSD-3-Clause
"""softrnic craft: what goes in, what comes out, and the examples of docs/craft.md as they stand."""

import glob
import json
import os
import re
import subprocess
import sys

import processes
from cases import case, check

_TOP = os.path.abspath(os.path.join(os.path.dirname(__file__), "../../.."))
_CONSOLE = re.compile(r"```console\n(.*?)```", re.S)
_CONVERSATION = re.compile(r"```\n(from .*?)```", re.S)
_JSON = re.compile(r"```json\n(.*?)```", re.S)


def run_documented(context, document):
    """Each "$ command" of a document, run by a shell in the scratch folder, prints what follows it."""
    with open(os.path.join(_TOP, "docs", document), encoding="utf-8") as file:
        text = file.read()
    if not os.path.exists(os.path.join(context.folder, "pcaps")):
        os.symlink(os.path.join(_TOP, "pcaps"), os.path.join(context.folder, "pcaps"))
    environment = dict(os.environ)
    environment["PATH"] = os.path.dirname(os.path.abspath(context.program)) + ":" + environment["PATH"]
    commands = 0
    for block in _CONSOLE.findall(text):
        for part in re.split(r"^\$ ", block, flags=re.M)[1:]:
            command, _, expected = part.partition("\n")
            done = subprocess.run(["bash", "-c", command], cwd=context.folder, env=environment,
                                  stdin=subprocess.DEVNULL, capture_output=True, text=True,
                                  check=False)
            printed = done.stdout + done.stderr
            check(printed == expected, f"$ {command}\nprints\n{printed}\nand not\n{expected}")
            commands += 1
    return text, commands


@case("craft/the examples of docs/craft.md")
def _(context):
    text, commands = run_documented(context, "craft.md")
    check(commands >= 8, f"only {commands} commands were found")
    conversation = _CONVERSATION.search(text).group(1)
    path = os.path.join(context.folder, "conversation.pcapng")
    done = context.run("craft", "-o", path, "-", text_in=conversation)
    check(done.returncode == 0, done.stderr)
    check("23 frames" in done.stdout, done.stdout)
    script = os.path.join(context.folder, "script.json")
    with open(script, "w", encoding="utf-8") as file:
        file.write(_JSON.search(text).group(1))
    done = context.run("craft", "--file", script, "--json")
    check(done.returncode == 0, done.stderr)
    check(json.loads(done.stdout)["frames"] == 6, done.stdout)


def _frames(context, *words):
    done = context.run("craft", "--json", *words)
    check(done.returncode == 0, done.stderr)
    return [packet["frame"] for packet in json.loads(done.stdout)["packets"]]


@case("craft/text, TOML, JSON, arguments and standard input say the same")
def _(context):
    lines = ["from fd00::1 qp 5 to fd00::2 mac 02:00:00:00:00:99", "set mtu=256 v1",
             "rc write 700 va=0x1000 rkey=7 solicited", "rc ack", "rc send_only payload='a b'"]
    toml = ('[from]\naddress = "fd00::1"\nqp = 5\n[to]\naddress = "fd00::2"\n'
            'mac = "02:00:00:00:00:99"\n[set]\nmtu = 256\nv1 = true\n'
            '[[packets]]\npacket = "rc write 700"\nva = 0x1000\nrkey = 7\nsolicited = true\n'
            '[[packets]]\npacket = "rc ack"\n[[packets]]\npacket = "rc send_only"\ntext = "a b"\n')
    expected = _frames(context, *lines)
    check(len(expected) == 5, expected)
    for name, text in (("x.txt", "\n".join(lines)), ("x.toml", toml)):
        path = os.path.join(context.folder, name)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        check(_frames(context, "--file", path) == expected, f"{name} differs")
    done = context.run("craft", "--json", "-", text_in="\n".join(lines))
    check([p["frame"] for p in json.loads(done.stdout)["packets"]] == expected, "stdin differs")
    capture = os.path.join(context.folder, "x.pcapng")
    context.run("craft", "-o", capture, *lines)
    described = os.path.join(context.folder, "described.json")
    done = context.run("craft", "--from", capture, "--json", "-o", described)
    check(done.returncode == 0, done.stderr)
    check(_frames(context, "--file", described) == expected, "--from --json differs")


@case("craft/every sample capture comes out of its description as it was")
def _(context):
    captures = glob.glob(os.path.join(_TOP, "pcaps", "*.pcapng"))
    check(len(captures) > 40, f"only {len(captures)} captures were found")
    for capture in captures:
        text, again = (os.path.join(context.folder, name) for name in ("d.txt", "d.pcapng"))
        for words in (["--from", capture, "-o", text], ["--file", text, "-o", again]):
            done = context.run("craft", *words)
            check(done.returncode == 0, f"{capture}: {done.stderr}")
        first, second = ([line for line in context.run("craft", "--from", path).stdout.splitlines()]
                         for path in (capture, again))
        check(first == second, f"{capture} differs from what its description gives")
        old, new = (context.run("check", path, "--json").stdout for path in (capture, again))
        old, new = json.loads(old), json.loads(new)
        old["file"] = new["file"] = ""
        check(old == new, f"check sees another capture than {capture}")


@case("craft/what cannot be is one line, status 2, and leaves the older file alone")
def _(context):
    path = os.path.join(context.folder, "kept.pcapng")
    check(context.run("craft", "-o", path, "rc send_only").returncode == 0, "it was not written")
    with open(path, "rb") as file:
        before = file.read()
    toml = os.path.join(context.folder, "wrong.toml")
    with open(toml, "w", encoding="utf-8") as file:
        file.write('[[packets]]\npacket = "rc send_only"\nrkye = 5\n')
    cases = [(["rc send_only", "rc snd_only"], "argument 2, column 4"),
             (["-f", "/no/such/file"], "cannot be read"),
             (["-f", toml], "line 3, column 1: \"rkye\" is no field: did you mean rkey?"),
             (["--from", "/no/such/capture"], "cannot open"),
             (["--to", "nowhere:0", "rc ack"], "nowhere"),
             ([], "a description is missing"),
             (["--from", path, "rc ack"], "alone"),
             (["rc send_only payload=file:/no/such/file"], "cannot be read"),
             (["--list", "nonsense"], "no packet"),
             (["rc send_only payload='\x1b[31m"], "not closed")]
    for words, expected in cases:
        done = context.run("craft", "-o", path, *words)
        check(done.returncode == 2, f"{words}: status {done.returncode}")
        check(done.stdout == "" and done.stderr.count("\n") == 1 and expected in done.stderr,
              f"{words}: {done.stderr!r}")
        with open(path, "rb") as file:
            check(file.read() == before, f"{words} changed the file")
    check(os.listdir(context.folder).count("kept.pcapng") == 1, "something was left")


# Prints each frame that comes in on an interface, with its time in seconds.
_LISTENER = """
import socket, sys, time
listener = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3))
listener.bind((sys.argv[1], 0))
listener.settimeout(20)
print("ready", flush=True)
left = int(sys.argv[2])
while left > 0:
    frame = listener.recv(65536)
    if frame[:3].hex() != "02000a":  # the kernel's own
        continue
    print(time.monotonic(), frame.hex(), flush=True)
    left -= 1
"""


@case("craft/frames that are sent arrive as they are, each at its time")
def _(context):
    lines = ["from 10.0.0.1 to 10.0.0.2", "rc write 3000", "+100ms rc ack", "rc send_only icrc=bad"]
    expected = _frames(context, *lines)
    listener = processes.start(
        context.network.inside([sys.executable, "-c", _LISTENER, "tap1", str(len(expected))]),
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    with processes.running(listener):
        check(listener.stdout.readline() == "ready\n", "the listener did not start")
        done = context.run("craft", "--to", "tap:tap1", "--json", *lines, inside=context.network)
        check(done.returncode == 0, done.stderr)
        _, output, errors = processes.finish(listener)
    arrived = [line.split() for line in output.splitlines()]
    check([frame for _, frame in arrived] == expected, f"{len(arrived)} frames, or others: {errors}")
    # A frame is never early; a busy machine may make it late.
    gap = float(arrived[3][0]) - float(arrived[2][0])
    check(gap > 0.05, f"the ACK came {gap} s after the WRITE")
    report = json.loads(done.stdout)
    check(report["frames"] == 5 and report["dropped"] == 0, done.stdout)


@case("craft/--list names what craft takes")
def _(context):
    listed = json.loads(context.run("craft", "--list", "--json").stdout)
    names = [packet["name"] for packet in listed["packets"]]
    check(len(names) > 70, names)
    frames = _frames(context, *names)
    check(len(frames) == len(names), "not every listed packet is crafted")
    for opcode, frame in zip((p["opcode"] for p in listed["packets"]), frames):
        if opcode is not None:
            check(int(frame[84:86], 16) == int(opcode, 16), f"{opcode}: {frame}")
    check("reth.remote_key" in listed["fields"] and listed["aliases"]["rkey"] == "remote_key", listed)
