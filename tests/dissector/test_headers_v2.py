# SPDX-License-Identifier: BSD-3-Clause
"""Every header of RoCE v2, each field of it, over IPv4 and IPv6, with and without a VLAN tag."""

import frames as f
from case import case

GOOD = 1


def one(look, body, fields, **frame):
    """A single packet whose fields hold these values."""
    names, values = zip(*fields.items())
    look.fields([f.frame(body, **frame)], names, [values])


@case("the base transport header")
def base(look):
    one(look, f.transport(f.RC | f.SEND_ONLY, 0xabcdef, 0x123456, payload=b"abc", solicited=1,
                          migrated=0, pkey=0x8001, fecn=1, becn=0, ack_request=1),
        {"roce.version": 2, "roce.service": "RC", "roce.operation": "SEND",
         "roce.bth.opcode": "0x04", "roce.bth.se": True, "roce.bth.migreq": False,
         "roce.bth.pad": 1, "roce.bth.tver": 0, "roce.bth.pkey": "0x8001", "roce.bth.fecn": True,
         "roce.bth.becn": False, "roce.bth.destqp": "0xabcdef", "roce.bth.ackreq": True,
         "roce.bth.psn": 0x123456, "roce.payload.length": 3, "roce.payload": "616263",
         "roce.pad": "00", "roce.icrc.status": GOOD})


@case("reserved bits and the transport version")
def reserved(look):
    one(look, f.transport(f.RC | f.SEND_ONLY, 1, 1, reserved6=0x2a, reserved7=0x55, version=3,
                          becn=1),
        {"roce.bth.reserved6": "0x2a", "roce.bth.reserved7": "0x55", "roce.bth.tver": 3,
         "roce.bth.becn": True, "roce.bth.tver.bad": True, "roce.icrc.status": GOOD})


@case("RETH of a WRITE")
def write(look):
    one(look, f.transport(f.WRITE_ONLY, 0x12, 7, f.reth(0x7f00deadbeef0000, 0x1234abcd, 5), b"hello"),
        {"roce.operation": "RDMA WRITE", "roce.reth.va": "0x7f00deadbeef0000",
         "roce.reth.rkey": "0x1234abcd", "roce.reth.dmalen": 5, "roce.payload.length": 5,
         "roce.bth.pad": 3, "roce.pad": "000000", "roce.icrc.status": GOOD})


@case("RETH of a READ request")
def read(look):
    one(look, f.transport(f.READ_REQUEST, 0x12, 7, f.reth(0x1000, 0x55, 1 << 31)),
        {"roce.operation": "RDMA READ", "roce.reth.va": "0x0000000000001000",
         "roce.reth.rkey": "0x00000055", "roce.reth.dmalen": 1 << 31, "roce.payload.length": 0})


@case("immediate data")
def immediate(look):
    one(look, f.transport(f.WRITE_ONLY_IMM, 0x12, 7, f.reth(1, 2, 4) + f.immdt(0x01020304), b"data"),
        {"roce.immdt": "0x01020304", "roce.reth.va": "0x0000000000000001",
         "roce.payload.length": 4, "roce.payload": "64617461"})


@case("the key a SEND invalidates")
def invalidate(look):
    one(look, f.transport(f.SEND_ONLY_INVALIDATE, 0x12, 7, f.ieth(0x99aabbcc), bytes(16)),
        {"roce.ieth.rkey": "0x99aabbcc", "roce.payload.length": 16})


@case("AtomicETH of COMPARE and SWAP, and of FETCH and ADD")
def atomic(look):
    names = ["roce.operation", "roce.atomiceth.va", "roce.atomiceth.rkey",
             "roce.atomiceth.swapadd", "roce.atomiceth.compare"]
    look.fields([f.frame(f.transport(f.COMPARE_SWAP, 0x12, 7, f.atomic_eth(0x1008, 5, 9, 10))),
                 f.frame(f.transport(f.FETCH_ADD, 0x12, 8, f.atomic_eth(0x1010, 6, 11)))], names,
                [["COMPARE and SWAP", "0x0000000000001008", "0x00000005", "0x0000000000000009",
                  "0x000000000000000a"],
                 ["FETCH and ADD", "0x0000000000001010", "0x00000006", "0x000000000000000b",
                  "0x0000000000000000"]])


@case("AtomicAckETH")
def atomic_answer(look):
    one(look, f.transport(f.ATOMIC_ACKNOWLEDGE, 0x11, 7,
                          f.aeth(msn=0x102030) + f.atomic_ack_eth(0x1122334455667788)),
        {"roce.operation": "ATOMIC ACK", "roce.aeth.msn": 0x102030,
         "roce.atomicacketh.original": "0x1122334455667788"})


@case("AETH: an ACK and its credits, decoded to a count")
def credits(look):
    expected = {0: 0, 1: 1, 4: 4, 5: 6, 10: 32, 15: 192, 20: 1024, 30: 32768, 31: None}
    listed = [f.frame(f.transport(f.ACKNOWLEDGE, 0x11, 7, f.aeth(code, 3))) for code in expected]
    look.fields(listed, ["roce.aeth.syndrome", "roce.aeth.kind", "roce.aeth.credits", "roce.aeth.msn"],
                [[f"0x{code:02x}", 0, count, 3] for code, count in expected.items()])
    look.frames_where(listed, "roce.aeth.credits.unlimited == 1", [len(listed)])


@case("AETH: every RNR timer in milliseconds")
def rnr_timers(look):
    milliseconds = [655.36, .01, .02, .03, .04, .06, .08, .12, .16, .24, .32, .48, .64, .96, 1.28,
                    1.92, 2.56, 3.84, 5.12, 7.68, 10.24, 15.36, 20.48, 30.72, 40.96, 61.44, 81.92,
                    122.88, 163.84, 245.76, 327.68, 491.52]
    listed = [f.frame(f.transport(f.ACKNOWLEDGE, 0x11, 7, f.aeth(f.RNR_NAK + code)))
              for code in range(32)]
    look.fields(listed, ["roce.aeth.kind", "roce.aeth.rnr_timer"],
                [[1, f"{value:g}"] for value in milliseconds])


@case("AETH: the names of the NAKs")
def naks(look):
    names = ["PSN sequence error", "invalid request", "remote access error",
             "remote operational error", "invalid RD request"]
    listed = [f.frame(f.transport(f.ACKNOWLEDGE, 0x11, 7, f.aeth(f.NAK_SEQUENCE + code)))
              for code in range(len(names))]
    look.fields(listed, ["roce.aeth.kind", "roce.aeth.nak"],
                [[3, code] for code in range(len(names))])
    for two_pass, title in look.passes():
        text = look.output("-n", "-r", look.capture(listed), "-V", *(["-2"] if two_pass else []))
        for name in names:
            if f"NAK Code: {name}" not in text:
                look.complain(f"{title}: the details do not name '{name}'")


@case("DETH of a UD SEND")
def datagram(look):
    one(look, f.transport(f.UD | f.SEND_ONLY_IMM, 0x12, 7, f.deth(0x11111111, 0x000013) +
                          f.immdt(5), bytes(8)),
        {"roce.service": "UD", "roce.deth.qkey": "0x11111111", "roce.deth.srcqp": "0x000013",
         "roce.immdt": "0x00000005", "roce.payload.length": 8})


@case("UC")
def unreliable(look):
    one(look, f.transport(f.UC | f.WRITE_FIRST, 0x12, 7, f.reth(1, 2, 512), bytes(256)),
        {"roce.service": "UC", "roce.operation": "RDMA WRITE", "roce.reth.dmalen": 512})


@case("FLUSH and ATOMIC WRITE")
def persistence(look):
    names = ["roce.operation", "roce.feth.sel", "roce.feth.plt", "roce.reth.va",
             "roce.reth.dmalen", "roce.payload.length", "roce.icrc.status"]
    look.fields([f.frame(f.transport(f.FLUSH, 0x12, 7, f.feth(1, 2) + f.reth(0x2000, 3, 4096))),
                 f.frame(f.transport(f.ATOMIC_WRITE, 0x12, 8, f.reth(0x2008, 3, 8), bytes(8)))],
                names,
                [["FLUSH", 1, 2, "0x0000000000002000", 4096, 0, GOOD],
                 ["ATOMIC WRITE", None, None, "0x0000000000002008", 8, 8, GOOD]])


@case("XRC")
def extended(look):
    names = ["roce.service", "roce.operation", "roce.xrceth.srq", "roce.reth.va",
             "roce.payload.length", "roce.icrc.status"]
    look.fields([f.frame(f.transport(f.XRC | f.SEND_ONLY, 0x12, 7, f.xrceth(0x000044), bytes(20))),
                 f.frame(f.transport(f.XRC | f.WRITE_ONLY, 0x12, 8,
                                     f.xrceth(0x45) + f.reth(0x3000, 1, 4), bytes(4))),
                 f.frame(f.transport(f.XRC | f.ACKNOWLEDGE, 0x11, 8, f.aeth(msn=2)))], names,
                [["XRC", "SEND", "0x000044", None, 20, GOOD],
                 ["XRC", "RDMA WRITE", "0x000045", "0x0000000000003000", 4, GOOD],
                 ["XRC", "ACK", None, None, 0, GOOD]])


@case("CNP")
def congestion(look):
    one(look, f.transport(f.CNP, 0x11, 0, bytes(range(16)), becn=1),
        {"roce.service": "CNP", "roce.operation": "CNP", "roce.bth.opcode": "0x81",
         "roce.bth.becn": True, "roce.cnp.reserved": bytes(range(16)).hex(),
         "roce.icrc.status": GOOD})


@case("a reserved opcode keeps its BTH and its ICRC")
def unknown(look):
    one(look, f.transport(0x15, 0x12, 9, payload=bytes(8)),
        {"roce.bth.opcode": "0x15", "roce.bth.psn": 9, "roce.bth.opcode.reserved": True,
         "roce.icrc.status": GOOD, "_ws.malformed": None})


@case("over IPv6, in a VLAN, and with IPv4 options")
def networks(look):
    body = f.transport(f.SEND_ONLY, 0x12, 7, payload=bytes(20))
    names = ["roce.version", "roce.bth.destqp", "roce.bth.psn", "roce.payload.length",
             "roce.icrc.status"]
    rest = [2, "0x000012", 7, 20, GOOD]
    look.fields([f.frame(body, f.ALICE6, f.BOB6, tos=0x2a, flow=0x54321, ttl=3),
                 f.frame(body, vlan=42, priority=3),
                 f.frame(body, f.ALICE6, f.BOB6, vlan=42)], names, [rest] * 3)
    # No rule says how options are summed: the packet is read all the same.
    look.fields([f.frame(body, options=bytes([1, 1, 1, 0]))], names[:-1], [rest[:-1]])


@case("every opcode has its name, service and place")
def names_of_opcodes(look):
    known = {f.RC: [*range(0x15), 0x16, 0x17, 0x1c, 0x1d], f.UC: [*range(0x0c)], f.UD: [4, 5],
             f.XRC: [*range(0x15), 0x16, 0x17]}
    service = {f.RC: "RC", f.UC: "UC", f.UD: "UD", f.XRC: "XRC"}
    opcodes = [base | low for base, lows in known.items() for low in lows]
    listed = [f.frame(f.transport(opcode, 0x12, 1, b"\x22" * 40)) for opcode in opcodes]
    path = look.capture(listed)
    for two_pass, title in look.passes():
        rows = look.shark.fields(path, ["roce.bth.opcode", "roce.service", "_ws.col.Info",
                                        "roce.bth.opcode.reserved"], two_pass=two_pass)
        for opcode, (seen, of, info, reserved) in zip(opcodes, rows):
            look.equal(seen, [f"0x{opcode:02x}"], f"{title}: opcode")
            look.equal(of, [service[opcode & 0xe0]], f"{title}: service of {opcode:#x}")
            # A finding in brackets may stand before it.
            text = info[0].rsplit("] ", 1)[-1] if info else ""
            if not text.startswith(service[opcode & 0xe0] + " "):
                look.complain(f"{title}: the info column of {opcode:#x} begins otherwise: {info}")
            if reserved:
                look.complain(f"{title}: {opcode:#x} is called reserved")
