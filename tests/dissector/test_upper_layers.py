# SPDX-License-Identifier: BSD-3-Clause
"""What RDMA carries: the built-in upper layers get it, whole messages too, and Decode As chooses."""

import struct

import frames as f
from case import case


def rpc_rdma(xid, procedure=0):
    """RDMA_MSG without chunks (RFC 8166), around an RPC NULL call of NFS version 3."""
    call = struct.pack(">IIIIII", xid, 0, 2, 100003, 3, procedure) + bytes(16)
    return struct.pack(">IIIIIII", xid, 1, 32, 0, 0, 0, 0) + call


@case("RPC over RDMA in a SEND")
def rpc(look):
    talk = f.Talk().ask(f.SEND_ONLY, 0, payload=rpc_rdma(0x11223344), ack_request=1).ack(0, 1)
    look.fields(talk, ["rpcordma.xid", "rpc.xid", "rpc.program", "roce.payload.length",
                       "_ws.malformed"],
                [["0x11223344", "0x11223344", "100003", 68, None], [None] * 3 + [0, None]])
    look.expect_findings(talk, [])


@case("RPC over RDMA in a SEND of several packets, once its last packet is there")
def in_pieces(look):
    whole = rpc_rdma(0x55667788) + bytes(400)
    talk = f.Talk().ask(f.SEND_FIRST, 0, payload=whole[:256])
    talk.ask(f.SEND_LAST, 1, payload=whole[256:], ack_request=1).ack(1, 1)
    rows = look.shark.fields(look.capture(talk), ["rpcordma.xid", "_ws.malformed"])
    look.equal([row[1] for row in rows], [[], [], []], "malformed")


@case("a message sent again is no malformed one")
def again(look):
    whole = rpc_rdma(0x55667788) + bytes(400)
    talk = f.Talk()
    for _ in range(2):
        talk.ask(f.SEND_FIRST, 0, payload=whole[:256])
        talk.ask(f.SEND_LAST, 1, payload=whole[256:], ack_request=1).wait(67_000)
    look.column(talk, "_ws.malformed", [None] * 4)
    look.column(talk, "roce.message.number", [1] * 4)


@case("management datagrams")
def management(look):
    look.column(f.connect(f.Talk()), "infiniband.mad.attributeid",
                ["0x0010", "0x0013", "0x0014"])


@case("another port decoded as RoCE by Decode As")
def other_port(look):
    talk = f.Talk().ask(f.SEND_ONLY, 0, payload=b"data", port=5000, ack_request=1)
    look.column(talk, "roce.bth.psn", [None])
    look.column(talk, "roce.bth.psn", [0x1000], options=("-d", "udp.port==5000,roce"))
    look.column(talk, "roce.icrc.status", [1], options=("-d", "udp.port==5000,roce"))


@case("Decode As away from RoCE is respected")
def away(look):
    talk = f.Talk().ask(f.SEND_ONLY, 0, payload=bytes(40))
    look.column(talk, "roce.bth.psn", [None], options=("-d", "udp.port==4791,data"))


@case("the plugin switched off leaves the built-in as it was")
def off(look):
    talk = f.Talk().ask(f.WRITE_ONLY, 0, f.reth(1, 2, 40), bytes(40), ack_request=1).ack(0, 1)
    look.fields(talk, ["roce.bth.psn", "infiniband.bth.psn", "_ws.col.Protocol"],
                [[None, 0x1000, "RRoCE"]] * 2, options=("--disable-protocol", "roce"))


@case("any port, by the ICRC, when the heuristic is on")
def heuristic(look):
    talk = f.Talk().ask(f.SEND_ONLY, 0, payload=b"data", port=5000)
    talk.ask(f.SEND_ONLY, 1, payload=b"data", port=5000, spoil=1)
    look.column(talk, "roce.bth.psn", [0x1000, None],
                options=("--enable-heuristic", "roce_udp"))
