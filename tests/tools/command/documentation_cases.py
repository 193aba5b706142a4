# SPDX-License-Identifier: BSD-3-Clause
"""docs/tools.md, faults.md, check.md, diff.md and replay.md: their examples print what they say.

An example is a block of ```console: a line "$ softrnic ..." that is run, and what it prints. What
demo, check, diff and replay print is compared as it stands, since it depends on nothing else. Of the others
numbers, addresses and the width of gaps are not compared, since times and drawn numbers differ. A
line "..." stands for any lines. A block after the comment <!-- background --> keeps running while the
next one is run. A block of ```toml or ```json whose first line names a file, "# peer.toml", is
written to that file first; every other is read all the same.
"""

import json
import os
import re
import shlex
import signal
import subprocess
import tempfile

import pingpong_cases
import processes
from cases import case, check

_DOCUMENTS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../../docs")
_SCRIPT = re.compile(r"```(toml|json)\n(?:# (\S+)\n)?(.*?)```", re.S)
_BLOCK = re.compile(r"(<!-- background -->\n)?```console\n\$ softrnic (.*?)\n(.*?)```", re.S)


def _shape(text):
    text = re.sub(r"(0x)?[0-9a-f.:]*\d[0-9a-f.:]*", "#", text)
    return re.sub(r"[ \t]+", " ", text)


def compare(command, printed, expected):
    position = 0
    exact = command.startswith(("demo", "check", "diff", "edit", "replay")) and "shm:" not in command
    shape = str if exact else _shape
    got = shape(printed)
    parts = [shape(part) for part in re.split(r"^\.\.\.\n", expected, flags=re.M)]
    for number, part in enumerate(parts):
        at = got.find(part, position)
        check(at >= 0 and (number > 0 or at == 0),
              f"softrnic {command}\nprints\n{printed}\nand not\n{part}")
        position = at + len(part)
    check(parts[-1] == "" or position == len(got),
          f"softrnic {command}\nprints more than the document says\n{printed}")


def examples(name):
    """The blocks of a document: whether it goes on in the background, command, what it prints."""
    return _BLOCK.findall(_read(name))


def _read(name):
    with open(os.path.join(_DOCUMENTS, name), encoding="utf-8") as file:
        return file.read()


@case("documentation/the fault scripts of docs/faults.md")
def _(context):
    text = _read("faults.md")
    scripts = _SCRIPT.findall(text)
    check(len(scripts) >= 3, f"only {len(scripts)} scripts were found")
    for number, (form, name, body) in enumerate(scripts):
        path = os.path.join(context.folder, name or f"script{number}.{form}")
        with open(path, "w", encoding="utf-8") as file:
            file.write(body)
        done = context.run("demo", "--script", path, "--json")
        check(done.returncode == 0, f"{path}: {done.stderr}")
        check(json.loads(done.stdout)["faults"], f"{path} has no rule")
    examples = _BLOCK.findall(text)
    check(examples, "no example was found")
    for _, command, expected in examples:
        words = [os.path.join(context.folder, word) if word.endswith((".toml", ".json")) else word
                 for word in shlex.split(command)]
        done = context.run(*words)
        compare(command, done.stdout + done.stderr, expected)


@case("documentation/the examples of docs/tools.md")
def _(context):
    blocks = _BLOCK.findall(_read("tools.md"))
    check(len(blocks) >= 6, f"only {len(blocks)} examples were found")
    waiting = None
    for background, command, expected in blocks:
        words = shlex.split(command)
        inside = context.network if "--link" in words else None
        if background:
            process = context.start(*words, inside=inside)
            begun = pingpong_cases.await_line(process, "local address")
            waiting = (process, command, begun, expected)
            continue
        done = context.run(*words, inside=inside)
        if waiting is not None:
            process, earlier, begun, earlier_expected = waiting
            with processes.running(process):
                _, output, errors = processes.finish(process)
            compare(earlier, begun + output + errors, earlier_expected)
            waiting = None
        compare(command, done.stdout + done.stderr, expected)


def _run_examples(context, name, least):
    """Examples that need no network, in a folder where pcaps/ is. One in the background is
    interrupted, if it does not end by itself, when the next one has ended."""
    blocks = _BLOCK.findall(_read(name))
    check(len(blocks) >= least, f"only {len(blocks)} examples were found")
    with tempfile.TemporaryDirectory(dir=context.folder) as folder:
        os.symlink(os.path.join(os.path.dirname(_DOCUMENTS), "pcaps"), os.path.join(folder, "pcaps"))
        surroundings = {"cwd": folder, "stdin": subprocess.DEVNULL,
                        "env": {**os.environ, "SOFTRNIC_SHM_DIR": os.path.join(folder, "shm")}}
        waiting = None
        for background, command, expected in blocks:
            words = [os.path.abspath(context.program), *shlex.split(command)]
            if background:
                process = processes.start(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                          text=True, **surroundings)
                begun = pingpong_cases.await_line(process, "waiting for")
                waiting = (process, command, begun, expected)
                continue
            done = subprocess.run(words, check=False, capture_output=True, text=True, timeout=120,
                                  **surroundings)
            if waiting is not None:
                process, earlier, begun, earlier_expected = waiting
                with processes.running(process):
                    if " --as " not in earlier:
                        process.send_signal(signal.SIGINT)
                    _, output, errors = processes.finish(process)
                compare(earlier, begun + output + errors, earlier_expected)
                waiting = None
            compare(command, done.stdout + done.stderr, expected)


@case("documentation/the examples of docs/check.md")
def _(context):
    _run_examples(context, "check.md", 3)


@case("documentation/the examples of docs/replay.md")
def _(context):
    _run_examples(context, "replay.md", 2)


@case("documentation/the examples of docs/diff.md")
def _(context):
    _run_examples(context, "diff.md", 4)


@case("documentation/the examples of docs/run.md")
def _(context):
    _run_examples(context, "run.md", 3)


@case("documentation/the examples of docs/edit.md")
def _(context):
    text = _read("edit.md")
    blocks = _BLOCK.findall(text)
    check(len(blocks) >= 4, f"only {len(blocks)} examples were found")
    with tempfile.TemporaryDirectory() as folder:
        os.symlink(os.path.join(os.path.dirname(_DOCUMENTS), "pcaps"), os.path.join(folder, "pcaps"))
        for _, name, body in _SCRIPT.findall(text):
            with open(os.path.join(folder, name), "w", encoding="utf-8") as file:
                file.write(body)
        for _, command, expected in blocks:
            done = subprocess.run([context.program, *shlex.split(command)], check=False,
                                  cwd=folder, stdin=subprocess.DEVNULL, capture_output=True,
                                  text=True)
            compare(command, done.stdout + done.stderr, expected)
