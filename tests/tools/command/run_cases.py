# SPDX-License-Identifier: BSD-3-Clause
"""softrnic run and softrnic env: what a program gets, what cannot be run, what a shell reads."""

import json
import os
import shutil
import signal
import stat
import struct
import subprocess
import sys

from cases import Skipped, case, check

_OWN = "SOFTRNIC_"
_LOADER = ("LD_LIBRARY_PATH", "LD_PRELOAD")


def _bare(**variables):
    """The environment without anything of ours, and with these."""
    kept = {name: value for name, value in os.environ.items()
            if not name.startswith(_OWN) and name not in _LOADER}
    return {**kept, **variables}


def _run(context, *words, variables=None, **arguments):
    arguments.setdefault("stdin", subprocess.DEVNULL)
    return subprocess.run([os.path.abspath(context.program), *words], check=False, text=True,
                          capture_output=True, timeout=60,
                          env=_bare() if variables is None else variables, **arguments)


def _ours(lines):
    pairs = (line.split("=", 1) for line in lines.split("\0") if "=" in line)
    return {name: value for name, value in pairs if name.startswith(_OWN) or name in _LOADER}


def _seen(context, *options, variables=None, **arguments):
    """The variables of ours that a program sees."""
    done = _run(context, "run", *options, "--", "env", "-0", variables=variables, **arguments)
    check(done.returncode == 0 and done.stderr == "", done.stderr)
    return _ours(done.stdout)


def _refused(context, status, *words, mentions=(), **arguments):
    done = _run(context, *words, **arguments)
    said = f"{words}: exit status {done.returncode}\n{done.stdout}{done.stderr}"
    check(done.returncode == status, f"not exit status {status}\n{said}")
    check(done.stderr.count("\n") == 1 and done.stderr.endswith("\n"), f"not one line\n{said}")
    check(done.stdout == "", said)
    for word in mentions:
        check(word in done.stderr, f"does not mention '{word}'\n{said}")


@case("run/what a program sees")
def _(context):
    silent = _seen(context)
    check(set(silent) == set(_LOADER), silent)
    folder = silent["LD_LIBRARY_PATH"]
    check(silent["LD_PRELOAD"] == folder + "/libsoftrnic_preload.so", silent)
    check(os.path.isfile(silent["LD_PRELOAD"]), silent)
    script = os.path.join(context.folder, "loss")
    with open(script, "w", encoding="utf-8") as file:
        file.write("drop 5%\n")
    said = _seen(context, "--link", "shm:lab", "--device", "mlx5_0", "--host", "b", "--address",
                 "10.0.0.1/24", "--address=fd00::1/64", "--mac", "02:00:00:00:00:01", "--mtu",
                 "1024", "--faults", "loss", "--seed", "7", "--capture", "%p.pcapng", "--limit",
                 "max_qp=10", "--limit", "max_sge=4", cwd=context.folder)
    folder = os.path.realpath(context.folder)
    check({name: value for name, value in said.items() if name not in _LOADER} == {
        "SOFTRNIC_LINK": "shm:lab", "SOFTRNIC_DEVICE": "mlx5_0", "SOFTRNIC_HOST": "b",
        "SOFTRNIC_ADDRESSES": "10.0.0.1/24,fd00::1/64", "SOFTRNIC_MAC": "02:00:00:00:00:01",
        "SOFTRNIC_MTU": "1024", "SOFTRNIC_FAULTS": folder + "/loss", "SOFTRNIC_SEED": "7",
        "SOFTRNIC_CAPTURE": folder + "/%p.pcapng",
        "SOFTRNIC_LIMITS": "max_qp=10,max_sge=4"}, said)


@case("run/what was set before stays, unless an option says else")
def _(context):
    before = _bare(SOFTRNIC_HOST="b", SOFTRNIC_SEED="3", LD_LIBRARY_PATH="/elsewhere",
                   SOFTRNIC_MTU="")
    said = _seen(context, "--host", "c", variables=before)
    check(said["SOFTRNIC_HOST"] == "c" and said["SOFTRNIC_SEED"] == "3", said)
    check("SOFTRNIC_MTU" not in said, said)
    check(said["LD_LIBRARY_PATH"].endswith(":/elsewhere"), said)
    # An option that says what silence says unsets it.
    check("SOFTRNIC_HOST" not in _seen(context, "--host", "a", variables=before), "host a")
    # Once more inside adds nothing.
    program = os.path.abspath(context.program)
    twice = _run(context, "run", "--", program, "run", "--host", "d", "--", "env", "-0")
    check(_ours(twice.stdout)["LD_LIBRARY_PATH"].count(":") == 0, twice.stdout)
    check(_ours(twice.stdout)["LD_PRELOAD"].count(":") == 0, twice.stdout)
    check(_ours(twice.stdout)["SOFTRNIC_HOST"] == "d", twice.stdout)


@case("run/gets out of the way")
def _(context):
    done = _run(context, "run", "--", "sh", "-c", "cat; echo wrong >&2; exit 42",
                stdin=None, input="in and out\n")
    check((done.returncode, done.stdout, done.stderr) == (42, "in and out\n", "wrong\n"), done)
    done = _run(context, "run", "sh", "-c", "kill -TERM $$")
    check(done.returncode == -signal.SIGTERM, done)
    # The name it was called by, and options of its own that look like ours.
    done = _run(context, "run", "--host", "b", "sh", "-c", "echo $0 $*", "name", "--", "--host")
    check(done.stdout == "name -- --host\n", done)
    with subprocess.Popen([context.program, "run", "--", "sh", "-c", "echo $$"], text=True,
                          stdout=subprocess.PIPE) as process:
        check(int(process.stdout.read()) == process.pid, "another process")


@case("run/a script without an interpreter's line, and one with")
def _(context):
    path = os.path.join(context.folder, "script")
    for first, expected in (("", "sh"), ("#!/bin/sh\n", "sh"), ("#!/usr/bin/env sh\n", "sh")):
        with open(path, "w", encoding="utf-8") as file:
            file.write(first + "echo $1 $SOFTRNIC_HOST\n")
        os.chmod(path, 0o755)
        done = _run(context, "run", "--host", "b", "--", path, expected)
        check(done.stdout == f"{expected} b\n", f"{first!r}: {done}")
    with open(path, "w", encoding="utf-8") as file:
        file.write("#!/nowhere/interpreter\n")
    _refused(context, 127, "run", "--", path, mentions=["/nowhere/interpreter"])


@case("run/what is not there, or cannot be run")
def _(context):
    _refused(context, 127, "run", "--", "no-such-program", mentions=["no-such-program", "PATH"])
    _refused(context, 127, "run", "--", "/nowhere/program", mentions=["/nowhere/program"])
    _refused(context, 127, "run", "--", "", mentions=["PATH"])
    _refused(context, 126, "run", "--", context.folder, mentions=["directory"])
    plain = os.path.join(context.folder, "plain")
    with open(plain, "w", encoding="utf-8") as file:
        file.write("echo\n")
    os.chmod(plain, 0o644)
    _refused(context, 126, "run", "--", plain, mentions=["ermission"])
    _refused(context, 126, "run", "--", "plain", mentions=["ermission"],
             variables=_bare(PATH=context.folder))
    _refused(context, 2, "run", mentions=["softrnic run --"])
    _refused(context, 2, "run", "--host", "b", mentions=["softrnic run --"])


@case("run/bad values, before anything is started")
def _(context):
    mark = os.path.join(context.folder, "started")
    for words in (["--link", "wire:x"], ["--link", "shm:a/b"], ["--device", "a/b"],
                  ["--host", "a b"], ["--host", "b", "--link", "tap:x"],
                  ["--host", "b", "--link", "shm:a,host=c"], ["--address", "10.0.0.0.1"],
                  ["--mac", "ff:ff:ff:ff:ff:ff"], ["--mtu", "1500"], ["--faults", "/nowhere"],
                  ["--faults", "/dev/zero"], ["--seed", "0"], ["--capture", "/"],
                  ["--capture", "/nowhere/x.pcapng"], ["--limit", "max_qp"], ["--host", ""],
                  ["--limit", "max_unicorns=1"], ["--nonsense"]):
        _refused(context, 2, "run", *words, "--", "touch", mark, mentions=[words[0]])
    _refused(context, 2, "run", "--", "touch", mark, variables=_bare(SOFTRNIC_MTU="x"),
             mentions=["SOFTRNIC_MTU=x"])
    script = os.path.join(context.folder, "bad.toml")
    with open(script, "w", encoding="utf-8") as file:
        file.write("[[fault]]\naction = 'explode'\n")
    _refused(context, 2, "run", "--faults", script, "--", "touch", mark, mentions=[script])
    check(not os.path.exists(mark), "it was started")


def _patched(context, name, patch):
    """A copy of true(1), patched."""
    with open(shutil.which("true"), "rb") as file:
        image = bytearray(file.read())
    patch(image)
    path = os.path.join(context.folder, name)
    with open(path, "wb") as file:
        file.write(image)
    os.chmod(path, 0o755)
    return path


def _take_interpreter(image, put=None):
    offset, size, count = (struct.unpack_from("<Q", image, 32)[0],
                           *struct.unpack_from("<HH", image, 54))
    for place in range(offset, offset + size * count, size):
        if struct.unpack_from("<I", image, place)[0] == 3:  # PT_INTERP
            if put is None:
                struct.pack_into("<I", image, place, 0)
            else:
                at = struct.unpack_from("<Q", image, place + 8)[0]
                image[at:at + len(put)] = put


@case("run/programs that load no library of ours")
def _(context):
    if sys.byteorder != "little" or sys.maxsize < 2 ** 32:
        raise Skipped("the images of programs are patched as on a little-endian 64-bit machine")
    static = _patched(context, "static", _take_interpreter)
    _refused(context, 2, "run", "--", static, mentions=["statically", "softrnic env"])
    musl = _patched(context, "musl", lambda image: _take_interpreter(image, b"/lib/ld-musl-x.so\0"))
    _refused(context, 2, "run", "--", musl, mentions=["musl"])
    foreign = _patched(context, "foreign", lambda image: struct.pack_into("<H", image, 18, 0x1234))
    _refused(context, 2, "run", "--", foreign, mentions=["another machine"])
    narrow = _patched(context, "narrow", lambda image: struct.pack_into("<B", image, 4, 1))
    _refused(context, 2, "run", "--", narrow, mentions=["word size"])
    script = os.path.join(context.folder, "static-script")
    with open(script, "w", encoding="utf-8") as file:
        file.write(f"#!{static}\n")
    os.chmod(script, 0o755)
    _refused(context, 2, "run", "--", script, mentions=["static"])


@case("run/a program with more rights than ours is told of")
def _(context):
    if os.geteuid() == 0:
        path = os.path.join(context.folder, "setuid")
        shutil.copy(shutil.which("true"), path)
        os.chown(path, 65534, 65534)
        os.chmod(path, 0o4755)
        words = [path]
    else:
        path = shutil.which("su") or shutil.which("passwd")
        if path is None or not os.stat(path).st_mode & stat.S_ISUID:
            raise Skipped("there is no setuid program here")
        words = [path, "--help"]
    done = _run(context, "run", "--", *words)
    check(done.returncode == 0, done)
    check(done.stderr.count("\n") == 1 and path in done.stderr and "rights" in done.stderr, done)


@case("run/a program with AddressSanitizer")
def _(context):
    compiler = shutil.which("cc")
    source, program = (os.path.join(context.folder, name) for name in ("asan.c", "asan"))
    with open(source, "w", encoding="utf-8") as file:
        file.write('#include <stdio.h>\n#include <dirent.h>\nint main(void) {\n  char text[99];\n'
                   '  FILE* f = fopen("/sys/class/infiniband/softrnic0/node_type", "r");\n'
                   '  if (!f || !fgets(text, 99, f)) return 1;\n  fputs(text, stdout);\n'
                   '  fclose(f);\n  DIR* d = opendir("/dev/infiniband");\n  int n = 0;\n'
                   '  while (readdir(d)) ++n;\n  closedir(d);\n  return n == 4 ? 0 : 2;\n}\n')
    if compiler is None or subprocess.run([compiler, "-fsanitize=address", source, "-o", program],
                                          check=False, capture_output=True).returncode != 0:
        raise Skipped("needs a C compiler with AddressSanitizer")
    done = _run(context, "run", "--", program)
    check((done.returncode, done.stdout) == (0, "1: CA\n"), done)


@case("run/installed elsewhere")
def _(context):
    build = os.path.dirname(os.path.dirname(os.path.abspath(context.program)))
    if shutil.which("cmake") is None or not os.path.exists(build + "/CMakeCache.txt"):
        raise Skipped("needs cmake and the build's own folder")
    prefix = os.path.join(context.folder, "prefix")
    done = subprocess.run(["cmake", "--install", build, "--prefix", prefix, "--component",
                           "softrnic"], check=False, capture_output=True, text=True)
    check(done.returncode == 0, done.stderr)
    done = subprocess.run([prefix + "/bin/softrnic", "run", "--", "sh", "-c",
                           "echo $LD_LIBRARY_PATH; cat /sys/class/infiniband/*/node_type"],
                          env=_bare(), capture_output=True, text=True, check=False, timeout=60)
    folder, found = done.stdout.splitlines()
    check(found == "1: CA" and folder.startswith(os.path.realpath(prefix) + "/lib"), done)
    built = os.listdir(build + "/lib/softrnic")
    check(set(os.listdir(folder)) == set(built), f"{os.listdir(folder)}\n{built}")
    # Without its libraries it says so.
    os.remove(folder + "/libsoftrnic_preload.so")
    done = subprocess.run([prefix + "/bin/softrnic", "run", "--", "true"], env=_bare(), check=False,
                          capture_output=True, text=True, timeout=60)
    check(done.returncode == 1 and folder in done.stderr and done.stderr.count("\n") == 1, done)


_FORMS = (["--host", "b", "--address", "10.0.0.1/24", "--limit", "max_qp=10"],
          ["--capture", "it's $(here) \"%p\" \\ `x`;*.pcapng", "--seed", "9"], [])


@case("env/a shell that evaluates it sees what a program of run sees")
def _(context):
    script = f'eval "$("{os.path.abspath(context.program)}" env "$@")" && env -0'
    for options in _FORMS:
        for before in ({}, {"SOFTRNIC_HOST": "x", "LD_LIBRARY_PATH": "/else where"}):
            variables = _bare(**before)
            done = subprocess.run(["sh", "-euc", script, "sh", *options], env=variables,
                                  capture_output=True, text=True, check=False, cwd=context.folder,
                                  timeout=60)
            check(done.returncode == 0, done.stderr)
            expected = _seen(context, *options, variables=variables, cwd=context.folder)
            check(_ours(done.stdout) == expected, f"{done.stdout!r}\n{expected}")
    evaluated = subprocess.run(["sh", "-euc", script, "sh", "--host", "a"], capture_output=True,
                               text=True, check=False, env=_bare(SOFTRNIC_HOST="x"), timeout=60)
    check("SOFTRNIC_HOST" not in _ours(evaluated.stdout), evaluated)


@case("env/the other forms")
def _(context):
    for options in _FORMS:
        expected = _seen(context, *options, cwd=context.folder)
        done = _run(context, "env", *options, "--json", cwd=context.folder)
        check(json.loads(done.stdout) == expected, done)
        done = _run(context, "env", *options, "--plain", cwd=context.folder)
        check(_ours(done.stdout.replace("\n", "\0")) == expected, done)
    done = _run(context, "env", "--dockerfile", "--host", "b", "--capture", 'a"$b.pcapng')
    lines = done.stdout.splitlines()
    check(all(line.startswith("ENV ") for line in lines), done)
    check('ENV SOFTRNIC_HOST="b"' in lines, done)
    check('ENV SOFTRNIC_CAPTURE="a\\"\\$b.pcapng"' in lines, done)
    check(lines[-1].endswith('/libsoftrnic_preload.so${LD_PRELOAD:+:$LD_PRELOAD}"'), done)
    _refused(context, 2, "env", "--json", "--plain", mentions=["--plain"])
    _refused(context, 2, "env", "--plain", "--capture", "a\nb", mentions=["line break"])
    _refused(context, 2, "env", "word", mentions=["word"])
