# SPDX-License-Identifier: BSD-3-Clause
"""softrnic peer: what it prints, how it learns of the other side, how it ends."""

import json
import os
import signal
import subprocess

import network
import pingpong_cases
import processes
from cases import case, check

_LINK = ["--link", "tap:tap1", "--ip", "10.77.0.1/24"]


def _start(context, *words, **arguments):
    peer = context.start("peer", *_LINK, "--json", *words, inside=context.network, **arguments)
    line = peer.stdout.readline()
    if not line:
        raise AssertionError(f"peer {words}: {peer.stderr.read()}")
    ready = json.loads(line)
    check(ready["event"] == "ready", line)
    return peer, ready


def _interrupt(peer):
    peer.send_signal(signal.SIGINT)
    status, output, errors = processes.finish(peer)
    check(status == 0 and errors == "", f"{status}\n{output}{errors}")
    finished = json.loads(output.splitlines()[-1])
    check(finished["event"] == "finished", output)
    return output, finished


@case("peer/prints what the other side needs to know")
def _(context):
    peer, ready = _start(context, "--region", "64k", "--key", "0x1234", "--address", "0x7000",
                         "--qpn", "0x42", "--psn", "99", "--seed", "3")
    with processes.running(peer):
        check(ready["region"] == {"address": 0x7000, "length": 65536, "rkey": 0x1234,
                                  "access": "read,write,atomic"}, f"{ready}")
        check(ready["queue_pairs"] == [{"qpn": 0x42, "psn": 99}], f"{ready}")
        check(ready["gid"] == "10.77.0.1" and ready["roce"] == "v2", f"{ready}")
        check(ready["gid_digits"] == "00000000000000000000ffff0a4d0001", f"{ready}")
        _interrupt(peer)


@case("peer/prints it for people, too")
def _(context):
    done = context.run("peer", *_LINK, "--key", "0x1234", "--for", "0.01", inside=context.network)
    check(done.returncode == 0, done.stderr)
    for words in ("region: address 0x100000000, length 1048576, rkey 0x00001234",
                  "GID 10.77.0.1 (index 3, RoCE v2)", "queue pair (rc): QPN 0x", "Counters:"):
        check(words in done.stdout, f"'{words}' is missing in\n{done.stdout}")


@case("peer/serves pingpong clients over TCP, one after the other")
def _(context):
    peer, _ = _start(context, "--listen", "18700", "--message-size", "1M")
    with processes.running(peer):
        for size, count in (("64", "100"), ("65536", "10"), ("1048576", "2")):
            client = pingpong_cases.start(context, "client",
                                          ["-p", "18700", "-s", size, "-n", count],
                                          [network.BRIDGE_IPV4])
            with processes.running(client):
                status, output, errors = processes.finish(client)
                check(status == 0, f"{output}{errors}")
        output, finished = _interrupt(peer)
        check(finished["messages"] == 112, f"{finished['messages']} messages")
        check(output.count('"connected"') == 3, output)


@case("peer/a silent client does not keep the next from its turn")
def _(context):
    peer, _ = _start(context, "--listen", "18706")
    with processes.running(peer):
        with processes.running(pingpong_cases.silent_client(context, 18706)):
            client = pingpong_cases.start(context, "client", ["-p", "18706", "-n", "10"],
                                          [network.BRIDGE_IPV4])
            with processes.running(client):
                status, output, errors = processes.finish(client, seconds=30)
                check(status == 0, f"{output}{errors}")
        output, finished = _interrupt(peer)
        check(finished["messages"] == 10 and output.count('"client_failed"') == 1, output)


@case("peer/a client for whom the limits leave no room does not end it")
def _(context):
    for limit in ("max_cq=1", "max_mr=2", "max_qp=1", "max_cqe=1"):
        peer, _ = _start(context, "--listen", "18710", "--limit", limit)
        with processes.running(peer):
            taken = []
            for _ in range(3):
                client = pingpong_cases.start(context, "client", ["-p", "18710", "-n", "2"],
                                              [network.BRIDGE_IPV4])
                with processes.running(client):
                    taken.append(processes.finish(client)[0] == 0)
            output, _ = _interrupt(peer)
        failures = [json.loads(line)["reason"] for line in output.splitlines()
                    if '"client_failed"' in line]
        check(taken == [limit != "max_cqe=1", False, False] and len(failures) == 3 - sum(taken),
              f"{limit}: {taken} {output}")
        check(all(f"the limit {limit}" in reason for reason in failures), f"{limit}: {failures}")


@case("peer/serves with fewer READs at once, and none")
def _(context):
    for depth in ("0", "1"):
        peer, _ = _start(context, "--listen", "18711", "--limit", f"max_qp_rd_atom={depth}",
                         "--limit", f"max_qp_init_rd_atom={depth}")
        with processes.running(peer):
            client = pingpong_cases.start(context, "client",
                                          ["-p", "18711", "-n", "5", "--limit",
                                           f"max_qp_rd_atom={depth}", "--limit",
                                           f"max_qp_init_rd_atom={depth}"], [network.BRIDGE_IPV4])
            with processes.running(client):
                status, output, errors = processes.finish(client)
                check(status == 0, f"{output}{errors}")
            _interrupt(peer)


@case("peer/serves uc and ud clients as well")
def _(context):
    for service in ("uc", "ud"):
        peer, _ = _start(context, "--listen", "18701", "--service", service)
        with processes.running(peer):
            client = pingpong_cases.start(context, "client",
                                          ["-p", "18701", "-s", "512", "-n", "50", "--service",
                                           service], [network.BRIDGE_IPV4])
            with processes.running(client):
                status, output, errors = processes.finish(client)
                check(status == 0, f"{service}: {output}{errors}")
            _, finished = _interrupt(peer)
            check(finished["messages"] == 50, f"{finished['messages']} messages")


@case("peer/recovers clients' messages through its faults")
def _(context):
    script = os.path.join(context.folder, "faults")
    with open(script, "w", encoding="utf-8") as file:
        file.write("# what the peer does to its traffic\nrx drop 3rd SEND\ntx drop 2nd ACK\n")
    path = os.path.join(context.folder, "peer.pcapng")
    peer, _ = _start(context, "--listen", "18702", "--script", script, "-w", path)
    with processes.running(peer):
        client = pingpong_cases.start(context, "client", ["-p", "18702", "-n", "20"],
                                      [network.BRIDGE_IPV4])
        with processes.running(client):
            status, output, errors = processes.finish(client)
            check(status == 0, f"{output}{errors}")
        _interrupt(peer)
    with open(path, "rb") as file:
        capture = file.read()
    for comment in (b"drop: rx drop 3rd SEND", b"drop: tx drop 2nd ACK"):
        check(capture.count(comment) == 1, f"{comment} is not once in the capture")


@case("peer/repeats only what was lost for clients that offer it, and not for others")
def _(context):
    peer, _ = _start(context, "--listen", "18707", "--selective-repeat", "--credits", "--fault",
                     "drop 5%", "--seed", "7")
    with processes.running(peer):
        sent = []
        for words in ([], ["--selective-repeat"]):
            client = pingpong_cases.start(context, "client",
                                          ["-p", "18707", "-s", "65536", "-n", "20", *words],
                                          [network.BRIDGE_IPV4])
            with processes.running(client):
                status, output, errors = processes.finish(client, 300)
                check(status == 0, f"{output}{errors}")
            sent.append("selective repeat: on" in output)
        check(sent == [False, True], f"{sent}")
        _, finished = _interrupt(peer)
        check(finished["counters"]["selective_acks_sent"] > 0, f"{finished}")


@case("peer/misbehaves by a script: refuses, answers wrongly, dies, and its clients recover")
def _(context):
    script = os.path.join(context.folder, "misbehave.toml")
    with open(script, "w", encoding="utf-8") as file:
        file.write("[[fault]]\nrule = 'rx answer rnr 1 first 3 SEND'\n"
                   "[[fault]]\nrule = 'rx silence 20ms 20th SEND'\n"
                   "[[fault]]\nname = 'seen twice'\ndo = 'duplicate'\ntime = '1ms'\n"
                   "way = 'tx'\npacket = 'ACK'\nnth = 4\n")
    path = os.path.join(context.folder, "misbehave.pcapng")
    peer, _ = _start(context, "--listen", "18709", "--script", script, "-w", path)
    with processes.running(peer):
        client = pingpong_cases.start(context, "client", ["-p", "18709", "-n", "60"],
                                      [network.BRIDGE_IPV4])
        with processes.running(client):
            status, output, errors = processes.finish(client)
            check(status == 0, f"{output}{errors}")
        _, finished = _interrupt(peer)
        check(finished["messages"] == 60, f"{finished}")
    with open(path, "rb") as file:
        capture = file.read()
    check(capture.count(b"drop and answer: rx answer rnr 1 first 3 SEND") == 3, "three refusals")
    check(capture.count(b"duplicate: seen twice") == 1, "one old ACK")
    check(b"drop in silence: rx silence 20ms 20th SEND" in capture, "a silence")


@case("peer/without receives every SEND gets an RNR NAK")
def _(context):
    peer, _ = _start(context, "--listen", "18703", "-r", "0")
    with processes.running(peer):
        client = pingpong_cases.start(context, "client",
                                      ["-p", "18703", "-n", "1", "--timeout", "0.5"],
                                      [network.BRIDGE_IPV4])
        with processes.running(client):
            status, _, errors = processes.finish(client)
            check(status == 1 and "nothing came for" in errors, errors)
        _, finished = _interrupt(peer)
        check(finished["counters"]["send_rnr_err"] > 10, f"{finished}")
        check(finished["messages"] == 0, f"{finished}")


@case("peer/connects by lines of standard input, in each form")
def _(context):
    gid = "10.77.0.2"
    lines = [json.dumps({"qpn": 17, "psn": 5, "gid": gid}), f"0x12 6 {gid}",
             "0000:000013:000007:00000000000000000000ffff0a4d0002"]
    peer, ready = _start(context, "--qps", "3", stdin=subprocess.PIPE)
    with processes.running(peer):
        for number, line in enumerate(lines):
            peer.stdin.write(line + "\n")
            peer.stdin.flush()
            event = json.loads(peer.stdout.readline())
            check(event == {"event": "connected", "qpn": ready["queue_pairs"][number]["qpn"],
                            "psn": ready["queue_pairs"][number]["psn"], "remote_qpn": 17 + number,
                            "remote_psn": 5 + number, "remote_gid": gid}, f"{event}")
        _interrupt(peer)


@case("peer/refuses a line that names nobody")
def _(context):
    for line in ("hello", "17", "17 0 nowhere", '{"qpn": -1, "gid": "10.0.0.1"}', '{"qpn": 17}',
                 "0x1000000 0 10.0.0.1", "[]"):
        peer, _ = _start(context, stdin=subprocess.PIPE)
        with processes.running(peer):
            status, _, errors = processes.finish(peer, text=line + "\n")
            check(status == 1 and errors.count("\n") == 1 and "names no other side" in errors,
                  f"{line}: {status} {errors}")


@case("peer/takes the other side from its options")
def _(context):
    peer, ready = _start(context, "--remote-qpn", "17", "--remote-psn", "3", "--remote-gid",
                         "10.77.0.2")
    with processes.running(peer):
        event = json.loads(peer.stdout.readline())
        check(event["event"] == "connected" and event["remote_qpn"] == 17, f"{event}")
        check(event["qpn"] == ready["queue_pairs"][0]["qpn"], f"{event}")
        _interrupt(peer)


def _act(context, ready, *action, key=None):
    """Does something to the peer's memory; how it ended, and the bytes that came."""
    region = ready["region"]
    rkey = region["rkey"] if key is None else key
    done = subprocess.run(
        context.network.inside([context.region_client, "tap:tap2", "10.77.0.2/24",
                                network.BRIDGE_IPV4, str(ready["port"]), str(region["address"]),
                                str(region["length"]), str(rkey), *action]),
        stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    check(done.returncode == 0, f"{action}: {done.stderr}")
    return done.stdout.splitlines()


@case("peer/its memory is written, read and added to by others")
def _(context):
    save = os.path.join(context.folder, "memory")
    peer, ready = _start(context, "--listen", "18704", "--region", "4096", "--key", "0x77",
                         "--save", save)
    with processes.running(peer):
        check(_act(context, ready, "write", "100", "00112233445566778899")[0] == "success", "write")
        check(_act(context, ready, "read", "98", "8") == ["success", "0000001122334455"], "read")
        check(_act(context, ready, "add", "512", "5") == ["success", "00" * 8], "add")
        check(_act(context, ready, "add", "512", "3") == ["success", "05" + "00" * 7], "add again")
        check(_act(context, ready, "read", "4095", "1") == ["success", "00"], "read at the end")
        _interrupt(peer)
    with open(save, "rb") as file:
        memory = file.read()
    expected = bytearray(4096)
    expected[100:110] = bytes.fromhex("00112233445566778899")
    expected[512] = 8
    check(memory == bytes(expected), "the memory is not what was written")


@case("peer/its memory is closed to a wrong key, beyond its end, and without access")
def _(context):
    save = os.path.join(context.folder, "memory")
    peer, ready = _start(context, "--listen", "18705", "--region", "4096", "--access", "read",
                         "--save", save)
    with processes.running(peer):
        for action, key in ((["read", "0", "8"], 0x123), (["read", "4090", "8"], None),
                            (["write", "0", "ff"], None), (["add", "0", "1"], None)):
            status = _act(context, ready, *action, key=key)[0]
            check(status == "remote access error", f"{action}: {status}")
        check(_act(context, ready, "read", "0", "4")[0] == "success", "read with access")
        _interrupt(peer)
    with open(save, "rb") as file:
        check(file.read() == bytes(4096), "a byte has moved")


@case("peer/loads and saves its memory")
def _(context):
    load, save = (os.path.join(context.folder, name) for name in ("load", "save"))
    with open(load, "wb") as file:
        file.write(bytes(range(256)) * 4)
    done = context.run("peer", *_LINK, "--region", "2048", "--load", load, "--save", save, "--for",
                       "0.01", inside=context.network)
    check(done.returncode == 0, done.stderr)
    with open(save, "rb") as file:
        check(file.read() == bytes(range(256)) * 4 + bytes(1024), "the memory is not what it was")


@case("peer/ends after its time and removes its interface")
def _(context):
    inside = context.network
    done = context.run("peer", "--link", "tap:gone2", "--ip", "10.78.0.1/24", "--for", "0.05",
                       inside=inside)
    check(done.returncode == 0, done.stderr)
    check("gone2" not in inside.run("ip", "-o", "link"), "the interface is left")


@case("peer/SIGTERM ends it as Ctrl-C does")
def _(context):
    peer, _ = _start(context)
    with processes.running(peer):
        peer.terminate()
        status, output, errors = processes.finish(peer)
        check(status == 0 and errors == "" and '"finished"' in output, f"{output}{errors}")
