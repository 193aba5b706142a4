# SPDX-License-Identifier: BSD-3-Clause
"""Killed peers, crowds, a full segment, forks: no program may hang, and nothing may be left."""

import re
import signal

import cases
import compiled
import pair
import pingpong_cases
from cases import case
from stage import check

_ENDLESS = 100_000_000
_PORTS = 128  # of a segment
_CROWD = 50


def _await_traffic(stage, frames=300):
    """Waits until so many frames have crossed the segment."""
    stage.command("capture", "--from", "shm:stage", "-c", frames, "-o", stage.path("seen.pcapng"))


def _retries_exceeded(stage, program, words, ends):
    """Kills the server in the middle: the client must end with an error that says why."""
    server, client = pair.start(stage, [program, "-F", "-x", "1", "-s", "4096", "-N", "-n",
                                        _ENDLESS, *words], ends, private_tmp=True)
    _await_traffic(stage)
    server.kill()
    status = client.finish()
    text = client.text()
    check(status != 0 and re.search(r"[Ff]ailed status 12|status=12|retry exceeded", text),
          f"{client.told()}\nexit status {status}")


for _ends in pair.SHM:
    for _program, _words in (("ib_write_bw", []), ("ib_write_bw", ["-q", "8"]),
                             ("ib_send_bw", []), ("ib_read_bw", [])):
        cases.add(f"failures/{_ends.title}/{' '.join([_program, *_words])}: the peer is killed",
                  _retries_exceeded, _program, _words, _ends)


@case("failures/both ends are killed: the segment is as good as new")
def _(stage):
    for _ in range(3):
        programs = pair.start(stage, ["ibv_rc_pingpong", "-g", "1", "-n", _ENDLESS])
        _await_traffic(stage)
        for program in programs:
            program.kill()
        pingpong_cases.exchange(stage, "rc", [], pair.TWO_HOSTS)
    check(not stage.left_in_shared_memory(), stage.left_in_shared_memory())


@case("failures/a killed process disturbs no other on its segment")
def _(stage):
    victims = pair.start(stage, ["ibv_rc_pingpong", "-g", "1", "-n", _ENDLESS])
    others = pair.start(stage, ["ibv_rc_pingpong", "-g", "1", "-c", "-n", "3000"], pair.TWO_HOSTS)
    _await_traffic(stage)
    for victim in victims:
        victim.kill()
    for text in pair.finish(*others):
        check("invalid data" not in text and "24576000 bytes" in text, text)


@case("failures/ended by Ctrl-C and by SIGTERM, nothing is left")
def _(stage):
    for number in (signal.SIGINT, signal.SIGTERM):
        programs = pair.start(stage, ["ibv_rc_pingpong", "-g", "1", "-n", _ENDLESS])
        _await_traffic(stage)
        for program in programs:
            program.signal(number)
        for program in programs:
            check(program.finish() == -number, program.told())
        pingpong_cases.exchange(stage, "rc", [], pair.SAME_HOST, rounds=10)


@case("failures/two programs at once")
def _(stage):
    first = pair.start(stage, ["ibv_rc_pingpong", "-g", "1", "-c", "-n", "500"])
    second = pair.start(stage, ["ibv_uc_pingpong", "-g", "1", "-c", "-n", "500"], pair.TWO_HOSTS)
    for text in (*pair.finish(*first), *pair.finish(*second)):
        check("invalid data" not in text and "4096000 bytes" in text, text)


@case(f"failures/{_CROWD} processes on one segment")
def _(stage):
    words = ["ibv_rc_pingpong", "-g", "1", "-c", "-n", "20"]
    pairs = [pair.start(stage, words, pair.SHM[i % 2]) for i in range(_CROWD // 2)]
    for programs in pairs:
        for text in pair.finish(*programs):
            check("invalid data" not in text and "163840 bytes" in text, text)


@case("failures/a full segment is told in one line, and has room again")
def _(stage):
    hold = compiled.program("hold", libraries=["-libverbs"])
    holder = stage.start(hold, _PORTS)
    holder.await_text(f"^{_PORTS} hold it")
    text = stage.run("ibv_devinfo", status=None)
    lines = [line for line in text.splitlines() if line.startswith("softrnic: shm:stage")]
    check(len(lines) == 1 and "hca_id" not in text, text)
    holder.kill()
    check("hca_id:\tsoftrnic0" in stage.run("ibv_devinfo"), "no device afterwards")
    pingpong_cases.exchange(stage, "rc", [], pair.SAME_HOST, rounds=10)


@case("failures/fork after ibv_fork_init")
def _(stage):
    fork = compiled.program("fork", libraries=["-libverbs"])
    text = stage.run(fork, RDMAV_FORK_SAFE="1")
    check("every byte right" in text, text)
