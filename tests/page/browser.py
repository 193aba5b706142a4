# SPDX-License-Identifier: BSD-3-Clause
"""A headless Chromium, spoken to by its DevTools protocol over a pipe: no port, no library."""

import base64
import json
import os
import select
import shutil
import subprocess
import tempfile
import time

PROGRAMS = ("chromium", "chromium-browser", "google-chrome")
PATIENCE = 30  # seconds for one answer; a browser that needs longer hangs


class BrowserError(Exception):
    pass


def find():
    """The browser's path, or None."""
    return next(filter(None, map(shutil.which, PROGRAMS)), None)


KEYS = {"Tab": 9, "Enter": 13, "Escape": 27, "Space": 32, "PageUp": 33, "PageDown": 34, "End": 35,
        "Home": 36, "ArrowLeft": 37, "ArrowUp": 38, "ArrowRight": 39, "ArrowDown": 40}
SHIFT = 8


class Browser:
    """One process; answers and events come as they come."""

    def __init__(self):
        self.profile = tempfile.TemporaryDirectory(prefix="softrnic-page-")
        to_browser, self._out = os.pipe()
        self._in, from_browser = os.pipe()

        def as_descriptors_3_and_4():
            # The two may be 3 or 4 themselves: out of the way first.
            reading, writing = os.dup(to_browser), os.dup(from_browser)
            high_reading, high_writing = os.dup2(reading, 103), os.dup2(writing, 104)
            os.dup2(high_reading, 3)
            os.dup2(high_writing, 4)
        self._log = open(os.path.join(self.profile.name, "log"), "w+b")
        self.process = subprocess.Popen(
            [find(), "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
             "--remote-debugging-pipe", "--no-first-run", "--disable-extensions",
             "--disable-background-networking", "--disable-component-update", "--disable-sync",
             "--no-default-browser-check", "--hide-scrollbars", "--force-color-profile=srgb",
             "--font-render-hinting=none", f"--user-data-dir={self.profile.name}", "about:blank"],
            preexec_fn=as_descriptors_3_and_4, close_fds=False, stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL, stderr=self._log, start_new_session=True)
        os.close(to_browser)
        os.close(from_browser)
        self._buffer = b""
        self._number = 0
        self.events = []

    def close(self):
        try:
            self.send("Browser.close")
            self.process.wait(10)
        except (BrowserError, OSError, subprocess.TimeoutExpired):
            self.process.kill()
            self.process.wait()
        os.close(self._out)
        os.close(self._in)
        self._log.close()
        self.profile.cleanup()

    def _end_of_log(self):
        self._log.seek(0)
        return self._log.read().decode(errors="replace")[-500:]

    def _receive(self, deadline):
        while b"\0" not in self._buffer:
            left = deadline - time.monotonic()
            if left <= 0 or not select.select([self._in], [], [], left)[0]:
                raise BrowserError(f"no answer within {PATIENCE} s: {self._end_of_log()}")
            read = os.read(self._in, 1 << 16)
            if not read:
                raise BrowserError(f"the browser has ended: {self._end_of_log()}")
            self._buffer += read
        message, self._buffer = self._buffer.split(b"\0", 1)
        return json.loads(message)

    def send(self, method, parameters=None, session=None):
        """The result of a command."""
        self._number += 1
        message = {"id": self._number, "method": method, "params": parameters or {}}
        if session:
            message["sessionId"] = session
        data = json.dumps(message).encode() + b"\0"
        while data:
            data = data[os.write(self._out, data):]
        deadline = time.monotonic() + PATIENCE
        while True:
            answer = self._receive(deadline)
            if answer.get("id") == self._number:
                if "error" in answer:
                    raise BrowserError(f"{method}: {answer['error']['message']}")
                return answer["result"]
            self.events.append(answer)

    def wait_for(self, method, session):
        deadline = time.monotonic() + PATIENCE
        while True:
            for event in self.events:
                if event.get("method") == method and event.get("sessionId") == session:
                    self.events.remove(event)
                    return event["params"]
            self.events.append(self._receive(deadline))


class Tab:
    """One page of a browser."""

    def __init__(self, browser, width=1280, height=900, scheme="light", motion="reduce",
                 script=True):
        self.browser = browser
        self.script = script
        self.target = browser.send("Target.createTarget", {"url": "about:blank"})["targetId"]
        self.session = browser.send("Target.attachToTarget", {"targetId": self.target,
                                                              "flatten": True})["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.send(f"{domain}.enable")
        if not script:
            self.send("Emulation.setScriptExecutionDisabled", {"value": True})
        self.show(width, height, scheme, motion)

    def show(self, width, height, scheme, motion="reduce"):
        self.send("Emulation.setDeviceMetricsOverride",
                  {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False})
        self.send("Emulation.setEmulatedMedia", {"features": [
            {"name": "prefers-color-scheme", "value": scheme},
            {"name": "prefers-reduced-motion", "value": motion}]})

    def send(self, method, parameters=None):
        return self.browser.send(method, parameters, self.session)

    def open(self, path, address=""):
        self.send("Page.navigate", {"url": f"file://{os.path.abspath(path)}{address}"})
        self.browser.wait_for("Page.loadEventFired", self.session)
        self.settle()

    def settle(self):
        """Two frames: whatever was asked to be drawn is drawn."""
        if not self.script:
            return
        self.value("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame("
                   "() => done(1))))")

    def value(self, expression):
        result = self.send("Runtime.evaluate", {"expression": expression, "returnByValue": True,
                                                "awaitPromise": True})
        if "exceptionDetails" in result:
            details = result["exceptionDetails"]
            raise BrowserError(details.get("exception", {}).get("description", details["text"]))
        return result["result"].get("value")

    def press(self, *keys, shift=False):
        """Real key presses: 'ArrowRight', 'Tab', 'a'."""
        for key in keys:
            text = key if len(key) == 1 else {"Enter": "\r", "Space": " "}.get(key, "")
            code = KEYS.get(key, ord(key.upper()) if key.isalnum() and len(key) == 1 else 0)
            event = {"key": " " if key == "Space" else key, "modifiers": SHIFT if shift else 0,
                     "windowsVirtualKeyCode": code}
            self.send("Input.dispatchKeyEvent", {"type": "keyDown" if text else "rawKeyDown",
                                                 "text": text, **event})
            self.send("Input.dispatchKeyEvent", {"type": "keyUp", **event})
        self.settle()

    def mouse(self, kind, x, y, **more):
        self.send("Input.dispatchMouseEvent", {"type": kind, "x": x, "y": y, **more})

    def picture(self, path, whole=False, clip=None):
        parameters = {"format": "png", "captureBeyondViewport": whole}
        if clip:
            parameters["clip"] = {**clip, "scale": 1}
            parameters["captureBeyondViewport"] = True
        data = self.send("Page.captureScreenshot", parameters)["data"]
        with open(path, "wb") as file:
            file.write(base64.b64decode(data))

    def complaints(self):
        """Errors on the console, exceptions, and whatever was asked of a network."""
        found = []
        for event in self.browser.events:
            if event.get("sessionId") != self.session:
                continue
            method, parameters = event["method"], event["params"]
            if method == "Runtime.exceptionThrown":
                details = parameters["exceptionDetails"]
                found.append(details.get("exception", {}).get("description", details["text"]))
            elif method == "Runtime.consoleAPICalled" and parameters["type"] in ("error", "warning"):
                found.append(f"console: {parameters['args']}")
            elif method == "Log.entryAdded" and parameters["entry"]["level"] in ("error", "warning"):
                found.append(parameters["entry"]["text"])
            elif method == "Network.requestWillBeSent":
                url = parameters["request"]["url"]
                document = parameters.get("type") == "Document" and url.startswith("file://")
                if not document and not url.startswith("data:"):
                    found.append(f"asked for {url}")
        return found

    def close(self):
        self.browser.send("Target.closeTarget", {"targetId": self.target})
        self.browser.events = [event for event in self.browser.events
                               if event.get("sessionId") != self.session]
