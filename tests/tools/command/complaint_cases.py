# SPDX-License-Identifier: BSD-3-Clause
"""What bad input gets: one line that names cause and mend, the right exit status, nothing left."""

import json
import os
import re
import resource
import shutil
import socket
import subprocess
import tempfile

import network
import processes
from cases import Skipped, case, check

_USAGE, _FAILURE, _NOT_WRITTEN = 2, 1, 2


def _complains(context, status, beginning, *words, inside=None, mentions=()):
    done = context.run(*words, inside=inside)
    said = f"softrnic {' '.join(words)}: exit status {done.returncode}\n{done.stdout}{done.stderr}"
    check(done.returncode == status, f"expected exit status {status}\n{said}")
    check(done.stderr.count("\n") == 1 and done.stderr.endswith("\n"), f"not one line\n{said}")
    check(done.stderr.startswith(beginning), f"does not begin with '{beginning}'\n{said}")
    for word in mentions:
        check(word in done.stderr, f"does not mention '{word}'\n{said}")
    return done


@case("complaint/no subcommand")
def _(context):
    _complains(context, _USAGE, "softrnic: ", mentions=["softrnic --help"])


@case("complaint/unknown subcommand")
def _(context):
    _complains(context, _USAGE, "softrnic: there is no subcommand 'dmeo'", "dmeo")


@case("complaint/unknown option of every subcommand")
def _(context):
    for name in ("check", "demo", "info", "peer", "ping", "pingpong", "replay"):
        _complains(context, _USAGE, f"softrnic {name}: ", name, "--nonsense",
                   mentions=["--nonsense", f"softrnic {name} --help"])


@case("complaint/bad values")
def _(context):
    for words in (["demo", "--mtu", "1000"], ["demo", "--roce", "v3"], ["demo", "--seed", "x"],
                  ["demo", "--fault", "explode 5%"], ["demo", "word"],
                  ["pingpong", "-s", "0"], ["pingpong", "-m", "1500"], ["pingpong", "-n", "-1"],
                  ["pingpong", "-p", "65536"], ["pingpong", "-i", "2"],
                  ["pingpong", "--service", "xrc"], ["pingpong", "--ip", "10.0.0.0.1"],
                  ["pingpong", "--mac", "ff:ff:ff:ff:ff:ff"], ["pingpong", "a", "b"],
                  ["ping", "--link", "tap:x", "nowhere"], ["ping", "--link", "tap:x"],
                  ["ping", "-c", "0", "10.0.0.1"], ["ping", "-i", "soon", "10.0.0.1"],
                  ["peer", "--key", "0"], ["peer", "--region", "0"],
                  ["peer", "--access", "read,fly"], ["peer", "--remote-qpn", "0x1000000"],
                  ["peer", "--remote-qpn", "17"], ["peer", "--script", "does-not-exist"],
                  ["peer", "--script", "/dev/zero"], ["peer", "--script", "/"],
                  ["peer", "--access", "none,read"], ["peer", "--access", ""],
                  ["demo", "-w", ""], ["info", "--fault", "drop 1%"], ["info", "-w", "x"],
                  ["demo", "--fault", "drop\n5\x1b%"]):
        _complains(context, _USAGE, f"softrnic {words[0]}: ", *words)


@case("complaint/what is quoted may hold anything")
def _(context):
    script = os.path.join(context.folder, "binary")
    for content, shown in ((b"drop \x00\x1b[2J", r"\x00\x1b[2J"),
                           (b"drop " + b"x" * 100_000, "bytes more]")):
        with open(script, "wb") as file:
            file.write(content)
        _complains(context, _USAGE, "softrnic demo: ", "demo", "--script", script,
                   mentions=[shown])


@case("complaint/the capture that is read is not overwritten")
def _(context):
    tree = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../..")
    with open(os.path.join(tree, "pcaps/rc-all-v6.pcapng"), "rb") as file:
        sample = file.read()
    capture = os.path.join(context.folder, "only-one.pcapng")
    link = os.path.join(context.folder, "link.pcapng")
    with open(capture, "wb") as file:
        file.write(sample)
    os.symlink(capture, link)
    for words in (["explain", capture, "--html"], ["explain", capture, "--packets-csv"],
                  ["explain", capture, "--messages-csv"], ["explain", capture, "--losses-csv"],
                  ["craft", "--from", capture, "--output"],
                  ["replay", capture, "--to", "memory", "--write"],
                  ["replay", capture, "--as", "requester", "--to", "memory", "--write"],
                  ["replay", capture, "--as", "requester", "--memory"],
                  ["replay", capture, "--as", "requester", "--expect-memory"],
                  ["replay", capture, "--as", "requester", "--expect-messages"]):
        for output in (capture, link):
            _complains(context, _USAGE, f"softrnic {words[0]}: {words[-1]} {output}: ", *words,
                       output, mentions=["name another file"])
            with open(capture, "rb") as file:
                check(file.read() == sample, f"{words}: the capture was overwritten")


@case("complaint/values that do not go together")
def _(context):
    for words, mentions in (
            (["--message-size", "1G", "--rx-depth", "1000"], ["--message-size", "--rx-depth"]),
            (["--qpn", "1"], ["--qpn 1", "2 to 0xfffffe"]),
            (["--qpn", "0xffffff"], ["--qpn 0xffffff", "2 to 0xfffffe"]),
            (["--qpn", "0xfffffe", "--qps", "2"], ["--qpn 0xfffffe", "--qps 2"]),
            (["--service", "ud", "--remote-qpn", "17", "--remote-gid", "10.0.0.1"],
             ["UD needs no other side"])):
        _complains(context, _USAGE, "softrnic peer: ", "peer", *words, mentions=mentions)


@case("complaint/limits that leave no room for what a command needs")
def _(context):
    link = ["--link", "tap:tap1", "--ip", "10.77.0.1/24"]
    for name in ("peer", "pingpong"):
        for limit in ("max_cq=0", "max_cqe=0", "max_cqe=1", "max_cqe=100", "max_qp=0", "max_qp_wr=1",
                      "max_sge=0", "max_mr=0", "max_mr_size=100", "max_pd=0"):
            _complains(context, _FAILURE, f"softrnic {name}: ", name, *link, "--limit", limit,
                       inside=context.network, mentions=[f"the limit {limit}"])
        done = _complains(context, _FAILURE, f"softrnic {name}: --mtu 512: the limit max_mtu=256",
                          name, *link, "-m", "512", "--limit", "max_mtu=256",
                          inside=context.network)
        check("tap1" not in done.stderr, done.stderr)
        _complains(context, _USAGE, f"softrnic {name}: --limit max_mtu=1000", name, *link,
                   "--limit", "max_mtu=1000", mentions=["256, 512, 1024, 2048 or 4096"])


@case("complaint/a file to save to that cannot be written is found at the start")
def _(context):
    path = os.path.join(context.folder, "no-such-folder", "memory")
    for wrong in (path, context.folder):
        _complains(context, _FAILURE, f"softrnic peer: --save {wrong}: ", "peer", "--link",
                   "tap:no-matter", "--save", wrong)


@case("complaint/a folder to load from")
def _(context):
    _complains(context, _FAILURE, f"softrnic peer: --load {context.folder}: ", "peer", "--link",
               "tap:tap1", "--load", context.folder, inside=context.network)


@case("complaint/an interface deleted under its NIC")
def _(context):
    inside = context.network
    inside.run("ip", "link", "add", "veth-a", "type", "veth", "peer", "name", "veth-b")
    inside.run("ip", "link", "set", "veth-a", "up")
    for link, device in (("tap:doomed", "doomed"), ("packet:veth-a", "veth-a")):
        peer = context.start("peer", "--link", link, "--ip", "10.79.0.1/24", "--json",
                             inside=inside)
        with processes.running(peer):
            check('"ready"' in peer.stdout.readline(), "the peer did not start")
            inside.run("ip", "link", "del", device)
            status, _, errors = processes.finish(peer, seconds=20)
            check(status == _FAILURE and errors.count("\n") == 1 and f"{link} is gone" in errors,
                  f"{status} {errors}")


@case("complaint/an interface that is only down is not taken for a deleted one")
def _(context):
    inside = context.network
    inside.run("ip", "link", "add", "veth-a", "type", "veth", "peer", "name", "veth-b")
    inside.run("ip", "link", "set", "veth-a", "up")
    try:
        peer = context.start("peer", "--link", "packet:veth-a", "--ip", "10.79.0.1/24", "--json",
                             "--for", "1", inside=inside)
        with processes.running(peer):
            check('"ready"' in peer.stdout.readline(), "the peer did not start")
            inside.run("ip", "link", "set", "veth-a", "down")
            status, _, errors = processes.finish(peer, seconds=20)
            check(status == 0 and errors == "", f"{status} {errors}")
    finally:
        inside.run("ip", "link", "del", "veth-a")


@case("complaint/no link given")
def _(context):
    for words in (["pingpong"], ["ping", "10.0.0.1"], ["peer"]):
        _complains(context, _USAGE, f"softrnic {words[0]}: --link is missing", *words,
                   mentions=["tap:NAME"])


@case("complaint/links that cannot be")
def _(context):
    for link in ("tap", "tap:", "carrier-pigeon:x", "tap:a/b", "packet:no-such-if",
                 "xdp:no-such-if"):
        _complains(context, _FAILURE, "softrnic ping: ", "ping", "--link", link, "10.0.0.1")


def _run_inside(context, command):
    return subprocess.run(context.network.inside(command), stdin=subprocess.DEVNULL,
                          capture_output=True, text=True, check=False)


@case("complaint/a missing capability")
def _(context):
    if os.geteuid() != 0 or shutil.which("setpriv") is None:
        raise Skipped("needs root, to drop its privileges, and setpriv")
    # The program as an ordinary user could run it: the folder it lies in may be closed to one.
    folder = tempfile.mkdtemp(prefix="softrnic-", dir="/tmp")
    try:
        os.chmod(folder, 0o755)
        program = shutil.copy(context.program, os.path.join(folder, "softrnic"))
        drop = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", program]
        for link in ("tap:srnic-none", "packet:tap1", "xdp:tap1"):
            done = _run_inside(context, [*drop, "ping", "--link", link, "10.0.0.1"])
            said = f"{link}: exit status {done.returncode}\n{done.stderr}"
            check(done.returncode == _FAILURE and done.stderr.count("\n") == 1, said)
            check(done.stderr.startswith("softrnic ping: ") and "root" in done.stderr, said)
        done = _run_inside(context, [*drop, "info", "--json"])
        links = json.loads(done.stdout)["links"]
        check(done.returncode == 0, done.stderr)
        check("root" in links["tap"]["reason"] and "root" in links["packet"]["reason"], f"{links}")
    finally:
        shutil.rmtree(folder)


@case("complaint/more memory than there is")
def _(context):
    _complains(context, _FAILURE, "softrnic peer: there is no room", "peer", "--link", "tap:tap1",
               "--region", "1000G", "--qps", "1", inside=context.network)


@case("complaint/a fault script with a bad line names file and line")
def _(context):
    path = os.path.join(context.folder, "faults")
    with open(path, "w", encoding="utf-8") as file:
        file.write("# a comment\n\ndrop 5%   # fine\n  exploded 5%\n")
    _complains(context, _USAGE, f"softrnic peer: --script {path}, line 4: ", "peer", "--script",
               path, mentions=["exploded"])


@case("complaint/a script in TOML or JSON with a mistake names file and place")
def _(context):
    for name, text, place in (
            ("a.toml", "[[fault]]\ndo = 'drop'\nnth = 0\n", "line 3, column 7: nth: "),
            ("b.toml", "[[fault]\n", "line 1, column "),
            ("c.json", '{"fault": [{"do": "drop", "nth": 0}]}', "fault 1: nth: "),
            ("d.json", '{"fault": [}', "line 1, column ")):
        path = os.path.join(context.folder, name)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        for command in ("peer", "pingpong", "demo"):
            _complains(context, _USAGE, f"softrnic {command}: --script {path}, {place}", command,
                       "--script", path)


@case("complaint/a capture that cannot be written")
def _(context):
    path = os.path.join(context.folder, "no-such-folder", "x.pcapng")
    _complains(context, _FAILURE, "softrnic demo: ", "demo", "-w", path, mentions=[path])


@case("complaint/a full disk under a capture")
def _(context):
    done = context.run("demo", "-w", "/dev/full")
    check(done.returncode == _NOT_WRITTEN, f"exit status {done.returncode}\n{done.stderr}")
    check(done.stderr.startswith("softrnic demo: ") and done.stderr.count("\n") == 1, done.stderr)


def _blocks(path):
    """Lengths of a pcapng file's blocks, and what is left of the last."""
    with open(path, "rb") as file:
        capture = file.read()
    lengths, at = [], 0
    while len(capture) - at >= 12:
        length = int.from_bytes(capture[at + 4:at + 8], "little")
        if length > len(capture) - at:
            break
        lengths.append(length)
        at += length
    return lengths, len(capture) - at


@case("complaint/a disk that fills under a capture leaves whole packets")
def _(context):
    path = os.path.join(context.folder, "cut.pcapng")
    room = 300001  # within a packet: a block is a multiple of four

    def small_disk():
        resource.setrlimit(resource.RLIMIT_FSIZE, (room, room))

    # A file may not grow beyond that: EFBIG, since Python ignores SIGXFSZ and so does its child.
    done = subprocess.run([context.program, "demo", "-w", path], stdin=subprocess.DEVNULL,
                          capture_output=True, text=True, check=False, restore_signals=False,
                          preexec_fn=small_disk)
    check(done.returncode == _NOT_WRITTEN and f"{path} is incomplete" in done.stderr, f"{done}")
    lengths, rest = _blocks(path)
    check(rest == 0, f"{rest} bytes of a block are left at the end")
    check(room - 5000 < sum(lengths) < room, f"{sum(lengths)} bytes are there")


@case("complaint/a full disk under the output")
def _(context):
    _complains_of_output([context.program, "demo"])
    link = ["--link", "tap:tap1", "--ip", "10.77.0.1/24"]
    for words in (["peer", *link, "--for", "0.01"], ["peer", *link, "--for", "0.01", "--json"]):
        _complains_of_output(context.network.inside([context.program, *words]))


_SAMPLE = os.path.join(os.path.dirname(os.path.abspath(__file__)),
                       "../../../pcaps/loss-nak.pcapng")
_PRINTING = (["check", _SAMPLE], ["check", _SAMPLE, "--json"], ["check", "--help"],
             ["craft", "--list"], ["craft", "--from", _SAMPLE], ["craft", "rc send_only"],
             ["demo"], ["diff", _SAMPLE, _SAMPLE], ["edit", _SAMPLE, "-"],
             ["edit", _SAMPLE, "--dry-run"], ["explain", _SAMPLE], ["explain", _SAMPLE, "--json"],
             ["explain", _SAMPLE, "--messages"], ["explain", _SAMPLE, "--html", "-"],
             ["explain", _SAMPLE, "--packets-csv", "-"], ["info"], ["replay", _SAMPLE],
             ["replay", _SAMPLE, "--to", "memory"],
             ["replay", _SAMPLE, "--to", "memory", "--as", "requester"], ["--help"], ["--version"])


@case("complaint/a full disk or nobody under the output of every subcommand")
def _(context):
    for words in _PRINTING:
        _complains_of_output([context.program, *words])
        reader, writer = os.pipe()
        os.close(reader)
        with os.fdopen(writer, "w", encoding="utf-8") as nobody:
            done = subprocess.run([context.program, *words], stdin=subprocess.DEVNULL,
                                  stdout=nobody, stderr=subprocess.PIPE, text=True, check=False)
        check(done.returncode == _NOT_WRITTEN and done.stderr.count("\n") == 1, f"{done}")
        check("Broken pipe" in done.stderr, f"{done}")


@case("complaint/options that would do nothing")
def _(context):
    table = os.path.join(context.folder, "table.csv")
    os.makedirs(os.path.join(context.folder, "inside"), exist_ok=True)
    same = os.path.join(context.folder, "inside/../table.csv")
    side = ["--to", "memory", "--as", "requester"]
    for words, mentions in (
            (["explain", "--stream", "9"], ["--stream 9", "one connection, 0"]),
            (["explain", "--qpn", "0x99"], ["--qpn 0x99", "no connection"]),
            (["explain", "--address", "10.9.9.9"], ["--address 10.9.9.9", "no connection"]),
            (["explain", "--html", "-", "--json"], ["--json"]),
            (["explain", "--packets-csv", table, "--losses-csv", same], ["--losses-csv", "one file"]),
            (["explain", "--html", table, "--messages-csv", table], ["--html", "one file"]),
            (["edit", table, "--stream", "9"], ["--stream 9", "no such stream"]),
            (["edit", table, "--frames", "11-"], ["--frames 11", "ends with frame 10"]),
            (["edit", table, "--keep-icrc", "--mtu", "256"], ["--keep-icrc", "--mtu"]),
            (["edit", table, "--mtu", "256", "--frames", "1"], ["--mtu", "whole connections"]),
            (["replay", "--stream", "0"], ["--stream", "give --to LINK"]),
            (["replay", "--pace", "fast"], ["--pace", "give --to LINK"]),
            (["replay", "--loop", "2"], ["--loop", "give --to LINK"]),
            (["replay", "-w", table], ["--write", "give --to LINK"]),
            (["replay", "--to", "memory", "--primed"], ["--primed", "--as requester"]),
            (["replay", "--to", "memory", "--faithful"], ["--faithful", "--as responder"]),
            (["replay", "--to", "memory", "--stream", "0"], ["--stream", "--as requester"]),
            (["replay", "--to", "memory", "--pps", "9", "--rate", "9k"], ["--rate", "--pps"]),
            (["replay", "--to", "memory", "--pps", "9", "--pace", "fast"], ["--pace", "--pps"]),
            (["replay", *side, "--loop", "2"], ["--loop", "--as requester"]),
            (["replay", *side, "--listen", "9"], ["--listen", "--as responder"]),
            (["replay", *side, "--stream", "9"], ["it has 0"]),
            (["diff", _SAMPLE, "--json", "--side-by-side"], ["--side-by-side", "--json"])):
        _complains(context, _USAGE, f"softrnic {words[0]}: ", words[0], _SAMPLE, *words[1:],
                   mentions=mentions)
        check(not os.path.exists(table), f"{words} left {table}")


@case("complaint/craft's words and files that are none")
def _(context):
    out = os.path.join(context.folder, "none.pcapng")
    for words, mentions in (
            (["--from", _SAMPLE, "--to", "tap:x"], ["--from", "softrnic replay"]),
            (["rc send_only", "--fast"], ["--fast", "--to LINK"]),
            (["--file", _SAMPLE, "-o", out], ["is a capture", "--from"]),
            (["--file", "/dev/zero", "-o", out], ["/dev/zero is no text"]),
            (["--file", "/dev/null", "-o", out], ["no packet"]),
            (["# nothing", "-o", out], ["no packet"])):
        _complains(context, _USAGE, "softrnic craft: ", "craft", *words, mentions=mentions)
        check(not os.path.exists(out), f"{words} left {out}")
    done = subprocess.run([context.program, "craft", b"rc \xff\x1b\xc2\x9b\xc3\xa9"],
                          stdin=subprocess.DEVNULL, capture_output=True, check=False)
    check(done.returncode == _USAGE and r"\xff\x1b\xc2\x9b".encode() + "é".encode() in done.stderr,
          f"{done}")


@case("complaint/captures that are none")
def _(context):
    _complains(context, _USAGE, "softrnic check: the name of the capture is empty", "check", "")
    _complains(context, _USAGE, "softrnic check: cannot read /proc/self/mem: ", "check",
               "/proc/self/mem")


@case("complaint/file names that hold anything stay in their line")
def _(context):
    name = os.fsencode(context.folder) + b"/a\x1b[31m\n\xff.pcapng"
    shutil.copy(_SAMPLE, name)
    for words in (["check"], ["explain"], ["replay"], ["replay", "--to", "memory"],
                  ["replay", "--to", "memory", "--as", "requester"], ["edit", "--dry-run"],
                  ["diff", _SAMPLE], ["check", "--json"], ["replay", "--json"],
                  ["replay", "--to", "memory", "--as", "requester", "--json"]):
        done = subprocess.run([context.program, *words, name], stdin=subprocess.DEVNULL,
                              capture_output=True, check=False)
        check(done.returncode in (0, 1) and not done.stderr, f"{done}")
        check(b"\x1b" not in done.stdout and b"\xff" not in done.stdout, f"{done}")
        shown = b"a\\u001b[31m\\n" if "--json" in words else b"a\\x1b[31m\\x0a\\xff.pcapng"
        check(shown in done.stdout, f"{done}")


@case("complaint/a full disk under the output of a pingpong")
def _(context):
    peer = context.start("peer", "--link", "tap:tap1", "--ip", "10.77.0.1/24", "--listen", "18601",
                         "--json", inside=context.network)
    with processes.running(peer):
        check('"ready"' in peer.stdout.readline(), "the peer did not start")
        words = ["pingpong", "--link", "tap:tap2", "--ip", "10.77.0.2/24", "-p", "18601", "-n", "5",
                 network.BRIDGE_IPV4]
        _complains_of_output(context.network.inside([context.program, *words]))


def _complains_of_output(command):
    with open("/dev/full", "w", encoding="utf-8") as full:
        done = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=full,
                              stderr=subprocess.PIPE, text=True, check=False)
    check(done.returncode == _NOT_WRITTEN and done.stderr.count("\n") == 1, f"{done}")
    check(re.search("standard output could not be written|cannot write standard output",
                    done.stderr), f"{done}")


@case("complaint/a link that fails leaves no capture behind")
def _(context):
    path = os.path.join(context.folder, "left.pcapng")
    _complains(context, _FAILURE, "softrnic ping: ", "ping", "--link", "packet:no-such-if", "-w",
               path, "10.0.0.1")
    check(not os.path.exists(path), f"{path} was left behind")


@case("complaint/a taken TCP port")
def _(context):
    inside = context.network
    taken = context.start("pingpong", "--link", "tap:tap1", "--ip", "10.77.0.1/24", "-p", "18600",
                          inside=inside)
    with processes.running(taken):
        _wait_for_line(taken, "local address")
        _complains(context, _FAILURE, "softrnic pingpong: TCP port 18600 is taken", "pingpong",
                   "--link", "tap:tap2", "--ip", "10.77.0.2/24", "-p", "18600", inside=inside,
                   mentions=["-p"])


def _wait_for_line(process, words):
    for line in process.stdout:
        if words in line:
            return
    raise AssertionError(f"ended without a line with '{words}': {process.stderr.read()}")


@case("complaint/nobody at the other end of the exchange")
def _(context):
    with socket.socket() as unused:  # a port that is ours, and that nobody listens on
        unused.bind(("127.0.0.1", 0))
        port = str(unused.getsockname()[1])
        _complains(context, _FAILURE, "softrnic pingpong: cannot connect to 127.0.0.1", "pingpong",
                   "--link", "tap:tap1", "--ip", "10.77.0.1/24", "-p", port, "127.0.0.1",
                   inside=context.network, mentions=[port, "start the server first"])


@case("complaint/a path MTU the link cannot carry")
def _(context):
    inside = context.network
    inside.run("ip", "link", "set", "tap2", "mtu", "1500")
    try:
        _complains(context, _FAILURE, "softrnic pingpong: --mtu 4096", "pingpong", "--link",
                   "tap:tap2", "--ip", "10.77.0.2/24", "-m", "4096", inside=inside,
                   mentions=["1024", "--link-mtu"])
    finally:
        inside.run("ip", "link", "set", "tap2", "mtu", "9000")


@case("complaint/a UD message larger than a packet")
def _(context):
    _complains(context, _FAILURE, "softrnic pingpong: --size 4097", "pingpong", "--service", "ud",
               "--link", "tap:tap1", "--ip", "10.77.0.1/24", "-s", "4097", inside=context.network)


@case("complaint/a GID that is not there")
def _(context):
    _complains(context, _USAGE, "softrnic pingpong: --gid-idx 9", "pingpong", "--link", "tap:tap1",
               "--ip", "10.77.0.1/24", "-g", "9", inside=context.network)


@case("complaint/a TAP that is in use")
def _(context):
    inside = context.network
    first = context.start("peer", "--service", "ud", "--link", "tap:tap1", "--ip", "10.77.0.1/24",
                          inside=inside)
    with processes.running(first):
        _wait_for_line(first, "softrnic peer")
        _complains(context, _FAILURE, "softrnic ping: ", "ping", "--link", "tap:tap1", "--ip",
                   "10.77.0.2/24", "10.77.0.254", inside=inside, mentions=["tap1"])
