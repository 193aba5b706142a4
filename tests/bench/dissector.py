#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""What the Wireshark plugin costs: tshark with and without it, side by side.

Makes captures of RC WRITEs (three packets and an ACK each) over one or many queue pairs, without and
with losses, and reads each with `tshark -r FILE` in turn with and without the plugin. Prints medians
of the processor time, the added share, and the memory a frame adds. Nothing else should run beside it.
"""

import argparse
import array
import json
import os
import shutil
import statistics
import struct
import subprocess
import sys
import tempfile
import zlib

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
MTU = 512
NOBODY = 65534

WRITE_FIRST, WRITE_MIDDLE, WRITE_LAST, ACKNOWLEDGE = 6, 7, 8, 17
ACK, NAK_SEQUENCE = 0x1F, 0x60


class Wire:
    """Writes the frames of one direction or the other, with their ICRC."""

    def __init__(self, path):
        self._file = open(path, "wb", buffering=1 << 20)
        self._file.write(struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 65535, 1))
        self._microseconds = 0
        self.frames = 0
        self._payload = bytes(range(256)) * (MTU // 256)

    def send(self, client, opcode, qpn, psn, extension=b"", payload=0, ack_request=False):
        source, destination = (1, 2) if client else (2, 1)
        bth = struct.pack(">BBHII", opcode, 0x40, 0xFFFF, qpn, ack_request << 31 | psn & 0xFFFFFF)
        body = extension + self._payload[:payload]
        udp_length = 8 + len(bth) + len(body) + 4
        ip = struct.pack(">BBHHHBBHII", 0x45, 0, 20 + udp_length, self.frames & 0xFFFF, 0x4000, 64,
                         17, 0, 0x0A000000 | source, 0x0A000000 | destination)
        total = sum(struct.unpack(">10H", ip))
        total = (total & 0xFFFF) + (total >> 16)
        checksum = ~((total & 0xFFFF) + (total >> 16)) & 0xFFFF
        port = 0xC000 | qpn & 0x3FFF
        masked = (b"\xff" * 8 + ip[:1] + b"\xff" + ip[2:8] + b"\xff" + ip[9:10] + b"\xff\xff"
                  + ip[12:] + struct.pack(">HHH", port, 4791, udp_length) + b"\xff\xff"
                  + bth[:4] + b"\xff" + bth[5:] + body)
        frame = (bytes((2, 0, 0, 0, 0, destination, 2, 0, 0, 0, 0, source, 8, 0))
                 + ip[:10] + struct.pack(">H", checksum) + ip[12:]
                 + struct.pack(">HHHH", port, 4791, udp_length, 0) + bth + body
                 + struct.pack("<I", zlib.crc32(masked)))
        self._microseconds += 3
        seconds, rest = divmod(self._microseconds, 1_000_000)
        self._file.write(struct.pack("<IIII", seconds, rest, len(frame), len(frame)) + frame)
        self.frames += 1

    def close(self):
        self._file.close()


def write_message(wire, qpn, psn, msn, lossy):
    """A WRITE of three packets and its ACK; when lossy, the second packet has to be sent again."""
    reth = struct.pack(">QII", 0x7F0000000000 + msn * 3 * MTU, 0x1234, 3 * MTU)
    wire.send(True, WRITE_FIRST, 0x100000 + qpn, psn, reth, MTU)
    if lossy:
        wire.send(True, WRITE_LAST, 0x100000 + qpn, psn + 2, b"", MTU, True)
        wire.send(False, ACKNOWLEDGE, 0x200000 + qpn, psn + 1,
                  struct.pack(">I", NAK_SEQUENCE << 24 | msn & 0xFFFFFF))
    wire.send(True, WRITE_MIDDLE, 0x100000 + qpn, psn + 1, b"", MTU)
    wire.send(True, WRITE_LAST, 0x100000 + qpn, psn + 2, b"", MTU, True)
    wire.send(False, ACKNOWLEDGE, 0x200000 + qpn, psn + 2,
              struct.pack(">I", ACK << 24 | (msn + 1) & 0xFFFFFF))


def make_capture(path, frames, queue_pairs, lossy):
    wire = Wire(path)
    messages = array.array("L", [0]) * queue_pairs
    qpn = 0
    while wire.frames < frames:
        msn = messages[qpn]
        write_message(wire, qpn, 3 * msn, msn, lossy and (msn + qpn) % 20 == 7)
        messages[qpn] += 1
        qpn = (qpn + 1) % queue_pairs
    wire.close()
    return wire.frames


def tshark(capture, folder, plugin, arguments):
    """(user and system seconds, peak KiB) of one run."""
    environment = {**os.environ, "HOME": folder, "WIRESHARK_PLUGIN_DIR": plugin}
    environment.pop("XDG_CONFIG_HOME", None)
    command = ["tshark", "-n", "-r", capture, *arguments]
    if os.geteuid() == 0:  # as root tshark would not look into that folder
        command = ["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups", *command]
    process = subprocess.Popen(command, env=environment, stdin=subprocess.DEVNULL,
                               stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    words = process.stderr.read()
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = status
    if status != 0:
        sys.exit(f"tshark failed on {capture}: {words.decode(errors='replace').strip()}")
    return usage.ru_utime + usage.ru_stime, usage.ru_maxrss


def measure(name, frames, queue_pairs, lossy, folder, plugins, options):
    capture = os.path.join(folder, "capture.pcap")
    count = make_capture(capture, frames, queue_pairs, lossy)
    os.chmod(capture, 0o644)
    runs = {kind: [] for kind in plugins}
    for _ in range(options.runs):
        for kind, plugin in plugins.items():
            runs[kind].append(tshark(capture, folder, plugin, options.arguments))
    os.remove(capture)
    seconds = {kind: statistics.median(run[0] for run in runs[kind]) for kind in plugins}
    kib = {kind: statistics.median(run[1] for run in runs[kind]) for kind in plugins}
    start = {kind: statistics.median(run[0] for run in options.start_up[kind]) for kind in plugins}
    return {"name": name, "frames": count, "queue_pairs": queue_pairs,
            "seconds_without": seconds["without"], "seconds_with": seconds["with"],
            "added_share": seconds["with"] / seconds["without"] - 1,
            "microseconds_per_frame_without":
                1e6 * (seconds["without"] - start["without"]) / count,
            "microseconds_per_frame_with": 1e6 * (seconds["with"] - start["with"]) / count,
            "bytes_per_frame_without":
                1024 * (kib["without"] - options.start_up["without"][0][1]) / count,
            "bytes_per_frame_with": 1024 * (kib["with"] - options.start_up["with"][0][1]) / count}


def cases(options):
    for frames in options.frames:
        yield f"{frames} frames, 1 QP", frames, 1, False
    largest = max(options.frames)
    for queue_pairs in (1000, 20000):
        yield f"{largest} frames, {queue_pairs} QPs", largest, queue_pairs, False
    yield f"{largest} frames, 1 QP, losses", largest, 1, True
    yield f"{largest} frames, 1000 QPs, losses", largest, 1000, True


def parse():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", default=os.path.join(TOP, "build/release"))
    parser.add_argument("--frames", type=int, nargs="+", default=[10_000, 100_000, 1_000_000])
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("arguments", nargs="*", help="for tshark, behind --: -2, -Y FILTER ...")
    return parser.parse_args()


def main():
    options = parse()
    built = os.path.join(options.build, "wireshark")
    if not os.path.isdir(built):
        sys.exit(f"there is no plugin in {built}: build it, or say --build")
    rows = []
    with tempfile.TemporaryDirectory(prefix="softrnic-bench-") as folder:
        os.chmod(folder, 0o755)
        plugins = {"without": os.path.join(folder, "none"), "with": os.path.join(folder, "plugin")}
        os.mkdir(plugins["without"])
        shutil.copytree(built, plugins["with"])
        nothing = os.path.join(folder, "nothing.pcap")
        make_capture(nothing, 0, 1, False)
        os.chmod(nothing, 0o644)
        options.start_up = {kind: [tshark(nothing, folder, plugin, options.arguments)
                                   for _ in range(options.runs)]
                            for kind, plugin in plugins.items()}
        for case in cases(options):
            row = measure(*case, folder, plugins, options)
            rows.append(row)
            if not options.json:
                print(f"{row['name']:<34} {row['seconds_without']:8.2f} s {row['seconds_with']:8.2f} s"
                      f" {row['added_share']:+7.1%}   {row['microseconds_per_frame_without']:6.2f} us"
                      f" {row['microseconds_per_frame_with']:6.2f} us a frame"
                      f" {row['bytes_per_frame_without']:7.0f} {row['bytes_per_frame_with']:7.0f} bytes",
                      flush=True)
    if options.json:
        print(json.dumps(rows, indent=2))


if __name__ == "__main__":
    main()
