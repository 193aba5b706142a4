# SPDX-License-Identifier: BSD-3-Clause
"""The tables: tshark -z roce,NAME, in one pass and with -2, and limited by a filter."""

import re
import subprocess

import frames as f
from case import case

DATA = bytes(range(256))


def table(look, source, name, two_pass=False):
    """{column: cell} for every row of a table, as it is printed between its lines."""
    text = look.output("-n", "-r", look.capture(source), "-q", "-z", f"roce,{name}",
                       *(["-2"] if two_pass else []))
    lines = [line for line in text.splitlines() if line.strip()]
    rules = [number for number, line in enumerate(lines) if set(line) <= {"-", "="}]
    titles = lines[rules[1] + 1]
    rows = []
    for line in lines[rules[2] + 1:]:
        if set(line) <= {"-", "="}:
            break
        rows.append(re.split(r"\s{2,}", line.strip()))
    return re.split(r"\s{2,}", titles.strip()), rows


def rows_equal(look, source, name, expected):
    """Each expected row: the cells of the named columns."""
    for two_pass, title in look.passes():
        titles, rows = table(look, source, name, two_pass)
        if len(rows) != len(expected):
            look.complain(f"{title}: {len(rows)} rows, expected {len(expected)}: {rows}")
            continue
        for number, (row, cells) in enumerate(zip(rows, expected), 1):
            seen = dict(zip(titles, row))
            for column, value in cells.items():
                look.equal(seen.get(column), value, f"{title}: {name}, row {number}: {column}")


@case("streams")
def streams(look):
    rows_equal(look, "loss-nak", "streams", [
        {"Stream": "0", "Service": "RC", "Side A": "10.0.0.1 QP 0x11", "Side B": "10.0.0.2 QP 0x12",
         "Packets A>B": "8", "Packets B>A": "2", "Bytes A>B": "1.25 KiB", "Bytes B>A": "0 B",
         "Duration": "30.0 us", "Sent again": "3", "NAKs": "1", "RNR NAKs": "0"}])


@case("streams: one that an error ended")
def broken(look):
    rows_equal(look, "nak-remote-access-write", "streams", [{"State": "broken", "NAKs": "1"}])


@case("operations with their latencies")
def operations(look):
    talk = f.Talk()
    for number in range(100):
        talk.ask(f.SEND_ONLY, number, payload=DATA, ack_request=1)
        talk.wait(number).ack(number, number + 1)
    rows_equal(look, talk, "operations", [
        {"Operation": "RC SEND", "Messages": "100", "Complete": "100", "Refused": "0",
         "Incomplete": "0", "Min": "10 us", "Max": "109 us"}])
    titles, rows = table(look, talk, "operations")
    median = float(dict(zip(titles, rows[0]))["Median"].split()[0])
    if not 55 <= median <= 64:
        look.complain(f"the median of 10 to 109 us is {median} us")


@case("operations of every kind")
def kinds(look):
    names = [row[0] for row in table(look, "rc-all-v6", "operations")[1]]
    for name in ("RC SEND", "RC RDMA WRITE", "RC RDMA READ", "RC FETCH and ADD",
                 "RC COMPARE and SWAP"):
        if name not in names:
            look.complain(f"no row {name}: {names}")


@case("loss and retransmission")
def loss(look):
    rows_equal(look, "loss-nak", "loss", [
        {"Sender": "10.0.0.1 QP 0x11", "Packets": "8", "Missing": "0", "Sent again": "3",
         "after NAK": "3", "after timeout": "0"},
        {"Sender": "10.0.0.2 QP 0x12", "Packets": "2", "Sent again": "0"}])
    rows_equal(look, "loss-timeout", "loss", [
        {"Packets": "2", "Sent again": "1", "after NAK": "0", "after timeout": "1",
         "Timeouts": "1"}, {"Packets": "1"}])
    rows_equal(look, "loss-icrc", "loss", [{"Bad ICRC": "1", "Sent again": "3"},
                                           {"Bad ICRC": "0"}])
    rows_equal(look, "duplicate", "loss", [{"Duplicates": "1", "Sent again": "0"}, {}])


@case("loss that the capture does not show, by the gaps")
def missing(look):
    talk = f.Talk(service=f.UC)
    for offset in (0, 1, 4, 5):
        talk.ask(f.SEND_ONLY, offset, payload=DATA)
    rows = table(look, talk, "loss")
    cells = dict(zip(rows[0], rows[1][0]))
    look.equal(cells.get("Missing"), "2", "missing")


@case("NAKs and waits")
def naks(look):
    rows_equal(look, "rnr", "naks", [
        {"Sent by": "10.0.0.2 QP 0x12", "NAK": "receiver not ready", "Count": "3",
         "First frame": "3", "Last frame": "9", "Longest run": "3", "Shortest wait": "640 us",
         "Waits in all": "1.92 ms"}])
    rows_equal(look, "loss-nak", "naks", [{"NAK": "PSN sequence error", "Count": "1",
                                           "First frame": "6"}])


@case("congestion: marks and notifications")
def congestion(look):
    talk = f.Talk()
    talk.ask(f.SEND_ONLY, 0, payload=DATA, tos=2, ack_request=1).ack(0, 1)
    for number in range(1, 8):
        talk.ask(f.SEND_ONLY, number, payload=DATA, tos=3 if number in (3, 5) else 2)
    talk.cnp()
    rows_equal(look, talk, "congestion", [
        {"Packets": "8", "ECN capable": "100.00 %", "Marked": "2", "Marked share": "25.00 %",
         "CNPs back": "1"}, {"Marked": "0"}])


@case("a capture without RoCE, and an empty one, have empty tables")
def empty(look):
    for listed in ([f.ethernet(f.ALICE, f.BOB, 0x0806, bytes(28))], []):
        for name in ("streams", "operations", "loss", "naks", "congestion"):
            rows_equal(look, listed, name, [])


@case("a filter limits a table")
def filtered(look):
    one = f.Talk().ask(f.SEND_ONLY, 0, payload=DATA, ack_request=1).ack(0, 1)
    other = f.Talk(alice=f.Host(f.ALICE.mac, f.ALICE.address, 0x21, 5),
                   bob=f.Host(f.BOB.mac, f.BOB.address, 0x22, 6), now_us=100)
    other.ask(f.SEND_ONLY, 0, payload=DATA, ack_request=1).ack(0, 1)
    text = look.output("-n", "-r", look.capture(one.frames + other.frames), "-q", "-z",
                       "roce,streams,roce.stream == 1")
    if "QP 0x21" not in text or "QP 0x11" in text:
        look.complain(text)


@case("packets counted by service and opcode")
def tree(look):
    for two_pass, title in look.passes():
        text = look.output("-n", "-r", look.capture("loss-nak"), "-q", "-z", "roce,tree",
                           *(["-2"] if two_pass else []))
        for name, count in (("RoCE packets", 10), ("RC RDMA WRITE Middle", 5),
                            ("RC Acknowledge", 2)):
            if not re.search(rf"{name}\s+{count}\s", text):
                look.complain(f"{title}: not {count} of {name}")


@case("every table is listed by tshark -z help")
def listed(look):
    # It prints to stderr in some versions.
    done = subprocess.run(look.shark.command("tshark", "-z", "help"), capture_output=True,
                          text=True, check=False, env=look.shark.environment())
    for name in ("roce,streams", "roce,operations", "roce,loss", "roce,naks", "roce,congestion",
                 "roce,tree", "conv,roce", "endpoints,roce"):
        if name not in done.stdout + done.stderr:
            look.complain(f"{name} is not listed")


@case("a filter that is none is refused in a line")
def refused(look):
    try:
        look.output("-n", "-r", look.capture("rnr"), "-q", "-z", "roce,streams,no such filter ((")
    except RuntimeError as error:
        if "roce,streams" not in str(error).split("status", 1)[-1]:
            look.complain(f"the complaint does not name the table: {error}")
        return
    look.complain("a broken filter is taken")
