# SPDX-License-Identifier: BSD-3-Clause
"""softrnic check, on the sample captures and on captures of its own making."""

import array
import contextlib
import fcntl
import glob
import json
import os
import shutil
import signal
import struct
import subprocess
import termios
import time

import processes
from cases import Skipped, case, check

_PCAPS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../../pcaps")
_CLEAN, _FAULTS, _BAD = 0, 1, 2

# Frame and kind of every fault of a sample; those not named here have none.
_SAMPLE_FAULTS = {
    "cm-retry": [(2, "retransmission_timeout")],
    "loss-ack": [(3, "retransmission_timeout")],
    "loss-icrc": [(3, "bad_icrc"), (6, "nak_psn_sequence")],
    "loss-nak": [(6, "nak_psn_sequence")],
    "loss-psn-wrap": [(6, "nak_psn_sequence")],
    "loss-read-response": [(7, "retransmission_implied")],
    "loss-timeout": [(2, "retransmission_timeout")],
    "nak-invalid-request": [(4, "nak_invalid_request")],
    "nak-out-of-bounds": [(6, "nak_remote_access")],
    "nak-remote-access-read": [(2, "nak_remote_access")],
    "nak-remote-access-write": [(4, "nak_remote_access")],
    "nak-remote-operational": [(2, "nak_remote_operational")],
    "nak-unknown-key": [(4, "nak_remote_access")],
    "nak-write-refused": [(4, "nak_remote_access")],
    "reorder": [(3, "psn_gap"), (6, "nak_psn_sequence"), (7, "nak_psn_sequence")],
    "retry-exceeded": [(2, "retransmission_timeout"), (3, "retransmission_timeout"),
                       (4, "retransmission_timeout"), (4, "unanswered")],
    "rnr-exceeded": [(2, "rnr_nak"), (4, "rnr_nak"), (6, "rnr_nak")],
    "rnr": [(3, "rnr_nak"), (6, "rnr_nak"), (9, "rnr_nak")],
    "ghost": [(7, "retransmission_timeout")],
    "loss-atomic-ack": [(3, "retransmission_timeout")],
    "loss-ip-header": [(3, "bad_icrc"), (4, "psn_gap"), (6, "nak_psn_sequence")],
    "loss-nak-itself": [(6, "nak_psn_sequence"), (7, "retransmission_timeout"),
                        (8, "retransmission_timeout"), (9, "retransmission_timeout"),
                        (10, "retransmission_timeout"), (11, "retransmission_timeout")],
    "loss-rnr-nak": [(3, "rnr_nak"), (4, "retransmission_timeout"), (5, "retransmission_timeout")],
    "loss-transport-header": [(3, "bad_icrc"), (4, "psn_gap"), (6, "nak_psn_sequence")],
    "nak-invalidated-key": [(8, "nak_remote_access")],
    "partition-mismatch": [(2, "retransmission_timeout")],
    "selective-repeat": [(6, "selective_ack")],
}
# Of those that show something else when the frames are cut behind their headers: there is no ICRC,
# and no CM message.
_CUT_FAULTS = {"cm-retry": [], "loss-icrc": [(6, "nak_psn_sequence")],
               "loss-ip-header": [(3, "ip_checksum"), (4, "psn_gap"), (6, "nak_psn_sequence")],
               "loss-transport-header": [(4, "psn_gap"), (6, "nak_psn_sequence")]}


def _check(context, *words):
    return context.run("check", *words)


def _report(context, path, *words):
    done = _check(context, path, "--json", *words)
    check(done.returncode in (_CLEAN, _FAULTS) and done.stderr == "",
          f"{path}: exit status {done.returncode}\n{done.stdout}{done.stderr}")
    report = json.loads(done.stdout)
    faults = [(fault["frame"], fault["kind"]) for fault in report["faults"]]
    check(done.returncode == (_FAULTS if faults else _CLEAN),
          f"{path}: exit status {done.returncode} with {faults}")
    check(report["complete"] and report["errors"] + report["warnings"] == len(faults), done.stdout)
    return report, faults


def _samples():
    samples = sorted(glob.glob(os.path.join(_PCAPS, "*.pcapng")))
    check(len(samples) > 10, f"only {len(samples)} samples in {_PCAPS}")
    return samples


@case("check/every sample capture has the faults it is to show, and no others")
def _(context):
    for path in _samples():
        name = os.path.basename(path).removesuffix(".pcapng")
        report, faults = _report(context, path)
        expected = _SAMPLE_FAULTS.get(name, [])
        check(faults == expected, f"{name}: {faults}\nand not {expected}")
        check(report["icrc"]["unverified"] == 0, f"{name}: {report['icrc']}")
    unknown = set(_SAMPLE_FAULTS) - {os.path.basename(path)[:-len(".pcapng")]
                                     for path in _samples()}
    check(not unknown, f"no such samples: {unknown}")


def _editcap(*words):
    if shutil.which("editcap") is None:
        raise Skipped("needs editcap")
    done = subprocess.run(["editcap", *words], stdin=subprocess.DEVNULL, capture_output=True,
                          text=True, check=False)
    check(done.returncode == 0, f"editcap {words}: {done.stderr}")


@case("check/samples cut to 64 bytes a frame: the same faults, no ICRC called wrong")
def _(context):
    cut = os.path.join(context.folder, "cut.pcapng")
    for path in _samples():
        name = os.path.basename(path).removesuffix(".pcapng")
        _editcap("-s", "64", path, cut)
        report, faults = _report(context, cut)
        check(report["icrc"]["wrong"] == 0, f"{name}: {report['icrc']}")
        if report["headers_cut"] != 0:  # IPv6 and v1 leave no room for a BTH in 64 bytes
            check("v6" in name or "v1" in name, f"{name}: {report['headers_cut']} headers cut")
            continue
        expected = _CUT_FAULTS.get(name, _SAMPLE_FAULTS.get(name, []))
        check(faults == expected, f"{name}: {faults}\nand not {expected}")


def _mirrored(path, out):
    """Every frame twice, the second time with other MAC addresses and one hop less to go."""
    with open(path, "rb") as file:
        magic, rest = file.read(24), file.read()
    check(magic[:4] == b"\x4d\x3c\xb2\xa1", f"{path} is no pcap of nanoseconds")
    written = magic
    while rest:
        seconds, fraction, captured, size = struct.unpack("<IIII", rest[:16])
        frame, rest = bytearray(rest[16:16 + captured]), rest[16 + captured:]
        written += struct.pack("<IIII", seconds, fraction, captured, size) + frame
        frame[0:12] = b"\x02\x77" * 6
        if frame[12:14] == b"\x08\x00":
            frame[14 + 8] -= 1
            frame[14 + 10:14 + 12] = b"\0\0"  # left to be filled in
        elif frame[12:14] == b"\x86\xdd":
            frame[14 + 7] -= 1
        written += struct.pack("<IIII", seconds, fraction + 300, captured, size) + frame
    with open(out, "wb") as file:
        file.write(written)


@case("check/samples that a switch mirrored twice: the same faults, and each copy is counted")
def _(context):
    classic = os.path.join(context.folder, "once.pcap")
    twice = os.path.join(context.folder, "twice.pcap")
    for path in _samples():
        name = os.path.basename(path).removesuffix(".pcapng")
        if name in ("duplicate", "reorder"):  # what these show a mirror does as well
            continue
        _editcap("-F", "nsecpcap", path, classic)
        _mirrored(classic, twice)
        report, faults = _report(context, twice, "--mirrored")
        # What is missing may be the mirror's loss. A wrong ICRC is wrong at both places.
        expected = [((frame - 1) * 2 + 1, kind) for frame, kind in _SAMPLE_FAULTS.get(name, [])
                    if kind not in ("psn_gap", "msn_jump")]
        firsts = [fault for fault in faults if fault[0] % 2 == 1]
        check(firsts == expected, f"{name}: {faults}\nand not {expected}")
        roce = report["traffic"]["roce_v1"] + report["traffic"]["roce_v2"]
        check(report["mirror"]["copies"] * 2 == roce, f"{name}: {report}")
        plain = json.loads(_check(context, twice, "--json").stdout)
        check(plain["looks_mirrored"] or roce < 8, f"{name}: {plain}")


@case("check/the same through a pipe, and as classic pcap")
def _(context):
    path = os.path.join(_PCAPS, "loss-nak.pcapng")
    _, expected = _report(context, path)
    with open(path, "rb") as file:
        done = subprocess.run([context.program, "check", "-", "--json"], stdin=file,
                              capture_output=True, check=False)
    report = json.loads(done.stdout)
    check([(fault["frame"], fault["kind"]) for fault in report["faults"]] == expected,
          f"{report}")
    classic = os.path.join(context.folder, "classic.pcap")
    _editcap("-F", "pcap", path, classic)
    check(_report(context, classic)[1] == expected, "classic pcap has other faults")


def _pcap(link_type, *frames):
    contents = struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 65535, link_type)
    for frame in frames:
        contents += struct.pack("<IIII", 0, 0, len(frame), len(frame)) + frame
    return contents


@case("check/bad files get one line and exit status 2")
def _(context):
    with open(_samples()[0], "rb") as file:
        whole = file.read()
    classic = _pcap(1, bytes(60))
    files = {"missing": None, "empty": b"", "text": b"not a capture\n", "short": classic[:20],
             "radio": _pcap(105, bytes(60)), "truncated": whole[:-5], "classic": _pcap(1, bytes(60), bytes(60))[:-5],
             "huge": classic + struct.pack("<IIII", 0, 0, 60, 0x7FFFFFFF) + bytes(60),
             "block": whole[:-4] + struct.pack("<I", 7)}
    for name, contents in files.items():
        path = os.path.join(context.folder, f"bad-{name}.pcap")
        if contents is not None:
            with open(path, "wb") as file:
                file.write(contents)
        done = _check(context, path)
        said = f"{name}: exit status {done.returncode}\n{done.stdout}{done.stderr}"
        check(done.returncode == _BAD, said)
        check(done.stderr.startswith("softrnic check: ") and done.stderr.count("\n") == 1, said)
        check(path in done.stderr, said)
        if name in ("truncated", "classic", "huge", "block"):
            check("Not read to the end" in done.stdout, said)
    for path, words in (("/dev/zero", "give a pcap or pcapng file"), ("/dev/null", "is empty"),
                        ("snoop", "is a snoop file: convert it"), ("gzip", "is compressed"),
                        ("fifo", "give a pcap or pcapng file")):
        contents = {"snoop": b"snoop\0\0\0" + bytes(100), "gzip": b"\x1f\x8b\x08" + bytes(100)}
        writer = None
        if not path.startswith("/"):
            name, path = path, os.path.join(context.folder, path)
            if name == "fifo":
                os.mkfifo(path)
                writer = subprocess.Popen(["dd", "if=/dev/zero", f"of={path}", "count=1"],
                                          stderr=subprocess.DEVNULL)
            else:
                with open(path, "wb") as file:
                    file.write(contents[name])
        done = _check(context, path)
        if writer:
            writer.wait()
        check(done.returncode == _BAD and done.stderr.count("\n") == 1 and words in done.stderr
              and path in done.stderr, f"{path}: {done.returncode}\n{done.stdout}{done.stderr}")
    for words in ([], [context.folder], ["a", "b"]):
        done = _check(context, *words)
        check(done.returncode == _BAD and done.stderr.count("\n") == 1,
              f"{words}: {done.returncode}\n{done.stdout}{done.stderr}")


@case("check/native InfiniBand and a mirror in ERSPAN are read")
def _(context):
    corpus = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../fuzz/corpus/capture")
    report, faults = _report(context, os.path.join(corpus, "erf-infiniband.pcap"))
    check(not faults and report["traffic"]["infiniband"] == 1 and report["icrc"]["right"] == 1,
          f"{report}")
    report, faults = _report(context, os.path.join(corpus, "erspan.pcap"), "--mirrored")
    check(report["tunnelled"] == 20 and report["mirror"]["copies"] == 10, f"{report}")
    check([kind for _, kind in faults if kind != "bad_icrc"] == ["nak_psn_sequence"], f"{faults}")


@case("check/as many faults as frames, in memory or not, are all told")
def _(context):
    count = 40_000
    path = os.path.join(context.folder, "spoilt.pcap")
    _editcap("-F", "pcap", os.path.join(_PCAPS, "loss-icrc.pcapng"), path)
    with open(path, "rb") as file:
        header, rest = file.read(24), file.read()
    records = []
    while rest:
        size = struct.unpack("<I", rest[8:12])[0]
        records.append(rest[:16 + size])
        rest = rest[16 + size:]
    with open(path, "wb") as file:
        file.write(header + records[2] * count)
    report, faults = _report(context, path)
    check(len(faults) == count and report["errors"] == count, f"{len(faults)} faults")
    check([frame for frame, _ in faults] == list(range(1, count + 1)), "not in their order")
    lines = _check(context, path).stdout.splitlines()
    check(sum(line.startswith("frame ") for line in lines) == count, f"{len(lines)} lines")


@case("check/captures without a frame, and without RoCE")
def _(context):
    path = os.path.join(context.folder, "none.pcap")
    for contents, words in ((_pcap(1), "0 frames: there is nothing to check"),
                            (_pcap(1, bytes(60)), "1 frame, none of them RoCE (1 other)")):
        with open(path, "wb") as file:
            file.write(contents)
        done = _check(context, path)
        check(done.returncode == _CLEAN and done.stdout == f"{path}: {words}\n",
              f"{done.returncode} {done.stdout}{done.stderr}")


@case("check/every other link type finds what Ethernet does")
def _(context):
    source = os.path.join(context.folder, "ethernet.pcap")
    _editcap("-F", "pcap", os.path.join(_PCAPS, "loss-nak.pcapng"), source)
    with open(source, "rb") as file:
        contents = file.read()
    frames, offset = [], 24
    while offset < len(contents):
        size = struct.unpack("<I", contents[offset + 8:offset + 12])[0]
        frames.append(contents[offset + 16:offset + 16 + size])
        offset += 16 + size
    _, expected = _report(context, source)

    def erf(frame):
        return bytes(8) + bytes([2, 0]) + struct.pack(">HHH", len(frame) + 18, 0, len(frame)) \
            + bytes(2) + frame
    links = {113: lambda frame: bytes(14) + frame[12:],
             276: lambda frame: frame[12:14] + bytes(18) + frame[14:],
             101: lambda frame: frame[14:], 197: erf}
    path = os.path.join(context.folder, "link.pcap")
    for number, change in links.items():
        with open(path, "wb") as file:
            file.write(_pcap(number, *(change(frame) for frame in frames)))
        check(_report(context, path)[1] == expected, f"link type {number} has other faults")


@case("check/Ctrl-C in an endless pipe gives what was seen until then")
def _(context):
    with open(os.path.join(_PCAPS, "loss-nak.pcapng"), "rb") as file:
        whole = file.read()
    process = processes.start([context.program, "check", "-"], stdin=subprocess.PIPE,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    with processes.running(process):
        process.stdin.write(whole)
        process.stdin.flush()
        _await_empty(process.stdin)
        # The beginning of one more record: taken only when the records before it were looked at.
        process.stdin.write(b"\x06\x00\x00\x00")
        process.stdin.flush()
        _await_empty(process.stdin)
        _interrupt(process)
        output, errors = process.stdout.read().decode(), process.stderr.read().decode()
        said = f"{process.returncode}\n{output}{errors}"
        check(process.returncode == _BAD and "interrupted after frame" in errors, said)
        check(errors.count("\n") == 1, said)
        check("10 frames" in output and "nak_psn_sequence" in output, said)


def _await_empty(pipe):
    """Until the reader has taken everything."""
    unread = array.array("i", [1])
    deadline = time.monotonic() + 20
    while unread[0] != 0:
        check(time.monotonic() < deadline, f"{unread[0]} bytes are not read")
        fcntl.ioctl(pipe.fileno(), termios.FIONREAD, unread)


def _interrupt(process):
    """Ctrl-C, again if it came between two looks and the reader went back to its pipe."""
    for _ in range(20):
        process.send_signal(signal.SIGINT)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(1)
            return
    raise AssertionError("Ctrl-C does not end it")


@case("check/a terminal gets the first faults and how many there are, --all gives all")
def _(context):
    path = os.path.join(context.folder, "lossy.pcapng")
    done = context.run("demo", "--seed", "1", "--fault", "drop 5%", "-w", path)
    check(done.returncode == 0, done.stderr)
    _, faults = _report(context, path)
    check(len(faults) > 20, f"only {len(faults)} faults")
    piped = _check(context, path).stdout
    check(piped.count("\nframe ") == len(faults), piped)
    if shutil.which("script") is None:
        raise Skipped("needs script, to make a terminal")
    for words, shown in (("", 20), (" --all", len(faults))):
        done = subprocess.run(["script", "-qec", f"{context.program} check {path}{words}",
                               "/dev/null"], stdin=subprocess.DEVNULL, capture_output=True,
                              text=True, check=False)
        check(done.stdout.count("\nframe ") == shown, done.stdout)
        check(("more (--all shows them)" in done.stdout) == (shown == 20), done.stdout)
