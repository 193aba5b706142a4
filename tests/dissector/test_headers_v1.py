# SPDX-License-Identifier: BSD-3-Clause
"""RoCE v1: EtherType 0x8915, a GRH, and what follows."""

import frames as f
from case import case

GOOD, BAD = 1, 0
NAMES = ["roce.version", "roce.service", "roce.bth.destqp", "roce.bth.psn", "roce.payload.length",
         "roce.icrc.status"]


def v1(body, source=f.ALICE, destination=f.BOB, **options):
    return f.frame(body, source, destination, version=1, **options)


@case("the global route header")
def route(look):
    look.fields([v1(f.transport(f.SEND_ONLY, 0x12, 7, payload=bytes(20)), f.ALICE6, f.BOB6,
                    tos=0x2a, flow=0x54321, ttl=9)],
                ["roce.grh.ipver", "roce.grh.tclass", "roce.grh.flowlabel", "roce.grh.paylen",
                 "roce.grh.nxthdr", "roce.grh.hoplmt", "roce.grh.sgid", "roce.grh.dgid", *NAMES],
                [[6, "0x002a", "0x054321", 36, "0x1b", 9, "fd00::1", "fd00::2", 1, "RC",
                  "0x000012", 7, 20, GOOD]])


@case("GIDs that are IPv4 addresses")
def mapped(look):
    look.fields([v1(f.transport(f.UC | f.SEND_ONLY, 0x12, 7, payload=b"x"))],
                ["roce.grh.sgid", "roce.grh.dgid", *NAMES],
                [["::ffff:10.0.0.1", "::ffff:10.0.0.2", 1, "UC", "0x000012", 7, 1, GOOD]])


@case("in a VLAN")
def tagged(look):
    look.fields([v1(f.transport(f.SEND_ONLY, 0x12, 7, payload=b"x"), vlan=42, priority=3)],
                ["vlan.id", *NAMES], [[42, 1, "RC", "0x000012", 7, 1, GOOD]])


@case("a trailer behind the frame is no part of the packet")
def trailer(look):
    look.fields([v1(f.transport(f.SEND_ONLY, 0x12, 7, payload=bytes(8)), trailer=b"\xaa\xbb"),
                 v1(f.transport(f.ACKNOWLEDGE, 0x11, 7, f.aeth(msn=1)), trailer=bytes(5))],
                NAMES, [[1, "RC", "0x000012", 7, 8, GOOD], [1, "RC", "0x000011", 7, 0, GOOD]])


@case("a GRH that announces more than there is")
def too_long(look):
    look.fields([v1(f.transport(f.SEND_ONLY, 0x12, 7, payload=bytes(8)), grh_length=200)],
                ["roce.version", "roce.bth.psn", "roce.grh.paylen.bad"], [[1, 7, True]])


@case("the extension headers stand where they stand in v2")
def extensions(look):
    look.fields([v1(f.transport(f.WRITE_ONLY_IMM, 0x12, 7, f.reth(0x1234, 5, 3) + f.immdt(6),
                                b"abc")),
                 v1(f.transport(f.UD | f.SEND_ONLY, 0x12, 8, f.deth(0x77, 0x13), b"abcd")),
                 v1(f.transport(f.CNP, 0x11, 0, bytes(16), becn=1))],
                ["roce.reth.va", "roce.immdt", "roce.deth.srcqp", "roce.bth.becn",
                 "roce.icrc.status"],
                [["0x0000000000001234", "0x00000006", None, False, GOOD],
                 [None, None, "0x000013", False, GOOD], [None, None, None, True, GOOD]])


@case("a wrong ICRC")
def spoilt(look):
    look.fields([v1(f.transport(f.SEND_ONLY, 0x12, 7, payload=bytes(8)), spoil=0x80)],
                ["roce.icrc.status", "roce.icrc.bad"], [[BAD, True]])


@case("something else under the same EtherType")
def foreign(look):
    look.fields([f.ethernet(f.ALICE, f.BOB, f.ETHERTYPE_V1, bytes(60))],
                ["roce.version", "roce.bth.psn"], [[None, None]])
