# SPDX-License-Identifier: BSD-3-Clause
"""softrnic extcap: what Wireshark asks, and what tshark makes of it."""

import json
import os
import re
import shutil
import signal
import subprocess
import tempfile

import processes
from cases import Skipped, case, check
from shm_cases import segments_of
from sysfs_cases import ordinary_user


def _lines(segments, *words):
    done = segments.run("extcap", *words, "--extcap-version=4.0")
    check(done.returncode == 0 and done.stderr == "", done.stderr)
    return done.stdout.splitlines()


def _values(lines, kind):
    return [re.search(r"\{value=([^}]*)\}", line).group(1) for line in lines
            if line.startswith(kind + " ")]


def _busy(segments):
    """Two hosts that have a long talk."""
    words = ["pingpong", "--link", "shm:lab", "-n", "100000000"]
    port = str(20000 + os.getpid() % 20000)
    server = segments.start(*words, "--host", "a", "-p", port)
    while "local address" not in (line := server.stdout.readline()):
        check(line, "the server did not begin")
    return server, segments.start(*words, "--host", "b", "-p", port, "127.0.0.1")


@case("extcap/no segment, no interface, and nothing is made")
def _(context):
    with segments_of(context) as segments:
        lines = _lines(segments, "--extcap-interfaces")
        check(len(lines) == 1 and lines[0].startswith("extcap {version="), lines)
        check(not os.path.exists(segments.folder), "a folder was made")


@case("extcap/interfaces, link types, options, and a capture into a FIFO")
def _(context):
    with segments_of(context) as segments:
        server, client = _busy(segments)
        with processes.running(server), processes.running(client):
            _await_hosts(segments, 2)
            values = _values(_lines(segments, "--extcap-interfaces"), "interface")
            check(values == ["shm:lab", "shm:lab,host=a", "shm:lab,host=b"], values)
            check(_lines(segments, "--extcap-dlts", "--extcap-interface", "shm:lab") ==
                  ["dlt {number=1}{name=EN10MB}{display=Ethernet}"], "dlts")
            chosen = _lines(segments, "--extcap-config", "--extcap-interface", "shm:lab")
            check(_values(chosen, "value")[:3] == ["", "a", "b"], chosen)
            chosen = _lines(segments, "--extcap-config", "--extcap-interface", "shm:lab,host=a")
            check(_values(chosen, "value") == ["both", "sent", "received"], chosen)
            for interface, words, directions in (
                    ("shm:lab,host=a", ["--direction", "sent"], {"outbound"}),
                    ("shm:lab", ["--host", "b", "--direction=received"], {"inbound"}),
                    ("shm:lab", ["--host", "", "--direction", "both", "--snap", "100"], None)):
                _capture(segments, interface, words, directions)


def _await_hosts(segments, count):
    while len(_values(_lines(segments, "--extcap-interfaces"), "interface")) < count + 1:
        pass


def _capture(segments, interface, words, directions):
    with tempfile.TemporaryDirectory() as folder:
        fifo = os.path.join(folder, "fifo")
        os.mkfifo(fifo)
        process = segments.start("extcap", "--capture", "--extcap-interface", interface, "--fifo",
                                 fifo, *words)
        with processes.running(process), open(fifo, "rb") as frames:
            data = frames.read(200000)
            process.send_signal(signal.SIGTERM)
            data += frames.read()
            check(process.wait(60) == 0, process.stderr.read())
            check(process.stdout.read() == "", "it speaks")
        path = os.path.join(folder, "capture.pcapng")
        with open(path, "wb") as file:
            file.write(data)
        done = segments.run("check", path, "--json")
        check(json.loads(done.stdout)["frames"] > 0, done)
        if directions is not None and shutil.which("tshark") is not None:
            fields = subprocess.run(["tshark", "-r", path, "-T", "fields", "-e",
                                     "frame.packet_flags_direction"], check=False, text=True,
                                    capture_output=True).stdout.split()
            seen = {{"1": "inbound", "2": "outbound"}[str(int(flag, 0))] for flag in fields}
            check(seen == directions, seen)


@case("extcap/tshark lists the segments, and captures one")
def _(context):
    if shutil.which("tshark") is None:
        raise Skipped("needs tshark")
    # To root Wireshark shows the programs of nobody's home.
    prefix = ordinary_user(context)[0]
    if os.geteuid() == 0 and not prefix:
        raise Skipped("needs an ordinary user who can run the build")
    with segments_of(context, prefix) as segments, tempfile.TemporaryDirectory() as folder:
        os.chmod(folder, 0o755)
        for place in (".config/wireshark/extcap", ".local/lib/wireshark/extcap"):
            os.makedirs(os.path.join(folder, place))
            path = os.path.join(folder, place, "softrnic")
            with open(path, "w", encoding="utf-8") as file:
                file.write(f'#!/bin/sh\nexec "{os.path.abspath(context.program)}" extcap "$@"\n')
            os.chmod(path, 0o755)
        variables = {name: value for name, value in os.environ.items()
                     if not name.startswith(("XDG_", "WIRESHARK_"))}
        variables.update(HOME=folder, SOFTRNIC_SHM_DIR=segments.folder)
        server, client = _busy(segments)
        with processes.running(server), processes.running(client):
            _await_hosts(segments, 2)
            listed = subprocess.run([*prefix, "tshark", "-D"], env=variables, capture_output=True, text=True,
                                    check=False, timeout=60).stdout
            check("shm:lab (softrnic segment lab)" in listed, listed)
            check("shm:lab,host=a (softrnic segment lab, host a)" in listed, listed)
            done = subprocess.run([*prefix, "tshark", "-i", "shm:lab", "-c", "20", "-T", "fields", "-e",
                                   "infiniband.bth.opcode"], env=variables, capture_output=True,
                                  text=True, check=False, timeout=120)
            check(len(done.stdout.split()) == 20, done)


@case("extcap/complaints")
def _(context):
    for words in ([], ["--capture"], ["--capture", "--extcap-interface", "shm:lab"], ["nonsense"]):
        done = context.run("extcap", *words)
        check(done.returncode == 2 and done.stderr.count("\n") == 1, done)
    for words, status in ((["--from", "shm:lab", "-o", "x", "--direction", "up"], 2),
                          (["--from", "shm:lab", "-o", "x", "--direction", "sent"], 2)):
        done = context.run("capture", *words)
        check(done.returncode == status and "--direction" in done.stderr, done)
