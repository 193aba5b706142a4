# SPDX-License-Identifier: BSD-3-Clause
"""What the fuzzing begins with: the samples, and conversations with every header."""

import frames as f
from case import sample, sample_names
from test_encoder import enhanced_packets


def _everything(talk):
    f.connect(talk)
    data = bytes(range(256)) * 4
    talk.ask(f.SEND_FIRST, 0, payload=data).ask(f.SEND_MIDDLE, 1, payload=data)
    talk.ask(f.SEND_LAST_INVALIDATE, 2, f.ieth(5), data[:99], ack_request=1).ack(2, 1, 10)
    talk.ask(f.WRITE_FIRST, 3, f.reth(0x1000, 7, 1500), data)
    talk.ask(f.WRITE_LAST_IMM, 4, f.immdt(9), data[:476], ack_request=1).ack(4, 2)
    talk.ask(f.READ_REQUEST, 5, f.reth(0x1000, 7, 2100), ack_request=1)
    talk.answer(f.READ_FIRST, 5, f.aeth(msn=3), data).answer(f.READ_MIDDLE, 6, payload=data)
    talk.answer(f.READ_LAST, 7, f.aeth(msn=3), data[:52])
    talk.ask(f.COMPARE_SWAP, 8, f.atomic_eth(0x1000, 7, 1, 2))
    talk.answer(f.ATOMIC_ACKNOWLEDGE, 8, f.aeth(msn=4) + f.atomic_ack_eth(2))
    talk.ask(f.FLUSH, 9, f.feth(0, 1) + f.reth(0x1000, 7, 64))
    talk.answer(f.READ_ONLY, 9, f.aeth(msn=5))
    talk.ask(f.ATOMIC_WRITE, 10, f.reth(0x1000, 7, 8), data[:8])
    talk.answer(f.READ_ONLY, 10, f.aeth(msn=6))
    talk.ask(f.SEND_ONLY, 11, payload=data[:40], ack_request=1).ack(11, 6, f.RNR_NAK + 1)
    talk.wait(700).ask(f.SEND_ONLY, 11, payload=data[:40], ack_request=1, tos=3).ack(11, 7)
    talk.cnp()
    talk.ask_back(f.SEND_ONLY, 0, payload=data[:64], ack_request=1).ack_back(0, 1)
    return talk.frames


def _datagrams():
    return [(number * 10, f.frame(f.transport(f.UD | f.SEND_ONLY_IMM, 0x12, number,
                                              f.deth(0x11111111, 0x13) + f.immdt(5), bytes(number))))
            for number in range(12)]


def _extended():
    talk = f.Talk(service=f.XRC)
    talk.ask(f.SEND_ONLY, 0, f.xrceth(4), bytes(30), ack_request=1).ack(0, 1)
    talk.ask(f.WRITE_ONLY, 1, f.xrceth(4) + f.reth(1, 2, 3), bytes(3), ack_request=1).ack(1, 2)
    talk.service = f.RD
    talk.ask(f.SEND_ONLY, 0, f.rdeth(1) + f.deth(5, 6), bytes(30))
    talk.ask(f.FETCH_ADD, 1, f.rdeth(1) + f.deth(5, 6) + f.atomic_eth(8, 1, 2))
    return talk.frames


def all_seeds():
    """Lists of (us, frame)."""
    listed = [[(number * 10, data) for number, data in enumerate(enhanced_packets(sample(name)), 1)]
              for name in sample_names()]
    listed += [_everything(f.Talk()), _everything(f.Talk(alice=f.ALICE6, bob=f.BOB6)),
               _everything(f.Talk(version=1)), _datagrams(), _extended()]
    return listed
