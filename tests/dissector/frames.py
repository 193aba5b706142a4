# SPDX-License-Identifier: BSD-3-Clause
"""RoCE frames and capture files, written independently of softrnic: what the dissector is tested
with.

Sizes, orders and masks as in IBTA volume 1, chapter 9, and its annexes A16 (RoCE) and A17 (RoCEv2).
"""

import dataclasses
import ipaddress
import struct
import zlib

UDP_PORT = 4791
ETHERTYPE_V1 = 0x8915

# The lower five bits of an opcode; the upper three name the service.
RC, UC, RD, UD, XRC = 0x00, 0x20, 0x40, 0x60, 0xa0
SEND_FIRST, SEND_MIDDLE, SEND_LAST, SEND_LAST_IMM, SEND_ONLY, SEND_ONLY_IMM = range(0x00, 0x06)
WRITE_FIRST, WRITE_MIDDLE, WRITE_LAST, WRITE_LAST_IMM, WRITE_ONLY, WRITE_ONLY_IMM = range(0x06, 0x0c)
READ_REQUEST, READ_FIRST, READ_MIDDLE, READ_LAST, READ_ONLY = range(0x0c, 0x11)
ACKNOWLEDGE, ATOMIC_ACKNOWLEDGE, COMPARE_SWAP, FETCH_ADD = range(0x11, 0x15)
SEND_LAST_INVALIDATE, SEND_ONLY_INVALIDATE = 0x16, 0x17
FLUSH, ATOMIC_WRITE = 0x1c, 0x1d
CNP = 0x81

ACK = 0x1f  # syndromes: an ACK without credit limit, and the NAKs
RNR_NAK = 0x20  # plus the timer code
NAK_SEQUENCE, NAK_INVALID, NAK_ACCESS, NAK_OPERATIONAL, NAK_RD = range(0x60, 0x65)


@dataclasses.dataclass(frozen=True)
class Host:
    mac: str
    address: str  # IPv4 or IPv6; of RoCE v1 the GID
    qp: int = 0
    psn: int = 0  # its first

    @property
    def ip(self):
        return ipaddress.ip_address(self.address)

    @property
    def gid(self):
        ip = self.ip
        return bytes(10) + b"\xff\xff" + ip.packed if ip.version == 4 else ip.packed


ALICE = Host("02:00:00:00:00:01", "10.0.0.1", 0x11, 0x1000)
BOB = Host("02:00:00:00:00:02", "10.0.0.2", 0x12, 0x2000)
ALICE6 = Host("02:00:00:00:00:01", "fd00::1", 0x11, 0x1000)
BOB6 = Host("02:00:00:00:00:02", "fd00::2", 0x12, 0x2000)


def reth(address, key, length):
    return struct.pack(">QII", address, key, length)


def aeth(syndrome=ACK, msn=0):
    return struct.pack(">I", syndrome << 24 | msn)


def atomic_eth(address, key, swap_add, compare=0):
    return struct.pack(">QIQQ", address, key, swap_add, compare)


def atomic_ack_eth(original):
    return struct.pack(">Q", original)


def deth(qkey, source_qp):
    return struct.pack(">II", qkey, source_qp)


def rdeth(context):
    return struct.pack(">I", context)


def immdt(data):
    return struct.pack(">I", data)


def ieth(key):
    return struct.pack(">I", key)


def feth(selectivity, placement):
    return struct.pack(">I", selectivity << 4 | placement)


def xrceth(srq):
    return struct.pack(">I", srq)


def bth(opcode, qp, psn, *, solicited=0, migrated=1, pad=0, version=0, pkey=0xffff, fecn=0, becn=0,
        reserved6=0, ack_request=0, reserved7=0):
    return struct.pack(
        ">BBHII", opcode, solicited << 7 | migrated << 6 | pad << 4 | version, pkey,
        fecn << 31 | becn << 30 | reserved6 << 24 | qp,
        ack_request << 31 | reserved7 << 24 | (psn & 0xffffff))


def transport(opcode, qp, psn, headers=b"", payload=b"", *, pad=None, pad_bytes=None, **flags):
    """BTH to pad: everything of RoCE but the ICRC."""
    pad = -len(payload) % 4 if pad is None else pad
    padding = bytes(pad) if pad_bytes is None else pad_bytes
    return bth(opcode, qp, psn, pad=pad, **flags) + headers + payload + padding


def internet_sum(data):
    if len(data) % 2:
        data += b"\0"
    total = sum(struct.unpack(f">{len(data) // 2}H", data))
    while total >> 16:
        total = (total & 0xffff) + (total >> 16)
    return ~total & 0xffff


def ipv4(source, destination, length, *, tos=0, ttl=64, identification=0, options=b"", protocol=17,
         fragment=0x4000):
    words = 5 + len(options) // 4
    head = struct.pack(">BBHHHBBH", 0x40 | words, tos, words * 4 + length, identification, fragment,
                       ttl, protocol, 0) + source.ip.packed + destination.ip.packed + options
    return head[:10] + struct.pack(">H", internet_sum(head)) + head[12:]


def ipv6(source, destination, length, *, tclass=0, flow=0, hops=64, next_header=17):
    return struct.pack(">IHBB", 6 << 28 | tclass << 20 | flow, length, next_header,
                       hops) + source.gid + destination.gid


def icrc_of(network, body):
    """Over the network header(s) and BTH to pad, what may change in flight taken as ones."""
    network = bytearray(network)
    if network[0] >> 4 == 4:
        network[1] = 0xff  # type of service
        network[8] = 0xff  # time to live
        network[10:12] = b"\xff\xff"
        udp = (network[0] & 15) * 4
    else:  # IPv6, and the GRH is laid out alike
        network[0] |= 0x0f  # traffic class and flow label
        network[1:4] = b"\xff\xff\xff"
        network[7] = 0xff  # hop limit
        udp = 40
    if len(network) > udp:
        network[udp + 6:udp + 8] = b"\xff\xff"  # the UDP checksum
    body = bytearray(body)
    body[4:5] = b"\xff"[:len(body[4:5])]  # FECN, BECN and six reserved bits
    return zlib.crc32(b"\xff" * 8 + bytes(network) + bytes(body))


def ethernet(source, destination, ethertype, content, *, vlan=None, priority=0, trailer=b""):
    def octets(mac):
        return bytes.fromhex(mac.replace(":", ""))
    tag = b"" if vlan is None else struct.pack(">HH", 0x8100, priority << 13 | vlan)
    return (octets(destination.mac) + octets(source.mac) + tag + struct.pack(">H", ethertype) +
            content + trailer)


def frame(body, source=ALICE, destination=BOB, *, version=2, tos=0, ttl=64, flow=0,
          identification=0, source_port=0xc000, port=UDP_PORT, udp_sum=0, icrc=None, spoil=0,
          vlan=None, priority=0, trailer=b"", grh_length=None, options=b""):
    """A whole Ethernet frame around a transport(); `spoil` is xored into its ICRC."""
    length = len(body) + 4
    udp = struct.pack(">HHHH", source_port, port, 8 + length, udp_sum)
    if version == 1:
        network = ipv6(source, destination, length if grh_length is None else grh_length,
                       tclass=tos, flow=flow, hops=ttl, next_header=0x1b)
        ethertype = ETHERTYPE_V1
    elif source.ip.version == 4:
        network = ipv4(source, destination, 8 + length, tos=tos, ttl=ttl,
                       identification=identification, options=options) + udp
        ethertype = 0x0800
    else:
        network = ipv6(source, destination, 8 + length, tclass=tos, flow=flow, hops=ttl) + udp
        ethertype = 0x86dd
    value = (icrc_of(network, body) if icrc is None else icrc) ^ spoil
    return ethernet(source, destination, ethertype, network + body + struct.pack("<I", value),
                    vlan=vlan, priority=priority, trailer=trailer)


@dataclasses.dataclass
class Talk:
    """Two connected queue pairs that take turns on one wire; collects the frames they send."""
    alice: Host = ALICE
    bob: Host = BOB
    step_us: int = 10
    version: int = 2
    service: int = RC
    now_us: int = 0
    frames: list = dataclasses.field(default_factory=list)

    def wait(self, us):
        self.now_us += us
        return self

    def _add(self, source, destination, opcode, psn, headers, payload, options):
        wire = {key: options.pop(key) for key in tuple(options)
                if key in ("tos", "ttl", "flow", "identification", "source_port", "port", "icrc",
                           "spoil", "vlan", "priority", "trailer", "udp_sum")}
        body = transport(self.service | opcode if opcode != CNP else CNP, destination.qp, psn,
                         headers, payload, **options)
        self.now_us += self.step_us
        self.frames.append((self.now_us, frame(body, source, destination, version=self.version,
                                               **wire)))
        return self

    def ask(self, opcode, offset, headers=b"", payload=b"", **options):
        """Alice sends a request; `offset` from her first PSN."""
        return self._add(self.alice, self.bob, opcode, self.alice.psn + offset, headers, payload,
                         options)

    def answer(self, opcode, offset, headers=b"", payload=b"", **options):
        """Bob answers; an answer carries a PSN of alice's."""
        return self._add(self.bob, self.alice, opcode, self.alice.psn + offset, headers, payload,
                         options)

    def ack(self, offset, msn, syndrome=ACK, **options):
        return self.answer(ACKNOWLEDGE, offset, aeth(syndrome, msn), **options)

    def ask_back(self, opcode, offset, headers=b"", payload=b"", **options):
        """Bob sends a request of his own."""
        return self._add(self.bob, self.alice, opcode, self.bob.psn + offset, headers, payload,
                         options)

    def ack_back(self, offset, msn, syndrome=ACK, **options):
        return self._add(self.alice, self.bob, ACKNOWLEDGE, self.bob.psn + offset,
                         aeth(syndrome, msn), b"", options)

    def cnp(self, **options):
        """Bob tells alice to slow down."""
        return self._add(self.bob, self.alice, CNP, 0, bytes(16), b"", {"becn": 1, **options})


# -- Connection manager datagrams (IBTA vol. 1, chapter 12), on queue pair 1. ----------------------

CM_QKEY = 0x80010000
CM_REQ, CM_REJ, CM_REP, CM_RTU, CM_DREQ, CM_DREP = 0x10, 0x12, 0x13, 0x14, 0x15, 0x16
TCP_SERVICE = 0x0000000001060000  # RDMA IP CM service, plus the port


def mad(attribute, transaction, data):
    return struct.pack(">BBBBHHQHHI", 1, 7, 2, 3, 0, 0, transaction, attribute, 0,
                       0) + data.ljust(232, b"\0")


def cm_request(host, peer, comm_id, *, port=7471, retry_count=7, rnr_retry=7, path_mtu=3,
               resources=4, private=b""):
    data = bytearray(232)
    struct.pack_into(">I", data, 0, comm_id)
    struct.pack_into(">Q", data, 8, TCP_SERVICE | port)
    struct.pack_into(">I", data, 32, host.qp << 8 | resources)
    struct.pack_into(">I", data, 36, resources)
    struct.pack_into(">I", data, 44, host.psn << 8 | 16 << 3 | retry_count)
    struct.pack_into(">H", data, 48, 0xffff)
    data[50] = path_mtu << 4 | rnr_retry
    data[51] = 15 << 4
    data[56:72] = host.gid
    data[72:88] = peer.gid
    data[93] = 64
    # RDMA IP CM private data: version, IP version, source port, both addresses.
    data[140] = 0
    data[141] = host.ip.version << 4
    struct.pack_into(">H", data, 142, 45000)
    for place, one in ((144, host), (160, peer)):
        data[place:place + 16] = one.ip.packed.rjust(16, b"\0")
    data[176:176 + len(private)] = private
    return bytes(data)


def cm_reply(host, comm_id, peer_comm_id, *, resources=4, rnr_retry=7):
    data = bytearray(232)
    struct.pack_into(">II", data, 0, comm_id, peer_comm_id)
    struct.pack_into(">I", data, 12, host.qp << 8)
    struct.pack_into(">I", data, 20, host.psn << 8)
    data[24:26] = bytes((resources, resources))
    data[27] = rnr_retry << 5
    return bytes(data)


def cm_ids(comm_id, peer_comm_id, rest=b""):
    return struct.pack(">II", comm_id, peer_comm_id) + rest


def cm_reject(comm_id, peer_comm_id, reason):
    return cm_ids(comm_id, peer_comm_id, struct.pack(">BBH", 0, 0, reason))


def cm_frame(source, destination, attribute, transaction, data, psn=0):
    return frame(transport(UD | SEND_ONLY, 1, psn, deth(CM_QKEY, 1), mad(attribute, transaction,
                                                                         data)),
                 source, destination)


def connect(talk, *, comm_ids=(0x101, 0x202), transaction=0x55, **request):
    """REQ, REP and RTU ahead of what the two say."""
    a, b = comm_ids
    for source, destination, attribute, data, psn in (
            (talk.alice, talk.bob, CM_REQ, cm_request(talk.alice, talk.bob, a, **request), 0),
            (talk.bob, talk.alice, CM_REP, cm_reply(talk.bob, b, a), 0),
            (talk.alice, talk.bob, CM_RTU, cm_ids(a, b), 1)):
        talk.now_us += talk.step_us
        talk.frames.append((talk.now_us, cm_frame(source, destination, attribute, transaction,
                                                  data, psn)))
    return talk


# -- Capture files. --------------------------------------------------------------------------------

START = 1_700_000_000  # seconds since the epoch


def _timed(frames):
    """Frames without a time come 10 us apart."""
    for number, item in enumerate(frames, 1):
        yield item if isinstance(item, tuple) else (number * 10, item)


def pcap(frames, *, snap=None):
    """A classic capture file with nanoseconds; `snap` cuts every frame."""
    out = [struct.pack("<IHHiIII", 0xa1b23c4d, 2, 4, 0, 0, snap or 262144, 1)]
    for us, data in _timed(frames):
        kept = data if snap is None else data[:snap]
        out.append(struct.pack("<IIII", START + us // 1_000_000, us % 1_000_000 * 1000, len(kept),
                               len(data)) + kept)
    return b"".join(out)


def pcapng(frames, *, snap=None):
    """The newer kind of capture file, one interface, with nanoseconds."""
    def block(kind, content):
        content += bytes(-len(content) % 4)
        size = len(content) + 12
        return struct.pack("<II", kind, size) + content + struct.pack("<I", size)
    out = [block(0x0a0d0d0a, struct.pack("<IHHq", 0x1a2b3c4d, 1, 0, -1)),
           block(1, struct.pack("<HHI", 1, 0, snap or 0) + struct.pack("<HHB3x", 9, 1, 9) +
                 struct.pack("<HH", 0, 0))]
    for us, data in _timed(frames):
        kept = data if snap is None else data[:snap]
        stamp = START * 10**9 + us * 1000
        out.append(block(6, struct.pack("<IIIII", 0, stamp >> 32, stamp & 0xffffffff, len(kept),
                                        len(data)) + kept))
    return b"".join(out)
