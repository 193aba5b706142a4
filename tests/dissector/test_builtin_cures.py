# SPDX-License-Identifier: BSD-3-Clause
"""What Wireshark's own dissector makes of some packets, and what the plugin makes of them."""

import frames as f
from case import case

GOOD = 1


@case("source port 69 is RoCE and not TFTP")
def trivial_file_transfer(look):
    talk = f.Talk()
    for number in range(4):
        talk.ask(f.SEND_ONLY, number, payload=bytes(64), source_port=69)
    look.fields(talk, ["roce.bth.psn", "tftp.opcode", "_ws.col.Protocol"],
                [[0x1000 + number, None, "RoCEv2"] for number in range(4)])


@case("a CNP is a CNP")
def cnp(look):
    talk = f.Talk().cnp(source_port=0)
    look.fields(talk, ["roce.operation", "infiniband.bth.opcode", "infiniband.invariant.crc",
                       "_ws.malformed"],
                [["CNP", "129", f"0x{int.from_bytes(talk.frames[0][1][-4:], 'big'):08x}", None]])


@case("short SENDs are not malformed")
def short_sends(look):
    talk = f.Talk()
    for size in range(29):
        talk.ask(f.SEND_ONLY, size, payload=bytes(size))
    look.fields(talk, ["roce.payload.length", "_ws.malformed", "roce.icrc.status"],
                [[size, None, GOOD] for size in range(29)])
    talk = f.Talk()
    for size in range(16):
        talk.ask(f.SEND_ONLY_INVALIDATE, size, f.ieth(5), bytes(size))
    look.fields(talk, ["roce.payload.length", "_ws.malformed"],
                [[size, None] for size in range(16)])


@case("a packet that the capture cut is cut and not malformed")
def cut_short(look):
    talk = f.Talk().ask(f.SEND_FIRST, 0, payload=bytes(1024)).ask(f.SEND_LAST, 1, payload=bytes(200))
    look.fields(talk, ["roce.bth.psn", "roce.payload.length", "_ws.malformed", "_ws.short"],
                [[0x1000, 1024, None, "[Packet size limited during capture: RoCE truncated]"],
                 [0x1001, 200, None, "[Packet size limited during capture: RoCE truncated]"]],
                snap=64)


@case("the source of a CM REQ is its sender")
def cm_request(look):
    talk = f.connect(f.Talk())
    look.fields(talk, ["_ws.col.Source", "_ws.col.Destination", "ip.src"],
                [["10.0.0.1", "10.0.0.2", "10.0.0.1"], ["10.0.0.2", "10.0.0.1", "10.0.0.2"],
                 ["10.0.0.1", "10.0.0.2", "10.0.0.1"]])


@case("FLUSH, ATOMIC WRITE and XRC have their headers and their ICRC")
def newer(look):
    listed = [f.frame(f.transport(f.FLUSH, 0x12, 1, f.feth(0, 1) + f.reth(1, 2, 3))),
              f.frame(f.transport(f.ATOMIC_WRITE, 0x12, 2, f.reth(8, 2, 8), bytes(8))),
              f.frame(f.transport(f.XRC | f.SEND_ONLY, 0x12, 3, f.xrceth(4), bytes(4)))]
    look.fields(listed, ["infiniband.bth.opcode", "infiniband.reth.va", "roce.icrc.status"],
                [["28", "0x0000000000000001", GOOD], ["29", "0x0000000000000008", GOOD],
                 ["164", None, GOOD]])


@case("pad is no payload")
def pad(look):
    listed = [f.frame(f.transport(f.SEND_ONLY, 0x12, size, payload=bytes([size]) * size))
              for size in (17, 18, 19, 20)]
    look.fields(listed, ["roce.payload.length", "roce.pad"],
                [[17, "000000"], [18, "0000"], [19, "00"], [20, None]])


@case("immediate data and the invalidated key appear once")
def once(look):
    listed = [f.frame(f.transport(f.SEND_ONLY_IMM, 0x12, 1, f.immdt(5), bytes(4))),
              f.frame(f.transport(f.SEND_ONLY_INVALIDATE, 0x12, 2, f.ieth(6), bytes(4)))]
    look.fields(listed, ["roce.immdt", "roce.ieth.rkey"],
                [["0x00000005", None], [None, "0x00000006"]])


@case("a trailer behind a RoCE v1 frame is not taken for a CRC")
def trailer(look):
    listed = [f.frame(f.transport(f.SEND_ONLY, 0x12, 1, payload=bytes(4)), version=1,
                      trailer=b"\x12\x34")]
    look.fields(listed, ["infiniband.variant.crc", "roce.icrc.status"], [[None, GOOD]])


@case("filters on infiniband.* go on working")
def old_filters(look):
    talk = f.Talk()
    talk.ask(f.WRITE_ONLY, 0, f.reth(0x1000, 5, 32), bytes(32), ack_request=1).ack(0, 1)
    talk.ask(f.READ_REQUEST, 1, f.reth(0x2000, 5, 32), ack_request=1)
    talk.answer(f.READ_ONLY, 1, f.aeth(msn=2), bytes(32))
    look.frames_where(talk, "infiniband.bth.opcode == 0x0a", [1])
    look.frames_where(talk, "infiniband.reth.va == 0x2000", [3])
    look.frames_where(talk, "infiniband.aeth.msn", [2, 4])
    look.frames_where(talk, "infiniband.invariant.crc", [1, 2, 3, 4])
    look.frames_where(talk, "infiniband.bth.destqp == 0x11", [2, 4])
