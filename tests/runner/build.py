# SPDX-License-Identifier: BSD-3-Clause
"""Configures and builds a CMake preset, telling how far it is."""

import os
import re
import shutil
import subprocess
import time

import execution

_STEP = re.compile(r"^\[(\d+)/(\d+)\]")
_SECONDS_BETWEEN_LINES = 15


class BuildError(Exception):
    pass


def build(top, preset, targets, say):
    """Builds the preset: what targets() names once it is configured (nothing: all of it). Raises
    BuildError with the compiler's words."""
    began = time.monotonic()
    folder = os.path.join(top, "build", preset)
    os.makedirs(folder, exist_ok=True)
    log = os.path.join(folder, "build.log")
    say(f"== build {preset}")
    configure = ["cmake", "--preset", preset]
    if shutil.which("ccache"):
        configure.append("-DCMAKE_CXX_COMPILER_LAUNCHER=ccache")
        # Without it ccache would not keep what was compiled with a precompiled header.
        os.environ.setdefault("CCACHE_SLOPPINESS", "pch_defines,time_macros")
    with open(log, "w", encoding="utf-8") as sink:
        _run(top, configure, sink, preset, say)
        command = ["cmake", "--build", "--preset", preset]
        chosen = targets()
        if chosen:
            command += ["--target", *chosen]
        _run(top, command, sink, preset, say)
    say(f"   built in {time.monotonic() - began:.0f} s")


def _run(top, command, sink, preset, say):
    process = execution.start(command, cwd=top, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              text=True, errors="replace")
    told = time.monotonic()
    printed = []
    try:
        for line in process.stdout:
            sink.write(line)
            printed.append(line)
            step = _STEP.match(line)
            if step and time.monotonic() - told > _SECONDS_BETWEEN_LINES:
                told = time.monotonic()
                say(f"   {preset}: {step.group(1)} of {step.group(2)}")
        status = process.wait()
    finally:
        execution.end_group(process)
    if status != 0:
        raise BuildError(f"{' '.join(command)}: {execution.status_text(status)}\n"
                         + _errors("".join(printed)))


def _errors(text):
    """From the first failed step on, or the end when there is none."""
    at = text.find("\nFAILED: ")
    lines = text[at + 1:].splitlines() if at >= 0 else text.splitlines()[-40:]
    return "\n".join(lines[:80])
