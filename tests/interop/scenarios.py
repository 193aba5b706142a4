# SPDX-License-Identifier: BSD-3-Clause
"""The dialogues with the real peer: each of its operations and refusals, driven by either end."""

import dataclasses
import random

import dialogue

LENGTHS = (0, 1, 1023, 1024, 1025, 3072)  # at a path MTU of 1024
_SLOT = 4096
_ACCESS_ERROR = "remote access error"
_INVALID_REQUEST = "remote invalid request error"
_OPERATIONAL_ERROR = "remote operation error"


def _settle(d, count):
    """Lets the `count` SENDs and WRITEs before a READ or atomic complete first, where packets get
    lost and rxe drives: an ACK that repeats how far the other end has come, as a duplicate gets
    it, completes a READ or atomic for rxe though its response, and what it fetches, has not come.
    How many completions are still to come."""
    if not (d.lossy and d.active.is_rxe):
        return count
    d.active.await_all(count)
    return 0


def _send(word, d, **options):
    """SENDs of every length into receives that were posted before."""
    imm = "imm" in word
    for i, length in enumerate(LENGTHS):
        number = d.passive.post("recv", at=i * _SLOT, len=_SLOT)
        d.passive.expect(number, f"success recv {length}" + (f" imm {0x11223300 + i:#x}" if imm
                                                             else ""))
    d.meet()
    for i, length in enumerate(LENGTHS):
        more = {"imm": 0x11223300 + i} if imm else {}
        d.active.expect(d.active.post(word, at=65536 + i * _SLOT, len=length, **more, **options),
                        "success send")
        d.copy(d.active, 65536 + i * _SLOT, d.passive, i * _SLOT, length)
    d.active.await_all(len(LENGTHS))
    d.passive.await_all(len(LENGTHS))
    d.finish()


def send(d):
    _send("send", d)


def send_immediate(d):
    _send("send_imm", d)


def write(d):
    for i, length in enumerate(LENGTHS):
        d.write(at=i * _SLOT + 3, to=65536 + i * _SLOT + 1, length=length)
    d.active.await_all(len(LENGTHS))
    d.finish()


def write_immediate(d):
    for i, length in enumerate(LENGTHS):
        number = d.passive.post("recv")
        d.passive.expect(number, f"success recv_imm {length} imm {0xa0000000 + i:#x}")
    d.meet()
    for i, length in enumerate(LENGTHS):
        d.active.expect(d.active.post("write_imm", "solicited", at=i * _SLOT, to=65536 + i * _SLOT,
                                      len=length, imm=0xa0000000 + i), "success write")
        d.copy(d.active, i * _SLOT, d.passive, 65536 + i * _SLOT, length)
    d.active.await_all(len(LENGTHS))
    d.passive.await_all(len(LENGTHS))
    d.finish()


def read(d):
    for i, length in enumerate(LENGTHS):
        d.read(at=i * _SLOT, to=65536 + i * _SLOT + 5, length=length)
    d.active.await_all(len(LENGTHS))
    d.finish()


def long_messages(d):
    """128 KiB of each kind: more packets than any window."""
    size = 1 << 17
    number = d.passive.post("recv", at=0, len=size)
    d.passive.expect(number, f"success recv {size}")
    d.meet()
    d.active.expect(d.active.post("send", at=5, len=size), "success send")
    d.copy(d.active, 5, d.passive, 0, size)
    d.write(at=9, to=size, length=size)
    left = _settle(d, 2)
    d.read(at=0, to=size, length=size)
    d.active.await_all(left + 1)
    d.passive.await_all(1)
    d.finish()


def shapes(d):
    """Lists of several pieces, inline data, requests without a completion of their own."""
    for i in range(4):
        number = d.passive.post("recv", at=i * _SLOT, len=3000, sges=3)
        d.passive.expect(number, f"success recv {(2999, 64, 1, 7)[i]}")
    d.meet()
    for i, (length, flags, more) in enumerate(((2999, (), {"sges": 4}), (64, ("inline",), {}),
                                               (1, ("quiet",), {}), (7, ("solicited",), {}))):
        number = d.active.post("send", *flags, at=65536 + i * _SLOT, len=length, **more)
        d.copy(d.active, 65536 + i * _SLOT, d.passive, i * _SLOT, length)
        if "quiet" not in flags:
            d.active.expect(number, "success send")
    for i, (word, flags, more) in enumerate((("write", ("quiet",), {"sges": 2}),
                                             ("write", ("inline",), {}),
                                             ("read", (), {"sges": 3}))):
        length = 50 if flags == ("inline",) else 2222
        at, to = 131072 + i * _SLOT, 131072 + i * _SLOT
        left = _settle(d, 4) if word == "read" else 0
        number = d.active.post(word, *flags, at=at, to=to, len=length, **more)
        if "quiet" not in flags:
            d.active.expect(number, "success " + word)
        ends = (d.active, d.passive) if word == "write" else (d.passive, d.active)
        d.copy(ends[0], at, ends[1], to, length)
    d.active.await_all(left + 1)
    d.passive.await_all(4)
    d.finish()


def compare_swap(d):
    d.set_word(d.active, 0, d.word(d.passive, 64))
    d.active.expect(d.active.post("cswap", at=0, to=64, compare=d.word(d.passive, 64),
                                  swap=0x1122334455667788), "success cswap")
    d.set_word(d.passive, 64, 0x1122334455667788)
    d.set_word(d.active, 8, d.word(d.passive, 64))
    d.active.expect(d.active.post("cswap", at=8, to=64, compare=5, swap=6), "success cswap")
    d.active.await_all(2)
    d.finish()


def fetch_add(d):
    for i, add in enumerate((1, 0, (1 << 64) - 1, 1 << 63, 12345)):
        d.fetch_add(at=8 * i, to=64, add=add)
    d.active.await_all(5)
    d.finish()


def fence(d):
    """A WRITE behind a fence overwrites what the READ before it has fetched."""
    d.read(at=0, to=4096, length=3000)
    d.write("fence", at=0, to=65536, length=3000)
    d.write(at=8192, to=4096, length=3000)
    d.active.await_all(3)
    d.finish()


def psn_wrap(d):
    """The PSN wraps within a WRITE, and within a READ response."""
    d.active.arguments["psn"] = 0xfffffe
    d.write(at=0, to=65536, length=3072)
    d.active.await_all(1)
    d.finish()


def psn_wrap_read(d):
    d.active.arguments["psn"] = 0xffffff
    d.read(at=0, to=65536, length=3072)
    d.fetch_add(at=4096, to=64, add=7)
    d.active.await_all(2)
    d.finish()


def mix(d):
    """Operations of every kind at random, eight at a time."""
    draw = random.Random(4)
    everything = ("send", "send_imm", "write", "write_imm", "read", "cswap", "fadd")
    for number_of_round in range(12):
        receives = 0
        words = everything
        if d.lossy and d.active.is_rxe:  # see _settle
            words = everything[4:] if number_of_round % 2 else everything[:4]
        for slot in range(8):
            at, to = slot * 8192, 65536 + slot * 8192
            length = draw.choice((0, 1, 7, 100, 1024, 1025, 3000, 8192))
            word = draw.choice(words)
            more = {"imm": draw.randrange(1, 1 << 32)} if "imm" in word else {}
            imm = f" imm {more['imm']:#x}" if more else ""
            if word.startswith("send"):
                number = d.passive.post("recv", at=to, len=8192)
                d.passive.expect(number, f"success recv {length}{imm}")
                receives += 1
            elif word == "write_imm":
                number = d.passive.post("recv")
                d.passive.expect(number, f"success recv_imm {length}{imm}")
                receives += 1
            _mixed_request(d, word, at, to, length, more, draw)
        _move_before(d.active.steps, "meet", 8)
        d.passive.steps.append("meet")
        d.active.await_all(8)
        d.passive.await_all(receives)
        # Nobody reuses a slot before the other end has done with it.
        d.meet()
    d.finish()


def _move_before(steps, step, count):
    """The requests wait for the receives that they meet."""
    steps.insert(len(steps) - count, step)


def _mixed_request(d, word, at, to, length, more, draw):
    if word in ("cswap", "fadd"):
        before = d.word(d.passive, to)
        value = draw.randrange(1 << 64)
        if word == "fadd":
            number = d.active.post(word, at=at, to=to, add=value)
            d.set_word(d.passive, to, before + value)
        else:
            hit = draw.random() < 0.5
            number = d.active.post(word, at=at, to=to, compare=before if hit else before ^ 1,
                                   swap=value)
            if hit:
                d.set_word(d.passive, to, value)
        d.set_word(d.active, at, before)
        d.active.expect(number, "success " + word)
        return
    number = d.active.post(word, at=at, to=to, len=length, **more)
    d.active.expect(number, "success " + word.removesuffix("_imm"))
    if word == "read":
        d.copy(d.passive, to, d.active, at, length)
    else:
        d.copy(d.active, at, d.passive, to, length)


# --- receiver not ready ---

def rnr(d):
    """The receive comes after the first RNR NAK."""
    d.passive.steps.append("refuse")
    number = d.passive.post("recv", at=0, len=_SLOT)
    d.passive.expect(number, "success recv 2500")
    d.active.expect(d.active.post("send", at=0, len=2500), "success send")
    d.copy(d.active, 0, d.passive, 0, 2500)
    # With immediate, a WRITE needs its receive at its end only.
    d.active.await_all(1)
    d.passive.await_all(1)
    d.meet()
    d.passive.steps.append("refuse")
    d.passive.expect(d.passive.post("recv"), "success recv_imm 2500 imm 0x7")
    d.active.expect(d.active.post("write_imm", at=0, to=65536, len=2500, imm=7), "success write")
    d.copy(d.active, 0, d.passive, 65536, 2500)
    d.active.await_all(1)
    d.passive.await_all(1)
    d.finish()


def rnr_exhausted(d):
    d.active.arguments["rnr_retry"] = 2
    d.active.expect(d.active.post("send", at=0, len=100), "RNR retry counter exceeded")
    d.active.expect(d.active.post("write", at=0, to=0, len=100), "Work Request Flushed Error")
    d.active.await_all(2)
    d.finish(active="ERR")


# --- invalidation, windows ---

def _bind(d, key, *rights, at=8192, length=4096):
    number = d.passive.post("bind", *rights, key=key, at=at, len=length)
    d.passive.expect(number, "success bind")
    d.passive.await_all(1)
    d.meet()


def _through_window(d, key):
    d.write(at=0, to=8192, length=3000, key=key)
    left = _settle(d, 1)
    d.read(at=65536, to=8193, length=3000, key=key)
    d.fetch_add(at=4096, to=12280, add=3, key=key)
    d.active.await_all(left + 2)


def _refused(d, text, word, deviation=None, state_deviation=None, **options):
    d.active.expect_refusal(d.active.post(word, at=0, **options), text, deviation)
    d.active.await_all(1)
    d.finish(active="ERR", passive="ERR", passive_deviation=state_deviation)


def window(key):
    def run(d):
        _bind(d, key, "read", "write", "atomic")
        _through_window(d, key)
        d.finish()
    return run


def send_invalidate(d):
    """A SEND with invalidate of a window of type 2: the key is dead from then on."""
    _bind(d, "mw2", "read", "write", "atomic")
    _through_window(d, "mw2")
    number = d.passive.post("recv", at=20480, len=_SLOT)
    d.passive.expect(number, "success recv 1500 invalidates mw2",
                     d.rxe_serves("success recv 1500", "does not say in the completion that a key "
                                  "was invalidated, nor which"))
    d.meet()
    d.active.expect(d.active.post("send_inv", at=30000, len=1500, key="mw2"), "success send")
    d.copy(d.active, 30000, d.passive, 20480, 1500)
    d.active.await_all(1)
    d.passive.await_all(1)
    _refused(d, _ACCESS_ERROR, "write", to=8192, len=10, key="mw2")


def send_invalidate_bad_key(d):
    """SEND with invalidate of a key that was never given."""
    number = d.passive.post("recv", at=0, len=_SLOT)
    d.passive.expect(number, "local access error",
                     d.rxe_serves(_INVALID_REQUEST, "completes the receive of a SEND whose "
                                  "invalidation fails in remote invalid request"))
    d.meet()
    d.active.expect_refusal(
        d.active.post("send_inv", at=0, len=8, key="bad"), _ACCESS_ERROR,
        d.rxe_serves("success send", "acknowledges a SEND whose invalidation fails"))
    d.copy(d.active, 0, d.passive, 0, 8)
    d.active.await_all(1)
    d.passive.await_all(1)
    d.finish(active="ERR", passive="ERR", active_deviation=dialogue.Deviation(
        "RTS", "leaves the sender of such a SEND connected"))


def local_invalidate(d):
    """The window's owner invalidates it; the peer's key is dead."""
    _bind(d, "mw2", "write")
    d.write(at=0, to=8192, length=100, key="mw2")
    d.active.await_all(1)
    d.meet()
    d.passive.expect(d.passive.post("inv", key="mw2"), "success inv")
    d.passive.await_all(1)
    d.meet()
    _refused(d, _ACCESS_ERROR, "write", to=8192, len=10, key="mw2")


def window_refuses(word, *rights, **options):
    def run(d):
        _bind(d, "mw2", *rights)
        _refused(d, _ACCESS_ERROR, word, key="mw2", **options)
    return run


def window_out_of_bounds(d):
    """A WRITE that leaves the window by a byte, and not its region."""
    _bind(d, "mw2", "write")
    what = "does not look at a window's bounds, only at its region's"
    d.active.expect_refusal(d.active.post("write", at=0, key="mw2", to=12280, len=9), _ACCESS_ERROR,
                            d.rxe_serves("success write", what))
    d.active.await_all(1)
    deviant = bytearray(d.passive.memory)
    deviant[12280:12289] = d.active.memory[:9]
    d.finish(active="ERR", passive="ERR", active_deviation=dialogue.Deviation("RTS", what),
             passive_deviation=dialogue.Deviation("RTS", what), deviant=(deviant, what))


# --- refusals ---

def refusal(text, word, deviation=None, **options):
    """One request that the passive end must refuse, which ends the connection."""
    def run(d):
        _refused(d, text, word, deviation and d.rxe_serves(*deviation), **options)
    return run


def forbidden(word, access):
    """The queue pair itself does not let the other end do it (10.3.1, 9.7.4.1.5)."""
    def run(d):
        d.passive.arguments["access"] = access
        _refused(d, _INVALID_REQUEST, word, len=8, to=64)
    return run


def too_long(d):
    """A SEND longer than its receive."""
    number = d.passive.post("recv", at=0, len=100)
    d.passive.expect(number, "local length error",
                     d.rxe_serves("local QP operation error", "completes a receive that is too "
                                  "short in local QP operation error"))
    d.meet()
    d.active.expect_refusal(d.active.post("send", at=0, len=1000), _INVALID_REQUEST,
                            d.rxe_serves(_OPERATIONAL_ERROR, "answers a SEND that is too long by "
                                         "NAK remote operational error"))
    d.active.await_all(1)
    d.passive.await_all(1)
    d.finish(active="ERR", passive="ERR")


def bad_receive(d):
    """The receive names memory by a wrong local key: its owner's fault."""
    number = d.passive.post("recv", at=0, len=100, lkey="bad")
    d.passive.expect(number, "local protection error",
                     d.rxe_serves("local QP operation error", "completes a receive with a wrong "
                                  "key in local QP operation error"))
    d.meet()
    d.active.expect_refusal(d.active.post("send", at=0, len=64), _OPERATIONAL_ERROR)
    d.active.await_all(1)
    d.passive.await_all(1)
    d.finish(active="ERR", passive="ERR")


def flushed(d):
    """What stands behind a refused request is flushed, in order."""
    d.active.expect_refusal(d.active.post("write", at=0, len=100, key="bad"), _ACCESS_ERROR)
    for _ in range(3):
        d.active.expect(d.active.post("write", at=0, len=100), "Work Request Flushed Error")
    d.active.await_all(4)
    d.finish(active="ERR", passive="ERR")


# --- packets that no right peer sends: softrnic's own are rewritten on their way ---

def broken_send(length, text, received, deviation=None, received_deviation=None):
    """A SEND that a rule makes wrong: `text` is how it ends, `received` its receive."""
    def run(d):
        number = d.passive.post("recv", at=0, len=_SLOT)
        d.passive.expect(number, received, received_deviation and d.rxe_serves(*received_deviation))
        d.meet()
        d.active.expect(d.active.post("send", at=0, len=length), text,
                        deviation and d.rxe_serves(*deviation))
        d.active.await_all(1)
        d.passive.await_all(1)
        d.meet()
        d.active.show_state("ERR")
        d.passive.show_state("ERR")
    return run


def broken_request(text, word, length, deviation=None):
    """A WRITE or READ that a rule makes wrong."""
    def run(d):
        d.active.expect(d.active.post(word, at=0, to=8192, len=length), text,
                        deviation and d.rxe_serves(*deviation))
        d.active.await_all(1)
        d.meet()
        d.active.show_state("ERR")
        d.passive.show_state("ERR")
    return run


def short_first(d):
    """A SEND that begins with a packet that is not full, and ends there."""
    what = "takes a first packet that is not full"
    d.passive.post("recv", at=0, len=_SLOT)
    d.meet()
    d.active.expect(d.active.post("send", at=0, len=1000), _INVALID_REQUEST,
                    d.rxe_serves("success send", what))
    d.active.await_all(1)
    d.meet()
    for party in (d.active, d.passive):
        party.show_state("ERR", dialogue.Deviation("RTS", what))


def reserved(text, what):
    """softrnic's answer is made one that does not exist: it is dropped, and comes again."""
    def run(d):
        d.active.expect(d.active.post("write", at=0, to=8192, len=100), "success write",
                        dialogue.Deviation(text, what))
        d.active.await_all(1)
        d.meet()
        d.active.show_state("RTS", dialogue.Deviation("ERR", what))
    return run


def told(text):
    """softrnic answers what was never wrong by a NAK: how rxe's request ends."""
    def run(d):
        d.active.expect(d.active.post("write", at=0, to=8192, len=100), text)
        d.active.expect(d.active.post("write", at=0, to=8192, len=100), "Work Request Flushed Error")
        d.active.await_all(2)
        d.meet()
        d.active.show_state("ERR")
    return run


_FLUSHED = "Work Request Flushed Error"
_BEGUN = (_INVALID_REQUEST, "completes a receive that a broken message has begun in remote invalid "
          "request")

# Who drives, what, and the rules that make it wrong.
PROBES = {
    "middle-without-first": ("softrnic", broken_send(1024, _INVALID_REQUEST, _FLUSHED),
                             "tx rewrite opcode 0x01 1st SEND ONLY"),
    "last-without-first": ("softrnic", broken_send(1024, _INVALID_REQUEST, _FLUSHED),
                           "tx rewrite opcode 0x02 1st SEND ONLY"),
    "write-within-send": ("softrnic", broken_send(3072, _INVALID_REQUEST, _FLUSHED,
                                                  received_deviation=_BEGUN),
                          "tx rewrite opcode 0x07 1st SEND MIDDLE"),
    "only-within-send": ("softrnic", broken_send(3072, _INVALID_REQUEST, _FLUSHED,
                                                 received_deviation=_BEGUN),
                         "tx rewrite opcode 0x04 1st SEND MIDDLE"),
    "short-first": ("softrnic", short_first, "tx rewrite opcode 0x00 1st SEND ONLY"),
    "write-shorter-than-told": ("softrnic", broken_request(_INVALID_REQUEST, "write", 100),
                                "tx rewrite dma_length 101 1st WRITE ONLY"),
    "write-longer-than-told": ("softrnic", broken_request(_INVALID_REQUEST, "write", 100),
                               "tx rewrite dma_length 99 1st WRITE ONLY"),
    "read-too-long": ("softrnic",
                      broken_request(_INVALID_REQUEST, "read", 100,
                                     (_ACCESS_ERROR, "answers a READ of more than 2^31 bytes by "
                                      "NAK remote access error")),
                      "tx rewrite dma_length 0x80000001 1st READ"),
    "farthest-ahead": ("softrnic", write, "tx rewrite psn +8388607 2nd WRITE"),
    "farthest-behind": ("softrnic", write, "tx rewrite psn -8388608 2nd WRITE"),
    "other-partition": ("softrnic", write, "tx rewrite partition_key 0x1234 2nd WRITE"),
    "other-version": ("softrnic", write, "tx rewrite version 1 2nd WRITE"),
    "reserved-opcode": ("softrnic", write, "tx rewrite opcode 0x1f 1st WRITE MIDDLE"),
    "no-migration": ("softrnic", mix, "tx rewrite migration_request 0"),
    "told-invalid-request": ("rxe", told(_INVALID_REQUEST), "rx answer nak invalid-request 1st WRITE"),
    "told-access-error": ("rxe", told(_ACCESS_ERROR), "rx answer nak access 1st WRITE"),
    "told-operational-error": ("rxe", told(_OPERATIONAL_ERROR), "rx answer nak operational 1st WRITE"),
    "told-sequence-error": ("rxe", write, "rx answer nak sequence 2nd WRITE"),
    "told-not-ready": ("rxe", write, "rx answer rnr 5 2nd WRITE"),
    "reserved-syndrome": ("rxe", reserved("success write", "is in ERR after a reserved "
                                             "syndrome"),
                          "tx rewrite syndrome 0x5f 1st ACK"),
    "reserved-nak": ("rxe", reserved(_OPERATIONAL_ERROR,
                                     "takes a reserved NAK code for remote operational error"),
                     "tx rewrite syndrome 0x70 1st ACK"),
    "ghost-acknowledgement": ("rxe", mix, "tx duplicate 3ms ACK"),
    "acknowledgement-from-ahead": ("rxe", write, "tx rewrite psn +1000 1st ACK"),
    "acknowledgement-from-behind": ("rxe", write, "tx rewrite psn -1000 1st ACK"),
    "wrong-credits": ("rxe", mix, "tx rewrite syndrome 0 ACK"),
}


# --- memory placement extensions (annex A19) ---

def atomic_write(d):
    """ATOMIC WRITE of a word, behind a WRITE and before a READ of it."""
    d.write(at=0, to=8192, length=100)
    d.active.expect(d.active.post("atomic_write", at=64, to=8200, len=8), "success atomic_write")
    d.copy(d.active, 64, d.passive, 8200, 8)
    d.read(at=4096, to=8192, length=100)
    d.active.await_all(3)
    d.finish()


def flush(d):
    """FLUSH to global visibility of what a WRITE has placed."""
    for party in (d.active, d.passive):
        party.arguments["access"] |= 0x100
    d.write(at=0, to=8192, length=3000)
    d.active.expect(d.active.post("flush", to=8192, len=3000), "success flush")
    d.active.await_all(2)
    d.finish()


# --- unreliable connection ---

def unreliable(word):
    def run(d):
        d.service = "uc"
        if word.startswith("send"):
            _send(word, d)
        else:
            write_immediate(d)
    return run


_END = dialogue.MEMORY - 50  # a hundred bytes from there are not all in the region

SCENARIOS = {
    "send": send,
    "send-immediate": send_immediate,
    "write": write,
    "write-immediate": write_immediate,
    "read": read,
    "long": long_messages,
    "shapes": shapes,
    "compare-swap": compare_swap,
    "fetch-add": fetch_add,
    "fence": fence,
    "psn-wrap": psn_wrap,
    "psn-wrap-read": psn_wrap_read,
    "mix": mix,
    "rnr": rnr,
    "rnr-exhausted": rnr_exhausted,
    "window-1": window("mw1"),
    "window-2": window("mw2"),
    "send-invalidate": send_invalidate,
    "send-invalidate-bad-key": send_invalidate_bad_key,
    "local-invalidate": local_invalidate,
    "window-write-without-right": window_refuses("write", "read", to=8192, len=8),
    "window-read-without-right": window_refuses("read", "write", to=8192, len=8),
    "window-atomic-without-right": window_refuses("fadd", "read", "write", to=8192),
    "window-out-of-bounds": window_out_of_bounds,
    "bad-key-write": refusal(_ACCESS_ERROR, "write", key="bad", len=100),
    "bad-key-write-long": refusal(_ACCESS_ERROR, "write", key="bad", len=5000),
    "bad-key-read": refusal(_ACCESS_ERROR, "read", key="bad", len=5000),
    "bad-key-compare-swap": refusal(_ACCESS_ERROR, "cswap", key="bad"),
    "bad-key-fetch-add": refusal(_ACCESS_ERROR, "fadd", key="bad"),
    "other-domain-write": refusal(_ACCESS_ERROR, "write", key="pd", len=100),
    "other-domain-read": refusal(_ACCESS_ERROR, "read", key="pd", len=100),
    "other-domain-fetch-add": refusal(_ACCESS_ERROR, "fadd", key="pd"),
    "write-without-right": refusal(_ACCESS_ERROR, "write", key="ro", len=100),
    "read-without-right": refusal(_ACCESS_ERROR, "read", key="wo", len=100),
    "fetch-add-without-right": refusal(_ACCESS_ERROR, "fadd", key="wo"),
    "compare-swap-without-right": refusal(_ACCESS_ERROR, "cswap", key="ro"),
    "no-remote-rights": refusal(_ACCESS_ERROR, "write", key="local", len=100),
    "out-of-bounds-write": refusal(_ACCESS_ERROR, "write", to=_END, len=100),
    "out-of-bounds-read": refusal(_ACCESS_ERROR, "read", to=_END, len=100),
    "out-of-bounds-fetch-add": refusal(_ACCESS_ERROR, "fadd", to=dialogue.MEMORY),
    "misaligned-fetch-add": refusal(_INVALID_REQUEST, "fadd", to=3),
    "misaligned-compare-swap": refusal(_INVALID_REQUEST, "cswap", to=12),
    "forbidden-write": forbidden("write", 4 | 8),
    "forbidden-read": forbidden("read", 2 | 8),
    "forbidden-fetch-add": forbidden("fadd", 2 | 4),
    "too-long": too_long,
    "bad-receive": bad_receive,
    "flushed": flushed,
    "atomic-write": atomic_write,
    "flush": flush,
    "uc-send": unreliable("send"),
    "uc-send-immediate": unreliable("send_imm"),
    "uc-write-immediate": unreliable("write_imm"),
}

# What not every guest has: the Linux version that brought it, and its name.
SINCE_LINUX = {"atomic-write": ((6, 2), "ATOMIC WRITE"), "flush": ((6, 2), "FLUSH")}

LOSS = ("drop 5%",)  # each way

# One packet of each kind lost, in the direction in which it goes; and what else a wire may do.
MISHAPS = {
    "lost-send-first": ("send", "drop 1st SEND FIRST"),
    "lost-send-middle": ("send", "drop 1st SEND MIDDLE"),
    "lost-send-last": ("send", "drop 1st SEND LAST"),
    "lost-send-only": ("send", "drop 1st SEND ONLY"),
    "lost-write-first": ("write", "drop 1st WRITE FIRST"),
    "lost-write-middle": ("write", "drop 1st WRITE MIDDLE"),
    "lost-write-last": ("write", "drop 1st WRITE LAST"),
    "lost-write-last-immediate": ("write-immediate", "drop 1st WRITE LAST IMM"),
    "lost-read-request": ("read", "drop 1st READ REQUEST"),
    "lost-read-response-first": ("read", "drop 1st READ RESPONSE FIRST"),
    "lost-read-response-middle": ("read", "drop 1st READ RESPONSE MIDDLE"),
    "lost-read-response-last": ("read", "drop 1st READ RESPONSE LAST"),
    "lost-read-response-only": ("read", "drop 1st READ RESPONSE ONLY"),
    "lost-fetch-add": ("fetch-add", "drop 1st FETCHADD"),
    "lost-compare-swap": ("compare-swap", "drop 1st CMPSWAP"),
    "lost-atomic-response": ("fetch-add", "drop 1st ATOMIC"),
    "lost-acknowledgement": ("write", "drop 1st ACK"),
    "lost-sequence-nak": ("write", "drop 2nd WRITE", "drop 1st NAK"),
    "lost-rnr-nak": ("rnr", "drop 1st RNR"),
    "lost-at-psn-wrap": ("psn-wrap", "drop 2nd WRITE"),
    "lost-response-at-psn-wrap": ("psn-wrap-read", "drop 2nd READ RESPONSE"),
    "doubled": ("mix", "duplicate 30%"),
    "late": ("mix", "reorder 3 10%"),
    "broken": ("mix", "corrupt payload 5%"),
}


def lacking(scenario, driver, release):
    """Why a guest of that Linux release cannot take part; empty when it can."""
    if driver == "rxe" and scenario.startswith("misaligned-"):
        return "rxe's library posts no misaligned atomic"
    since, operation = SINCE_LINUX.get(scenario, ((0, 0), ""))
    version = tuple(int(part) for part in release.split(".")[:2])
    if version >= since:
        return ""
    return (f"the guest's Linux {release} has no {operation}, which came with "
            f"{since[0]}.{since[1]}")


@dataclasses.dataclass(frozen=True)
class Case:
    name: str
    scenario: str
    driver: str
    family: str
    faults: tuple
    options: tuple = ()  # of softrnic's end
    shared: bool = False  # the passive end's receives


SCENARIOS.update({f"probe-{name}": scenario for name, (_, scenario, *_) in PROBES.items()})


def cases():
    for faults in ((), LOSS):
        for driver in ("softrnic", "rxe"):
            for name in SCENARIOS:
                if name.startswith("probe-"):
                    continue
                if faults and name.startswith("uc-"):
                    continue  # would rightly lose messages
                if driver == "rxe" and name == "flush":
                    continue  # libibverbs has no request for it before version 45
                for family in ("ipv4", "ipv6") if name == "mix" else ("ipv4",):
                    yield Case(f"tap/dialogue{'-lossy' if faults else ''}/{driver}-drives/"
                               f"{name}/{family}", name, driver, family, faults)
    for driver in ("softrnic", "rxe"):
        for name, (scenario, *faults) in MISHAPS.items():
            yield Case(f"tap/dialogue-mishap/{driver}-drives/{name}/ipv4", scenario, driver, "ipv4",
                       tuple(faults))
    for name, (driver, _, *faults) in PROBES.items():
        yield Case(f"tap/dialogue-probe/{driver}-drives/{name}/ipv4", f"probe-{name}", driver, "ipv4",
                   tuple(faults))
    # The passive end receives through a shared receive queue.
    for faults in ((), LOSS):
        for driver in ("softrnic", "rxe"):
            for name in ("send", "write-immediate", "rnr", "rnr-exhausted", "mix", "too-long"):
                yield Case(f"tap/dialogue-srq{'-lossy' if faults else ''}/{driver}-drives/{name}/ipv4",
                           name, driver, "ipv4", faults, shared=True)
    for faults in ((), LOSS):
        for driver in ("softrnic", "rxe"):
            for name in ("read", "mix"):
                for family in ("ipv4", "ipv6"):
                    yield Case(f"udp/dialogue{'-lossy' if faults else ''}/{driver}-drives/"
                               f"{name}/{family}", name, driver, family, faults)
    # To rxe end-to-end credits mean nothing, and must do no harm.
    for faults in ((), LOSS):
        for name in ("send", "rnr", "mix"):
            yield Case(f"tap/dialogue-credits{'-lossy' if faults else ''}/rxe-drives/{name}/ipv4",
                       name, "rxe", "ipv4", faults, ("--advertise-credits",))
