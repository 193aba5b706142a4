#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""How precisely and how fast `softrnic replay --to LINK` sends, beside tcpreplay where there is one.

Makes captures of RoCE-sized frames at even gaps, a veth pair in a network namespace of its own, and
replays each onto one end. At the other end the kernel stamps the frames as they arrive, for both
programs alike; printed are percentiles of |gap - intended gap| there, what the program says itself,
and the rates at full speed. Needs root. Nothing else should run beside it.
"""

import argparse
import json
import os
import re
import shutil
import socket
import struct
import subprocess
import sys
import tempfile

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
SO_TIMESTAMPNS = 35


def write_capture(path, frames, size, gap_ns):
    """A pcap with nanosecond stamps of frames that are alike."""
    with open(path, "wb", buffering=1 << 20) as file:
        file.write(struct.pack("<IHHiIII", 0xA1B23C4D, 2, 4, 0, 0, 65535, 1))
        udp = size - 14 - 20
        ip = struct.pack(">BBHHHBBHII", 0x45, 0, size - 14, 0, 0x4000, 64, 17, 0, 0x0A000001,
                         0x0A000002)
        header = (bytes((2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1, 8, 0)) + ip
                  + struct.pack(">HHHH", 0xC001, 4791, udp, 0))
        for number in range(frames):
            at = number * gap_ns
            body = struct.pack(">I", number)
            frame = header + body + bytes(size - len(header) - len(body))
            file.write(struct.pack("<IIII", 1000 + at // 10**9, at % 10**9, size, size) + frame)


class Receiver:
    """Stamps of the frames that arrive at an interface, as the kernel takes them."""

    def __init__(self, interface):
        self._socket = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(0x0003))
        self._socket.setsockopt(socket.SOL_SOCKET, SO_TIMESTAMPNS, 1)
        self._socket.setsockopt(socket.SOL_SOCKET, 33, 1 << 28)  # SO_RCVBUFFORCE
        self._socket.bind((interface, 0))
        self._socket.settimeout(0.5)
        self.stamps = []

    def take(self):
        """After the replay: everything that waits in the socket."""
        while True:
            try:
                _, ancillary, _, _ = self._socket.recvmsg(64, 256)
            except TimeoutError:
                break
            for level, kind, data in ancillary:
                if level == socket.SOL_SOCKET and kind == SO_TIMESTAMPNS:
                    seconds, rest = struct.unpack("qq", data[:16])
                    self.stamps.append(seconds * 10**9 + rest)
        self._socket.close()
        return self.stamps


def percentiles(stamps, gap_ns):
    errors = sorted(abs(b - a - gap_ns) for a, b in zip(stamps, stamps[1:]))
    if not errors:
        return "nothing arrived"
    at = lambda share: errors[min(len(errors) - 1, int(share * len(errors)))] / 1000
    return (f"50 % {at(.5):8.1f}  90 % {at(.9):8.1f}  99 % {at(.99):8.1f}  99.9 % {at(.999):8.1f}"
            f"  most {errors[-1] / 1000:8.1f} us")


def run(words):
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    if done.returncode not in (0, 1):
        sys.exit(f"{' '.join(words)}: {done.stderr}")
    return done.stdout


def programs(softrnic, first):
    """Name, and the command for a file at its captured pace and at full speed."""
    yield ("softrnic", lambda path: [*first, softrnic, "replay", path, "--to", "packet:v0", "--json"],
           lambda path, loops: [softrnic, "replay", path, "--to", "packet:v0", "--pace", "fast",
                                "--loop", str(loops), "--json"])
    tcpreplay = shutil.which("tcpreplay")
    if tcpreplay is None:
        print("tcpreplay is not installed: softrnic alone")
        return
    yield ("tcpreplay", lambda path: [*first, tcpreplay, "--intf1", "v0", path],
           lambda path, loops: [tcpreplay, "--intf1", "v0", "--topspeed", "--preload-pcap",
                                "--loop", str(loops), path])


def precision(folder, softrnic, arguments):
    for gap_us in (5000, 1000, 100, 20):
        gap = gap_us * 1000
        path = os.path.join(folder, f"gap{gap_us}.pcap")
        frames = max(200, min(arguments.frames, arguments.seconds * 10**6 // gap_us))
        write_capture(path, frames, 1098, gap)
        for name, paced, _ in programs(softrnic, arguments.first):
            receiver = Receiver("v1")
            said = run(paced(path))
            stamps = receiver.take()
            print(f"gap {gap_us:5} us  {name:9}  {len(stamps):6} of {frames:6}  "
                  f"{percentiles(stamps, gap)}", flush=True)
            if name == "softrnic":
                timing = json.loads(said)["timing"]
                print(f"{'':22}it says          50 % {timing['p50_ns'] / 1000:8.1f}  "
                      f"90 % {timing['p90_ns'] / 1000:8.1f}  99 % {timing['p99_ns'] / 1000:8.1f}  "
                      f"99.9 % {timing['p999_ns'] / 1000:8.1f}  most {timing['max_ns'] / 1000:8.1f} us")


def full_speed(folder, softrnic, arguments):
    for size in (78, 1098, 4170):
        path = os.path.join(folder, f"size{size}.pcap")
        write_capture(path, 10_000, size, 1000)
        loops = max(1, arguments.frames * 4 // 10_000)
        for name, _, fast in programs(softrnic, arguments.first):
            said = run(fast(path, loops))
            if name == "softrnic":
                report = json.loads(said)
                rate, sent = report["frames_per_second"], report["sent"]
                lost = report["dropped"]
            else:
                rate = float(re.search(r"([\d.]+) pps", said).group(1))
                sent = int(re.search(r"Successful packets:\s+(\d+)", said).group(1))
                lost = int(re.search(r"Failed packets:\s+(\d+)", said).group(1))
            print(f"full speed, {size:4} bytes  {name:9}  {rate / 1000:8.0f} thousand frames/s  "
                  f"{rate * size * 8 / 1e9:6.2f} Gbit/s  {sent} sent, {lost} refused", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--softrnic", default=os.path.join(TOP, "build/release/bin/softrnic"))
    parser.add_argument("--frames", type=int, default=100_000, help="of a capture, at most")
    parser.add_argument("--seconds", type=int, default=5, help="that a paced replay takes, at most")
    parser.add_argument("--realtime", dest="first", action="store_const", default=[],
                        const=["chrt", "-f", "50"],
                        help="paced replays before everything else, for machines that are busy")
    arguments = parser.parse_args()
    if "SOFTRNIC_IN_NAMESPACE" not in os.environ:
        os.environ["SOFTRNIC_IN_NAMESPACE"] = "1"
        os.execvp("unshare", ["unshare", "--net", sys.executable, *sys.argv])
    run(["ip", "link", "add", "v0", "mtu", "4200", "type", "veth", "peer", "name", "v1", "mtu",
         "4200"])
    for interface in ("v0", "v1"):
        with open(f"/proc/sys/net/ipv6/conf/{interface}/disable_ipv6", "w") as file:
            file.write("1")
        run(["ip", "link", "set", interface, "up"])
    with tempfile.TemporaryDirectory(prefix="softrnic-") as folder:
        precision(folder, arguments.softrnic, arguments)
        full_speed(folder, arguments.softrnic, arguments)


if __name__ == "__main__":
    main()
