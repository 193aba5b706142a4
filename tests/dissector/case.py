# SPDX-License-Identifier: BSD-3-Clause
"""One case of the dissection suite: a capture, and what every frame of it must show.

A case is a function of a Look with the decorator `case`; each expectation is checked in one pass
and with -2.
"""

import glob
import os

import frames

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
PCAPS = os.path.join(TOP, "pcaps")

# What only a second look at a capture can know: later frames settle it.
FORWARD_LOOKING = {
    "roce.acked_in", "roce.response_in", "roce.srcqp", "roce.qp", "roce.stream.paired_by",
    "roce.stream.path_mtu", "roce.message", "roce.message.packets", "roce.message.length",
    "roce.message.completed_in", "roce.message.completion_time", "roce.message.state",
    "roce.message.reassembled_in"}

MOST_COMPLAINTS = 10  # of one case

NOTE, WARNING, ERROR = 0x400000, 0x600000, 0x800000  # Wireshark's severities
CHAT = 0x200000
SEVERITIES = {"comment": 0x100000, "chat": CHAT, "note": NOTE, "warning": WARNING, "error": ERROR}


def case(title):
    def mark(body):
        body.case_title = title
        return body
    return mark


def of_module(module):
    """(title, function) in the order they are written."""
    yield from getattr(module, "CASES", ())
    for value in list(vars(module).values()):
        if hasattr(value, "case_title") and value.__module__ == module.__name__:
            yield value.case_title, value


def run(body, shark):
    look = Look(shark)
    body(look)
    more = len(look.complaints) - MOST_COMPLAINTS
    return look.complaints[:MOST_COMPLAINTS] + ([f"and {more} more"] if more > 0 else [])


def sample(name):
    """A capture of pcaps/."""
    return os.path.join(PCAPS, name + ".pcapng")


def sample_names():
    return sorted(os.path.basename(path).removesuffix(".pcapng")
                  for path in glob.glob(os.path.join(PCAPS, "*.pcapng")))


def _text(value):
    """A value as tshark prints it."""
    if value is None:
        return []
    if isinstance(value, bool):
        return ["1" if value else "0"]
    if isinstance(value, (list, tuple)):
        return [one for each in value for one in _text(each)]
    return [str(value)]


class Look:
    """What tshark shows of captures; complaints collect."""

    def __init__(self, shark):
        self.shark = shark
        self.complaints = []

    def complain(self, text):
        self.complaints.append(text)

    def equal(self, seen, expected, what):
        if seen != expected:
            self.complain(f"{what}: {seen!r}, expected {expected!r}")

    def capture(self, source, *, snap=None, kind="pcap"):
        """A file of frames, a Talk's frames, or the name of a sample."""
        if isinstance(source, str):
            return self.shark.copy(sample(source))
        listed = source.frames if isinstance(source, frames.Talk) else source
        write = frames.pcapng if kind == "pcapng" else frames.pcap
        return self.shark.capture(write(listed, snap=snap), kind)

    def passes(self):
        return ((False, "one pass"), (True, "-2"))

    def fields(self, source, names, expected, *, where="", options=(), snap=None, passes=None):
        """Row by row: each cell a value, None for an absent field, or a list of occurrences."""
        path = source if isinstance(source, str) and os.sep in source else self.capture(
            source, snap=snap)
        wanted = [[_text(value) for value in row] for row in expected]
        for two_pass, title in passes or self.passes():
            rows = self.shark.fields(path, names, two_pass=two_pass, where=where, options=options)
            self._compare(rows, wanted, names, title)

    def _compare(self, rows, wanted, names, title):
        if len(rows) != len(wanted):
            self.complain(f"{title}: {len(rows)} frames, expected {len(wanted)}: {rows}")
            return
        for number, (row, expected) in enumerate(zip(rows, wanted), 1):
            for name, seen, value in zip(names, row, expected):
                if seen != value:
                    self.complain(f"{title}: row {number}: {name} is {shown(seen)}, expected "
                                  f"{shown(value)}")

    def column(self, source, name, expected, **more):
        """One field of every frame."""
        self.fields(source, [name], [[value] for value in expected], **more)

    def frames_where(self, source, where, expected, *, options=(), snap=None):
        """The numbers of the frames a filter finds."""
        path = self.capture(source, snap=snap)
        for two_pass, title in self.passes():
            rows = self.shark.fields(path, ["frame.number"], two_pass=two_pass, where=where,
                                     options=options)
            self.equal([int(row[0][0]) for row in rows], expected, f"{title}: {where}")

    def finding_fields(self):
        """Every remark of the plugin: the fields that are expert information."""
        return sorted(name for name, kind in self.shark.registered().items() if kind == "FT_NONE"
                      and (name.startswith("roce.analysis.") or name in REMARKS)
                      and name != "roce.analysis.flags")  # says that there is one, is none

    def findings(self, source, *, above="chat", options=(), two_pass=False, snap=None):
        """[(frame, name)] of the remarks above a severity, in the order of the frames."""
        path = source if isinstance(source, str) and os.sep in source else self.capture(
            source, snap=snap)
        names = self.finding_fields()
        rows = self.shark.fields(path, ["frame.number", "_ws.expert.severity",
                                        "udp.checksum.zero", *names],
                                 two_pass=two_pass, options=options)
        found = []
        for row in rows:
            severities = [int(text, 0) for text in row[1]]
            # Wireshark's own remark on UDP over IPv6 without a checksum, as RoCE v2 hardware sends.
            for _ in row[2]:
                severities.remove(ERROR)
            here = [name.removeprefix("roce.analysis.") for name, cell in zip(names, row[3:])
                    for _ in cell]
            chats = [name for name in here if name in CHATS]
            loud = [name for name in here if name not in chats]
            number = int(row[0][0])
            counted = sum(value > SEVERITIES[above] for value in severities)
            if above == "chat" and counted != len(loud):
                found.append((number, f"{counted} remarks, {len(loud)} of them the plugin's"))
            found += [(number, name) for name in (loud if above == "chat" else here)]
        return found

    def expect_findings(self, source, expected, **more):
        """Exactly these remarks above chat, at these frames: [(frame, name)]."""
        for two_pass, title in self.passes():
            seen = sorted(self.findings(source, two_pass=two_pass, **more))
            for item in seen:
                if item not in expected:
                    self.complain(f"{title}: frame {item[0]} shows {item[1]}, not expected")
            for item in expected:
                if item not in seen:
                    self.complain(f"{title}: frame {item[0]} does not show {item[1]}")

    def output(self, *arguments, **more):
        return self.shark.run(*arguments, **more)


# Remarks outside roce.analysis, and those that are chat.
REMARKS = {"roce.icrc.bad", "roce.too_short", "roce.bth.opcode.reserved", "roce.bth.tver.bad",
           "roce.headers_too_long", "roce.pad.bad", "roce.pad.not_zero", "roce.grh.paylen.bad"}
CHATS = {"connection_request", "connection_established", "connection_rejected",
         "connection_closed", "connection_restarted", "roce.pad.not_zero"}


def shown(cell):
    return "absent" if not cell else cell[0] if len(cell) == 1 else repr(cell)
