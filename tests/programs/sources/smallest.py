# SPDX-License-Identifier: BSD-3-Clause
"""A small pyverbs program: memory of its own, written to by RDMA through a loopback connection."""

from pyverbs.addr import AHAttr, GlobalRoute
from pyverbs.cq import CQ
from pyverbs.device import Context
from pyverbs.enums import (IBV_ACCESS_LOCAL_WRITE, IBV_ACCESS_REMOTE_WRITE, IBV_QPT_RC,
                           IBV_WC_SUCCESS, IBV_WR_RDMA_WRITE)
from pyverbs.mr import MR
from pyverbs.pd import PD
from pyverbs.qp import QP, QPAttr, QPCap, QPInitAttr
from pyverbs.wr import SGE, SendWR

TEXT = b"written by RDMA"
GID = 1

with Context(name="softrnic0") as context, PD(context) as pd, CQ(context, 4) as cq:
    rights = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE
    source, sink = (MR(pd, 4096, rights) for _ in range(2))
    source.write(TEXT, len(TEXT))
    init = QPInitAttr(qp_type=IBV_QPT_RC, scq=cq, rcq=cq, cap=QPCap(max_send_wr=4))
    ends = [QP(pd, init) for _ in range(2)]
    for end, peer in (ends, reversed(ends)):
        attributes = QPAttr(port_num=1)
        attributes.dest_qp_num = peer.qp_num
        attributes.qp_access_flags = rights
        attributes.max_rd_atomic = attributes.max_dest_rd_atomic = 1
        route = GlobalRoute(dgid=context.query_gid(1, GID), sgid_index=GID)
        attributes.ah_attr = AHAttr(port_num=1, is_global=1, gr=route)
        end.to_rts(attributes)
    write = SendWR(opcode=IBV_WR_RDMA_WRITE, num_sge=1, sg=[SGE(source.buf, len(TEXT), source.lkey)])
    write.set_wr_rdma(sink.rkey, sink.buf)
    ends[0].post_send(write)
    count = 0
    while count == 0:
        count, completions = cq.poll()
    assert completions[0].status == IBV_WC_SUCCESS, completions[0]
    assert sink.read(len(TEXT), 0) == TEXT
    for end in ends:
        end.close()
print("every byte right")
