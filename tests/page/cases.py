# SPDX-License-Identifier: BSD-3-Clause
"""The cases of the page's tests: what a page must hold, and how it is used."""

import contextlib
import json
import os
import subprocess

import browser
import explanations

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
with open(os.path.join(os.path.dirname(__file__), "page_reading.js"), encoding="utf-8") as source:
    READING = source.read()

# Captures that between them show every part of the page.
CAPTURES = ("rc-all-v6", "loss-nak", "loss-read-response", "rnr", "nak-out-of-bounds", "cnp",
            "retry-exceeded", "ud-send-v1")
WIDE, NARROW = (1280, 900), (390, 844)
MOST_BYTES = 2_000_000
CASES = []


def case(name):
    def register(body):
        CASES.append((name, body))
        return body
    return register


class Bench:
    """What all cases use: the programs, a place for files, one browser."""

    def __init__(self, softrnic, page_of, folder, pictures):
        self.softrnic, self.page_of, self.folder = softrnic, page_of, folder
        self.pictures = pictures
        self.chromium = browser.Browser()

    def close(self):
        self.chromium.close()

    def capture(self, name):
        """(path of the page of a sample capture, what --json says of it)."""
        capture = f"pcaps/{name}.pcapng"
        path = os.path.join(self.folder, f"{name}.html")
        done = subprocess.run([self.softrnic, "explain", capture, "--html", path], cwd=TOP,
                              check=False, capture_output=True, text=True)
        if done.returncode not in (0, 1):
            raise RuntimeError(f"explain {capture} --html: {done.stderr.strip()}")
        told = subprocess.run([self.softrnic, "explain", capture, "--json"], cwd=TOP, check=False,
                              capture_output=True, text=True)
        return path, json.loads(told.stdout)

    def made_up(self, explanation, name="made-up"):
        path = os.path.join(self.folder, f"{name}.html")
        with open(path, "wb") as out:
            subprocess.run([self.page_of], input=json.dumps(explanation).encode(), stdout=out,
                           check=True)
        return path

    def picture(self, tab, name):
        if self.pictures:
            tab.picture(os.path.join(self.pictures, f"{name}.png"), whole=True)

    @contextlib.contextmanager
    def tab(self, path, address="", size=WIDE, scheme="light", **more):
        tab = browser.Tab(self.chromium, *size, scheme, **more)
        try:
            tab.open(path, address)
            if more.get("script", True):
                tab.value(READING)
            yield tab
        finally:
            tab.close()


def small():
    return explanations.explanation(7, 6, 300)


def appearance(tab, what):
    """Complaints that hold for any page, at its present size and colours."""
    for text in tab.complaints():
        yield f"{what}: {text}"
    width = tab.value("document.documentElement.scrollWidth - document.documentElement.clientWidth")
    if width > 0:
        yield f"{what}: the page is {width} pixels wider than the window: {tab.value('reading.overhang()')}"
    for question in ("faint", "nameless", "doubled_ids"):
        for text in tab.value(f"reading.{question}()"):
            yield f"{what}: {question}: {text}"


def sum_of(connection, member):
    return sum(direction.get(member) or 0 for direction in connection["directions"])


def first_fault(explanation):
    """Of the whole capture; None when there is none."""
    faults = [one["first_fault"] | {"connection": one["id"]} for one in explanation["connections"]
              if one["first_fault"]]
    return explanation.get("first_fault") or min(faults, key=lambda fault: fault["frame"],
                                                 default=None)


def contents(tab, explanation):
    """The table holds the numbers of the JSON."""
    rows = tab.value("reading.rows()")
    if len(rows) != len(explanation["connections"]):
        yield f"{len(rows)} rows for {len(explanation['connections'])} connections"
    by_id = {row[0]: row for row in rows}
    for connection in explanation["connections"]:
        row = by_id.get(str(connection["id"]))
        if row is None:
            yield f"no row for connection {connection['id']}"
            continue
        numbers = {5: sum_of(connection, "packets"), 6: sum_of(connection, "messages"),
                   7: sum_of(connection, "payload_bytes"),
                   10: connection["losses"]["packets"],
                   11: sum_of(connection, "retransmitted_packets"),
                   12: sum(count for syndrome, count in connection["naks"].items()
                           if syndrome[2] not in "23"), 13: connection["rnr"]["naks"],
                   14: sum_of(connection, "ecn_marked") + sum_of(connection, "cnps"),
                   15: connection["faults"]}
        for column, number in numbers.items():
            if row[column] != str(number):
                yield f"connection {connection['id']}, column {column}: {row[column]} for {number}"
        for column, end in zip((1, 2), connection["ends"]):
            if end["address"] not in row[column]:
                yield f"connection {connection['id']}: {row[column]} for {end['address']}"
    fault = first_fault(explanation)
    summary = tab.value("document.getElementById('summary').textContent")
    if fault and f"frame {fault['frame']}" not in summary:
        yield f"the summary does not name the first fault's frame, {fault['frame']}"
    if not fault and "No fault" not in summary:
        yield "the summary does not say that there is no fault"
    links = tab.value("document.querySelectorAll('.moments a').length")
    if links != len(explanation["worst_moments"]):
        yield f"{links} worst moments for {len(explanation['worst_moments'])}"


def embedded(tab, explanation):
    """What the page carries is what --json prints."""
    carried = json.loads(tab.value("document.getElementById('explanation').textContent"))
    for member in ("frames", "faults", "worst_moments", "findings"):
        if carried.get(member) != explanation.get(member):
            yield f"{member}: {carried.get(member)} in the page, {explanation.get(member)} by --json"


def marks_drawn(tab, explanation):
    """The legend counts as many marks as the sequence of the shown connection holds."""
    shown = first_fault(explanation) or {}
    connection = next((one for one in explanation["connections"]
                       if one["id"] == shown.get("connection")), explanation["connections"][0])
    sequence = connection.get("sequence") or {}
    if not sequence.get("points"):
        return
    counts = sum(tab.value("reading.marks()").values())
    if counts != len(sequence["points"]):
        yield f"the legend counts {counts} points of {len(sequence['points'])}"


def capture_case(name):
    def body(bench):
        path, explanation = bench.capture(name)
        if os.path.getsize(path) > MOST_BYTES:
            yield f"the page has {os.path.getsize(path)} bytes"
        with bench.tab(path) as tab:
            yield from contents(tab, explanation)
            yield from embedded(tab, explanation)
            yield from marks_drawn(tab, explanation)
            for scheme in ("light", "dark"):
                for size in (WIDE, NARROW):
                    tab.show(*size, scheme)
                    tab.settle()
                    tab.settle()
                    yield from appearance(tab, f"{scheme} at {size[0]}")
                    bench.picture(tab, f"{name}-{scheme}-{size[0]}")
    return body


for capture_name in CAPTURES:
    CASES.append((f"capture/{capture_name}", capture_case(capture_name)))


@case("made-up/every mark, light and dark, wide and narrow")
def every_mark(bench):
    explanation = small()
    with bench.tab(bench.made_up(explanation)) as tab:
        yield from contents(tab, explanation)
        yield from marks_drawn(tab, explanation)
        for scheme in ("light", "dark"):
            for size in (WIDE, NARROW):
                tab.show(*size, scheme)
                tab.settle()
                tab.settle()
                yield from appearance(tab, f"{scheme} at {size[0]}")
                bench.picture(tab, f"made-up-{scheme}-{size[0]}")


@case("names of a capture stay text")
def hostile(bench):
    explanation = small()
    explanation["file"] = explanations.HOSTILE
    connection = explanation["connections"][0]
    connection["ends"][0]["address"] = explanations.HOSTILE
    connection["service"] = connection["ended"] = connection["version"] = explanations.HOSTILE
    connection["naks"] = {explanations.HOSTILE: 1}
    connection["sequence"]["points"][0][4] = explanations.HOSTILE
    connection["ladder"][0]["opcode"] = explanations.HOSTILE
    connection["ladder"][1]["sentence"] = explanations.HOSTILE
    connection["operations"][0]["operation"] = explanations.HOSTILE
    explanation["first_fault"]["sentence"] = explanations.HOSTILE
    explanation["worst_moments"][0]["what"] = explanations.HOSTILE
    with bench.tab(bench.made_up(explanation, "hostile"), "#moment-1") as tab:
        yield from tab.complaints()
        if tab.value("window.bitten"):
            yield "a script from the data ran"
        if tab.value("document.images.length + document.scripts.length") != 2:
            yield "the data made elements"
        if tab.value("document.querySelector('h1').textContent") != explanations.HOSTILE:
            yield "the name of the file is not shown as it is"
        # Were one written in all the same, the policy would not let it run.
        tab.value("document.body.append(Object.assign(document.createElement('script'),"
                  "{textContent: 'window.bitten = 1'}))")
        tab.value("document.body.insertAdjacentHTML('beforeend',"
                  "'<img src=x onerror=\"window.bitten = 1\">')")
        tab.settle()
        if tab.value("window.bitten"):
            yield "the content security policy let a script run"


@case("a huge capture")
def huge(bench):
    explanation = explanations.explanation(3, 1000, 640, total=100_000)
    path = bench.made_up(explanation, "huge")
    if os.path.getsize(path) > MOST_BYTES:
        yield f"the page has {os.path.getsize(path)} bytes"
    with bench.tab(path) as tab:
        yield from tab.complaints()
        rows = tab.value("reading.rows()")
        if f"{len(rows)} of 100,000 connections" not in tab.value("reading.text('connections')"):
            yield f"it does not say that the table's {len(rows)} are not all"
        if len(rows) < 400:
            yield f"there is room for more than {len(rows)} connections"
        tab.value("document.querySelector('#connection-filter').focus()")
        tab.press(*rows[-1][1].lower())
        if tab.value("reading.rows()") != rows[-1:]:
            yield f"the filter leaves {len(tab.value('reading.rows()'))} rows"
        plotted = tab.value("JSON.parse(reading.text('explanation')).connections"
                            ".filter((one) => one.sequence).length")
        if plotted < 24:
            yield f"only {plotted} connections have plots"


@case("without JavaScript")
def without_script(bench):
    explanation = small()
    with bench.tab(bench.made_up(explanation, "plain"), script=False) as tab:
        # The page's scripts are off; DevTools still reads the document.
        text = tab.value("document.body.innerText")
        for wanted in ("Worst moments", "Connections", "10.0.0.3 QP 0x000013", "need JavaScript",
                       "The receiver misses a packet"):
            if wanted not in text:
                yield f"'{wanted}' is not to be read"
        for hidden in ("Time-sequence graph", "Message ladder"):
            if hidden in text:
                yield f"'{hidden}' stands there empty"
        bench.picture(tab, "without-script")


@case("broken and empty explanations")
def odd(bench):
    empty = {"file": "empty.pcap", "complete": True, "frames": 0, "connections": [],
             "worst_moments": [], "faults": 0}
    sparse = {"file": "sparse.pcap", "frames": 1, "complete": False,
              "connections": [{"id": 0}, {"id": 1, "ends": None, "directions": None}]}
    for explanation, wanted in ((empty, "There is no RoCE"), (sparse, "not read to its end")):
        with bench.tab(bench.made_up(explanation, "odd")) as tab:
            yield from appearance(tab, explanation["file"])
            if wanted not in tab.value("document.body.innerText"):
                yield f"{explanation['file']}: no word of '{wanted}'"


@case("print")
def printed(bench):
    with bench.tab(bench.made_up(small()), scheme="dark") as tab:
        tab.send("Emulation.setEmulatedMedia", {"media": "print"})
        tab.settle()
        if tab.value("getComputedStyle(document.body).color") != "rgb(22, 25, 29)":
            yield "print is not dark on white"
        if tab.value("document.querySelector('.toolbar').checkVisibility()"):
            yield "buttons are printed"
        pages = tab.send("Page.printToPDF", {"printBackground": True})["data"]
        if len(pages) < 10_000:
            yield "the print is empty"
