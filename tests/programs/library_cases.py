# SPDX-License-Identifier: BSD-3-Clause
"""Libraries that stand on verbs: UCX, MPI over UCX, pyverbs."""

import re
import shutil

import cases
import compiled
import pair
from cases import case
from stage import check
from tap import Skip

# UCX's protocols, which choose what to do from a transport's abilities, and their sizes.
_PROTOCOLS = {"tag_lat": 8, "tag_bw": 65536, "tag_sync_lat": 1_000_000, "stream_lat": 8,
              "stream_bw": 65536, "ucp_am_lat": 64, "ucp_am_bw": 262_144, "ucp_put_lat": 8,
              "ucp_put_bw": 65536, "ucp_get": 4096, "ucp_add": 8, "ucp_fadd": 8, "ucp_swap": 8,
              "ucp_cswap": 8}
# The transports alone: each has these.
_TRANSPORTS = {"rc_verbs": (["am_lat", "-s", "40"], ["am_bw", "-s", "2000", "-D", "bcopy"],
                            ["put_lat", "-s", "8"], ["put_bw", "-s", "65536", "-D", "zcopy"],
                            ["get", "-s", "65536", "-D", "zcopy"], ["fadd", "-s", "8"],
                            ["cswap", "-s", "8"], ["add_mr", "-s", "8"]),
               "ud_verbs": (["am_lat", "-s", "40"], ["am_bw", "-s", "2000", "-D", "bcopy"],
                            ["am_bw", "-s", "2000", "-D", "zcopy"])}
_ROUNDS = 200


def _ucx(transport, gid=1):
    return {"UCX_TLS": f"{transport},self", "UCX_NET_DEVICES": "softrnic0:1",
            "UCX_IB_GID_INDEX": str(gid), "UCX_WARN_UNUSED_ENV_VARS": "n"}


def _ucx_perftest(stage, words, environment, ends):
    texts = pair.run(stage, ["ucx_perftest", "-n", _ROUNDS, "-w", "20", "-t", *words], ends,
                     **environment)
    check(re.search(rf"^Final:\s+{_ROUNDS}\s", texts[1], re.MULTILINE), texts[1])
    for text in texts:
        check("ERROR" not in text and "WARN" not in text, text)


for _transport in ("rc_v", "ud_v"):
    for _test, _size in _PROTOCOLS.items():
        cases.add(f"libraries/UCX {_transport} {_test}", _ucx_perftest, [_test, "-s", _size],
                  _ucx(_transport), pair.TWO_HOSTS)
# Over udp a few: protocols that send whole messages, read, and fetch. Over IPv6, as docs/verbs.md says.
_UDP_V6 = pair.UDP[0]
for _transport in ("rc_v", "ud_v"):
    for _test in ("tag_lat", "tag_bw", "tag_sync_lat", "ucp_get", "ucp_fadd"):
        cases.add(f"libraries/{_UDP_V6.title}/UCX {_transport} {_test}", _ucx_perftest,
                  [_test, "-s", _PROTOCOLS[_test]], _ucx(_transport, _UDP_V6.gid), _UDP_V6)
for _transport, _tests in _TRANSPORTS.items():
    for _words in _tests:
        cases.add(f"libraries/UCX {_transport} alone, {' '.join(_words)}", _ucx_perftest,
                  [*_words, "-d", "softrnic0:1", "-x", _transport], {"UCX_IB_GID_INDEX": "1"},
                  pair.SAME_HOST)


@case("libraries/ucx_info lists its transports")
def _(stage):
    text = stage.run("ucx_info", "-d")
    for transport in ("rc_verbs", "ud_verbs"):
        check(re.search(rf"Transport: {transport}\n#\s+Device: softrnic0:1", text), text)


def _mpi(stage, ranks, transport, addresses=()):
    """With addresses each rank is a NIC on a udp link of its own, else all are one on a segment."""
    if shutil.which("mpirun") is None:
        raise Skip("no mpirun on this machine")
    messages = compiled.program("messages", compiler="mpicc")
    words = ["-n", ranks, messages]
    if addresses:
        stage.enter_network()
        words = [word for address in addresses
                 for word in (":", "-n", 1, "-x", f"SOFTRNIC_LINK=udp:{address}", messages)][1:]
    text = stage.run("mpirun", "--oversubscribe", "--mca", "pml", "ucx", "--mca", "osc", "ucx",
                     "--mca", "btl", "^openib,vader", *words,
                     **_ucx(transport, 0 if addresses else 1))
    check(f"{ranks} ranks: every byte right" in text and "4194304 bytes: right" in text, text)


for _transport in ("rc_v", "ud_v"):
    for _ranks in (2, 4):
        cases.add(f"libraries/MPI over UCX {_transport}, {_ranks} ranks, 8 bytes to 4 MiB",
                  _mpi, _ranks, _transport)
    cases.add(f"libraries/udp v6/MPI over UCX {_transport}, 2 ranks, 8 bytes to 4 MiB",
              _mpi, 2, _transport, ("fd00::2", "fd00::3"))


@case("libraries/a small pyverbs program")
def _(stage):
    text = stage.run("/usr/bin/python3", "-B", compiled.source("smallest.py"))
    check("every byte right" in text, text)
