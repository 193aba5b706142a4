# SPDX-License-Identifier: BSD-3-Clause
"""softrnic explain --html: the file it writes. How the page looks is tests/page's to judge."""

import html.parser
import os
import signal
import subprocess

from cases import case, check

_PCAPS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../../pcaps")
_SAMPLE = os.path.join(_PCAPS, "loss-nak.pcapng")


class _Outside(html.parser.HTMLParser):
    """Everything in a page that would be fetched from elsewhere."""

    def __init__(self):
        super().__init__()
        self.found = []

    def handle_starttag(self, tag, attrs):
        for name, value in attrs:
            fetched = name in ("src", "srcset", "data", "poster", "action") or (
                name == "href" and not value.startswith(("#", "data:")))
            if fetched:
                self.found.append(f"{tag} {name}={value}")


def _page(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


@case("explain/--html writes a page that needs nothing else")
def _(context):
    path = os.path.join(context.folder, "page.html")
    done = context.run("explain", _SAMPLE, "--html", path)
    check(done.returncode == 0 and done.stderr == "", done.stdout + done.stderr)
    check("10 frames" in done.stdout, "the report is not printed beside")
    text = _page(path)
    check(text.startswith("<!DOCTYPE html>") and text.endswith("</html>\n"), "it is not whole")
    outside = _Outside()
    outside.feed(text)
    check(not outside.found, f"it asks for {outside.found}")
    check("10.0.0.1 QP 0x000011" in text, "the connection is not written into the table")


@case("explain/--html - prints the page alone")
def _(context):
    done = context.run("explain", _SAMPLE, "--html", "-")
    check(done.returncode == 0 and done.stderr == "", done.stderr)
    check(done.stdout.startswith("<!DOCTYPE html>") and done.stdout.endswith("</html>\n"),
          "something stands before or behind it")


@case("explain/--html to where nothing can be written")
def _(context):
    done = context.run("explain", _SAMPLE, "--html", os.path.join(context.folder, "no/page.html"))
    check(done.returncode == 2 and done.stdout == "", f"exit status {done.returncode}")
    check(done.stderr.count("\n") == 1 and "no/page.html" in done.stderr, done.stderr)


@case("explain/--html of a damaged capture covers what could be read")
def _(context):
    damaged = os.path.join(context.folder, "damaged.pcapng")
    with open(_SAMPLE, "rb") as whole, open(damaged, "wb") as part:
        part.write(whole.read()[:-40])
    path = os.path.join(context.folder, "damaged.html")
    done = context.run("explain", damaged, "--html", path)
    check(done.returncode == 2, f"exit status {done.returncode}")
    check("not read to its end" in _page(path), "the page does not say that it is not all")


@case("explain/--html of no capture leaves an older page alone")
def _(context):
    path = os.path.join(context.folder, "older.html")
    with open(path, "w", encoding="utf-8") as file:
        file.write("older")
    done = context.run("explain", __file__, "--html", path)
    check(done.returncode == 2 and _page(path) == "older", "it is gone")
    check(os.listdir(context.folder).count("older.html") == 1
          and not [name for name in os.listdir(context.folder) if "older.html" in name[1:]],
          f"something is left beside it: {os.listdir(context.folder)}")


@case("explain/--html of an endless capture ends with Ctrl-C")
def _(context):
    path = os.path.join(context.folder, "endless.html")
    with open(_SAMPLE, "rb") as file:
        bytes_of_sample = file.read()
    with subprocess.Popen([context.program, "explain", "-", "--html", path],
                          stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE) as process:
        process.stdin.write(bytes_of_sample)
        process.stdin.flush()
        # More than a pipe holds: when it is taken the program is reading.
        block = bytes_of_sample[bytes_of_sample.index(b"\x06\0\0\0"):]
        for _ in range(200):
            process.stdin.write(block)
        process.stdin.flush()
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=60)
    check(process.returncode == 2 and b"interrupted" in errors, errors.decode())
    check("not read to its end" in _page(path), "the page does not say that it is not all")
