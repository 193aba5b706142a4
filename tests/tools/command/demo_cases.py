# SPDX-License-Identifier: BSD-3-Clause
"""softrnic demo: deterministic, right, and its capture readable by others."""

import json
import os
import shutil
import subprocess

from cases import Skipped, case, check

_OPERATIONS = ["RDMA WRITE", "RDMA READ", "SEND", "SEND with immediate",
               "RDMA WRITE with immediate", "FETCH ADD", "COMPARE SWAP"]


def _demo(context, *words):
    done = context.run("demo", *words)
    check(done.returncode == 0 and done.stderr == "",
          f"softrnic demo {' '.join(words)}: exit status {done.returncode}\n"
          f"{done.stdout}{done.stderr}")
    return done.stdout


def _tshark(path, *words):
    if shutil.which("tshark") is None:
        raise Skipped("tshark is not installed")
    done = subprocess.run(["tshark", "-r", path, *words], capture_output=True, text=True,
                          stdin=subprocess.DEVNULL, check=False)
    check(done.returncode == 0, f"tshark: {done.stderr}")
    return done.stdout


@case("demo/text for people")
def _(context):
    text = _demo(context)
    for words in ["alice writes 512 KiB into bob's memory", "every byte arrived all the same",
                  "524288 bytes compared, all equal", "drop: drop 1%", "sent", "again",
                  *_OPERATIONS]:
        check(words in text, f"'{words}' is missing in\n{text}")


@case("demo/losses happen and are recovered with the default seed")
def _(context):
    report = json.loads(_demo(context, "--json"))
    check(report["ok"] and report["injured"] >= 5, f"{report['injured']} frames were lost")
    check(any(step["retransmitted"] for step in report["steps"]), "nothing was sent again")
    check([step["operation"] for step in report["steps"]] == _OPERATIONS, "other operations")


@case("demo/same options, same output and same capture")
def _(context):
    for words in ([], ["--seed", "7"], ["--roce", "v1"], ["--ipv6", "--mtu", "256"],
                  ["--fault", "reorder 5%", "--fault", "corrupt icrc every 50th"]):
        outputs, captures = set(), set()
        path = os.path.join(context.folder, "same.pcapng")
        for _ in range(2):
            outputs.add(_demo(context, *words, "-w", path))
            with open(path, "rb") as file:
                captures.add(file.read())
        check(len(outputs) == 1 and len(captures) == 1, f"demo {words} differs from itself")


@case("demo/another seed, other losses")
def _(context):
    check(_demo(context, "--seed", "1", "--json") != _demo(context, "--seed", "2", "--json"),
          "seeds 1 and 2 gave the same")


@case("demo/every network, MTU and many seeds end well")
def _(context):
    for roce in ("v1", "v2"):
        for network in ([], ["--ipv6"]):
            for mtu in ("256", "512", "1024", "2048", "4096"):
                report = json.loads(_demo(context, "--roce", roce, *network, "--mtu", mtu,
                                          "--json"))
                check(report["roce"] == roce and report["path_mtu"] == int(mtu), "wrong report")
    for seed in range(1, 21):
        _demo(context, "--seed", str(seed), "--fault", "drop 3%", "--fault", "duplicate 2%",
              "--fault", "reorder 2%", "--json")


@case("demo/without faults nothing is sent twice")
def _(context):
    report = json.loads(_demo(context, "--fault", "none", "--json"))
    again = [step["title"] for step in report["steps"]
             if step["retransmitted"] and step["operation"] != "SEND with immediate"]
    check(report["injured"] == 0 and not again, f"sent again without need: {again}")


@case("demo/a rule hits exactly what it names")
def _(context):
    report = json.loads(_demo(context, "--fault", "tx drop 3rd WRITE MIDDLE", "--json"))
    injured = [frame for step in report["steps"] for frame in step["injured"]]
    check(len(injured) == 1 and injured[0]["opcode"] == "RC RDMA WRITE Middle"
          and injured[0]["from"] == "alice", f"{injured}")
    psn = (report["alice"]["first_psn"] + 3) & 0xffffff  # first, 1st, 2nd, 3rd middle
    check(injured[0]["psn"] == psn, f"PSN {injured[0]['psn']}, expected {psn}")


@case("demo/a wire that loses everything is reported")
def _(context):
    done = context.run("demo", "--fault", "drop")
    check(done.returncode == 1, f"exit status {done.returncode}")
    check("FAILED: alice's work ended with: transport retry counter exceeded" in done.stdout,
          done.stdout)
    check(done.stderr.startswith("softrnic demo: step 1, RDMA WRITE, failed: ")
          and done.stderr.count("\n") == 1, done.stderr)


@case("demo/a rule that leaves no way out ends the run in one clear sentence")
def _(context):
    for rule in ("rx answer rnr 1 SEND", "tx answer rnr 31 SEND", "answer ack"):
        done = context.run("demo", "--fault", rule)
        check(done.returncode == 1 and done.stderr.count("\n") == 1, f"{rule}: {done.stderr}")
        check(done.stderr.startswith("softrnic demo: step "), done.stderr)
    done = context.run("demo", "--fault", "rx answer rnr 1 SEND")
    check("alice waited for a completion, and 200000 packets were sent in vain" in done.stderr,
          done.stderr)


@case("demo/a script without rules replaces the default, too")
def _(context):
    for name, text in (("empty", ""), ("empty.toml", "fault = []\n"),
                       ("empty.json", '{"fault": []}')):
        path = os.path.join(context.folder, name)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        report = json.loads(_demo(context, "--script", path, "--json"))
        check(report["faults"] == [] and report["injured"] == 0, f"{name}: {report['faults']}")


@case("demo/rules of options and scripts act in the order given")
def _(context):
    path = os.path.join(context.folder, "ordered")
    with open(path, "w", encoding="utf-8") as file:
        file.write("drop 2nd SEND\ndrop 3rd SEND\n")
    report = json.loads(_demo(context, "--fault", "drop 1st SEND", "--script", path, "--fault",
                              "drop 4th SEND", "--json"))
    check(report["faults"] == ["drop 1st SEND", "drop 2nd SEND", "drop 3rd SEND", "drop 4th SEND"],
          f"{report['faults']}")


@case("demo/the capture decodes and tells every fault")
def _(context):
    path = os.path.join(context.folder, "demo.pcapng")
    for words in ([], ["--roce", "v1"], ["--ipv6"], ["--roce", "v1", "--ipv6"]):
        report = json.loads(_demo(context, *words, "--json", "-w", path))
        check(_tshark(path, "-Y", "_ws.malformed") == "", f"demo {words}: malformed frames")
        comments = _tshark(path, "-T", "fields", "-e", "frame.comment").split("\n")
        told = [line for line in comments if line]
        check(told == ["drop: drop 1%"] * report["injured"], f"comments: {told}")
        opcodes = set(_tshark(path, "-T", "fields", "-e", "infiniband.bth.opcode").split())
        expected = {6, 7, 8, 12, 13, 14, 15, 0, 1, 2, 5, 9, 17, 18, 19, 20}
        check({int(opcode, 0) for opcode in opcodes} == expected, f"opcodes {sorted(opcodes)}")
        packets = sum(report[who]["counters"]["sent_pkts"] for who in ("alice", "bob"))
        # Every packet a card sent is there once, lost or not.
        frames = _tshark(path, "-Y", "infiniband", "-T", "fields", "-e", "frame.number").split()
        check(len(frames) == packets, f"{len(frames)} frames of {packets} packets")


@case("demo/says how to open the capture")
def _(context):
    path = os.path.join(context.folder, "open.pcapng")
    text = _demo(context, "-w", path)
    check(f"wireshark {path}" in text and f"tshark -r {path}" in text, text)
