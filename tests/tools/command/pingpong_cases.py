# SPDX-License-Identifier: BSD-3-Clause
"""softrnic pingpong against itself, over two TAPs of one bridge."""

import os
import re
import signal
import subprocess

import network
import processes
from cases import case, check

_ADDRESSES = {"server": ["--ip", "10.77.0.1/24", "--ip", "fd00:77::1/64"],
              "client": ["--ip", "10.77.0.2/24", "--ip", "fd00:77::2/64"]}
_TAPS = {"server": "tap:tap1", "client": "tap:tap2"}


def start(context, role, words, host=()):
    return context.start("pingpong", "--link", _TAPS[role], *_ADDRESSES[role], *words, *host,
                         inside=context.network)


def await_line(process, words):
    """Reads on to the line that has these words; all read so far."""
    printed = ""
    for line in process.stdout:
        printed += line
        if words in line:
            return printed
    raise AssertionError(f"no line with '{words}': {printed}{process.stderr.read()}")


def exchange(context, words, server_words=(), client_words=(), seconds=120):
    """Runs both sides; the (status, output, errors) of server and client."""
    server = start(context, "server", [*words, *server_words])
    with processes.running(server):
        printed = await_line(server, "local address")
        client = start(context, "client", [*words, *client_words], [network.BRIDGE_IPV4])
        with processes.running(client):
            client_end = processes.finish(client, seconds)
            status, output, errors = processes.finish(server, seconds)
    return (status, printed + output, errors), client_end


def expect_success(context, words, **arguments):
    ends = exchange(context, words, **arguments)
    for role, (status, output, errors) in zip(("server", "client"), ends):
        check(status == 0 and errors == "" and "every byte right" in output,
              f"{role} with {words}: exit status {status}\n{output}{errors}")
    return ends


@case("pingpong/prints the lines of ibv_rc_pingpong")
def _(context):
    (_, server, _), (_, client, _) = expect_success(context, ["-n", "100", "-g", "3"])
    address = r"LID 0x0000, QPN 0x[0-9a-f]{6}, PSN 0x[0-9a-f]{6}, GID ::ffff:10\.77\.0\.\d"
    for printed in (server, client):
        for line in (rf"  local address:  {address}", rf"  remote address: {address}",
                     r"819200 bytes in \d+\.\d\d seconds = \d+\.\d\d Mbit/sec",
                     r"100 iters in \d+\.\d\d seconds = \d+\.\d\d usec/iter"):
            check(re.search(f"^{line}$", printed, re.M), f"'{line}' is missing in\n{printed}")
    local = re.search("local address:  (.*)", server).group(1)
    check(re.search("remote address: (.*)", client).group(1) == local, "addresses differ")


@case("pingpong/rc, uc and ud, RoCE v1 and v2, IPv4, IPv6 and link-local")
def _(context):
    for service in ("rc", "uc", "ud"):
        for gid_index in range(6):
            expect_success(context, ["--service", service, "-n", "50", "-s", "1024", "-g",
                                     str(gid_index)])


@case("pingpong/sizes and path MTUs")
def _(context):
    sizes = [("1", "50"), ("1000", "50"), ("4096", "50"), ("65536", "10"), ("1048576", "2")]
    for mtu in ("256", "1024", "4096"):
        for size, count in sizes:
            expect_success(context, ["-m", mtu, "-s", size, "-n", count])
        # A TAP holds some hundred frames: a larger UC message may lose one of its own.
        for size, count in sizes[:-1]:
            expect_success(context, ["--service", "uc", "-m", mtu, "-s", size, "-n", count])
    for size in ("1", "1001", "4096"):
        expect_success(context, ["--service", "ud", "-s", size, "-n", "50"])


@case("pingpong/without -g the first IPv4 RoCE v2 GID is taken")
def _(context):
    (_, server, _), _ = expect_success(context, ["-n", "1"])
    check("GID ::ffff:10.77.0.1" in server, server)


@case("pingpong/rdma-core's other options")
def _(context):
    expect_success(context, ["-e", "-c", "-i", "1", "-l", "3", "-r", "2", "-n20", "--size=64",
                             "--mtu", "512", "--gid-idx", "3"])


@case("pingpong/one message, and one receive at a time")
def _(context):
    for service in ("rc", "uc", "ud"):
        expect_success(context, ["--service", service, "-n", "1", "-s", "64"])
        expect_success(context, ["--service", service, "-n", "30", "-r", "1", "-s", "64"])


@case("pingpong/over a VLAN")
def _(context):
    expect_success(context, ["--vlan", "100:5", "-n", "50"])


@case("pingpong/rc recovers from loss, duplication, reordering and damage each way")
def _(context):
    faults = ["--fault", "drop 5%", "--fault", "duplicate 2%", "--fault", "reorder 2%", "--fault",
              "corrupt payload 1%"]
    for mtu, size, count in (("1024", "4096", "100"), ("256", "65536", "3"), ("4096", "100", "50")):
        ends = expect_success(context, ["-m", mtu, "-s", size, "-n", count, "--seed", "5", *faults],
                              seconds=300)
        applied = [int(n) for _, output, _ in ends
                   for n in re.findall(r"fault 'drop 5%': (\d+) times", output)]
        check(sum(applied) > 0, f"no fault was applied\n{ends}")


@case("pingpong/selective repeat and credits, agreed on by both sides")
def _(context):
    faults = ["--fault", "drop 5%", "--fault", "reorder 2%"]
    ends = expect_success(context, ["--selective-repeat", "--credits", "-s", "65536", "-n", "20",
                                    "--seed", "5", *faults], seconds=300)
    for _, output, _ in ends:
        check("  selective repeat: on\n" in output, output)


@case("pingpong/selective repeat that one side offers stays off")
def _(context):
    for asking in (0, 1):
        words = [["--selective-repeat"] if asking == role else [] for role in (0, 1)]
        ends = expect_success(context, ["-n", "20"], server_words=words[0], client_words=words[1])
        lines = ["selective repeat" in output for _, output, _ in ends]
        check(lines == [asking == 0, asking == 1], f"{ends}")
        check("off, the other side did not offer it" in ends[asking][1], ends[asking][1])


@case("pingpong/selective repeat and credits are for rc")
def _(context):
    for option in ("--selective-repeat", "--credits"):
        done = context.run("pingpong", "--link", "tap:unused", "--ip", "10.0.0.1/24", "--service",
                           "uc", option)
        check(done.returncode == 2 and f"{option}: only with --service rc" in done.stderr, f"{done}")


@case("pingpong/a lost uc or ud message ends in one clear line")
def _(context):
    for service in ("uc", "ud"):
        ends = exchange(context, ["--service", service, "-s", "64", "-n", "10", "--timeout", "0.5"],
                        client_words=["--fault", "tx drop 3rd SEND"])
        for status, output, errors in ends:
            check(status == 1 and errors.count("\n") == 1, f"{status}\n{output}{errors}")
            check("nothing came for 0.5 s: " in errors, errors)
            check("UC and UD do not recover what is lost" in errors, errors)


@case("pingpong/ud messages that come twice are counted, not mistaken")
def _(context):
    ends = expect_success(context, ["--service", "ud", "-s", "64", "-n", "200"],
                          client_words=["--fault", "tx duplicate every 10th SEND"])
    check("messages came twice" in ends[0][1], ends[0][1])


@case("pingpong/sides of different size say so")
def _(context):
    (status, _, errors), _ = exchange(context, ["-n", "5"], server_words=["-s", "4096"],
                                      client_words=["-s", "1024"])
    check(status == 1 and "expected 4096: give both sides the same -s" in errors, errors)


@case("pingpong/GIDs of different kinds are refused")
def _(context):
    (status, _, errors), _ = exchange(context, ["-n", "5"], server_words=["-g", "3"],
                                      client_words=["-g", "5"])
    check(status == 1 and "give both sides addresses of the same kind" in errors, errors)


@case("pingpong/a client that talks nonsense is refused in one line")
def _(context):
    inside = context.network
    for said in (b"GET / HTTP/1.1\r\n" + b"x" * 60, b"short", b""):
        server = start(context, "server", [])
        with processes.running(server):
            await_line(server, "local address")
            script = ("import socket, sys\n"
                      "s = socket.create_connection(('127.0.0.1', 18515))\n"
                      f"s.sendall({said!r})\n")
            subprocess.run(inside.inside(["python3", "-c", script]), check=True)
            status, _, errors = processes.finish(server)
            check(status == 1 and errors.count("\n") == 1, f"{said}: {status} {errors}")


_SILENT = ("import socket, sys\n"
           "s = socket.create_connection(('127.0.0.1', int(sys.argv[1])))\n"
           "print('connected', flush=True)\n"
           "sys.stdin.read()\n")


def silent_client(context, port):
    """A TCP client that connects, which is awaited, and says nothing."""
    client = processes.start(context.network.inside(["python3", "-c", _SILENT, str(port)]),
                             stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    check(client.stdout.readline() == "connected\n", "no connection")
    return client


@case("pingpong/--timeout bounds the exchange with a silent client")
def _(context):
    server = start(context, "server", ["--timeout", "0.2", "-p", "18630"])
    with processes.running(server):
        await_line(server, "local address")
        with processes.running(silent_client(context, 18630)):
            status, _, errors = processes.finish(server, seconds=20)
    check(status == 1 and errors.count("\n") == 1 and "did not come in time" in errors, errors)


@case("pingpong/--timeout bounds the exchange with a silent server")
def _(context):
    listening = ("import socket, sys\n"
                 "s = socket.create_server(('10.77.0.254', 18631))\n"
                 "print('listening', flush=True)\n"
                 "sys.stdin.read()\n")
    server = processes.start(context.network.inside(["python3", "-c", listening]),
                             stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    with processes.running(server):
        check(server.stdout.readline() == "listening\n", "no listener")
        client = start(context, "client", ["--timeout", "0.2", "-p", "18631"],
                       [network.BRIDGE_IPV4])
        with processes.running(client):
            status, _, errors = processes.finish(client, seconds=20)
    check(status == 1 and errors.count("\n") == 1 and "did not come in time" in errors, errors)


@case("pingpong/Ctrl-C leaves a whole capture and no interface")
def _(context):
    inside = context.network
    path = os.path.join(context.folder, "interrupted.pcapng")
    server = context.start("pingpong", "--link", "tap:gone1", "--ip", "10.78.0.1/24", "-w", path,
                           inside=inside)
    with processes.running(server):
        await_line(server, "local address")
        check("gone1" in inside.run("ip", "-o", "link"), "no interface was made")
        server.send_signal(signal.SIGINT)
        status, _, errors = processes.finish(server)
    check(status == 1 and errors == "softrnic pingpong: interrupted while waiting for a client\n",
          f"{status} {errors}")
    check("gone1" not in inside.run("ip", "-o", "link"), "the interface is left")
    with open(path, "rb") as file:
        check(file.read(4) == b"\x0a\x0d\x0d\x0a", "the capture has no header")
