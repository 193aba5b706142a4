# SPDX-License-Identifier: BSD-3-Clause
"""softrnic replay --to LINK: the frames of a capture, as they are, onto a link."""

import json
import os
import signal
import struct
import subprocess

import processes
from cases import case, check

_PCAPS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../../pcaps")
_ALL_SENT, _SOME_NOT, _COULD_NOT = 0, 1, 2

# Prints the frames of the samples' stations that an interface sees, in hexadecimal.
_LISTENER = """
import socket, sys
s = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3))
s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 22)
s.bind((sys.argv[1], 0))
s.settimeout(20)
print("ready", flush=True)
left = int(sys.argv[2])
while left > 0:
    frame = s.recv(65536).hex()
    if frame.startswith("0200000000"):
        print(frame)
        left -= 1
"""


def _sample(name):
    return os.path.join(_PCAPS, name + ".pcapng")


def _blocks(path):
    with open(path, "rb") as file:
        whole = file.read()
    at = 0
    while at < len(whole):
        kind, size = struct.unpack_from("<II", whole, at)
        yield kind, whole[at + 8:at + size - 4]
        at += size


def _frames(path):
    """The frames of a pcapng file of softrnic's own, in hexadecimal."""
    frames = []
    for kind, body in _blocks(path):
        if kind == 6:
            size = struct.unpack_from("<I", body, 12)[0]
            frames.append(body[20:20 + size].hex())
    return frames


def _write_pcap(path, link_type, frames, cut=0):
    with open(path, "wb") as file:
        file.write(struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 65535, link_type))
        for number, frame in enumerate(frames):
            file.write(struct.pack("<IIII", 1, number, len(frame), len(frame) + cut) + frame)


def _received(network, interface):
    links = json.loads(network.run("ip", "-json", "-statistics", "link", "show", interface))
    return links[0]["stats64"]["rx"]["packets"]


def _run(context, *words, inside=None):
    done = context.run("replay", *words, "--json", inside=inside)
    report = json.loads(done.stdout) if done.stdout else None
    return done, report


def _expect(done, status):
    check(done.returncode == status, f"exit status {done.returncode}\n{done.stdout}{done.stderr}")


@case("wire replay/gaps, speed and rate on a wire in memory")
def _(context):
    sample = _sample("loss-nak")
    frames = _frames(sample)
    done, captured = _run(context, sample, "--to", "memory")
    _expect(done, _ALL_SENT)
    check(captured["sent"] == len(frames) and captured["as"] == "wire", done.stdout)
    check(captured["sent_bytes"] == sum(len(frame) // 2 for frame in frames), done.stdout)
    check(captured["timing"]["max_ns"] == 0 and captured["timing"]["late"] == 0, done.stdout)
    _, twice = _run(context, sample, "--to", "memory", "--pace", "2x")
    check(abs(captured["duration_ns"] - 2 * twice["duration_ns"]) <= 2, done.stdout)
    _, fast = _run(context, sample, "--to", "memory", "--pace", "fast", "--loop", "100")
    check(fast["sent"] == 100 * len(frames) and fast["duration_ns"] == 0, str(fast))
    check(fast["timing"] is None and fast["loops"] == 100, str(fast))
    _, pps = _run(context, sample, "--to", "memory", "--pps", "1M")
    check(pps["duration_ns"] == 1000 * (len(frames) - 1), str(pps))
    _, rate = _run(context, sample, "--to", "memory", "--rate", "1Gbit/s")
    expected = 8 * sum(len(frame) // 2 for frame in frames[:-1])
    check(abs(rate["duration_ns"] - expected) <= 1, str(rate))


@case("wire replay/only the frames that are asked for")
def _(context):
    sample = _sample("loss-nak")
    frames = _frames(sample)
    _, report = _run(context, sample, "--to", "memory", "--frames", "2-4,6")
    check(report["sent"] == 4, str(report))
    _, report = _run(context, sample, "--to", "memory", "--filter", "src host 10.0.0.1")
    there = [frame for frame in frames if frame[52:60] == "0a000001"]
    check(report["sent"] == len(there) and report["not_asked_for"] == len(frames) - len(there),
          str(report))


@case("wire replay/frames that are cut, too large or without an Ethernet header")
def _(context):
    frames = [bytes.fromhex(frame) for frame in _frames(_sample("loss-nak"))]
    path = os.path.join(context.folder, "frames.pcap")
    _write_pcap(path, 1, [frame[:60] for frame in frames], cut=8)
    done, report = _run(context, path, "--to", "memory")
    _expect(done, _SOME_NOT)
    check(report["sent"] == 0 and report["frames_cut"] == len(frames), done.stdout)
    done, report = _run(context, path, "--to", "memory", "--pad")
    _expect(done, _ALL_SENT)
    check(report["sent"] == len(frames) and report["sent_bytes"] == 68 * len(frames), done.stdout)

    _write_pcap(path, 1, [bytes(2000), frames[0]])
    done, report = _run(context, path, "--to", "memory", "--link-mtu", "1500")
    _expect(done, _SOME_NOT)
    check(report["sent"] == 1 and report["too_large"] == 1, done.stdout)

    _write_pcap(path, 101, [frame[14:] for frame in frames])
    done = context.run("replay", path, "--to", "memory")
    _expect(done, _COULD_NOT)
    check("--to-mac" in done.stderr and done.stderr.count("\n") == 1, done.stderr)
    done, report = _run(context, path, "--to", "memory", "--to-mac", "02:00:00:00:00:02")
    _expect(done, _ALL_SENT)
    check(report["sent_bytes"] == sum(map(len, frames)), done.stdout)


@case("wire replay/what is not understood gets one line")
def _(context):
    sample = _sample("loss-nak")
    for words, what in ((("--to", "memory", "--rate", "fast"), "--rate fast"),
                        (("--to", "memory", "--pps", "0"), "--pps 0"),
                        (("--to", "memory", "--frames", "3-1"), "3-1"),
                        (("--to", "memory", "--filter", "port port"), "port port"),
                        (("--to", "packet:none0"), "none0"),
                        (("--to", "carrier:pigeon"), "carrier"),
                        (("--as", "wire"), "--to LINK is missing"),
                        (("--to", "memory", "--as", "pigeon"), "pigeon")):
        done = context.run("replay", sample, *words)
        check(done.returncode == 2 and done.stderr.count("\n") == 1 and what in done.stderr
              and done.stdout == "", f"{words}: {done.returncode}\n{done.stdout}{done.stderr}")


@case("wire replay/a TAP's other end gets the same bytes")
def _(context):
    network = context.network
    frames = _frames(_sample("rc-write-v4"))
    listener = processes.start(network.inside(["python3", "-c", _LISTENER, "tap1",
                                               str(len(frames))]),
                               stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE, text=True)
    with processes.running(listener):
        check(listener.stdout.readline() == "ready\n", listener.stderr)
        done, report = _run(context, _sample("rc-write-v4"), "--to", "tap:tap1", inside=network)
        _expect(done, _ALL_SENT)
        check(report["sent"] == len(frames) and report["dropped"] == 0, done.stdout)
        check(report["timing"]["gaps"] == len(frames) - 1, done.stdout)
        _, seen, errors = processes.finish(listener)
    check(seen.split() == frames, f"{seen}\n{errors}")


@case("wire replay/what comes back is captured")
def _(context):
    network = context.network
    sample = _sample("neighbors-v4")  # alice, 10.0.0.1, asks where 10.0.0.2 is
    path = os.path.join(context.folder, "answers.pcapng")
    network.run("ip", "addr", "add", "10.0.0.2/24", "dev", "br0")
    try:
        done, report = _run(context, sample, "--to", "tap:tap1", "--filter",
                            "arp[6:2] = 1", "-w", path, "--linger", "1", inside=network)
    finally:
        network.run("ip", "addr", "del", "10.0.0.2/24", "dev", "br0")
    _expect(done, _ALL_SENT)
    check(report["received"] >= 1 and report["capture"] == path, done.stdout)
    written = _frames(path)
    check(len(written) == report["sent"] + report["received"], f"{written}\n{done.stdout}")
    answers = [frame for frame in written if frame[24:28] == "0806" and frame[40:44] == "0002"]
    check(answers and answers[0][56:64] == "0a000002", str(written))


@case("wire replay/an endless one ends at Ctrl-C, with its report")
def _(context):
    network = context.network
    before = _received(network, "tap2")
    process = context.start("replay", _sample("loss-nak"), "--to", "tap:tap2", "--loop", "0",
                            "--pps", "2000", "--json", inside=network)
    with processes.running(process):
        while _received(network, "tap2") < before + 100:
            check(process.poll() is None, "it ended by itself")
        process.send_signal(signal.SIGINT)
        status, output, errors = processes.finish(process)
    check(status == 2 and errors.count("\n") == 1 and "interrupted after" in errors,
          f"{status}\n{output}{errors}")
    report = json.loads(output)
    check(report["sent"] >= 100 and not report["complete"], output)
